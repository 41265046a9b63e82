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
 * Idea. Sections are independent but for one value each, the fold of all sections before; those values are themselves
 * a scan, of an array a section's length shorter.
 *
 * Work: the block scan's additions plus n for kernel 3. Depth: the block scan's once a level, log(n) / log(section)
 * levels, and one addition a level back. Traffic: n reads and n writes for kernel 1, the same again for kernel 3, and
 * about 2 / section of that for S: 16 bytes for an element of 4, twice what a single pass moves. Barriers: those of the
 * block scan and two more a section; between kernels the stream's order.
 *
 * Limits: three launches at least, two more a level. The order of operations is this algorithm's own, the same from run
 * to run.
 *
 * Source: Sengupta, Harris, Zhang and Owens, "Scan Primitives for GPU Computing", 2007.
 */
#ifndef SCAN_CUDA_GRID_HIERARCHICAL_CUH
#define SCAN_CUDA_GRID_HIERARCHICAL_CUH

#include "job.cuh"
#include "../device/kernel.cuh"

namespace scan_cuda {

/* Kernels 1 and 2: scans sections of job.in into job.out, totals to `sums`. Results are still operands: kernel 3 makes
 * elements of them. Kernel 2's job is a level of S in place, which is operands already: of its code only the operator
 * is set. */
template <class Block, class Op> __device__ void scan_section(const scan_job &job, typename Op::type *sums) {
    using T = typename Op::type;
    const uint32_t section = blockDim.x * Block::elements_per_thread;
    T *xy = dynamic_shared<T>(), *other = xy + section, *out = static_cast<T *>(job.out);
    const uint64_t n = job_count(job), first = uint64_t(blockIdx.x) * section;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x) {
        uint64_t p = first + i;
        xy[i] = p < n ? load_operand<Op>(job.in, job.in_size, job.reverse ? n - 1 - p : p, job.code) : Op::identity();
    }
    __syncthreads();
    T *scanned = Block::template inclusive<Op>(xy, other);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x) {
        uint64_t p = first + i;
        if (p < n)
            out[job.reverse ? n - 1 - p : p] = !job.exclusive ? scanned[i] : i ? scanned[i - 1] : Op::identity();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = scanned[section - 1];
}

template <class Block, class Op>
__global__ void __launch_bounds__(Block::max_section / Block::elements_per_thread)
    section_kernel(const __grid_constant__ scan_job job, typename Op::type *sums) {
    for_operator(Op(), job.code, [&](auto op) { scan_section<Block, decltype(op)>(job, sums); });
}

/* Kernel 3: init, then the fold of the sections before, then what the section holds. It is compiled for its operator:
 * with one element a thread it pays for the branch that kernel 1 does not notice (prefix/any_operator.cu). */
template <class Op>
__global__ void __launch_bounds__(256)
    add_kernel(const __grid_constant__ scan_job job, const typename Op::type *sums, uint32_t section) {
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
    *at = p == 0 && job.writes_identity ? from_bits<T>(job.identity_bits) : from_operand<Op>(x, job.code);
}

} /* namespace scan_cuda */

#endif
