/* SPDX-License-Identifier: MIT
 *
 * In place of most of the library's sources for AVX2, where no test runs at that level: what dispatch refers to, and
 * never reads.
 */
char scan_cpu_assoc_avx2, scan_cpu_rows_avx2, scan_cpu_sort_kernels_avx2, scan_cpu_sort_quick_avx2,
    scan_cpu_sort_split_avx2, scan_cpu_image_avx2, scan_merge_avx2;
