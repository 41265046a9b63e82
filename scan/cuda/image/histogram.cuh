/* SPDX-License-Identifier: MIT
 *
 * The counting of an image, shared by histogram and equalize.
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
    uint64_t *bins;           /* `planes` histograms */
    uint64_t n;
    chunk_span span;
    uint32_t view, planes; /* counts views view ... view + planes - 1, a histogram each */
    uint32_t ranges;       /* parts of the 65,536 bins, each counted by CTAs of its own */
    uint32_t cluster;      /* CTAs of one plane and range that add up their counts, 1 or 2 */
    bool split_barrier;    /* the GPU has barriers at which a thread arrives before it waits */
};

__device__ inline uint64_t count_pixels(const count_job &job) {
    return job.n_device && *job.n_device < job.n ? *job.n_device : job.n;
}

constexpr size_t byte_bins = 256, word_bins = 65536;

/* Queues the counting of an image of `type` with `channels`. The caller leaves the job's span and ranges to it. Rec.
 * 709 levels have word_bins bins, other views as many as the type has values. */
scan_status count_image(scan_ctx *ctx, scan_type type, uint32_t channels, count_job job);

/* Sets *ctas to the number of CTAs of a kernel that an SM runs at once, at least 1. */
scan_status find_resident(scan_ctx *ctx, const void *kernel, int threads, size_t shared_bytes, int *ctas);

/* Into how many parts the 65,536 16-bit counters are split so that one part fits a CTA's shared memory. */
uint32_t word_ranges(const scan_ctx *ctx);

} /* namespace scan_cuda */

#endif
