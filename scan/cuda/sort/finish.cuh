/* SPDX-License-Identifier: MIT
 *
 * What the plan leaves to be done when the passes are over: nothing, as a rule; a copy, if a sort in place took an odd
 * number of passes; the copy of the values, if the input is sorted and the survey has copied the keys; or, for reversed
 * input, the reversal, which exchanges the two ends pair by pair and so may be in place. Of fewer than
 * finish_least keys the last launch of passes does it too, of any number the local stage if no passes may follow that,
 * and else a launch of its own.
 */
#ifndef SCAN_CUDA_SORT_FINISH_CUH
#define SCAN_CUDA_SORT_FINISH_CUH

#include <type_traits>

#include "job.cuh"

namespace scan_cuda {

constexpr int finish_threads = 256;

/* Copies an array by all threads of the grid: each loads some elements before it stores them. from NULL: an element is
 * its index. */
template <class T> __device__ void copy_array(const T *from, T *to, uint64_t n) {
    constexpr int together = 8;
    const uint64_t stride = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += together * stride) {
        T copied[together];
#pragma unroll
        for (int k = 0; k < together; k++)
            if (i + k * stride < n)
                copied[k] = from ? from[i + k * stride] : T(i + k * stride);
#pragma unroll
        for (int k = 0; k < together; k++)
            if (i + k * stride < n)
                to[i + k * stride] = copied[k];
    }
}

/* from NULL: the elements are 0, 1, 2, ... */
template <class T>
__device__ void finish_array(const void *from, const void *copied, void *to, uint64_t n, sort_finish finish) {
    const uint64_t stride = uint64_t(gridDim.x) * blockDim.x, first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const T *in = static_cast<const T *>(from);
    T *out = static_cast<T *>(to);
    if (finish == FINISH_COPY) {
        copy_array(static_cast<const T *>(copied), out, n);
    } else if (finish == FINISH_VALUES) {
        if (in != out)
            copy_array(in, out, n);
    } else {
        for (uint64_t i = first; i < n - n / 2; i += stride) {
            const uint64_t j = n - 1 - i;
            const T low = in ? in[i] : T(i), high = in ? in[j] : T(j);
            out[i] = high;
            out[j] = low;
        }
    }
}

__device__ inline void finish_sort(const sort_job &job, uint64_t n, sort_finish finish) {
    if (finish == FINISH_NOTHING)
        return;
    if (job.keys_out && finish != FINISH_VALUES)
        switch (job.key_bytes) {
        case 1: finish_array<uint8_t>(job.keys_in, job.keys_first, job.keys_out, n, finish); break;
        case 2: finish_array<uint16_t>(job.keys_in, job.keys_first, job.keys_out, n, finish); break;
        case 4: finish_array<uint32_t>(job.keys_in, job.keys_first, job.keys_out, n, finish); break;
        default: finish_array<uint64_t>(job.keys_in, job.keys_first, job.keys_out, n, finish);
        }
    if (job.value_bytes == 4)
        finish_array<uint32_t>(job.values_in, job.values_first, job.values_out, n, finish);
    else if (job.value_bytes == 8)
        finish_array<uint64_t>(job.values_in, job.values_first, job.values_out, n, finish);
}

__device__ inline sort_finish plan_finish(const sort_plan *plan) {
    return plan->again ? plan->finish_again : plan->finish;
}

/* By a kernel that knows the types. Called, not made part of it, which has few registers to spare. */
template <class K, int value_bytes>
__attribute__((noinline)) __device__ void finish_typed(const sort_job &job, uint64_t n, sort_finish finish) {
    using V = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;
    if (finish == FINISH_NOTHING)
        return;
    if (job.keys_out && finish != FINISH_VALUES)
        finish_array<K>(job.keys_in, job.keys_first, job.keys_out, n, finish);
    if constexpr (value_bytes > 0)
        finish_array<V>(job.values_in, job.values_first, job.values_out, n, finish);
}

} /* namespace scan_cuda */

#endif
