/* SPDX-License-Identifier: MIT
 *
 * gzip (RFC 1952), checksums included: libisal where it was found, which is some three times as fast, else zlib.
 */
#include <stdint.h>
#include <stdlib.h>

#include "codec.h"

#define MAGIC .magic_bytes = 3, .magic = "\x1f\x8b\x08"
enum { STEP_BYTES = 1 << 30 }; /* of input and of room in a step: both libraries count in 32 bits */

#if defined(SCAN_HAS_ISAL) || defined(SCAN_HAS_Z)
static unsigned at_most_a_step(size_t bytes) { return bytes < STEP_BYTES ? (unsigned)bytes : STEP_BYTES; }
#endif

#if defined(SCAN_HAS_ISAL)

#include <isa-l/igzip_lib.h>

static bool gzip_next(void *state) {
    struct inflate_state *s = state;
    isal_inflate_reset(s);
    s->crc_flag = ISAL_GZIP;
    return true;
}

static void *gzip_open(void) {
    struct inflate_state *s = malloc(sizeof *s);
    if (s) {
        isal_inflate_init(s);
        gzip_next(s);
    }
    return s;
}

static const char *reason_of(int result) {
    switch (result) {
    case ISAL_INVALID_BLOCK: return "a block of an unknown kind or a wrong table of codes";
    case ISAL_INVALID_SYMBOL: return "a code that is none";
    case ISAL_INVALID_LOOKBACK: return "a distance before the beginning";
    case ISAL_INVALID_WRAPPER: return "its header is none";
    case ISAL_UNSUPPORTED_METHOD: return "a method that is not deflate";
    case ISAL_INCORRECT_CHECKSUM: return "its checksum or length is wrong";
    }
    return "it cannot be decompressed";
}

static codec_status gzip_step(void *state, codec_window *w) {
    struct inflate_state *s = state;
    s->next_in = (uint8_t *)(uintptr_t)w->in;
    s->avail_in = at_most_a_step((size_t)(w->in_end - w->in));
    s->next_out = w->out;
    s->avail_out = at_most_a_step((size_t)(w->out_end - w->out));
    int result = isal_inflate(s);
    w->in = s->next_in;
    w->out = s->next_out;
    if (result < 0) {
        w->reason = reason_of(result);
        return CODEC_BAD;
    }
    return s->block_state == ISAL_BLOCK_FINISH ? CODEC_END : CODEC_MORE;
}

static void gzip_close(void *state) { free(state); }

#elif defined(SCAN_HAS_Z)

#include <zlib.h>

enum { GZIP_ONLY = 16 }; /* added to the bits of the window */

static void *gzip_open(void) {
    z_stream *z = calloc(1, sizeof *z);
    if (z && inflateInit2(z, MAX_WBITS + GZIP_ONLY) != Z_OK) {
        free(z);
        z = NULL;
    }
    return z;
}

static bool gzip_next(void *state) { return inflateReset(state) == Z_OK; }

static codec_status gzip_step(void *state, codec_window *w) {
    z_stream *z = state;
    z->next_in = (unsigned char *)(uintptr_t)w->in;
    z->avail_in = at_most_a_step((size_t)(w->in_end - w->in));
    z->next_out = w->out;
    z->avail_out = at_most_a_step((size_t)(w->out_end - w->out));
    int result = inflate(z, Z_NO_FLUSH);
    w->in = z->next_in;
    w->out = z->next_out;
    if (result == Z_STREAM_END)
        return CODEC_END;
    if (result == Z_MEM_ERROR)
        return CODEC_NO_MEMORY;
    w->reason = z->msg ? z->msg : "it cannot be decompressed";
    return result == Z_OK || result == Z_BUF_ERROR ? CODEC_MORE : CODEC_BAD;
}

static void gzip_close(void *state) {
    inflateEnd(state);
    free(state);
}

#endif

#if defined(SCAN_HAS_ISAL) || defined(SCAN_HAS_Z)
const codec codec_gzip = {.name = "gzip",
                          .command = "gzip -dc",
                          MAGIC,
                          .open = gzip_open,
                          .step = gzip_step,
                          .next = gzip_next,
                          .close = gzip_close};
#else
const codec codec_gzip = {.name = "gzip", .missing = "zlib1g-dev or libisal-dev", .command = "gzip -dc", MAGIC};
#endif
