/* SPDX-License-Identifier: MIT
 *
 * Rows of float add and mul for AVX-512; see prefix_rows_simd.h.
 */
#if defined(__x86_64__)
#include "prefix_vec_avx512.h"
#include "prefix_rows_simd.h"

scan_cpu_rows_table scan_cpu_rows_avx512 = {SCAN_CPU_ROWS_KERNELS(SCAN_CPU_ROWS_ENTRY)};
#endif
