/* SPDX-License-Identifier: MIT
 *
 * A bucket of the cooperative sort (kernel.cuh), which a CTA sorts in its shared memory.
 *
 * What is sorted are indices of 2 bytes; the codes stay where they are. Bins of equal width between the least code and
 * the greatest, half a bin to two for an element, put most elements where they belong; those of one bin are compared
 * with each other, so that ties keep their order. Where those that are counted first tell that bins are crowded, or one
 * has too many elements, the range is divided at a sample's codes into pieces, which have as many bins each
 * (bucket_bins.cuh). Where that does not serve either, or codes differ in one digit only, there are passes over digits
 * (bucket_digits.cuh).
 *
 * Then keys and values are taken to shared memory, one after the other, and from there in the order of the indices to
 * the output.
 *
 *     shared memory   indices | indices | codes | ranks
 *     and then        indices | indices | keys, then values
 */
#ifndef SCAN_CUDA_COOPERATIVE_BUCKET_CUH
#define SCAN_CUDA_COOPERATIVE_BUCKET_CUH

#include "bucket_bins.cuh"

namespace scan_cuda {

template <class Code> class bucket_sort : bucket_bins<Code> {
    using bins = bucket_bins<Code>;
    using bins::for_elements, bins::job, bins::order, bins::payload, bins::range, bins::start;

    __device__ void sort_codes() {
        if (range == 0) {
            for_elements([&](uint32_t i) { order[i] = uint16_t(i); });
            return;
        }
        if (bins::sort_by_bins())
            return;
        bins::sort_by_digits();
    }

    template <class T> __device__ void permute(const void *from, void *to) {
        const T *const source = static_cast<const T *>(from) + start;
        T *const target = static_cast<T *>(to) + start, *const held = reinterpret_cast<T *>(payload);
        __syncthreads();
        this->template for_elements<4>([&](uint32_t i) { held[i] = source[i]; });
        __syncthreads();
        for_elements([&](uint32_t i) { target[i] = held[order[i]]; });
    }

  public:
    using bins::bins;

    /* From these arrays to the output. */
    __device__ void sort(const void *keys, const void *values) {
        bins::load_codes(keys);
        sort_codes();
        if (job.keys_out)
            with_key_type<Code>(job, [&](auto t) { this->template permute<decltype(t)>(keys, job.keys_out); });
        with_value_type(job, [&](auto t) { this->template permute<decltype(t)>(values, job.values_out); });
        __syncthreads();
    }
};

} /* namespace scan_cuda */

#endif
