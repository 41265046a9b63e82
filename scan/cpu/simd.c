/* SPDX-License-Identifier: MIT
 *
 * SIMD levels: what the processor supports and SCAN_SIMD allows.
 */
#include "simd.h"

#include <stdlib.h>
#include <string.h>
#if SCAN_HAS_SIMD
#include <cpuid.h>
#endif

static const char *const level_names[SCAN_SIMD_LEVELS] = {"portable", "avx2", "avx512"};

const char *scan_simd_name(scan_simd level) { return level_names[level]; }

#if SCAN_HAS_SIMD
/* Only late compilers know LZCNT in __builtin_cpu_supports. A processor without LZCNT runs it as BSR, with wrong
 * results.
 */
static bool has_lzcnt(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000001u, &eax, &ebx, &ecx, &edx) && (ecx & bit_LZCNT);
}
#endif

static scan_simd processor_level(void) {
#if SCAN_HAS_SIMD
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("popcnt") && has_lzcnt();
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
                  __builtin_cpu_supports("avx512vbmi2");
    return avx512 ? SCAN_SIMD_AVX512 : avx2 ? SCAN_SIMD_AVX2 : SCAN_SIMD_PORTABLE;
#else
    return SCAN_SIMD_PORTABLE;
#endif
}

scan_status scan_simd_detect(scan_ctx *ctx, scan_simd *level) {
    *level = processor_level();
    const char *cap = getenv("SCAN_SIMD");
    if (!cap || !*cap)
        return SCAN_OK;
    for (int i = 0; i < SCAN_SIMD_LEVELS; i++)
        if (strcmp(cap, level_names[i]) == 0) {
            if ((scan_simd)i < *level)
                *level = (scan_simd)i;
            return SCAN_OK;
        }
    return scan_fail(ctx, SCAN_ERR_ARGUMENT, "SCAN_SIMD=%s: not one of avx512, avx2, portable", cap);
}
