/* SPDX-License-Identifier: MIT
 *
 * Checks of the verbs that keep elements, cut into one part a thread: what is kept must be what a loop keeps.
 */
#include <string.h>

#include "bench.h"

#define IS_NAN(x) ((x) != (x))

enum { MAX_PARTS = 64 };

/* Is element i, kept as number `at`, where it belongs? */
static bool kept_right(const job *j, uint64_t at, uint64_t i) {
    size_t bytes = type_bytes(j->type);
    if (j->verb == BENCH_INDICES)
        return ((const uint32_t *)j->out)[at] == i;
    return memcmp((const char *)j->out + at * bytes, (const char *)j->in + i * bytes, bytes) == 0;
}

/* Is element i, rejected as number `at`, where it belongs? */
static bool rejected_right(const job *j, uint64_t at, uint64_t i) {
    size_t bytes = type_bytes(j->type);
    return j->verb != BENCH_PARTITION ||
           memcmp((const char *)j->values_out + at * bytes, (const char *)j->in + i * bytes, bytes) == 0;
}

/* keeps_T: is element i kept?  count_T: how many of a part are kept.  kept_T: are those of a part right, where `at`
 * were kept before it? */
#define CHECK_TYPE(ENUM, name, ctype, CLASS)                                                                           \
    static bool keeps_##name(const job *j, uint64_t i) {                                                               \
        const ctype *in = j->in;                                                                                       \
        if (j->verb == BENCH_UNIQUE || j->verb == BENCH_LENGTHS)                                                       \
            return i == 0 || !(in[i] == in[i - 1] || (IS_NAN(in[i]) && IS_NAN(in[i - 1])));                            \
        return SCAN_##CLASS == SCAN_UNSIGNED ? (uint64_t)in[i] < j->threshold.u                                        \
               : SCAN_##CLASS == SCAN_SIGNED ? (int64_t)in[i] < j->threshold.i                                         \
                                             : (double)in[i] < j->threshold.f;                                         \
    }                                                                                                                  \
    static uint64_t count_##name(const job *j, uint64_t begin, uint64_t end) {                                         \
        uint64_t kept = 0;                                                                                             \
        for (uint64_t i = begin; i < end; i++)                                                                         \
            kept += keeps_##name(j, i);                                                                                \
        return kept;                                                                                                   \
    }                                                                                                                  \
    static bool kept_##name(const job *j, uint64_t begin, uint64_t end, uint64_t at) {                                 \
        for (uint64_t i = begin; i < end; i++) {                                                                       \
            if (!keeps_##name(j, i)) {                                                                                 \
                if (!rejected_right(j, i - at, i))                                                                     \
                    return false;                                                                                      \
                continue;                                                                                              \
            }                                                                                                          \
            if (!kept_right(j, at, i))                                                                                 \
                return false;                                                                                          \
            uint64_t next = i + 1;                                                                                     \
            while (j->verb == BENCH_LENGTHS && next < j->n && !keeps_##name(j, next))                                  \
                next++;                                                                                                \
            if (j->verb == BENCH_LENGTHS && ((const uint32_t *)j->values_out)[at] != next - i)                         \
                return false;                                                                                          \
            at++;                                                                                                      \
        }                                                                                                              \
        return true;                                                                                                   \
    }
SCAN_TYPES(CHECK_TYPE)

typedef struct checks {
    bool (*keeps)(const job *j, uint64_t i);
    uint64_t (*count)(const job *j, uint64_t begin, uint64_t end);
    bool (*kept)(const job *j, uint64_t begin, uint64_t end, uint64_t at);
} checks;

static const checks table[SCAN_TYPE_COUNT + 1] = {
#define TYPE_ROW(ENUM, name, ctype, CLASS) [SCAN_##ENUM] = {keeps_##name, count_##name, kept_##name},
    SCAN_TYPES(TYPE_ROW)
#undef TYPE_ROW
};

/* ---- the parts --------------------------------------------------------------------------------------------------- */

typedef struct checking {
    const job *j;
    uint64_t number[MAX_PARTS]; /* kept in the part, then before it */
    bool right[MAX_PARTS];
} checking;

static void count_part(void *argument, unsigned index, unsigned count) {
    checking *c = argument;
    const job *j = c->j;
    c->number[index] = table[j->type].count(j, part_begin(j->n, index, count), part_begin(j->n, index + 1, count));
}

static void kept_part(void *argument, unsigned index, unsigned count) {
    checking *c = argument;
    const job *j = c->j;
    c->right[index] =
        table[j->type].kept(j, part_begin(j->n, index, count), part_begin(j->n, index + 1, count), c->number[index]);
}

static bool all_right(const checking *c, unsigned parts) {
    bool right = true;
    for (unsigned p = 0; p < parts; p++)
        right &= c->right[p];
    return right;
}

bool check_kept(job *j) {
    checking c = {.j = j};
    unsigned parts = in_parallel(j->threads < MAX_PARTS ? j->threads : MAX_PARTS, count_part, &c);
    uint64_t kept = 0;
    for (unsigned p = 0; p < parts; p++) {
        uint64_t own = c.number[p];
        c.number[p] = kept;
        kept += own;
    }
    j->kept = kept;
    in_parallel(parts, kept_part, &c);
    return j->count == kept && all_right(&c, parts);
}

void mark_below(const job *j, uint8_t *flags) {
    for (uint64_t i = 0; i < j->n; i++)
        flags[i] = table[j->type].keeps(j, i);
}
