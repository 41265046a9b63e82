/* SPDX-License-Identifier: MIT
 *
 * Checks of sorts and merges against scan.h's definition of their order, cut into one part a thread. Where positions
 * travel along (pairs, argsort) there is one right result, and it is the one in which every element comes before the
 * next: by its key, or at an equal key by its position. Keys alone are checked by order and by a hash of the multiset,
 * and where equal keys can be told apart (NaN, zeros of both signs, ranges of bits) against a stable sort written here.
 */
#include <stdlib.h>
#include <string.h>

#define ORDER_FUNCTION static inline
#include "bench_sort_order.h"

#define IS_NAN(x) ((x) != (x))

enum { MAX_PARTS = 64 };

static uint64_t mix(uint64_t z) { return splitmix64(&z); }

static uint64_t position(const void *array, unsigned bytes, uint64_t i) {
    return bytes == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

/* ---- the order of two keys --------------------------------------------------------------------------------------- */

static inline int compare_windows(const job *j, uint64_t a, uint64_t b) {
    int order = (a > b) - (a < b);
    return j->descending ? -order : order;
}

static inline int compare_floats(const job *j, double a, double b) {
    int order = IS_NAN(a) - IS_NAN(b);
    if (IS_NAN(a) || IS_NAN(b))
        return j->nan_first ? -order : order;
    order = (a > b) - (a < b);
    return j->descending ? -order : order;
}

#define COMPARE_INTEGER(name, ctype, is_signed)                                                                        \
    static inline int compare_##name(const job *j, ctype a, ctype b) {                                                 \
        const unsigned width = 8 * sizeof a;                                                                           \
        const sort_order o = {.width = width,                                                                          \
                              .begin_bit = j->begin_bit,                                                               \
                              .end_bit = j->end_bit != 0 ? j->end_bit : width,                                         \
                              .signed_keys = is_signed};                                                               \
        return compare_windows(j, window_of(&o, (uint64_t)a), window_of(&o, (uint64_t)b));                             \
    }
#define COMPARE_UNSIGNED(name, ctype) COMPARE_INTEGER(name, ctype, false)
#define COMPARE_SIGNED(name, ctype) COMPARE_INTEGER(name, ctype, true)
#define COMPARE_FLOAT(name, ctype)                                                                                     \
    static inline int compare_##name(const job *j, ctype a, ctype b) { return compare_floats(j, (double)a, (double)b); }

/* sorted_T: is a part in order? `sum` grows by the hashes of what came out, less those of what went in. */
#define CHECK_TYPE(ENUM, name, ctype, CLASS)                                                                           \
    COMPARE_##CLASS(name, ctype) static bool sorted_##name(const job *j, uint64_t begin, uint64_t end,                 \
                                                           uint64_t *sum) {                                            \
        const ctype *in = j->in, *out = j->out;                                                                        \
        const bool pairs = j->verb == BENCH_PAIRS, positions = pairs || j->verb == BENCH_ARGSORT;                      \
        const void *order = pairs ? j->values_out : j->out;                                                            \
        const unsigned bytes = pairs ? j->value_bytes : j->n < UINT64_C(1) << 32 ? 4 : 8;                              \
        uint64_t last = 0;                                                                                             \
        if (begin > 0)                                                                                                 \
            last = positions ? position(order, bytes, begin - 1) : begin - 1;                                          \
        for (uint64_t i = begin; i < end; i++) {                                                                       \
            uint64_t at = positions ? position(order, bytes, i) : i, went_in = i, came_out = at;                       \
            if (at >= j->n || last >= j->n)                                                                            \
                return false;                                                                                          \
            if (pairs && memcmp(&out[i], &in[at], sizeof in[at]) != 0)                                                 \
                return false;                                                                                          \
            const ctype *from = positions ? in : out;                                                                  \
            int before = i > 0 ? compare_##name(j, from[last], from[at]) : -1;                                         \
            if (before > 0 || (before == 0 && positions && !j->unstable && last >= at))                                \
                return false;                                                                                          \
            if (!positions) {                                                                                          \
                came_out = went_in = 0;                                                                                \
                memcpy(&came_out, &out[i], sizeof out[i]);                                                             \
                memcpy(&went_in, &in[i], sizeof in[i]);                                                                \
            }                                                                                                          \
            *sum += mix(came_out) - mix(went_in);                                                                      \
            last = at;                                                                                                 \
        }                                                                                                              \
        return true;                                                                                                   \
    }
