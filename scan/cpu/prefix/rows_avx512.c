/* SPDX-License-Identifier: MIT
 *
 * Rows of float add and mul for AVX-512; see rows_simd.h.
 */
#if defined(__x86_64__)
#include "vec_avx512.h"
#include "rows_simd.h"

scan_cpu_rows_table scan_cpu_rows_avx512 = {SCAN_CPU_ROWS_KERNELS};
#endif
