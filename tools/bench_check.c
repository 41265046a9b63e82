/* SPDX-License-Identifier: MIT
 *
 * No rate without a right result: each verb again, as plainly as it can be written, compared with what a contender left
 * in the outputs. Sorts are checked by order, by a hash of the multiset, and, where positions travel along, by
 * stability.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define IS_NAN(x) ((x) != (x))

/* ---- prefix ------------------------------------------------------------------------------------------------------ */

/* Integers wrap, so unsigned arithmetic in the accumulator's width is the truth. */
#define CHECK_INTEGER(in_name, in_type, out_name, out_type)                                                            \
    static bool prefix_##in_name##_##out_name(const job *j) {                                                          \
        const in_type *in = j->in;                                                                                     \
        const out_type *out = j->out;                                                                                  \
        bool any = j->op == SCAN_ADD || j->op == SCAN_MUL;                                                             \
        out_type fold = j->op == SCAN_MUL ? 1 : 0;                                                                     \
        for (uint64_t i = 0; i < j->n; i++) {                                                                          \
            out_type x = (out_type)in[i];                                                                              \
            if (j->kind == SCAN_EXCLUSIVE && any && out[i] != fold)                                                    \
                return false;                                                                                          \
            if (j->op == SCAN_ADD)                                                                                     \
                fold = (out_type)((uint64_t)fold + (uint64_t)x);                                                       \
            else if (j->op == SCAN_MUL)                                                                                \
                fold = (out_type)((uint64_t)fold * (uint64_t)x);                                                       \
            else                                                                                                       \
                fold = !any || (j->op == SCAN_MIN ? x < fold : x > fold) ? x : fold;                                   \
            any = true;                                                                                                \
            if (j->kind == SCAN_INCLUSIVE && out[i] != fold)                                                           \
                return false;                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }

/* Floats: any order of operations is accepted here, within the error that a tree of any shape over a running sum can
 * have. The sum is kept in long double; `size` is the running sum of magnitudes that the error is measured by. */
#define CHECK_FLOAT(in_name, in_type, out_name, out_type, epsilon)                                                     \
    static bool prefix_##in_name##_##out_name(const job *j) {                                                          \
        const in_type *in = j->in;                                                                                     \
        const out_type *out = j->out;                                                                                  \
        long double fold = j->op == SCAN_MUL ? 1 : 0, size = 0;                                                        \
        for (uint64_t i = 0; i < j->n; i++) {                                                                          \
            long double x = (long double)in[i], before = fold;                                                         \
            if (j->op == SCAN_ADD)                                                                                     \
                fold += x;                                                                                             \
            else if (j->op == SCAN_MUL)                                                                                \
                fold *= x;                                                                                             \
            else                                                                                                       \
                fold = i == 0 || IS_NAN(x) || (j->op == SCAN_MIN ? x < fold : x > fold) ? x : fold;                    \
            size += j->op == SCAN_MUL ? 1 : fabsl(x);                                                                  \
            long double slack = j->op == SCAN_ADD ? size : j->op == SCAN_MUL ? size * fabsl(fold) : 0;                 \
            long double shown = j->kind == SCAN_INCLUSIVE ? fold : before;                                             \
            if (j->kind == SCAN_EXCLUSIVE && i == 0)                                                                   \
                continue;                                                                                              \
            if (!IS_NAN(shown) && !(fabsl((long double)out[i] - shown) <= slack * epsilon))                            \
                return false;                                                                                          \
            if (IS_NAN(shown) != IS_NAN(out[i]))                                                                       \
                return false;                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }

#define SAME_INTEGER(name, ctype) CHECK_INTEGER(name, ctype, name, ctype)
SAME_INTEGER(u8, uint8_t)
SAME_INTEGER(i8, int8_t)
SAME_INTEGER(u16, uint16_t)
SAME_INTEGER(i16, int16_t)
SAME_INTEGER(u32, uint32_t)
SAME_INTEGER(i32, int32_t)
SAME_INTEGER(u64, uint64_t)
SAME_INTEGER(i64, int64_t)
CHECK_INTEGER(u8, uint8_t, u32, uint32_t)
CHECK_INTEGER(u8, uint8_t, u64, uint64_t)
CHECK_INTEGER(i8, int8_t, i64, int64_t)
CHECK_INTEGER(u16, uint16_t, u64, uint64_t)
CHECK_INTEGER(i16, int16_t, i64, int64_t)
CHECK_INTEGER(u32, uint32_t, u64, uint64_t)
CHECK_INTEGER(i32, int32_t, i64, int64_t)
CHECK_FLOAT(f32, float, f32, float, 0x1p-20L)
CHECK_FLOAT(f64, double, f64, double, 0x1p-48L)
CHECK_FLOAT(f32, float, f64, double, 0x1p-48L)

