/* SPDX-License-Identifier: MIT
 *
 * The kernels of a SIMD level from its step_4 and step_8, of WIDTH_4 and WIDTH_8 integers. Chains begin at lines and
 * vectors divide lines, so stores are aligned.
 */
#define STEP(bytes, name, streams)                                                                                     \
    SCAN_INLINE size_t name(const scan_merge_job *job, size_t i, size_t out, scan_sort_kind kind) {                    \
        (void)kind;                                                                                                    \
        return step_##bytes(job, i, out, streams);                                                                     \
    }
STEP(4, cached_4, false)
STEP(4, streamed_4, true)
STEP(8, cached_8, false)
STEP(8, streamed_8, true)
#undef STEP

#define KERNEL(bytes)                                                                                                  \
    static void merge_##bytes(const scan_merge_job *job, size_t first, size_t end) {                                   \
        const scan_sort_kind kind = {bytes, false, 0};                                                                 \
        if (!job->streams) {                                                                                           \
            scan_merge_share(job, first, end, kind, cached_##bytes, WIDTH_##bytes, scan_merge_single);                 \
            return;                                                                                                    \
        }                                                                                                              \
        scan_merge_share(job, first, end, kind, streamed_##bytes, WIDTH_##bytes, scan_merge_single);                   \
        _mm_sfence();                                                                                                  \
    }
KERNEL(4)
KERNEL(8)
#undef KERNEL
