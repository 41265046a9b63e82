/* SPDX-License-Identifier: MIT
 *
 * What the tests of libscan_dist share. Every rank runs the same tests on the same random numbers: it makes the whole
 * array and what one context gives for it, hands its share to the library, and compares its share of the result.
 */
#ifndef TESTS_DIST_DIST_TEST_H
#define TESTS_DIST_DIST_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <scan/scan_dist.h>

#include "scan/lists.h"
#include "tests/random.h"

typedef struct dist_test {
    scan_dist_comm *comm;
    scan_ctx *ctx;   /* that the communicator uses */
    scan_ctx *whole; /* for what one context gives */
    uint32_t rank, size;
    bool on_device; /* tests of what is no array of make_bytes are left out */
} dist_test;

/* Ends the whole job with a line. */
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: rank %u of %u: %s: ", __FILE__, __LINE__, t->rank, t->size, #condition);           \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#define CHECK_STATUS(expression, expected)                                                                             \
    do {                                                                                                               \
        const scan_status check_status = (expression);                                                                 \
        CHECK(check_status == (expected), "%d, not %d: %s", (int)check_status, (int)(expected),                        \
              scan_dist_detail(t->comm));                                                                              \
    } while (0)

/* How an array of n elements is split: rank r has those from at[r] to at[r + 1]. */
enum { MAX_RANKS = 16, SPLITS = 6 };

typedef struct split {
    size_t at[MAX_RANKS + 1];
} split;

static inline split make_split(const dist_test *t, unsigned way, size_t n, uint64_t *rng) {
    split s = {{0}};
    for (uint32_t r = 1; r < t->size; r++)
        switch (way % SPLITS) {
        case 0: s.at[r] = n * r / t->size; break;         /* even */
        case 1: s.at[r] = n - n / (1u << (r + 1)); break; /* each half as much as the one before */
        case 2: s.at[r] = r > t->size / 2 ? n : 0; break; /* all on one rank */
        case 3: s.at[r] = n * (r / 2) / t->size; break;   /* every second one empty */
        case 4:
            s.at[r] = n < 100 * r ? n : n - 100 * (t->size - r); /* a few elements on all but the first */
            if (s.at[r] > n)
                s.at[r] = n;
            break;
        default: s.at[r] = s.at[r - 1] + random_below(rng, n - s.at[r - 1] + 1); break;
        }
    for (uint32_t r = 1; r < t->size; r++)
        if (s.at[r] < s.at[r - 1])
            s.at[r] = s.at[r - 1];
    s.at[t->size] = n;
    return s;
}

static inline size_t share_of(const dist_test *t, const split *s) { return s->at[t->rank + 1] - s->at[t->rank]; }

/* Memory for arrays of the context that the communicator uses, of exactly that many bytes, so that a checker of memory
 * sees what goes past the end. */
void *make_bytes(size_t bytes);
void free_bytes(void *memory);

static inline void *copy_bytes(const void *from, size_t bytes) {
    void *memory = make_bytes(bytes);
    memcpy(memory, from, bytes);
    return memory;
}

void test_comm(const dist_test *t);
void test_prefix(const dist_test *t);
void test_histogram(const dist_test *t);
void test_compact(const dist_test *t);
void test_redistribute(const dist_test *t);
void test_unique(const dist_test *t);
void test_equalize(const dist_test *t);
void test_sort(const dist_test *t);
void test_workspace(const dist_test *t);

#endif
