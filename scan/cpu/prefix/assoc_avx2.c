/* SPDX-License-Identifier: MIT
 *
 * Associative prefix kernels for AVX2; see assoc_simd.h.
 */
#if defined(__x86_64__)
#include "vec_avx2.h"

#include "assoc_simd.h"

scan_cpu_assoc_table scan_cpu_assoc_avx2 = {SCAN_CPU_ASSOC_KERNELS};
#endif
