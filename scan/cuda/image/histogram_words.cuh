/* SPDX-License-Identifier: MIT
 *
 * Counting into 65,536 bins.
 *
 * A CTA holds a counter of 16 bits for every bin: word i of its table counts level i in its low half and level
 * i + 32,768 in its high half, 128 KiB of shared memory in all. A GPU with less splits the words into ranges, each
 * counted by CTAs of its own, which all read the image.
 *
 * Overflow. Every counter is below 2^15 at a barrier, and between two barriers a CTA counts at most 2^15 samples. So no
 * counter reaches 2^16, and the low half of a word never carries into the high half. An addition that takes a counter
 * across 2^15 sees that in the value it gets back. Then, after the barrier, the whole CTA sweeps the table and adds
 * 2^15 of each counter that has them to its bin in global memory. That happens at most once in 2^15 samples, and never
 * for images without a dominant level.
 *
 * Contention. Additions of one warp to one counter are serialized. Equal neighbours among a thread's 16 pixels are one
 * addition, so an image of one level costs 1/16 of an addition a sample; an image of few levels costs about as many
 * steps as lanes have the same level.
 *
 * Traffic: the image once a plane and range; 65,536 additions of 8 bytes a CTA, which the L2 cache performs.
 */
#ifndef SCAN_CUDA_IMAGE_HISTOGRAM_WORDS_CUH
#define SCAN_CUDA_IMAGE_HISTOGRAM_WORDS_CUH

#include "histogram.cuh"

namespace scan_cuda {

constexpr uint32_t half_bins = 0x8000; /* words of a whole table; what a counter stays below; samples a barrier */
constexpr uint32_t both_half_full = 0x80008000;

struct word_counter {
    uint32_t *table; /* shared: `size` words */
    uint64_t *bins;  /* global: of all levels, zero before the launch */
    uint32_t first, size;

    __device__ void clear() const {
        for (uint32_t i = threadIdx.x; i < size / 4; i += blockDim.x)
            reinterpret_cast<uint4 *>(table)[i] = make_uint4(0, 0, 0, 0);
    }

    /* Adds to a level, which may be of another range unless the table is whole. Returns the bits of the word that
     * changed. It has no branch, so that the additions of a chunk are issued one after another: a lane without an
     * addition adds 0 to a word in its own bank. */
    template <bool whole = false> __device__ uint32_t put(uint32_t level, uint32_t count) const {
        const uint32_t i = (level & (half_bins - 1)) - (whole ? 0 : first);
        const bool here = whole || i < size, counts = count && here;
        const uint32_t more = (here ? count : 0) << (level / half_bins * 16);
        const uint32_t before = atomicAdd(table + (counts ? i : threadIdx.x % 32), more);
        return before ^ (before + more);
    }

    __device__ uint32_t put(const uint32_t (&levels)[chunk_pixels], uint32_t present) const {
        if (present != all_pixels)
            return put_runs<false>(levels, present);
        return size == half_bins ? put_runs<true>(levels, all_pixels) : put_runs<false>(levels, all_pixels);
    }

    /* The barrier after at most half_bins samples; `changed` is what put returned. */
    __device__ void barrier(uint32_t changed) const {
        if (!__syncthreads_or((changed & both_half_full) != 0))
            return;
        for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
            const uint32_t full = table[i] & both_half_full;
            if (full) {
                table[i] -= full;
                spill(i, full);
            }
        }
        __syncthreads();
    }

    /* Adds all counters to the bins; after a barrier. CTAs start at different words to reduce contention. */
    __device__ void flush() const {
        for (uint32_t k = threadIdx.x; k < size; k += blockDim.x) {
            const uint32_t i = (k + blockIdx.x * 1024) % size;
            spill(i, table[i]);
        }
    }

  private:
    template <bool whole> __device__ uint32_t put_runs(const uint32_t (&levels)[chunk_pixels], uint32_t present) const {
        uint32_t run = 0, changed = 0;
#pragma unroll
        for (int p = 0; p < chunk_pixels; p++) {
            run += present >> p & 1;
            const bool ends = p == chunk_pixels - 1 || levels[p] != levels[(p + 1) % chunk_pixels];
            changed |= put<whole>(levels[p], ends ? run : 0);
            run = ends ? 0 : run;
        }
        return changed;
    }

    __device__ void spill(uint32_t i, uint32_t both) const {
        unsigned long long *at = (unsigned long long *)bins + first + i;
        if (both & 0xffff)
            atomicAdd(at, (unsigned long long)(both & 0xffff));
        if (both >> 16)
            atomicAdd(at + half_bins, (unsigned long long)(both >> 16));
    }
};

constexpr int word_threads = 1024;
static_assert(word_threads * chunk_pixels <= half_bins, "a chunk a thread between two barriers");

/* CTA b counts plane and range b % (planes * ranges) of its share of the pixels. The next chunk is loaded while one is
 * counted. */
template <class S, int channels>
__global__ void __launch_bounds__(word_threads, 1) count_words_kernel(const __grid_constant__ count_job job) {
    const uint32_t slots = job.planes * job.ranges, slot = blockIdx.x % slots, plane = slot / job.ranges;
    const uint32_t size = half_bins / job.ranges, view = job.view + plane;
    const word_counter counter = {dynamic_shared<uint32_t>(), job.bins + plane * word_bins, slot % job.ranges * size,
                                  size};
    const S *in = static_cast<const S *>(job.in);
    const uint64_t n = count_pixels(job), chunks = chunk_count(job.span, n), loose = n - chunks * chunk_pixels;
    const uint64_t first = uint64_t(blockIdx.x / slots) * blockDim.x, step = uint64_t(gridDim.x / slots) * blockDim.x;

    chunk<S, channels> x;
    uint32_t present;
    auto load = [&](uint64_t i) {
        present = 0;
        if (i < chunks) {
            const uint64_t pixel = job.span.head + i * chunk_pixels;
            x.load_aligned(in + pixel * channels);
            present = masked_pixels(job.mask, pixel);
        }
    };
    load(first + threadIdx.x);
    counter.clear();
    __syncthreads();
    for (uint64_t i = first; i < chunks; i += step) {
        uint32_t levels[chunk_pixels];
        const uint32_t now = present;
        visit_levels(x, view, [&](int p, uint32_t level) { levels[p] = level; });
        load(i + step + threadIdx.x);
        counter.barrier(counter.put(levels, now));
    }
    for (uint64_t i = first; i < loose; i += step) {
        const uint64_t k = i + threadIdx.x, pixel = loose_pixel(job.span, chunks, k);
        uint32_t changed = 0;
        if (k < loose && (!job.mask || job.mask[pixel]))
            changed = counter.put(level_at(in + pixel * channels, view), 1);
        counter.barrier(changed);
    }
    counter.flush();
}

} /* namespace scan_cuda */

#endif
