/* SPDX-License-Identifier: MIT
 *
 * What the unit tests share: cmocka, random numbers, arrays between guard pages, elements of any size, contexts.
 */
#ifndef TESTS_UNIT_SUPPORT_H
#define TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "scan/cpu/cpu.h"
#include "tests/random.h"

/* ThreadSanitizer looks at each word that memcpy() and its kin are given, which was half of some tests' time. Where it
 * does not watch a test's own loops (tests/CMakeLists.txt) it does not watch these either. */
#if defined(UNWATCHED) && defined(__x86_64__)
static inline void *unwatched_copy(void *to, const void *from, size_t bytes) {
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
    return to;
}
static inline void *unwatched_fill(void *to, int byte, size_t bytes) {
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(byte) : "memory");
    return to;
}
static inline int unwatched_compare(const void *a, const void *b, size_t bytes) {
    size_t i = 0;
    for (uint64_t x, y; i + 8 <= bytes; i += 8) {
        memcpy(&x, (const char *)a + i, 8);
        memcpy(&y, (const char *)b + i, 8);
        if (x != y)
            break;
    }
    return memcmp((const char *)a + i, (const char *)b + i, bytes - i < 8 ? bytes - i : 8);
}
#define memcpy(to, from, bytes)                                                                                        \
    (__builtin_constant_p(bytes) ? memcpy(to, from, bytes) : unwatched_copy(to, from, bytes))
#define memset(to, byte, bytes)                                                                                        \
    (__builtin_constant_p(bytes) ? memset(to, byte, bytes) : unwatched_fill(to, byte, bytes))
#define memcmp(a, b, bytes) (__builtin_constant_p(bytes) ? memcmp(a, b, bytes) : unwatched_compare(a, b, bytes))
#endif

#include "tests/same_bytes.h"

static inline bool type_is_float(scan_type type) { return scan_is_float(type); }
static inline bool type_is_signed(scan_type type) { return scan_is_signed(type); }

/* scan_type_size() for the loops of oracles. */
static inline size_t size_of_type(scan_type type) {
    switch (type) {
#define ROW(ENUM, name, ctype, ...)                                                                                    \
    case SCAN_##ENUM: return sizeof(ctype);
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}

/* Memory for `bytes` between two pages that fault when touched. An array at guarded_end(g, its bytes) faults at the
 * first byte past its end, one at g->memory at the first byte before its start. */
typedef struct guarded {
    char *memory;
    size_t bytes; /* what was asked for, rounded up to pages */
} guarded;

static inline guarded guarded_create(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    char *all = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != (char *)MAP_FAILED);
    assert_int_equal(mprotect(all + page, inner, PROT_READ | PROT_WRITE), 0);
    return (guarded){all + page, inner};
}

static inline void *guarded_end(guarded g, size_t bytes) {
    assert_true(bytes <= g.bytes);
    return g.memory + (g.bytes - bytes);
}

/* A place for n elements: at the end of the memory, at its start, or up to 63 elements after the start. */
static inline void *guarded_place(guarded g, size_t n, size_t size, uint64_t *random) {
    uint64_t r = random_u64(random);
    return r & 1 ? guarded_end(g, n * size) : g.memory + (r & 2 ? 0 : (r >> 2) % 64 * size);
}

static inline void guarded_destroy(guarded g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(g.memory - page, g.bytes + 2 * page);
}

/* Loads and stores element i of `size` bytes. Sizes and alignments are constants, because a sanitizer turns any other
 * memcpy into a call. */
static inline uint64_t load_element(const void *array, size_t i, size_t size) {
    const void *at = (const char *)array + i * size;
    uint64_t bits = 0; /* little endian */
    switch (size) {
    case 1: memcpy(&bits, at, 1); break;
    case 2: memcpy(&bits, __builtin_assume_aligned(at, 2), 2); break;
    case 4: memcpy(&bits, __builtin_assume_aligned(at, 4), 4); break;
    default: memcpy(&bits, __builtin_assume_aligned(at, 8), 8);
    }
    return bits;
}

static inline void store_element(void *array, size_t i, size_t size, uint64_t bits) {
    void *at = (char *)array + i * size;
    switch (size) {
    case 1: memcpy(at, &bits, 1); break;
    case 2: memcpy(__builtin_assume_aligned(at, 2), &bits, 2); break;
    case 4: memcpy(__builtin_assume_aligned(at, 4), &bits, 4); break;
    default: memcpy(__builtin_assume_aligned(at, 8), &bits, 8);
    }
}

/* A CPU context with `threads` threads; 0: one per processor. All take part in every call that can be shared, even
 * where they do not pay. */
static inline scan_ctx *context_with_threads(uint32_t threads) {
    scan_options options = {.struct_size = sizeof options, .threads = threads};
    scan_ctx *ctx;
    assert_int_equal(scan_ctx_create(&ctx, &options), SCAN_OK);
    scan_pool_choose_all(scan_cpu(ctx)->pool);
    return ctx;
}

/* ThreadSanitizer finds nothing in what one thread does, and is slow: its build leaves most of those cases to others.
 */
#if defined(__SANITIZE_THREAD__)
enum { ONLY_THREADS = 1 };
#else
enum { ONLY_THREADS = 0 };
#endif

/* Sanitizers are slow. Where other builds check results of all types in all orders their builds take one of each, which
 * still leaves sizes on both sides of every switch of the code. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { FEWER = 1 };
#else
enum { FEWER = 0 };
#endif

/* Contexts of 1, 2, 3 and 7 threads: one, as many as a small machine has, an odd number, more than it has. */
enum { CONTEXTS = 4 };

/* With sanitizers a level below the highest is there for its kernels: what threads share is halved, as it is the same.
 */
static inline bool is_lower_level(void) {
    const char *level = getenv("SCAN_SIMD");
    return FEWER && level && strcmp(level, "portable") == 0;
}

static inline void contexts_create(scan_ctx *ctx[CONTEXTS]) {
    static const uint32_t threads[CONTEXTS] = {1, 2, 3, 7};
    for (int i = 0; i < CONTEXTS; i++)
        ctx[i] = context_with_threads(threads[i]);
}

static inline void contexts_destroy(scan_ctx *ctx[CONTEXTS]) {
    for (int i = 0; i < CONTEXTS; i++)
        scan_ctx_destroy(ctx[i]);
}

#endif