static bool check_prefix(const job *j) {
    static bool (*const checks[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1])(const job *) = {
#define SAME_ROW(ENUM, name, ctype) [SCAN_##ENUM][SCAN_##ENUM] = prefix_##name##_##name,
        SCAN_TYPES(SAME_ROW)
#undef SAME_ROW
#define WIDER_ROW(ENUM, name, ctype, WIDE, wide, wtype) [SCAN_##ENUM][SCAN_##WIDE] = prefix_##name##_##wide,
            SCAN_WIDENINGS(WIDER_ROW)
#undef WIDER_ROW
    };
    return checks[j->type][j->out_type](j);
}

/* ---- the verbs that keep or order elements: once a type ---------------------------------------------------------- */

static uint64_t mix(uint64_t z) { return splitmix64(&z); }

/* What the comparison of the library's contract says: NaN last. */
#define FOLLOWS(a, b) (!((b) < (a)) && (!IS_NAN(a) || IS_NAN(b)))

#define CHECK_TYPE(ENUM, name, ctype)                                                                                  \
    static bool compact_##name(const job *j) {                                                                         \
        const ctype *in = j->in, *out = j->out;                                                                        \
        uint64_t kept = 0;                                                                                             \
        for (uint64_t i = 0; i < j->n; i++) {                                                                          \
            bool below = SCAN_##ENUM == SCAN_U64                              ? (uint64_t)in[i] < j->threshold.u       \
                         : SCAN_##ENUM == SCAN_F32 || SCAN_##ENUM == SCAN_F64 ? (double)in[i] < j->threshold.f         \
                                                                              : (int64_t)in[i] < j->threshold.i;       \
            if (below && memcmp(&out[kept++], &in[i], sizeof in[i]) != 0)                                              \
                return false;                                                                                          \
        }                                                                                                              \
        return kept == j->count;                                                                                       \
    }                                                                                                                  \
    static bool unique_##name(const job *j) {                                                                          \
        const ctype *in = j->in, *out = j->out;                                                                        \
        uint64_t kept = 0;                                                                                             \
        for (uint64_t i = 0; i < j->n; i++)                                                                            \
            if (i == 0 || !(in[i] == in[i - 1] || (IS_NAN(in[i]) && IS_NAN(in[i - 1]))))                               \
                if (memcmp(&out[kept++], &in[i], sizeof in[i]) != 0)                                                   \
                    return false;                                                                                      \
        return kept == j->count;                                                                                       \
    }                                                                                                                  \
    static bool sorted_##name(const job *j) {                                                                          \
        const ctype *in = j->in, *out = j->out;                                                                        \
        const uint32_t *order = j->verb == BENCH_ARGSORT ? j->out : j->values_out;                                     \
        const uint64_t *wide = j->verb == BENCH_ARGSORT && j->out_bytes == j->n * 8 ? j->out : NULL;                   \
        bool positions = j->verb != BENCH_SORT;                                                                        \
        uint64_t sum = 0, key = 0;                                                                                     \
        for (uint64_t i = 0, last = 0; i < j->n; i++) {                                                                \
            uint64_t at = !positions ? i : wide != NULL ? wide[i] : order[i];                                          \
            if (at >= j->n)                                                                                            \
                return false;                                                                                          \
            if (j->verb == BENCH_PAIRS && memcmp(&out[i], &in[at], sizeof in[at]) != 0)                                \
                return false;                                                                                          \
            ctype value = positions ? in[at] : out[i], before = positions ? in[last] : out[last];                      \
            if (i > 0 && !FOLLOWS(before, value))                                                                      \
                return false;                                                                                          \
            if (i > 0 && positions && FOLLOWS(value, before) && at <= last)                                            \
                return false;                                                                                          \
            last = at;                                                                                                 \
            memcpy(&key, positions ? (const void *)&at : (const void *)&out[i], positions ? 8 : sizeof out[i]);        \
            sum += mix(key);                                                                                           \
            key = i;                                                                                                   \
            if (!positions) {                                                                                          \
                key = 0;                                                                                               \
                memcpy(&key, &in[i], sizeof in[i]);                                                                    \
            }                                                                                                          \
            sum -= mix(key);                                                                                           \
            key = 0;                                                                                                   \
        }                                                                                                              \
        return sum == 0;                                                                                               \
    }
