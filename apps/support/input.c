/* SPDX-License-Identifier: MIT
 *
 * Input by read(): loops over short reads, EINTR and EAGAIN, a look-ahead for telling formats apart, and reading all of
 * a file or pipe whose size is a hint at best.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "alloc.h"
#include "decoder.h"
#include "die.h"
#include "input.h"
#include "input_span.h"
#include "report_phase.h"
#include "spool.h"

enum { READ_MAX = 1 << 30, PIPE_BYTES = 1 << 20 };

/* Files in /sys have a nominal size, a page, whatever is in them. */
static bool has_true_size(int fd, const struct stat *st) {
    struct statfs system;
    return S_ISREG(st->st_mode) && st->st_size > 0 && !(fstatfs(fd, &system) == 0 && system.f_type == SYSFS_MAGIC);
}

int input_extent_of(int fd, input_extent *extent) {
    struct stat st;
    *extent = (input_extent){.sized = false};
    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    off_t at = has_true_size(fd, &st) ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at >= 0)
        *extent = (input_extent){
            .sized = true, .start = (uint64_t)at, .size = st.st_size > at ? (uint64_t)(st.st_size - at) : 0};
    if (at >= 0)
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    else if (S_ISFIFO(st.st_mode))
        fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* fewer switches between writer and reader; may be refused */
    return 0;
}

void input_open(input *in, const char *path) {
    *in = (input){.fd = STDIN_FILENO, .name = "stdin"};
    if (path && strcmp(path, "-") != 0) {
        in->name = path;
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in->fd < 0)
            die(EXIT_IO, "%s: cannot open: %s", path, strerror(errno));
    }
    int error_number = input_extent_of(in->fd, &in->extent);
    if (error_number)
        die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(error_number));
}

/* Returns true if a read that failed is to be tried again. */
static bool retry(int fd) {
    if (errno == EAGAIN) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, -1);
        return true;
    }
    return errno == EINTR;
}

ssize_t input_fill(int fd, void *to, size_t bytes) {
    size_t have = 0;
    while (have < bytes) {
        size_t want = bytes - have < READ_MAX ? bytes - have : READ_MAX;
        ssize_t got = read(fd, (char *)to + have, want);
        if (got == 0)
            break;
        if (got > 0)
            have += (size_t)got;
        else if (!retry(fd))
            return -1;
    }
    return (ssize_t)have;
}

__attribute__((noreturn)) static void die_shorter(const input *in, uint64_t bytes) {
    die(EXIT_IO, "%s: " INPUT_SHORTER, in->name, (unsigned long long)bytes, (unsigned long long)in->extent.size);
}

/* `offset` counts from the extent's start. */
static void read_span(const input *in, void *to, size_t bytes, uint64_t offset) {
    int error_number;
    size_t have = input_span_read(in->fd, to, bytes, in->extent.start + offset, in->threads, &error_number);
    if (have < bytes && error_number == 0)
        die_shorter(in, offset + have);
    if (have < bytes)
        die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(error_number));
}

static size_t read_source(input *in, void *to, size_t bytes) {
    if (in->decoder) {
        size_t decoded = decoder_read(in->decoder, to, bytes);
        in->fetched += decoded;
        return decoded;
    }
    if (in->extent.sized && bytes > in->extent.size - in->fetched)
        bytes = (size_t)(in->extent.size - in->fetched);
    if (in->extent.sized && bytes >= INPUT_SPAN_SEVERAL && in->threads > 1) {
        read_span(in, to, bytes, in->fetched);
        in->fetched += bytes;
        if (lseek(in->fd, (off_t)(in->extent.start + in->fetched), SEEK_SET) < 0)
            die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(errno));
        return bytes;
    }
    ssize_t have = input_fill(in->fd, to, bytes);
    if (have < 0)
        die(EXIT_IO, "%s: cannot read: %s", in->name, strerror(errno));
    in->fetched += (uint64_t)have;
    if (in->extent.sized && (size_t)have < bytes)
        die_shorter(in, in->fetched);
    return (size_t)have;
}

