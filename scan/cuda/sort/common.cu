/* SPDX-License-Identifier: MIT
 *
 * The radix sort's kernels that know keys by their size only.
 */
#include "../device/kernel.cuh"
#include "fill.cuh"
#include "finish.cuh"
#include "large.cuh"
#include "local.cuh"
#include "narrow.cuh"
#include "pack.cuh"
#include "kernels.h"

namespace scan_cuda {

static __global__ void __launch_bounds__(finish_threads) finish_kernel(const __grid_constant__ sort_job job) {
    grid_dependency_wait();
    finish_sort(job, sort_count(job), plan_finish(job.plan));
}

static __global__ void __launch_bounds__(large_threads, 1) large_kernel(const __grid_constant__ sort_job job) {
    __shared__ large_shared shared;
    grid_dependency_wait();
    if (job.packed)
        sort_large_buckets<uint64_t, true>(job, shared);
    else if (job.key_bytes == 8)
        sort_large_buckets<uint64_t, false>(job, shared);
    else
        sort_large_buckets<uint32_t, false>(job, shared);
}

static __global__ void __launch_bounds__(fill_threads) fill_totals_kernel(unsigned long long *counts, uint32_t codes) {
    grid_dependency_wait();
    add_totals(counts, codes);
}

static __global__ void __launch_bounds__(intervals_threads)
    intervals_kernel(const __grid_constant__ sort_job job, uint32_t words) {
    __shared__ splitter_tree tree;
    grid_dependency_wait();
    if (job.plan->intervals)
        make_intervals(job, words, tree);
}

const sort_common_kernels sort_common = {
    address(finish_kernel),
    finish_threads,
    address(large_kernel),
    large_threads,
    address(intervals_kernel),
    sizeof(splitter_tree),
    pack_threads,
    intervals_threads,
    interval_codes_threads,
    local_threads,
    {{address(fill_kernel<uint8_t>), fill_codes<uint8_t>}, {address(fill_kernel<uint16_t>), fill_codes<uint16_t>}},
    address(fill_totals_kernel),
    fill_threads,
    narrow_threads,
};

} /* namespace scan_cuda */
