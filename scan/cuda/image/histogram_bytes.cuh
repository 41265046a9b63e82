/* SPDX-License-Identifier: MIT
 *
 * Counting into 256 bins.
 *
 * A CTA's table in shared memory has a row of 32 counters for every bin: one a lane, in that lane's bank.
 *
 *     bin 0     lane 0   lane 1   lane 2   ...   lane 31
 *     bin 1     lane 0   lane 1   lane 2   ...   lane 31
 *     ...
 *
 * The 32 increments of a warp always go to 32 banks, so the time does not depend on the data. If all lanes shared 256
 * counters, a warp's increments would be serialized in three or four steps for random samples and in 32 for the black
 * border of a photograph. The warps of the CTA share the table, by atomic additions that return nothing, so no load
 * waits for a store and nothing overflows before 2^32 samples a lane. With three or four histograms at a time a row has
 * 16 counters to fit 64 KiB, and two lanes share one.
 *
 * Cost of a sample: shift, mask, one shared addition. The sums of the rows are added to the 64-bit bins in global
 * memory, 256 additions a CTA and plane.
 *
 * Idea of private columns: Nugteren et al., "High Performance Predictable Histogramming on GPUs", 2011.
 */
#ifndef SCAN_CUDA_IMAGE_HISTOGRAM_BYTES_CUH
#define SCAN_CUDA_IMAGE_HISTOGRAM_BYTES_CUH

#include "histogram.cuh"

namespace scan_cuda {

template <int planes> struct byte_counter {
    static constexpr int columns = planes <= 2 ? 32 : 16;
    static constexpr int words = planes * int(byte_bins) * columns;
    static constexpr int shared_bytes = words * 4;
    uint32_t *table; /* shared */

    __device__ void clear() const {
        for (int i = int(threadIdx.x); i < words / 4; i += int(blockDim.x))
            reinterpret_cast<uint4 *>(table)[i] = make_uint4(0, 0, 0, 0);
    }

    __device__ void add_one(uint32_t plane, uint32_t level) const {
        atomicAdd(table + (plane * byte_bins + level) * columns + threadIdx.x % columns, 1u);
    }

    /* Pixels that are not present add 0, which needs no branch. */
    template <int channels>
    __device__ void add(uint32_t plane, uint32_t view, const chunk<uint8_t, channels> &x, uint32_t present) const {
        uint32_t *column = table + plane * byte_bins * columns + threadIdx.x % columns;
        if (present == all_pixels)
            visit_levels(x, view, [=](int, uint32_t level) { shared_add(column, level * (columns * 4), 1); });
        else
            visit_levels(x, view,
                         [=](int p, uint32_t level) { shared_add(column, level * (columns * 4), present >> p & 1); });
    }

    /* Returns the count of a bin; bin is plane * byte_bins + level. Threads of a warp with neighbouring bins start at
     * different columns, so that they read different banks. */
    __device__ uint64_t total(uint32_t bin) const {
        const uint32_t *row = table + bin * columns, first = bin * columns / 32;
        uint64_t sum = 0;
#pragma unroll 8
        for (uint32_t k = 0; k < columns; k++)
            sum += row[(first + k) % columns];
        return sum;
    }
};

/* Counts this CTA's share of the pixels. */
template <int channels> __device__ void count_bytes(const count_job &job, const byte_counter<channels> &counter) {
    constexpr int at_once = channels == 1 ? 4 : 1; /* chunks in flight a thread */
    const uint32_t planes = channels == 1 ? 1 : job.planes;
    const uint8_t *in = static_cast<const uint8_t *>(job.in);
    const uint64_t n = count_pixels(job), chunks = chunk_count(job.span, n), loose = n - chunks * chunk_pixels;
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x, step = uint64_t(gridDim.x) * blockDim.x;
    uint64_t i = first;
    for (; !job.mask && i + (at_once - 1) * step < chunks; i += at_once * step) {
        chunk<uint8_t, channels> x[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            x[k].load_aligned(in + (job.span.head + (i + k * step) * chunk_pixels) * channels);
#pragma unroll
        for (int k = 0; k < at_once; k++)
#pragma unroll 1
            for (uint32_t plane = 0; plane < planes; plane++)
                counter.add(plane, job.view + plane, x[k], all_pixels);
    }
#pragma unroll 1
    for (; i < chunks; i += step) {
        const uint64_t pixel = job.span.head + i * chunk_pixels;
        chunk<uint8_t, channels> x;
        x.load_aligned(in + pixel * channels);
        const uint32_t present = masked_pixels(job.mask, pixel);
#pragma unroll 1
        for (uint32_t plane = 0; plane < planes; plane++)
            counter.add(plane, job.view + plane, x, present);
    }
    for (uint64_t k = first; k < loose; k += step) {
        const uint64_t pixel = loose_pixel(job.span, chunks, k);
        if (!job.mask || job.mask[pixel])
            for (uint32_t plane = 0; plane < planes; plane++)
                counter.add_one(plane, level_at(in + pixel * channels, job.view + plane));
    }
}

constexpr int byte_threads = 512;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int byte_ctas = 2; /* an SM holds 1,024 threads */
#else
constexpr int byte_ctas = 3;
#endif

/* A single CTA stores the bins; several add to bins that are zero. */
template <int channels>
__global__ void __launch_bounds__(byte_threads, channels == 1 ? byte_ctas : 2)
    count_bytes_kernel(const __grid_constant__ count_job job) {
    const byte_counter<channels> counter = {dynamic_shared<uint32_t>()};
    counter.clear();
    __syncthreads();
    count_bytes(job, counter);
    __syncthreads();
    for (uint32_t bin = threadIdx.x; bin < job.planes * byte_bins; bin += blockDim.x) {
        const uint64_t count = counter.total(bin);
        if (gridDim.x == 1)
            job.bins[bin] = count;
        else if (count)
            atomicAdd((unsigned long long *)job.bins + bin, (unsigned long long)count);
    }
}

} /* namespace scan_cuda */

#endif