/* What is in the spool first. */
static size_t read_full(input *in, void *to, size_t bytes) {
    size_t again = spool_read(&in->kept, to, bytes, in->again);
    in->again += again;
    if (again == bytes)
        return bytes;
    size_t more = read_source(in, (char *)to + again, bytes - again);
    if (in->keeps) {
        spool_write(&in->kept, (char *)to + again, more, in->kept.bytes);
        in->again = in->kept.bytes;
    }
    return again + more;
}

size_t input_peek(input *in, const unsigned char **data, size_t bytes) {
    report_phase before = report_enter(PHASE_READ);
    if (bytes > INPUT_PEEK_MAX)
        bytes = INPUT_PEEK_MAX;
    if (!in->peek)
        in->peek = must_alloc(INPUT_PEEK_MAX, 1);
    if (in->peek_bytes < bytes)
        in->peek_bytes += read_full(in, in->peek + in->peek_bytes, bytes - in->peek_bytes);
    *data = in->peek;
    report_enter(before);
    return in->peek_bytes < bytes ? in->peek_bytes : bytes;
}

static size_t take_peeked(input *in, void *to, size_t bytes) {
    size_t n = bytes < in->peek_bytes ? bytes : in->peek_bytes;
    if (n) {
        memcpy(to, in->peek, n);
        memmove(in->peek, in->peek + n, in->peek_bytes - n);
        in->peek_bytes -= n;
    }
    return n;
}

static size_t read_and_count(input *in, void *to, size_t bytes) {
    size_t have = take_peeked(in, to, bytes);
    have += read_full(in, (char *)to + have, bytes - have);
    in->taken += have;
    report_bytes(in->decoder ? 0 : have, 0); /* the decoder reads the file */
    return have;
}

size_t input_read(input *in, void *to, size_t bytes) {
    report_phase before = report_enter(PHASE_READ);
    size_t have = read_and_count(in, to, bytes);
    report_enter(before);
    return have;
}

void input_decompress(input *in) {
    const unsigned char *start;
    size_t bytes = input_peek(in, &start, CODEC_MAGIC_BYTES);
    const codec *c = codec_of(start, bytes);
    if (!c)
        return;
    decoder *d = decoder_open(c, in);
    *in = (input){.fd = in->fd, .name = in->name, .decoder = d, .max_bytes = memory_bytes()};
}

bool input_can_rewind(const input *in) { return in->decoder ? decoder_can_rewind(in->decoder) : in->extent.sized; }

void input_keep(input *in) {
    if (input_can_rewind(in))
        return;
    in->keeps = true;
    spool_write(&in->kept, in->peek, in->peek_bytes, 0);
    in->again = in->kept.bytes;
}

void input_keep_no_more(input *in) { in->keeps = false; }

void input_rewind(input *in) {
    in->peek_bytes = 0;
    in->taken = in->again = 0;
    if (!input_can_rewind(in))
        return;
    in->fetched = 0;
    if (in->decoder)
        decoder_rewind(in->decoder);
    else if (lseek(in->fd, (off_t)in->extent.start, SEEK_SET) < 0)
        die(EXIT_IO, "%s: cannot read it again: %s", in->name, strerror(errno));
}

bool name_has_suffix(const char *name, size_t length, const char *suffix) {
    size_t n = strlen(suffix);
    return length >= n && strncasecmp(name + length - n, suffix, n) == 0;
}

bool input_has_suffix(const input *in, const char *suffix) {
    size_t length = strlen(in->name);
    const char *last = strrchr(in->name, '.');
    return in->fd != STDIN_FILENO &&
           (name_has_suffix(in->name, length, suffix) ||
            (in->decoder && last && name_has_suffix(in->name, (size_t)(last - in->name), suffix)));
}

/* How much to allocate for the whole input, or next, after `have`. */
static size_t next_capacity(const input *in, size_t have) {
    const size_t most = SIZE_MAX / 4;
    if (in->extent.sized)
        return (size_t)(in->extent.size - in->taken);
    size_t least =
        in->decoder ? 4 * (size_t)decoder_file_bytes(in->decoder) : 0; /* pages are not used before they are written */
    size_t capacity = have > most          ? SIZE_MAX - INPUT_TAIL_BYTES
                      : have               ? have * 2
                      : least > PIPE_BYTES ? least
                                           : PIPE_BYTES;
    return in->decoder && capacity > in->max_bytes ? in->max_bytes + 1 : capacity;
}

