/* SPDX-License-Identifier: MIT
 *
 * Sample sort: the kernels, two for a level and one for the local stage.
 *
 *     split_kernel     splitters, by regions                 ──> count, by units
 *     move_kernel      places, by slices of regions' children ──> move, by units
 *     local_kernel     buckets
 *
 * Most sorts that they are launched for need none of them, and a launch that ends at once takes some 2 us: so there are
 * few. CTAs take the tasks of a kernel's first phase one by one, and wait for those that others have taken: for running
 * CTAs alone, so a grid that the GPU has no room for at once ends all the same. All phases in one kernel would take
 * registers from each other: moving and local sorts then took 1.1 to 1.2 times as long (H200, 2026-11-28).
 */
#ifndef SCAN_CUDA_SAMPLESORT_KERNEL_CUH
#define SCAN_CUDA_SAMPLESORT_KERNEL_CUH

#include "../device/kernel.cuh"
#include "local.cuh"
#include "partition.cuh"

namespace scan_cuda {
namespace samplesort {

/* f(task) for the tasks that this CTA takes, with a barrier after each; all are done when it returns. */
template <class F> __device__ void run_phase(phase_counts *phase, uint32_t tasks, F f) {
    __shared__ uint32_t next;
    uint32_t done = 0;
    if (tasks == 0)
        return;
    for (;; done++) {
        if (threadIdx.x == 0)
            next = atomicAdd(&phase->taken, 1u);
        __syncthreads();
        const uint32_t task = next;
        if (task >= tasks)
            break;
        f(task);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        if (done)
            add_release(&phase->done, done);
        wait_for(&phase->done, tasks);
    }
    __syncwarp(); /* the first lane has waited alone */
    __syncthreads();
}

/* Whether the plan has no use for a sample sort. */
__device__ inline bool is_unneeded(const job &j) {
    return j.planned && (!j.sort.plan->again || j.sort.plan->passes_again);
}

template <class K, int value_bytes>
__global__ void __launch_bounds__(threads, 2) split_kernel(const __grid_constant__ job j, uint32_t level) {
    __shared__ union {
        splitters_shared<K> splitters;
        count_shared<K> count;
    } shared;
    grid_dependency_wait();
    list_counts *const counts = j.counts;
    const uint32_t regions = level ? counts->level[level].regions : !is_unneeded(j);
    if (regions == 0)
        return;
    run_phase(&counts->splitters[level], regions, [&](uint32_t i) { split_region<K>(j, shared.splitters, level, i); });
    const uint32_t units = __ldcg(&counts->level[level].units);
    const source<K, value_bytes> from(j, level);
    for (uint32_t u = blockIdx.x; u < units; u += gridDim.x)
        count_unit<K, value_bytes>(j, shared.count, from, level, u);
}

template <class K, int value_bytes>
__global__ void __launch_bounds__(threads, 2) move_kernel(const __grid_constant__ job j, uint32_t level) {
    grid_dependency_wait();
    list_counts *const counts = j.counts;
    const uint32_t units = counts->level[level].units;
    if (units == 0)
        return;
    run_phase(&counts->places[level], counts->level[level].regions * slices_of(level),
              [&](uint32_t i) { place_slice(j, *dynamic_shared<places_shared>(), level, i); });
    const source<K, value_bytes> from(j, level);
    const move_targets<K, value_bytes> to = {target<K, value_bytes>(j, level + 1), target<K, value_bytes>(j.sort)};
    for (uint32_t u = blockIdx.x; u < units; u += gridDim.x)
        move_unit<K, value_bytes>(j, *dynamic_shared<partition_shared<K, value_bytes>>(), from, to, level, u);
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
