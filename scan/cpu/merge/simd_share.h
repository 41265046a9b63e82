/* SPDX-License-Identifier: MIT
 *
 * The kernels of a SIMD level from its next_4 and next_8, which take the next WIDTH_4 or WIDTH_8 integers and add to i
 * how many of them are a's. A step makes a line of 64 bytes: what goes past the caches does so by whole lines, and
 * would be written in parts if the chains took turns within one. Chains begin at lines, so stores are aligned.
 */
#define STEP(bytes, name, store)                                                                                       \
    SCAN_INLINE size_t name(const scan_merge_job *job, size_t i, size_t out, scan_sort_kind kind) {                    \
        enum { VECTORS = 64 / (bytes * WIDTH_##bytes) };                                                               \
        vector line[VECTORS];                                                                                          \
        char *to = (char *)job->keys_out + out * (bytes);                                                              \
        size_t a = i;                                                                                                  \
        (void)kind;                                                                                                    \
        for (int k = 0; k < VECTORS; k++)                                                                              \
            line[k] = next_##bytes(job, &a, out + (size_t)k * WIDTH_##bytes);                                          \
        for (int k = 0; k < VECTORS; k++)                                                                              \
            store((vector *)(void *)to + k, line[k]);                                                                  \
        return a - i;                                                                                                  \
    }
STEP(4, cached_4, STORE)
STEP(4, streamed_4, STREAM)
STEP(8, cached_8, STORE)
STEP(8, streamed_8, STREAM)
#undef STEP

#define KERNEL(bytes)                                                                                                  \
    static void merge_##bytes(const scan_merge_job *job, size_t first, size_t end) {                                   \
        const scan_sort_kind kind = {bytes, false, 0};                                                                 \
        if (!job->streams) {                                                                                           \
            scan_merge_share(job, first, end, kind, cached_##bytes, 64 / (bytes), scan_merge_single);                  \
            return;                                                                                                    \
        }                                                                                                              \
        scan_merge_share(job, first, end, kind, streamed_##bytes, 64 / (bytes), scan_merge_single);                    \
        _mm_sfence();                                                                                                  \
    }
KERNEL(4)
KERNEL(8)
#undef KERNEL
