/* SPDX-License-Identifier: MIT
 *
 * A row of kernels.h, made from the templates.
 */
#ifndef SCAN_CUDA_SORT_INSTANCE_CUH
#define SCAN_CUDA_SORT_INSTANCE_CUH

#include <type_traits>

#include "local.cuh"
#include "narrow.cuh"
#include "pack.cuh"
#include "pass.cuh"
#include "survey.cuh"
#include "kernels.h"

namespace scan_cuda {

template <class Key, bool wide> sort_survey_kernel survey_of() {
    using shape = survey_shape<Key, wide>;
    return {address(survey_kernel<Key, wide>),
            address(plan_kernel<Key, wide>),
            shape::threads,
            shape::ctas,
            shape::words * 4,
            wide ? shape::tile : shape::layer};
}

template <class Shape> sort_pass_cut cut_of() {
    return {Shape::shared_bytes, int(pass_bytes<Shape>), Shape::tile, portion_tiles<Shape> * Shape::tile,
            Shape::state_stride * sizeof(uint64_t)};
}

template <class Key, int value_bytes, pass_size size> sort_pass_kernel pass_of() {
    using tight = pass_shape<Key, value_bytes, false, size>;
    using roomy = pass_shape<Key, value_bytes, true, size>;
    constexpr bool loops = has_registers_to_loop<Key, value_bytes>;
    sort_pass_kernel k = {};
    k.kernel = address(pass_kernel<Key, value_bytes, loops, PASS_ANY, size>);
    k.several = address(pass_kernel<Key, value_bytes, true, PASS_ANY, size>);
    k.threads = roomy::threads;
    k.ctas = size == LARGE_TILES ? 1 : 2;
    k.cut[0] = cut_of<tight>();
    k.cut[1] = cut_of<roomy>();
    if constexpr (std::is_same_v<Key, float> && value_bytes == 4 && size == LARGE_TILES) {
        k.of_keys = address(pass_kernel<Key, value_bytes, loops, PASS_OF_KEYS, size>);
        k.of_codes = address(pass_kernel<Key, value_bytes, loops, PASS_OF_CODES, size>);
    }
    return k;
}

template <class Key, int value_bytes> sort_local_kernel local_of() {
    return {address(local_kernel<Key, value_bytes>), local_rows<Key, value_bytes>, local_element<Key, value_bytes>};
}

template <class Key> sort_kernels sort_kernels_of() {
    sort_kernels k = {};
    k.survey[0] = survey_of<Key, false>();
    k.survey[1] = survey_of<Key, true>();
    k.pass[MEDIUM_TILES][0] = pass_of<Key, 0, MEDIUM_TILES>();
    k.pass[MEDIUM_TILES][1] = pass_of<Key, 4, MEDIUM_TILES>();
    k.pass[MEDIUM_TILES][2] = pass_of<Key, 8, MEDIUM_TILES>();
    if constexpr (sizeof(Key) <= 4)
        k.pass[SMALL_TILES][0] = pass_of<Key, 0, SMALL_TILES>();
    if constexpr (sizeof(Key) == 2 || sizeof(Key) == 4)
        k.pass[SMALL_TILES][1] = pass_of<Key, 4, SMALL_TILES>();
    if constexpr (sizeof(Key) >= 4) {
        k.pass[LARGE_TILES][0] = pass_of<Key, 0, LARGE_TILES>();
        k.pass[LARGE_TILES][1] = pass_of<Key, 4, LARGE_TILES>();
        k.pass[LARGE_TILES][2] = pass_of<Key, 8, LARGE_TILES>();
        k.local[0] = local_of<Key, 0>();
        k.local[1] = local_of<Key, 4>();
        k.local[2] = local_of<Key, 8>();
    }
    if constexpr (sizeof(Key) >= 4 && !sort_key<Key>::is_float) {
        k.narrow_count = address(narrow_count_kernel<Key>);
        k.narrow_fill = address(narrow_fill_kernel<Key>);
    }
    if constexpr (sizeof(Key) == 8) {
        k.pack = address(pack_kernel<Key>);
        k.interval_codes = address(interval_codes_kernel<Key>);
        k.runs = address(runs_kernel<Key>);
    }
    return k;
}

} /* namespace scan_cuda */

#endif
