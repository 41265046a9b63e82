/* SPDX-License-Identifier: MIT
 *
 * The bench's check of sorts accepts the right result, by a plain insertion sort, and refuses every wrong one made from
 * it: keys out of order, lost or doubled, equal keys that changed places. Where CUDA is emulated, so does the check
 * that a hunt makes on the device.
 */
#include <math.h>

#include "support.h"
#include "tools/bench.h"

enum { N = 60 };

/* May the key at a come after the one at b in a sorted array? Written from scan.h for f32, i16 and u64. */
static bool is_greater(const job *j, size_t a, size_t b) {
    if (j->type == SCAN_F32) {
        const float *keys = j->in;
        const bool a_nan = isnan(keys[a]) != 0, b_nan = isnan(keys[b]) != 0;
        if (a_nan || b_nan)
            return j->nan_first ? b_nan && !a_nan : a_nan && !b_nan;
        return j->descending ? keys[a] < keys[b] : keys[a] > keys[b];
    }
    const bool is_short = j->type == SCAN_I16;
    const unsigned begin = j->begin_bit, end = j->end_bit != 0 ? j->end_bit : is_short ? 16 : 64;
    __int128 windows[2]; /* holds the keys of both types */
    for (int k = 0; k < 2; k++) {
        const size_t i = k == 0 ? a : b;
        const __int128 key = is_short ? ((const int16_t *)j->in)[i] : (__int128)((const uint64_t *)j->in)[i];
        windows[k] = key >> begin;
        if (end < (is_short ? 16 : 64))
            windows[k] &= ((__int128)1 << (end - begin)) - 1;
    }
    return j->descending ? windows[0] < windows[1] : windows[0] > windows[1];
}

/* The positions of the keys in the right order. */
static void sort_positions(const job *j, uint32_t *positions) {
    for (uint32_t i = 0; i < N; i++) {
        size_t at = i;
        for (; at > 0 && is_greater(j, positions[at - 1], i); at--)
            positions[at] = positions[at - 1];
        positions[at] = i;
    }
}

#ifdef SCAN_EMULATED
extern const bench_device bench_cuda_device;

/* Both checks of the job's outputs, one in three by the device too, whose check serves results that are stable. */
static bool is_accepted(job *j) {
    static unsigned calls;
    const bool right = check_sorted(j);
    j->d_in = j->in, j->d_out = j->out, j->d_values_out = j->values_out;
    if (!j->unstable && calls++ % 3 == 0)
        assert_int_equal(bench_cuda_device.check_sort(j) == NULL, right);
    return right;
}
#else
static bool is_accepted(job *j) { return check_sorted(j); }
#endif

/* Writes the job's outputs by the positions, and returns whether the check accepts them. */
static bool accepted(job *j, const uint32_t *positions) {
    const size_t size = size_of_type(j->type);
    for (size_t i = 0; i < N; i++) {
        if (j->verb == BENCH_ARGSORT)
            ((uint32_t *)j->out)[i] = positions[i];
        else
            memcpy((char *)j->out + i * size, (const char *)j->in + positions[i] * size, size);
        if (j->verb == BENCH_PAIRS)
            ((uint32_t *)j->values_out)[i] = positions[i];
    }
    return is_accepted(j);
}

/* Swaps each pair of neighbours in turn, and doubles each element over its neighbour: the check refuses what differs.
 */
static void try_wrong_results(job *j, uint32_t *positions) {
    const size_t size = size_of_type(j->type);
    for (size_t i = 1; i < N; i++) {
        const uint32_t left = positions[i - 1], right = positions[i];
        const bool same = memcmp((const char *)j->in + left * size, (const char *)j->in + right * size, size) == 0;
        const bool tied = !is_greater(j, right, left);
        positions[i - 1] = right, positions[i] = left;
        assert_int_equal(accepted(j, positions), (j->verb == BENCH_SORT && same) || (j->unstable && tied));
        positions[i - 1] = positions[i] = right;
        assert_int_equal(accepted(j, positions), j->verb == BENCH_SORT && same);
        positions[i - 1] = left;
        assert_true(accepted(j, positions));
    }
}

/* Few different keys: ties of keys that differ in other bits, zeros of both signs, several NaN. */
static void make_keys(const job *j, void *in, uint64_t *random) {
    for (size_t i = 0; i < N; i++) {
        static const float floats[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, 3, -2};
        const uint64_t k = random_below(random, 10);
        if (j->type == SCAN_F32) {
            float key = k < 8 ? floats[k] : k == 8 ? NAN : -NAN;
            ((float *)in)[i] = key;
        } else if (j->type == SCAN_I16)
            ((int16_t *)in)[i] = (int16_t)(k * 1311 - 6000);
        else
            ((uint64_t *)in)[i] = k * 0x1230000006;
    }
}

static void right_and_wrong_results(void **state) {
    (void)state;
    static const scan_type types[] = {SCAN_F32, SCAN_I16, SCAN_U64};
    static const bench_verb verbs[] = {BENCH_SORT, BENCH_PAIRS, BENCH_ARGSORT};
    uint64_t in[N], out[N], values_out[N], random = 1;
    uint32_t positions[N];
    for (int repeat = 0; repeat < 3 * 3 * 16; repeat++) {
        job j = {.verb = verbs[repeat % 3], .type = types[repeat / 3 % 3], .n = N, .value_bytes = 4, .threads = 3};
        const int odd = repeat / 9;
        j.in = in, j.out = out, j.values_out = values_out;
        j.in_bytes = N * size_of_type(j.type);
        j.descending = odd & 1, j.unstable = odd >> 1 & 1;
        j.nan_first = (odd & 4) && j.type == SCAN_F32;
        if ((odd & 4) && j.type != SCAN_F32)
            j.begin_bit = 3, j.end_bit = odd & 8 ? 11 : (uint32_t)(8 * size_of_type(j.type));
        make_keys(&j, in, &random);
        sort_positions(&j, positions);
        assert_true(accepted(&j, positions));
        try_wrong_results(&j, positions);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_and_wrong_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
