/* SPDX-License-Identifier: MIT
 *
 * The quicksorts of the CPU, for tests that call them by themselves.
 */
#ifndef TESTS_UNIT_QUICK_TABLES_H
#define TESTS_UNIT_QUICK_TABLES_H

#include "scan/cpu/sort/sort.h"

static scan_sort_quick_table *const tables[SCAN_SIMD_LEVELS] = {
#if defined(__x86_64__)
    [SCAN_SIMD_AVX2] = &scan_cpu_sort_quick_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_quick_avx512,
#endif
};

static const struct {
    scan_type type;
    unsigned kind; /* row of the table */
} types[] = {{SCAN_U16, 1}, {SCAN_I32, 2}, {SCAN_U64, 3}, {SCAN_F32, 4}, {SCAN_F64, 5}};

#endif
