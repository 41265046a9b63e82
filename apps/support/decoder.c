/* SPDX-License-Identifier: MIT
 *
 * Reads compressed inputs in pieces, and writes what is in them straight to where it was asked for.
 */
#include "decoder.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "die.h"

enum { IN_BYTES = 256 << 10 };

static const codec foreign[] = {
    {.name = "zip", .command = "unzip -p", .magic_bytes = 4, .magic = "PK\3\4"},
    {.name = "xz",
     .command = "xz -dc",
     .magic_bytes = 6,
     .magic = "\xfd"
              "7zXZ\0"},
    {.name = "lz4", .command = "lz4 -dc", .magic_bytes = 4, .magic = "\x04\x22\x4d\x18"},
    {.name = "bzip2", .command = "bzip2 -dc", .magic_bytes = 10, .magic = "BZh91AY&SY"},
};

static bool begins_with(const codec *c, const unsigned char *data, size_t bytes) {
    return (bytes >= c->magic_bytes && memcmp(data, c->magic, c->magic_bytes) == 0) ||
           (c->begins && c->begins(data, bytes));
}

const codec *codec_of(const unsigned char *data, size_t bytes) {
    if (begins_with(&codec_gzip, data, bytes))
        return &codec_gzip;
    if (begins_with(&codec_zstd, data, bytes))
        return &codec_zstd;
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (begins_with(&foreign[i], data, bytes))
            return &foreign[i];
    return NULL;
}

struct decoder {
    const codec *codec;
    void *state;
    input from;
    codec_window window; /* its input is in `in` */
    bool inside;         /* a member that has begun and not ended */
    bool ended;          /* nothing follows */
    unsigned char in[IN_BYTES];
};

static const char *name_for_shell(const input *from) { return from->fd ? from->name : "FILE"; }

/* Exit 2 for what this build does not read. */
__attribute__((noreturn)) static void refuse(const codec *c, const input *from) {
    const char *file = name_for_shell(from);
    if (c->missing)
        die(EXIT_USAGE, "%s: is compressed with %s, which this build cannot read: build it with %s, or %s %s | %s",
            from->name, c->name, c->missing, c->command, file, program_name());
    die(EXIT_USAGE, "%s: is compressed with %s; only gzip and zstd are read: %s %s | %s", from->name, c->name,
        c->command, file, program_name());
}

static void begin(decoder *d) {
    d->window = (codec_window){.in = d->in, .in_end = d->in};
    d->inside = true;
    d->ended = false;
    d->state = d->codec->open();
    if (!d->state)
        die(EXIT_IO, "%s: no memory to decompress it", d->from.name);
}

decoder *decoder_open(const codec *c, const input *from) {
    if (!c->open)
        refuse(c, from);
    decoder *d = must_alloc(1, sizeof *d);
    d->codec = c;
    d->from = *from;
    begin(d);
    return d;
}

bool decoder_can_rewind(const decoder *d) { return d->from.extent.sized; }

void decoder_rewind(decoder *d) {
    d->codec->close(d->state);
    input_rewind(&d->from);
    begin(d);
}

/* Bytes of the file that have been used. */
static unsigned long long used(const decoder *d) {
    return (unsigned long long)(d->from.taken - (uint64_t)(d->window.in_end - d->window.in));
}

/* Reads on where the input is used up. Returns false at its end. */
static bool refill(decoder *d) {
    if (d->window.in == d->window.in_end) {
        d->window.in = d->in;
        d->window.in_end = d->in + input_read(&d->from, d->in, IN_BYTES);
    }
    return d->window.in < d->window.in_end;
}

/* After a member: begins the next one, if there is one. */
static void begin_next(decoder *d) {
    unsigned char start[CODEC_MAGIC_BYTES];
    size_t have = (size_t)(d->window.in_end - d->window.in);
    if (have < d->codec->magic_bytes) {
        memcpy(start, d->window.in, have);
        memcpy(d->in, start, have);
        d->window.in = d->in;
        d->window.in_end = d->in + have + input_read(&d->from, d->in + have, IN_BYTES - have);
        have = (size_t)(d->window.in_end - d->window.in);
    }
    d->ended = have == 0;
    if (d->ended)
        return;
    if (!begins_with(d->codec, d->window.in, have))
        die(EXIT_USAGE, "%s: what follows byte %llu is not %s: something was appended, or the file is damaged",
            d->from.name, used(d), d->codec->name);
    if (!d->codec->next(d->state))
        die(EXIT_IO, "%s: no memory to decompress it", d->from.name);
    d->inside = true;
}

/* One step. */
static void decode(decoder *d) {
    bool more = refill(d);
    const unsigned char *in = d->window.in, *out = d->window.out;
    codec_status status = d->codec->step(d->state, &d->window);
    if (status == CODEC_NO_MEMORY)
        die(EXIT_IO, "%s: no memory to decompress it", d->from.name);
    if (status == CODEC_DICTIONARY)
        die(EXIT_USAGE, "%s: was compressed with a dictionary, which is not here: %s -D DICTIONARY %s | %s",
            d->from.name, d->codec->command, name_for_shell(&d->from), program_name());
    if (status == CODEC_BAD)
        die(EXIT_USAGE, "%s: the %s data are damaged near byte %llu: %s", d->from.name, d->codec->name, used(d),
            d->window.reason);
    d->inside = status != CODEC_END;
    if (d->inside && !more && d->window.in == in && d->window.out == out)
        die(EXIT_USAGE, "%s: is cut short: the %s data end after %llu bytes, inside a member", d->from.name,
            d->codec->name, used(d));
}

size_t decoder_read(decoder *d, void *to, size_t bytes) {
    d->window.out = to;
    d->window.out_end = (unsigned char *)to + bytes;
    while (!d->ended && (d->window.out < d->window.out_end || !d->inside)) {
        if (d->inside)
            decode(d);
        else
            begin_next(d);
    }
    return (size_t)(d->window.out - (unsigned char *)to);
}

const char *decoder_name(const decoder *d) { return d->codec->name; }

uint64_t decoder_file_bytes(const decoder *d) { return d->from.extent.size; }

void decoder_close(decoder *d) {
    d->codec->close(d->state);
    free(d->from.peek);
    free(d);
}
