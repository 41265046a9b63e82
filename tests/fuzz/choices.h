/* SPDX-License-Identifier: MIT
 *
 * For fuzz_library.c: choices that are read from the fuzzer's bytes, and the arrays of a call.
 */
#ifndef TESTS_FUZZ_CHOICES_H
#define TESTS_FUZZ_CHOICES_H

#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "scan/scan.h"

/* ---- choices ----------------------------------------------------------------------------------------------------- */

static const uint8_t *rest;
static size_t rest_bytes;

static inline uint8_t take(void) {
    if (rest_bytes == 0)
        return 0;
    rest_bytes--;
    return *rest++;
}

static inline uint32_t take_32(void) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | take();
    return value;
}

static inline uint64_t take_64(void) { return (uint64_t)take_32() << 32 | take_32(); }

/* One of first ... last, or now and then anything. */
static inline uint32_t pick(uint32_t first, uint32_t last) {
    const uint8_t choice = take();
    return choice < 250 ? first + choice % (last - first + 1) : take_32();
}

static inline bool rarely(void) { return take() > 245; }

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { MAX_N = 600, GUARD = 64, MAX_ARRAYS = 64, UNTOUCHED = 0xa5 };

/* Memory of exactly these bytes between guards, so that builds without a sanitizer also see a write beside it; with a
 * copy of what it held at first. */
static struct array {
    uint8_t *memory, *data, *before;
    size_t bytes;
} arrays[MAX_ARRAYS];
static size_t array_count;

static inline void *new_array(size_t bytes, bool output) {
    FUZZ_CHECK(array_count < MAX_ARRAYS);
    struct array *a = &arrays[array_count++];
    *a = (struct array){.memory = malloc(bytes + 2 * GUARD), .before = malloc(bytes + 1), .bytes = bytes};
    FUZZ_CHECK(a->memory && a->before);
    memset(a->memory, UNTOUCHED, bytes + 2 * GUARD);
    a->data = a->memory + GUARD;
    if (!output) { /* the next bytes of the fuzzer, in the end the same one */
        const size_t given = rest_bytes < bytes ? rest_bytes : bytes;
        memset(a->data, take(), bytes);
        if (given > 1)
            memcpy(a->data, rest, given - 1);
        rest += given ? given - 1 : 0;
        rest_bytes -= given ? given - 1 : 0;
    }
    return a->data;
}

/* To be called when all arrays are filled. */
static inline void remember_arrays(void) {
    for (size_t i = 0; i < array_count; i++)
        memcpy(arrays[i].before, arrays[i].data, arrays[i].bytes);
}

static inline bool is_guard(const uint8_t *data) {
    uint8_t guard[GUARD];
    memset(guard, UNTOUCHED, GUARD);
    return memcmp(data, guard, GUARD) == 0;
}

/* Checks that nothing was written beside the arrays or, by a refused call, into them. */
static inline void check_arrays(bool refused) {
    for (size_t i = 0; i < array_count; i++) {
        const struct array *a = &arrays[i];
        FUZZ_CHECK(is_guard(a->memory) && is_guard(a->data + a->bytes));
        FUZZ_CHECK(!refused || memcmp(a->data, a->before, a->bytes) == 0);
    }
}

/* Gives the arrays what they held at first, and keeps what they hold now. */
static inline void restore_arrays(void) {
    for (size_t i = 0; i < array_count; i++)
        for (size_t at = 0, n; at < arrays[i].bytes; at += n) {
            uint8_t piece[1024];
            n = arrays[i].bytes - at < sizeof piece ? arrays[i].bytes - at : sizeof piece;
            memcpy(piece, arrays[i].data + at, n);
            memcpy(arrays[i].data + at, arrays[i].before + at, n);
            memcpy(arrays[i].before + at, piece, n);
        }
}

static inline void free_arrays(void) {
    while (array_count) {
        free(arrays[--array_count].memory);
        free(arrays[array_count].before);
    }
}

static inline size_t bytes_of(size_t n, uint32_t type) {
    size_t size = scan_type_size((scan_type)type);
    return n * (size ? size : 8);
}

/* An input; an output, which may be absent, be the input, overlap it or be misaligned. */
static inline void *input_of(size_t bytes) { return rarely() ? NULL : new_array(bytes, false); }

static inline void *output_of(size_t bytes, void *in, size_t in_bytes) {
    const uint8_t choice = take();
    if (choice > 250)
        return NULL;
    if (choice > 240 && in && in_bytes >= bytes)
        return in;
    if (choice > 238 && in && in_bytes >= bytes + 8)
        return (uint8_t *)in + 8;
    if (choice > 236)
        return (uint8_t *)new_array(bytes + 1, true) + 1;
    return new_array(bytes, true);
}

static inline const uint64_t *count_of(void) {
    if (take() < 200)
        return NULL;
    uint64_t *count = new_array(sizeof *count, false);
    if (take() < 128)
        *count %= MAX_N;
    return count;
}

#endif
