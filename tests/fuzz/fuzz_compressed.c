/* SPDX-License-Identifier: MIT
 *
 * Compressed inputs: no crash; damage is refused with one line, and what comes out is the same whether it is read as a
 * whole or in pieces, and if it is bounded never more than the bound.
 */
#include <stdlib.h>
#include <string.h>

#include "reading.h"

enum { BOUND = 1 << 16 };

/* Seeds with NUL bytes come from make_corpus.py. */
const char *const fuzz_seeds[] = {"\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "plain", NULL};

/* An error ends a program, which then frees nothing. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

typedef struct run {
    input in;
    unsigned char *data;
    size_t bytes, piece;
} run;

static void read_whole(void *arg) {
    run *r = arg;
    input_decompress(&r->in);
    r->in.max_bytes = BOUND;
    r->data = input_read_all(&r->in, &r->bytes);
}

static void read_pieces(void *arg) {
    run *r = arg;
    size_t got;
    input_decompress(&r->in);
    do {
        size_t want = r->piece < BOUND + 1 - r->bytes ? r->piece : BOUND + 1 - r->bytes;
        got = input_read(&r->in, r->data + r->bytes, want);
        r->bytes += got;
    } while (got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    run whole = {.in = reading_of(data, bytes)};
    fatal_error error, other;
    bool good = die_catch(&error, read_whole, &whole);
    for (size_t piece = 1; piece <= 4096; piece *= 64) {
        run pieces = {.in = reading_of(data, bytes), .data = malloc(BOUND + 1), .piece = piece};
        FUZZ_CHECK(pieces.data);
        bool too = die_catch(&other, read_pieces, &pieces);
        if (good) {
            FUZZ_CHECK(too && (!whole.in.decoder || whole.bytes <= BOUND));
            FUZZ_CHECK(pieces.bytes == whole.bytes && memcmp(pieces.data, whole.data, whole.bytes) == 0);
        } else if (error.code == EXIT_USAGE && !too) { /* both found it, here before the bound was passed */
            FUZZ_CHECK(other.code == EXIT_USAGE && strchr(other.line, '\n') == other.line + strlen(other.line) - 1);
        } else { /* libzstd compares the size that a frame names only where all of it has room */
            FUZZ_CHECK(error.code == EXIT_IO || pieces.bytes == BOUND + 1 || strstr(error.line, "the zstd data are"));
        }
        free(pieces.data);
        pieces.in.fd = -1;
        input_close(&pieces.in);
    }
    free(whole.data);
    whole.in.fd = -1;
    input_close(&whole.in);
    return 0;
}