SCAN_TYPES(CHECK_TYPE)

/* ---- images ------------------------------------------------------------------------------------------------------ */

static uint64_t sample(const job *j, const void *at, uint64_t i) {
    return j->type == SCAN_U8 ? ((const uint8_t *)at)[i] : ((const uint16_t *)at)[i];
}

static uint64_t *count_bins(const job *j, size_t bins) {
    uint64_t *h = calloc(bins, sizeof *h);
    for (uint64_t i = 0; h != NULL && i < j->n; i++)
        h[sample(j, j->in, i)]++;
    return h;
}

static bool check_histogram(const job *j) {
    size_t bins = j->out_bytes / sizeof(uint64_t);
    uint64_t *h = count_bins(j, bins);
    bool right = h != NULL && memcmp(h, j->out, j->out_bytes) == 0;
    free(h);
    return right;
}

static bool check_equalize(const job *j) {
    size_t bins = (size_t)1 << (8 * type_bytes(j->type)), first = 0;
    uint64_t *h = count_bins(j, bins), sum = 0;
    bool right = h != NULL;
    while (right && first + 1 < bins && h[first] == 0)
        first++;
    if (right && h[first] < j->n) {
        float scale = (float)(bins - 1) / (float)(j->n - h[first]);
        for (size_t b = first + 1; b < bins; b++) {
            sum += h[b];
            float level = rintf((float)sum * scale);
            h[b] = level > (float)(bins - 1) ? bins - 1 : (uint64_t)level;
        }
        h[first] = 0;
    } else
        for (size_t b = 0; right && b < bins; b++)
            h[b] = b;
    for (uint64_t i = 0; right && i < j->n; i++)
        right = sample(j, j->out, i) == h[sample(j, j->in, i)];
    free(h);
    return right;
}

uint64_t fnv1a(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *byte = data;
    for (size_t b = 0; b < bytes; b++)
        hash = (hash ^ byte[b]) * 0x100000001b3u;
    return hash;
}

bool hash_agrees(job *j, uint64_t hash) {
    if (j->agreed_hash == 0)
        j->agreed_hash = hash;
    return hash == j->agreed_hash;
}

const char *job_check(job *j) {
    static bool (*const compact[SCAN_TYPE_COUNT + 1])(const job *) = {
#define COMPACT_ROW(ENUM, name, ctype) [SCAN_##ENUM] = compact_##name,
        SCAN_TYPES(COMPACT_ROW)
#undef COMPACT_ROW
    };
    static bool (*const unique[SCAN_TYPE_COUNT + 1])(const job *) = {
#define UNIQUE_ROW(ENUM, name, ctype) [SCAN_##ENUM] = unique_##name,
        SCAN_TYPES(UNIQUE_ROW)
#undef UNIQUE_ROW
    };
    static bool (*const sorted[SCAN_TYPE_COUNT + 1])(const job *) = {
#define SORTED_ROW(ENUM, name, ctype) [SCAN_##ENUM] = sorted_##name,
        SCAN_TYPES(SORTED_ROW)
#undef SORTED_ROW
    };
    switch (j->verb) {
    case BENCH_PREFIX: return check_prefix(j) ? NULL : "the prefixes are not those of a serial loop";
    case BENCH_COMPACT: return compact[j->type](j) ? NULL : "what is kept is not what a loop keeps";
    case BENCH_UNIQUE: return unique[j->type](j) ? NULL : "what is kept is not what a loop keeps";
    case BENCH_SORT:
    case BENCH_PAIRS:
    case BENCH_ARGSORT: return sorted[j->type](j) ? NULL : "not sorted, not stable, or not the same elements";
    case BENCH_HISTOGRAM: return check_histogram(j) ? NULL : "the counts are not those of a loop";
    case BENCH_EQUALIZE: return check_equalize(j) ? NULL : "the pixels are not those of the formula";
    case BENCH_TEXT:
    case BENCH_FILE: return files_agree(j) ? NULL : "the sorted files differ";
    case BENCH_CLAHE: return hash_agrees(j, fnv1a(1, j->out, j->out_bytes)) ? NULL : "the contenders' pixels differ";
    case BENCH_COPY:
    case BENCH_VERB_COUNT: break;
    }
    return NULL;
}
