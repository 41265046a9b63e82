/* SPDX-License-Identifier: MIT
 *
 * Associative prefix kernels for AVX2; see prefix_simd.h.
 */
#if defined(__x86_64__)
#include "prefix_vec_avx2.h"

#include "prefix_simd.h"

scan_cpu_assoc_table scan_cpu_assoc_avx2 = {SCAN_CPU_ASSOC_KERNELS};
#endif
