/* SPDX-License-Identifier: MIT
 *
 * The radix sort's kernels for the SIMD level avx2.
 */
#if defined(__x86_64__)
#include "kernels.h"

scan_sort_kernel_table scan_cpu_sort_kernels_avx2 = {SCAN_SORT_KEYS(ROW)};
#endif
