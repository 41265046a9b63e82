/* SPDX-License-Identifier: MIT
 *
 * Counting, as histogram and equalize ask for it.
 */
#ifndef SCAN_CUDA_IMAGE_HISTOGRAM_CUH
#define SCAN_CUDA_IMAGE_HISTOGRAM_CUH

#include "../cuda.h"
#include "histogram_pixels.cuh"
#include "../device/kernel.cuh"

namespace scan_cuda {

struct count_job {
    const void *in;
    const uint8_t *mask;      /* NULL: all pixels */
    const uint64_t *n_device; /* NULL: n itself */
    uint64_t *bins;           /* planes histograms */
    uint64_t n;
    chunk_span span;
    uint32_t view, planes; /* views view ... view + planes - 1 are counted, each by itself */
    uint32_t ranges;       /* 65,536 bins: into so many parts, each counted by CTAs of its own */
};

__device__ inline uint64_t count_pixels(const count_job &job) {
    return job.n_device && *job.n_device < job.n ? *job.n_device : job.n;
}

constexpr size_t byte_bins = 256, word_bins = 65536;

/* Queues the counting of an image of `type` with `channels`: job without span and ranges. Rec. 709 levels have
 * word_bins bins, other views as many as the type has values. */
scan_status count_image(scan_ctx *ctx, scan_type type, uint32_t channels, count_job job);

/* How many CTAs of a kernel an SM runs at once. A grid of so many an SM is done in one wave. */
scan_status find_resident(scan_ctx *ctx, const void *kernel, int threads, size_t shared_bytes, int *ctas);

/* So many parts of the 65,536 half-word counters that one part fits a CTA's shared memory. */
uint32_t word_ranges(const scan_ctx *ctx);

} /* namespace scan_cuda */

#endif
