/* SPDX-License-Identifier: MIT
 *
 * The kernel that puts runs of one code in order by their keys (scan/cuda/sort/pack.cuh), by a thread, a warp or a CTA:
 * runs of lengths on both sides of each limit, of equal keys, of different ones and of few values. Of the runs longer
 * than a CTA sorts one key may differ, wherever it lies; the kernel of large buckets sorts them (large.cuh), if they
 * are not too long for it. No sort of random keys is sure to have them.
 */
#include <algorithm>
#include <vector>

#include "direct.cuh"
#include "scan/cuda/sort/instance.cuh"
#include "scan/cuda/sort/large.cuh"

using namespace scan_cuda;

static gpu_array d_keys, d_codes, d_indices, d_indices_first, d_plan;
static uint64_t rng = 59;

enum run_keys { RUN_EQUAL, RUN_DIFFERENT, RUN_FEW, RUN_KEYS };

static const uint32_t lengths[] = {1,
                                   2,
                                   3,
                                   max_thread_run - 1,
                                   max_thread_run,
                                   max_thread_run + 1,
                                   max_thread_run + 2,
                                   33,
                                   max_warp_run - 1,
                                   max_warp_run,
                                   max_warp_run + 1,
                                   max_cta_run - 1,
                                   max_cta_run,
                                   max_cta_run + 1,
                                   2 * run_tile + 5};

/* As codes lie after the passes: in order, elements of one code in the order of the input. */
struct run_case {
    std::vector<uint32_t> codes;
    std::vector<uint64_t> keys, indices;
    bool too_long; /* a run of different keys is more than a CTA sorts */
};

/* Keys of the runs that are longer than a CTA sorts: equal in each run; the same, but for one key of one run; any. */
enum long_keys { LONG_EQUAL, LONG_BUT_ONE, LONG_ANY };

/* What becomes of runs of different keys that are too long for a CTA: all begins again at once, or when the kernel of
 * large buckets has found that they are too long for it too, or it sorts them, for there are enough other keys. */
enum long_runs { LONG_GIVEN_UP, LONG_TOO_LARGE, LONG_SORTED };

template <class Key> static run_case draw_case(long_keys longs, long_runs become) {
    constexpr uint32_t odd_run = 7;
    run_case c = {};
    std::vector<uint32_t> runs;
    for (uint32_t r = 0; r < 60; r++)
        runs.push_back(lengths[random_below(&rng, longs == LONG_ANY || r < 50 ? COUNT(lengths) : 8)]);
    if (longs == LONG_BUT_ONE)
        runs[odd_run] = become != LONG_TOO_LARGE && random_bool(&rng) ? max_cta_run + 1 : 2 * run_tile + 5;
    if (become == LONG_SORTED)
        runs.insert(runs.end(), size_t(large_share) * (2 * run_tile + 5), 1);
    size_t n = 0;
    for (uint32_t length : runs)
        n += length;
    std::vector<uint64_t> places(n);
    for (size_t i = 0; i < n; i++)
        places[i] = i;
    for (size_t i = n; i > 1; i--)
        std::swap(places[i - 1], places[random_below(&rng, i)]);
    c.keys.resize(n);
    for (uint32_t r = 0; r < runs.size(); r++) {
        run_keys kind = run_keys(random_below(&rng, RUN_KEYS));
        if (runs[r] > max_cta_run && longs != LONG_ANY)
            kind = RUN_EQUAL;
        c.too_long |= runs[r] > max_cta_run && kind != RUN_EQUAL;
        const size_t first = c.indices.size();
        c.indices.insert(c.indices.end(), places.begin() + first, places.begin() + first + runs[r]);
        std::sort(c.indices.begin() + first, c.indices.end());
        const uint64_t value = random_u64(&rng) >> 2;
        for (uint32_t k = 0; k < runs[r]; k++) {
            c.codes.push_back(3 * r + 1);
            c.keys[c.indices[first + k]] = kind == RUN_EQUAL ? value
                                           : kind == RUN_FEW ? value + random_below(&rng, 3)
                                                             : random_u64(&rng) >> 2;
        }
        if (longs == LONG_BUT_ONE && r == odd_run) {
            c.keys[c.indices[first + random_below(&rng, runs[r])]] += 1;
            c.too_long = true;
        }
    }
    return c;
}

