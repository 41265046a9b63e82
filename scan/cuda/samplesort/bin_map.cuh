/* SPDX-License-Identifier: MIT
 *
 * Sample sort: which of a bucket's bins a code belongs to (local.cuh). Both maps keep the order of codes.
 *
 *     range     codes from the least to the greatest, in bins of equal width, a power of two
 *     bits      where codes vary in few bits with constant ones between them, ranges of equal width are mostly empty:
 *
 *                   varying    ..11.1..1..1.        the topmost of these bits, as many as number the bins, are
 *                   bin        111 1 1              gathered group by group
 */
#ifndef SCAN_CUDA_SAMPLESORT_BIN_MAP_CUH
#define SCAN_CUDA_SAMPLESORT_BIN_MAP_CUH

#include "job.cuh"

namespace scan_cuda {
namespace samplesort {

/* Which bin a code belongs to, a monotone function: (code - low) >> shift, or the bits of groups, each shifted to its
 * place. */
constexpr uint32_t most_groups = 8;
struct bit_group {
    uint32_t shift, mask;
};
template <class K> struct bin_map {
    K low;
    uint32_t shift, used, groups; /* used: bins, a power of two; groups: 0 for the range */

    __device__ uint32_t of(K code, const bit_group *group) const {
        if (groups == 0)
            return uint32_t(K(code - low) >> shift);
        uint32_t bin = 0;
#pragma unroll 1
        for (uint32_t g = 0; g < groups; g++)
            bin |= uint32_t(code >> group[g].shift) & group[g].mask;
        return bin;
    }
};

/* By one thread. */
template <class K> __device__ void map_range(bin_map<K> &map, K low, K high, uint32_t used) {
    const uint32_t bin_bits = 31 - uint32_t(__clz(int(used)));
    const uint32_t range_bits = high > low ? bits_of(K(high - low)) : 0;
    map.low = low;
    map.shift = range_bits > bin_bits ? range_bits - bin_bits : 0;
    map.groups = 0;
    map.used = used;
}

/* The topmost bits that vary, as many as number the bins, in up to most_groups groups. By one thread. */
template <class K> __device__ void map_bits(bin_map<K> &map, bit_group *group, K varying) {
    uint32_t left = min(31 - uint32_t(__clz(int(map.used))), uint32_t(__popcll(varying)));
    map.groups = 0;
    while (left > 0 && map.groups < most_groups) {
        const uint32_t top = bits_of(varying); /* the group's bits are below it */
        const K holes = K(~varying) & K(K(~K(0)) >> (8 * sizeof(K) - top));
        const uint32_t width = min(top - bits_of(holes), left);
        left -= width;
        /* as many bits as are left vary below the group, so that no shift is negative */
        group[map.groups++] = {top - width - left, ((1u << width) - 1) << left};
        varying &= width < top ? K(K(~K(0)) >> (8 * sizeof(K) - (top - width))) : K(0);
    }
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
