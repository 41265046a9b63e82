/* SPDX-License-Identifier: MIT
 *
 * Few keys: one CTA sorts them in one launch, with no state and no plan.
 *
 *     codes and their indices in registers ──> rank by a digit ──> exchanged in shared memory ──> next digit ...
 *
 * What is sorted are the order codes (order.cuh) and 16-bit indices; keys and values are fetched by index at the end,
 * all of them before the first is written, so that in place is safe. Digits begin at the lowest bit in which the codes
 * differ, so narrow keys take few passes and equal ones none.
 *
 * Traffic: keys read twice, values once, each written once; at these sizes what counts is the launch and the barriers,
 * eight a pass.
 */
#ifndef SCAN_CUDA_SORT_SMALL_CUH
#define SCAN_CUDA_SORT_SMALL_CUH

#include "../kernel.cuh"
#include "../order.cuh"
#include "rank.cuh"

namespace scan_cuda {

constexpr int small_warps = 16;
constexpr int small_threads = small_warps * 32;
constexpr int small_shared_bytes = 32 << 10;
template <class Code> constexpr int small_most = small_shared_bytes / int(sizeof(Code)); /* elements */

template <class Code> struct small_shared {
    Code first_code;
    Code differ[small_warps]; /* bits in which some code of the warp differs from the first */
    uint32_t count[radix];    /* of a digit */
    uint32_t first[radix];    /* place of its first key */
};

template <class Code> class small_sort {
    static constexpr int most_rows = small_most<Code> / small_threads;
    const sort_job &job;
    small_shared<Code> &shared;
    void *dynamic; /* the warps' counters; codes or indices being exchanged */
    const int thread, warp, lane;
    const uint32_t n;
    const int rows; /* of each warp */
    Code code[most_rows];
    uint32_t index[most_rows], place[most_rows];

    __device__ uint32_t position(int r) const { return uint32_t((warp * rows + r) * 32 + lane); }
    __device__ uint32_t *warp_counters(int warp) const { return static_cast<uint32_t *>(dynamic) + warp * radix; }

    /* What lies past n has the greatest code and comes last. */
    __device__ void load() {
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows) {
                index[r] = position(r);
                code[r] = index[r] < n ? Code(code_of_bits(job, load_bits(job.keys_in, index[r], job.key_bytes)))
                                       : Code(~Code(0));
            }
    }

    __device__ Code differing() {
        if (thread == 0)
            shared.first_code = n ? code[0] : Code(0);
        __syncthreads();
        Code differ = 0;
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows && position(r) < n)
                differ |= code[r] ^ shared.first_code;
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
            differ |= __shfl_xor_sync(all_lanes, differ, d);
        if (lane == 0)
            shared.differ[warp] = differ;
        __syncthreads();
        differ = 0;
#pragma unroll
        for (int w = 0; w < small_warps; w++)
            differ |= shared.differ[w];
        return differ;
    }

    template <class T> __device__ void exchange(T (&x)[most_rows]) {
        T *sorted = static_cast<T *>(dynamic);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows)
                sorted[place[r]] = x[r];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows)
                x[r] = sorted[position(r)];
    }

    __device__ uint32_t digit(int r, int shift) const { return uint32_t(code[r] >> shift) & (radix - 1); }

    __device__ void pass(int shift, bool last) {
        __syncthreads();
        for (int i = thread; i < small_warps * radix; i += small_threads)
            warp_counters(0)[i] = 0;
        __syncthreads();
        const unsigned below = (1u << lane) - 1;
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows)
                place[r] = rank_row(warp_counters(warp), digit(r, shift), below);
        __syncthreads();
        if (thread < radix) {
            uint32_t next = 0;
#pragma unroll
            for (int w = 0; w < small_warps; w++) {
                uint32_t &begins = warp_counters(w)[thread], own = begins;
                begins = next;
                next += own;
            }
            shared.count[thread] = next;
        }
        __syncthreads();
        if (warp == 0)
            begins_of_digits(shared.count, shared.first, lane);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows) {
                const uint32_t d = digit(r, shift);
                place[r] += shared.first[d] + warp_counters(warp)[d];
            }
        exchange(index);
        if (!last)
            exchange(code);
    }

    /* from NULL: 0, 1, 2, ... */
    __device__ void fetch(const void *from, void *to, uint32_t bytes) {
        uint64_t x[most_rows];
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows && position(r) < n)
                x[r] = from ? load_bits(from, index[r], bytes) : index[r];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < most_rows; r++)
            if (r < rows && position(r) < n)
                store_bits(to, position(r), x[r], bytes);
    }

  public:
    __device__ small_sort(const sort_job &job, small_shared<Code> &shared, void *dynamic)
        : job(job), shared(shared), dynamic(dynamic), thread(threadIdx.x), warp(warp_of_cta()), lane(threadIdx.x % 32),
          n(uint32_t(sort_count(job))), rows(int((n + small_threads - 1) / small_threads)) {}

    __device__ void sort() {
        load();
        for (Code differ = differing(); differ;) {
            const int shift = sizeof(Code) == 8 ? __ffsll((long long)(differ)) - 1 : __ffs(int(differ)) - 1;
            differ &= Code(~(Code(radix - 1) << shift));
            pass(shift, differ == 0);
        }
        if (job.keys_out)
            fetch(job.keys_in, job.keys_out, job.key_bytes);
        if (job.value_bytes)
            fetch(job.values_in, job.values_out, job.value_bytes);
    }
};

template <class Code>
__global__ void __launch_bounds__(small_threads) small_kernel(const __grid_constant__ sort_job job) {
    __shared__ small_shared<Code> shared;
    small_sort<Code>(job, shared, dynamic_shared<void>()).sort();
}

} /* namespace scan_cuda */

#endif