/* Keys are positive, so floats have the order of their bits. */
static void expect_runs(run_case *c) {
    for (size_t first = 0, end; first < c->codes.size(); first = end) {
        for (end = first; end < c->codes.size() && c->codes[end] == c->codes[first];)
            end++;
        std::stable_sort(c->indices.begin() + first, c->indices.begin() + end,
                         [&](uint64_t a, uint64_t b) { return c->keys[a] < c->keys[b]; });
    }
}

static __global__ void __launch_bounds__(large_threads, 1) long_runs_kernel(const __grid_constant__ sort_job job) {
    __shared__ large_shared shared;
    sort_large_buckets<uint64_t, true>(job, shared);
}

template <class Key, class V> static void check_runs(scan_type type, long_keys longs, long_runs become) {
    run_case c = draw_case<Key>(longs, become);
    const size_t n = c.codes.size();
    std::vector<V> indices(c.indices.begin(), c.indices.end());
    static sort_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.local_shift = 8;
    plan.local_keys = BUFFER_FIRST;
    sort_job job = {};
    job.keys_in = gpu_put(&d_keys, c.keys.data(), n, 8, 0);
    job.keys_first = gpu_put(&d_codes, c.codes.data(), n, 4, 0);
    job.values_out = gpu_put(&d_indices, indices.data(), n, sizeof(V), 0);
    job.plan = static_cast<sort_plan *>(gpu_put(&d_plan, &plan, 1, sizeof plan, 0));
    job.n = n;
    job.key_bytes = 8;
    job.value_bytes = sizeof(V);
    job.bits = 64;
    job.order.mask = job.order.nan = ~0ull;
    job.is_float = scan_is_float(type);
    job.packed = true;
    job.max_notes = become != LONG_GIVEN_UP ? max_large_notes : 0;
    job.values_first = gpu_put(&d_indices_first, NULL, n, sizeof(V), 0);
    void *arguments[] = {&job};
    direct_launch(address(runs_kernel<Key>), 3, pack_threads, arguments, 0);
    if (job.max_notes)
        direct_launch(address(long_runs_kernel), 3, large_threads, arguments, 0);
    gpu_get(&d_plan, &plan);
    gpu_get(&d_indices, indices.data());
    const bool again = c.too_long && become != LONG_SORTED;
    if ((plan.again != 0) != again || (c.too_long && become == LONG_SORTED && !plan.large_notes))
        fail_msg("%s: again %u, %u notes of runs that %s too long, %d", scan_type_name(type), plan.again,
                 plan.large_notes, c.too_long ? "are" : "are not", become);
    if (again)
        return;
    expect_runs(&c);
    for (size_t i = 0; i < n; i++)
        if (indices[i] != V(c.indices[i]))
            fail_msg("%s, indices of %zu bytes: element %zu of %zu is %llu, not %llu", scan_type_name(type), sizeof(V),
                     i, n, (unsigned long long)indices[i], (unsigned long long)c.indices[i]);
}

static void runs_of_every_length(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 1 : gpu_is_small ? 3 : 20); round++)
        for (const long_keys longs : {LONG_EQUAL, LONG_BUT_ONE, LONG_ANY}) {
            check_runs<uint64_t, uint32_t>(SCAN_U64, longs, LONG_GIVEN_UP);
            check_runs<double, uint64_t>(SCAN_F64, longs, LONG_GIVEN_UP);
            if (longs == LONG_BUT_ONE)
                check_runs<uint64_t, uint32_t>(SCAN_U64, longs, LONG_TOO_LARGE);
            check_runs<uint64_t, uint64_t>(SCAN_U64, longs, LONG_SORTED);
            check_runs<double, uint32_t>(SCAN_F64, longs, LONG_SORTED);
        }
    gpu_release(&d_keys);
    gpu_release(&d_codes);
    gpu_release(&d_indices);
    gpu_release(&d_indices_first);
    gpu_release(&d_plan);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {GPU_TEST(GPU_MATRIX | GPU_SMALL, runs_of_every_length)};
    return gpu_main("gpu_sort_runs", tests, sizeof tests / sizeof tests[0], argc, argv);
}
