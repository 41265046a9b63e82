/* SPDX-License-Identifier: MIT
 *
 * Merges without SIMD: all types, with and without values.
 */
#include "chains.h"

#define KERNEL(key, floats, value)                                                                                     \
    static void merge_##key##_##floats##_##value(const scan_merge_job *job, size_t first, size_t end) {                \
        const scan_sort_kind kind = {key, floats, value};                                                              \
        scan_merge_share(job, first, end, kind, scan_merge_single, 1, scan_merge_single);                              \
    }
#define KERNELS(key, floats) KERNEL(key, floats, 0) KERNEL(key, floats, 4) KERNEL(key, floats, 8)
KERNELS(1, 0)
KERNELS(2, 0)
KERNELS(4, 0)
KERNELS(8, 0)
KERNELS(4, 1)
KERNELS(8, 1)

#define ROW(key, floats)                                                                                               \
    { merge_##key##_##floats##_0, merge_##key##_##floats##_4, merge_##key##_##floats##_8 }
scan_merge_kernels scan_merge_portable = {
    {ROW(1, 0), {NULL}}, {ROW(2, 0), {NULL}}, {ROW(4, 0), ROW(4, 1)}, {ROW(8, 0), ROW(8, 1)}};
