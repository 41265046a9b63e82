/* SPDX-License-Identifier: MIT
 *
 * In place of most of the library's sources for AVX2, where no test with sanitizers runs at that level: what dispatch
 * refers to, and never reads. A program that is told to run at that level leaves with SKIPPED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char scan_cpu_assoc_avx2, scan_cpu_rows_avx2, scan_cpu_sort_kernels_avx2, scan_cpu_sort_quick_avx2,
    scan_cpu_sort_split_avx2, scan_cpu_sort_halves_avx2, scan_cpu_image_avx2, scan_merge_avx2;

enum { SKIPPED = 77 }; /* SKIP_RETURN_CODE of tests/CMakeLists.txt */

__attribute__((constructor)) static void leave_at_avx2(void) {
    const char *level = getenv("SCAN_SIMD");
    if (!level || strcmp(level, "avx2") != 0)
        return;
    fprintf(stderr, "SCAN_SIMD=avx2: this build with sanitizers is without AVX2, because no test runs it there\n");
    exit(SKIPPED);
}