SCAN_TYPES(CHECK_TYPE)

static bool (*const sorted[SCAN_TYPE_COUNT + 1])(const job *, uint64_t, uint64_t, uint64_t *) = {
#define TYPE_ROW(ENUM, name, ctype, CLASS) [SCAN_##ENUM] = sorted_##name,
    SCAN_TYPES(TYPE_ROW)
#undef TYPE_ROW
};

/* ---- equal keys that can be told apart --------------------------------------------------------------------------- */

static inline uint64_t load(const void *keys, size_t bytes, uint64_t i) {
    uint64_t key = 0; /* little endian */
    memcpy(&key, (const char *)keys + i * bytes, bytes);
    return key;
}

static bool can_tell_apart(const job *j, const sort_order *o) {
    for (uint64_t i = 0; i < j->n; i++)
        if (has_equals(o, load(j->in, o->width / 8, i)))
            return true;
    return false;
}

/* Moves the keys from `from` to `to`, sorted by 8 bits of their order from bit `shift` on. False, with nothing done, if
 * all keys have the same bits there. */
static bool sort_by_digit(const job *j, const sort_order *o, const char *from, char *to, unsigned shift) {
    const size_t bytes = type_bytes(j->type);
    uint64_t begins[257] = {0};
    for (uint64_t i = 0; i < j->n; i++)
        begins[1 + (ordered(o, load(from, bytes, i)) >> shift & 255)]++;
    for (unsigned d = 1; d < 257; d++)
        if (begins[d] == j->n)
            return false;
    for (unsigned d = 1; d < 257; d++)
        begins[d] += begins[d - 1];
    for (uint64_t i = 0; i < j->n; i++) {
        uint64_t key = load(from, bytes, i);
        memcpy(to + begins[ordered(o, key) >> shift & 255]++ * bytes, &key, bytes);
    }
    return true;
}

static bool is_stable_order(const job *j, const sort_order *o) {
    char *keys = malloc(j->in_bytes), *other = malloc(j->in_bytes);
    bool right = keys != NULL && other != NULL;
    if (right)
        memcpy(keys, j->in, j->in_bytes);
    for (unsigned shift = 0; right && shift < 8 * type_bytes(j->type); shift += 8)
        if (sort_by_digit(j, o, keys, other, shift)) {
            char *sorted_keys = other;
            other = keys;
            keys = sorted_keys;
        }
    right = right && memcmp(keys, j->out, j->in_bytes) == 0;
    free(keys);
    free(other);
    return right;
}

/* ---- the parts --------------------------------------------------------------------------------------------------- */

typedef struct checking {
    const job *j;
    uint64_t sums[MAX_PARTS];
    bool right[MAX_PARTS];
} checking;

static void check_part(void *argument, unsigned index, unsigned count) {
    checking *c = argument;
    const job *j = c->j;
    uint64_t sum = 0; /* local: neighbours in the array would share cache lines */
    c->right[index] = sorted[j->type](j, part_begin(j->n, index, count), part_begin(j->n, index + 1, count), &sum);
    c->sums[index] = sum;
}

bool check_sorted(const job *j) {
    checking c = {.j = j};
    unsigned parts = in_parallel(j->threads < MAX_PARTS ? j->threads : MAX_PARTS, check_part, &c);
    uint64_t sum = 0;
    bool right = true;
    for (unsigned p = 0; p < parts; p++) {
        sum += c.sums[p];
        right &= c.right[p];
    }
    if (!right || sum != 0)
        return false;
    const sort_order o = order_of_job(j);
    const bool keys_alone = j->verb == BENCH_SORT || j->verb == BENCH_MERGE;
    return !keys_alone || j->unstable || !can_tell_apart(j, &o) || is_stable_order(j, &o);
}
