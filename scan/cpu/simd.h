/* SPDX-License-Identifier: MIT
 *
 * SIMD levels. A level is a fixed set of instruction sets, chosen once per context. A file avx2.c, NAME_avx2.c,
 * avx512.c or NAME_avx512.c is compiled with exactly these enabled (scan/CMakeLists.txt), and called only at its level.
 *
 *   avx2     AVX2, BMI1, BMI2, LZCNT, POPCNT            (Haswell, Zen)
 *   avx512   those and AVX-512 F BW DQ VL CD VBMI VBMI2  (Ice Lake, Zen 4)
 */
#ifndef SCAN_CPU_SIMD_H
#define SCAN_CPU_SIMD_H

#include "../internal.h"

typedef enum scan_simd { SCAN_SIMD_PORTABLE = 0, SCAN_SIMD_AVX2 = 1, SCAN_SIMD_AVX512 = 2 } scan_simd;

enum { SCAN_SIMD_LEVELS = 3 };

/* Other processors have neither level. SCAN_NO_SIMD leaves both out where the CPU backend is not what is tested. */
#if defined(__x86_64__) && !defined(SCAN_NO_SIMD)
#define SCAN_HAS_SIMD 1
#else
#define SCAN_HAS_SIMD 0
#endif

/* Finds the processor's level, capped by the environment variable SCAN_SIMD. ARGUMENT if that names no level. */
scan_status scan_simd_detect(scan_ctx *ctx, scan_simd *level);

const char *scan_simd_name(scan_simd level);

#endif