void input_of_memory(input *in, const char *name, unsigned char *bytes, size_t n_bytes, size_t lines_before) {
    *in = (input){.fd = -1, .name = name, .given = bytes, .given_bytes = n_bytes, .lines_before = lines_before};
}

/* The buffer of a pipe doubles; realloc moves large blocks by remapping their pages, not by copying. */
unsigned char *input_read_all(input *in, size_t *bytes) {
    if (in->given) {
        unsigned char *given = in->given;
        *bytes = in->taken = in->given_bytes;
        memset(given + *bytes, 0, INPUT_TAIL_BYTES);
        in->given = NULL;
        return given;
    }
    report_phase before = report_enter(PHASE_READ);
    size_t capacity = next_capacity(in, 0), have = 0;
    unsigned char *data = must_alloc(capacity + INPUT_TAIL_BYTES, 1);
    for (;;) {
        have += read_and_count(in, data + have, capacity - have);
        if (in->extent.sized || have < capacity)
            break;
        if (in->decoder && have > in->max_bytes) {
            free(data);
            die(EXIT_IO, "%s: more than %zu bytes come out of it by %s, which is all the memory there is", in->name,
                in->max_bytes, decoder_name(in->decoder));
        }
        capacity = next_capacity(in, have);
        data = must_realloc(data, capacity + INPUT_TAIL_BYTES, 1);
    }
    memset(data + have, 0, INPUT_TAIL_BYTES);
    *bytes = have;
    report_enter(before);
    return data;
}

size_t input_mark_bytes(const input *in, const unsigned char *text, size_t bytes) {
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        die(EXIT_USAGE, "%s: line 1: this is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)", in->name);
    return bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static size_t skip_blanks(const unsigned char *text, size_t i, size_t bytes) {
    while (i < bytes && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    return i;
}

void input_refuse_json(const char *name, size_t line, const unsigned char *text, size_t bytes) {
    size_t i = skip_blanks(text, 0, bytes);
    if (i < bytes && text[i] == '[')
        i = skip_blanks(text, i + 1, bytes);
    if (i == bytes || text[i] != '{')
        return;
    i = skip_blanks(text, i + 1, bytes);
    if (i < bytes && text[i] == '"')
        die(EXIT_USAGE, "%s: line %zu: this is JSON: make a table of it (jq -r '[.a, .b] | @csv')", name, line);
}

void input_read_at(const input *in, void *to, size_t bytes, uint64_t offset) {
    report_phase before = report_enter(PHASE_READ);
    read_span(in, to, bytes, offset);
    report_bytes(bytes, 0);
    report_enter(before);
}

uint64_t input_pass(input *in, uint64_t offset) {
    enum { PIECE_BYTES = 256 << 10 };
    unsigned char *piece = must_alloc(PIECE_BYTES, 1);
    for (uint64_t left; (left = offset - in->taken) > 0;)
        if (input_read(in, piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES) == 0)
            break;
    free(piece);
    return in->taken;
}

void input_read_through(input *in, void *to, size_t bytes, uint64_t offset) {
    if (offset < in->taken)
        input_rewind(in);
    input_pass(in, offset);
    if (in->taken != offset || input_read(in, to, bytes) != bytes)
        die(EXIT_IO, "%s: ends after %llu bytes, and had more at first", in->name, (unsigned long long)in->taken);
}

void input_expect(const input *in, size_t bytes) {
    if (in->extent.sized)
        posix_fadvise(in->fd, (off_t)(in->extent.start + in->fetched), (off_t)bytes, POSIX_FADV_WILLNEED);
}

void input_close(input *in) {
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    if (in->decoder)
        decoder_close(in->decoder);
    spool_clear(&in->kept);
    free(in->peek);
    *in = (input){.fd = -1, .name = in->name};
}
