/* SPDX-License-Identifier: MIT
 *
 * Hierarchical scan: block scans, scan of the block sums, add. The three kernels of the textbook, for any length.
 *
 *     in      [ section 0 ][ section 1 ][ section 2 ] ...   kernel 1: every block scans its section of `in`
 *     S         total 0      total 1      total 2           into `out` and writes its total to S
 *     S         0..0         0..1         0..2              kernel 2: S is scanned, by the same means and with
 *                                                           totals of its own, until one section holds them
 *     out     [          ][ + S[0]   ][ + S[1]   ] ...      kernel 3: block b adds S[b - 1], block 0 nothing
 *
 * S has ceil(n / section) elements: the last section may be partial. The recursion is a loop on the host over the
 * levels of S; nothing is read back.
 *
 * Work: the block scan's additions plus n. Traffic: n reads and writes for kernel 1, n reads and writes for kernel 3,
 * and about 2 / section of that for S: twice what a single pass moves. Barriers: those of the block scan. The order of
 * operations is this algorithm's own, the same from run to run.
 */
#ifndef SCAN_CUDA_GRID_HIERARCHICAL_CUH
#define SCAN_CUDA_GRID_HIERARCHICAL_CUH

#include "../job.cuh"
#include "../kernel.cuh"

namespace scan_cuda {

/* Kernel 1: scans sections of job.in into job.out, totals to `sums`. Results are operands still: kernel 3 lowers them.
 */
template <class Block, class I, class Op>
__global__ void section_kernel(const __grid_constant__ scan_job job, typename Op::type *sums) {
    using T = typename Op::type;
    const uint32_t section = blockDim.x * Block::elements_per_thread;
    T *xy = dynamic_shared<T>(), *other = xy + section;
    const uint64_t n = job_count(job), first = uint64_t(blockIdx.x) * section;
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x) {
        uint64_t p = first + i;
        xy[i] =
            p < n ? lift<Op>(static_cast<const I *>(job.in)[job.reverse ? n - 1 - p : p], job.code) : Op::identity();
    }
    __syncthreads();
    T *scanned = Block::template inclusive<Op>(xy, other);
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x) {
        uint64_t p = first + i;
        if (p < n)
            static_cast<T *>(job.out)[job.reverse ? n - 1 - p : p] = !job.exclusive ? scanned[i]
                                                                     : i            ? scanned[i - 1]
                                                                                    : Op::identity();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = scanned[section - 1];
}

/* Kernel 2: scans the sections of a level of S in place, totals to the level above. */
template <class Block, class Op>
__global__ void sums_kernel(typename Op::type *sums, uint64_t n, typename Op::type *sums_of_sums) {
    using T = typename Op::type;
    const uint32_t section = blockDim.x * Block::elements_per_thread;
    T *xy = dynamic_shared<T>(), *other = xy + section;
    const uint64_t first = uint64_t(blockIdx.x) * section;
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x)
        xy[i] = first + i < n ? sums[first + i] : Op::identity();
    __syncthreads();
    T *scanned = Block::template inclusive<Op>(xy, other);
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x)
        if (first + i < n)
            sums[first + i] = scanned[i];
    if (threadIdx.x == 0)
        sums_of_sums[blockIdx.x] = scanned[section - 1];
}

/* Kernel 3 on a level of S: section b adds the fold of the sections before it. */
template <class Op>
__global__ void add_sums_kernel(typename Op::type *sums, uint64_t n, const typename Op::type *above, uint32_t section) {
    uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n && i >= section)
        sums[i] = Op::apply(above[i / section - 1], sums[i]);
}

/* Kernel 3 on the output: init, then the fold of the sections before, then what the section holds. */
template <class Op>
__global__ void add_kernel(const __grid_constant__ scan_job job, const typename Op::type *sums, uint32_t section) {
    using T = typename Op::type;
    const uint64_t n = job_count(job), p = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    T *at = static_cast<T *>(job.out) + (job.reverse ? n - 1 - p : p);
    T x = *at;
    if (p >= section)
        x = Op::apply(sums[p / section - 1], x);
    if (job.has_init)
        x = Op::apply(job_first<Op>(job), x);
    *at = p == 0 && job.show_first ? from_bits<T>(job.shown) : lower<Op>(x, job.code);
}

} /* namespace scan_cuda */

#endif
