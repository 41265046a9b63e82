/* SPDX-License-Identifier: MIT
 *
 * The radix sort's kernels for the SIMD level portable.
 */
#include "kernels.h"

scan_sort_kernel_table scan_cpu_sort_kernels_portable = {SCAN_SORT_KEYS(ROW)};
