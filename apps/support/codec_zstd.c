/* SPDX-License-Identifier: MIT
 *
 * zstd (RFC 8878), by libzstd. Its frames are the members; one that needs a window of more than 128 MB is refused, as
 * zstd(1) does by itself.
 */
#include "codec.h"

/* A frame to skip, of which there are sixteen kinds: pzstd and others put notes into them. */
static bool is_skippable(const unsigned char *data, size_t bytes) {
    return bytes >= 4 && (data[0] & 0xf0) == 0x50 && data[1] == 0x2a && data[2] == 0x4d && data[3] == 0x18;
}

#define MAGIC .magic_bytes = 4, .magic = "\x28\xb5\x2f\xfd", .begins = is_skippable

#ifdef SCAN_HAS_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

static void *zstd_open(void) { return ZSTD_createDStream(); }

static bool zstd_next(void *state) { return !ZSTD_isError(ZSTD_initDStream(state)); }

static codec_status zstd_step(void *state, codec_window *w) {
    ZSTD_inBuffer in = {w->in, (size_t)(w->in_end - w->in), 0};
    ZSTD_outBuffer out = {w->out, (size_t)(w->out_end - w->out), 0};
    size_t result = ZSTD_decompressStream(state, &out, &in);
    w->in += in.pos;
    w->out += out.pos;
    if (ZSTD_isError(result)) {
        ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
        w->reason = ZSTD_getErrorString(code);
        if (code == ZSTD_error_dictionary_wrong)
            return CODEC_DICTIONARY;
        return code == ZSTD_error_memory_allocation ? CODEC_NO_MEMORY : CODEC_BAD;
    }
    return result == 0 ? CODEC_END : CODEC_MORE;
}

static void zstd_close(void *state) { ZSTD_freeDStream(state); }

const codec codec_zstd = {.name = "zstd",
                          .command = "zstd -dc",
                          MAGIC,
                          .open = zstd_open,
                          .step = zstd_step,
                          .next = zstd_next,
                          .close = zstd_close};

#else

const codec codec_zstd = {.name = "zstd", .missing = "libzstd-dev", .command = "zstd -dc", MAGIC};

#endif
