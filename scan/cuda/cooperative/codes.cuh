/* SPDX-License-Identifier: MIT
 *
 * The codes of a cooperative sort's keys, and the digits in which codes differ.
 */
#ifndef SCAN_CUDA_COOPERATIVE_CODES_CUH
#define SCAN_CUDA_COOPERATIVE_CODES_CUH

#include "exchange.cuh"

namespace scan_cuda {

/* The codes of keys. It has what it needs of the job, which a called function would load again for each key. Code: 4
 * bytes for keys of up to 4, or 8. */
template <class Code> struct key_codes {
    const sort_order order;
    const bool is_float;
    const uint32_t key_bytes;

    __device__ explicit key_codes(const sort_job &job)
        : order(job.order), is_float(job.is_float), key_bytes(job.key_bytes) {}

    __device__ Code at(const void *keys, uint32_t position) const {
        if constexpr (sizeof(Code) == 8) {
            const uint64_t key = static_cast<const uint64_t *>(keys)[position];
            return is_float ? sort_code<double>(key, order) : sort_code<uint64_t>(key, order);
        } else {
            const uint32_t key = key_bytes == 4   ? static_cast<const uint32_t *>(keys)[position]
                                 : key_bytes == 2 ? static_cast<const uint16_t *>(keys)[position]
                                                  : static_cast<const uint8_t *>(keys)[position];
            return is_float ? sort_code<float>(key, order) : sort_code<uint32_t>(key, order);
        }
    }
};

/* Calls f with a value of the keys' unsigned type, or the values'. */
template <class Code, class F> __device__ void with_key_type(const sort_job &job, F f) {
    if constexpr (sizeof(Code) == 8)
        return f(uint64_t(0));
    else if (job.key_bytes == 4)
        return f(uint32_t(0));
    else if (job.key_bytes == 2)
        return f(uint16_t(0));
    else
        return f(uint8_t(0));
}
template <class F> __device__ void with_value_type(const sort_job &job, F f) {
    if (job.value_bytes == 4)
        f(uint32_t(0));
    else if (job.value_bytes == 8)
        f(uint64_t(0));
}

/* ---- digits that differ ------------------------------------------------------------------------------------------ */

__device__ inline uint32_t lowest_bit(uint64_t bits) { return uint32_t(__ffsll((long long)(bits))) - 1; }
__device__ inline uint64_t above_digit(uint64_t bits, uint32_t shift) {
    return shift + digit_bits < 64 ? bits >> (shift + digit_bits) << (shift + digit_bits) : 0;
}
/* The lowest bit of the top `count` digits. */
__device__ inline uint32_t shift_of_top(uint64_t bits, uint32_t count) {
    uint32_t shift = 0;
    for (; count && bits; count--) {
        shift = bits_of(bits) < digit_bits ? 0 : bits_of(bits) - digit_bits;
        bits &= (uint64_t(1) << shift) - 1;
    }
    return shift;
}
/* How many passes take all these bits. */
__device__ inline uint32_t digits_of(uint64_t differ) {
    uint32_t digits = 0;
    for (; differ; digits++)
        differ = above_digit(differ, lowest_bit(differ));
    return digits;
}

} /* namespace scan_cuda */

#endif
