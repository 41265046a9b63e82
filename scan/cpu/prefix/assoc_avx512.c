/* SPDX-License-Identifier: MIT
 *
 * Associative prefix kernels for AVX-512; see assoc_simd.h.
 */
#if defined(__x86_64__)
#include "vec_avx512.h"

#include "assoc_simd.h"

scan_cpu_assoc_table scan_cpu_assoc_avx512 = {SCAN_CPU_ASSOC_KERNELS};
#endif
