/* SPDX-License-Identifier: MIT
 *
 * Counting into 65,536 bins.
 *
 * A CTA holds a counter of 16 bits for every bin: word i of its table counts level i in its low half and level
 * i + 32,768 in its high half, 128 KiB of shared memory in all. A GPU with less splits the words into ranges, each
 * counted by CTAs of its own, which all read the image.
 *
 * Overflow. An addition that finds bits 13 to 15 of a counter in the value it gets back makes its thread move them to
 * the bin in global memory before it ends its step. A counter with such bits that no thread is about to move has just
 * passed 2^13, by one addition of at most 512 samples. From the addition that finds them until they have moved, a CTA
 * counts at most the 3 * 2^14 samples of three steps. So no counter reaches 2^16, and the low half of a word never
 * carries into the high half.
 *
 * Contention. Additions of one warp to one counter are serialized: an image of few levels costs about as many steps as
 * lanes have the same level. A thread adds 16 pixels of one level at once, so an image of one level costs 1/16 of an
 * addition a sample. Shorter runs are not looked for, because the pixels of one thread do not meet.
 *
 * End. CTAs add their counters to the bins. From 9.0 on the two CTAs of a cluster add up theirs first, each those of
 * half the words, which it reads from the other's shared memory: half the additions that the L2 cache performs.
 *
 * Traffic: the image once a plane and range; 65,536 additions of 8 bytes a CTA, or a cluster.
 */
#ifndef SCAN_CUDA_IMAGE_HISTOGRAM_WORDS_CUH
#define SCAN_CUDA_IMAGE_HISTOGRAM_WORDS_CUH

#include "histogram.cuh"

namespace scan_cuda {

constexpr uint32_t half_bins = 0x8000;     /* words of a whole table */
constexpr uint32_t full_bits = 0xe000e000; /* of the two counters of a word */
constexpr uint32_t max_uncleared = 0xc000; /* samples of the steps under way at a time */
constexpr int word_threads = 1024;
static_assert(0x2000 + 512 + max_uncleared < 0x10000, "what a counter reaches");

struct word_counter {
    uint32_t *table; /* shared: `size` words */
    uint64_t *bins;  /* global: of all levels, zero before the launch */
    uint32_t first, size;

    __device__ void clear() const {
        for (uint32_t i = threadIdx.x; i < size / 4; i += blockDim.x)
            reinterpret_cast<uint4 *>(table)[i] = make_uint4(0, 0, 0, 0);
    }

    /* Adds up to 512 samples to a level, which may be of another range unless the table is whole. Returns the word from
     * before. It has no branch, so that the additions of a chunk are issued one after another: a lane without an
     * addition adds 0 to a word in its own bank, and returns 0. */
    template <bool whole = false> __device__ uint32_t put(uint32_t level, uint32_t count) const {
        const uint32_t i = (level & (half_bins - 1)) - (whole ? 0 : first), half = level / half_bins * 0xffff + 1;
        if (whole)
            return atomicAdd(table + i, count * half);
        const bool counts = count && i < size;
        const uint32_t before = atomicAdd(table + (counts ? i : threadIdx.x % 32), counts ? count * half : 0);
        return counts ? before : 0;
    }

    /* Moves the full bits of a level's word to the bins. */
    __device__ void relieve(uint32_t level) const {
        const uint32_t i = (level & (half_bins - 1)) - first;
        if (i >= size)
            return;
        const uint32_t full = atomicAnd(table + i, ~full_bits) & full_bits;
        spill(i, full & 0xffff, full >> 16);
    }

    __device__ void add(uint32_t level, uint32_t count) const {
        if (put(level, count) & full_bits)
            relieve(level);
    }

    __device__ void add(const uint32_t (&levels)[chunk_pixels], uint32_t present) const {
        if (are_same(levels))
            add(levels[0], uint32_t(__popc(present)));
        else if (present == all_pixels && size == half_bins)
            add_each<true>(levels, all_pixels);
        else
            add_each<false>(levels, present);
    }

    /* Adds all counters of a cluster to the bins, each CTA those of its share of the words; after a barrier of the
     * cluster and before another. CTAs start at different words to reduce contention. */
    __device__ void flush(uint32_t cluster) const {
        const uint32_t share = size / cluster, rank = blockIdx.x % cluster;
        const uint32_t *other = cluster_at(table, rank ^ (cluster - 1));
#pragma unroll 4
        for (uint32_t k = threadIdx.x; k < share; k += word_threads) {
            const uint32_t i = rank * share + (k + blockIdx.x / cluster * 1024) % share;
            const uint32_t mine = table[i], others = cluster > 1 ? other[i] : 0;
            spill(i, (mine & 0xffff) + (others & 0xffff), (mine >> 16) + (others >> 16));
        }
    }

  private:
    /* Two levels are compared first, because most often they differ. */
    __device__ static bool are_same(const uint32_t (&levels)[chunk_pixels]) {
        if (levels[0] != levels[chunk_pixels - 1])
            return false;
        uint32_t differ = 0;
#pragma unroll
        for (int p = 1; p < chunk_pixels - 1; p++)
            differ |= levels[p] ^ levels[0];
        return !differ;
    }

    template <bool whole> __device__ void add_each(const uint32_t (&levels)[chunk_pixels], uint32_t present) const {
        uint32_t before = 0;
#pragma unroll
        for (int p = 0; p < chunk_pixels; p++)
            before |= put<whole>(levels[p], whole ? 1 : present >> p & 1);
        if (before & full_bits)
#pragma unroll
            for (int p = 0; p < chunk_pixels; p++)
                relieve(levels[p]);
    }

    __device__ void spill(uint32_t i, uint32_t low, uint32_t high) const {
        unsigned long long *at = (unsigned long long *)bins + first + i;
        if (low)
            atomicAdd(at, (unsigned long long)low);
        if (high)
            atomicAdd(at + half_bins, (unsigned long long)high);
    }
};

static_assert(3 * word_threads * chunk_pixels == max_uncleared, "three steps of a chunk a thread");

/* The barrier between the steps of a CTA. From 9.0 on a warp waits at the end of a step only for all to have ended the
 * step before, so that at most three steps are under way; older GPUs have a full barrier every third step. */
struct step_barrier {
    uint64_t *barrier; /* shared */
    bool split;

    __device__ void open() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        if (split && threadIdx.x == 0)
            barrier_init(barrier, word_threads / 32);
#endif
    }
    __device__ void end_step(uint32_t step) const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        if (split) {
            if (step)
                barrier_wait(barrier, (step - 1) % 2);
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                barrier_arrive(barrier);
            return;
        }
#endif
        if (step % 3 == 2)
            __syncthreads();
    }
};

/* Cluster c counts plane and range c % (planes * ranges), each of its CTAs a share of the pixels. The next chunk is
 * loaded while one is counted. */
template <class S, int channels>
__global__ void __launch_bounds__(word_threads, 1) count_words_kernel(const __grid_constant__ count_job job) {
    const uint32_t slots = job.planes * job.ranges, slot = blockIdx.x / job.cluster % slots, plane = slot / job.ranges;
    const uint32_t share = blockIdx.x / (job.cluster * slots) * job.cluster + blockIdx.x % job.cluster;
    const uint32_t size = half_bins / job.ranges, view = job.view + plane;
    const word_counter counter = {dynamic_shared<uint32_t>(), job.bins + plane * word_bins, slot % job.ranges * size,
                                  size};
    __shared__ uint64_t barrier_word;
    const step_barrier barrier = {&barrier_word, job.split_barrier};
    const S *in = static_cast<const S *>(job.in);
    const uint64_t n = count_pixels(job), chunks = chunk_count(job.span, n), loose = n - chunks * chunk_pixels;
    const uint64_t first = uint64_t(share) * blockDim.x, step = uint64_t(gridDim.x / slots) * blockDim.x;

    chunk<S, channels> x;
    uint32_t present, steps = 0;
    auto load = [&](uint64_t i) {
        present = 0;
        if (i < chunks) {
            const uint64_t pixel = job.span.head + i * chunk_pixels;
            x.load_aligned(in + pixel * channels);
            present = masked_pixels(job.mask, pixel);
        }
    };
    load(first + threadIdx.x);
    barrier.open();
    counter.clear();
    __syncthreads();
    for (uint64_t i = first; i < chunks; i += step) {
        uint32_t levels[chunk_pixels];
        const uint32_t now = present;
        visit_levels(x, view, [&](int p, uint32_t level) { levels[p] = level; });
        load(i + step + threadIdx.x);
        counter.add(levels, now);
        barrier.end_step(steps++);
    }
    for (uint64_t i = first; i < loose; i += step) {
        const uint64_t k = i + threadIdx.x, pixel = loose_pixel(job.span, chunks, k);
        if (k < loose && (!job.mask || job.mask[pixel]))
            counter.add(level_at(in + pixel * channels, view), 1);
        barrier.end_step(steps++);
    }
    if (job.cluster > 1) {
        cluster_arrive();
        cluster_wait();
    } else {
        __syncthreads();
    }
    counter.flush(job.cluster);
    if (job.cluster > 1) { /* shared memory stays until the other CTA has read it */
        cluster_arrive();
        cluster_wait();
    }
}

} /* namespace scan_cuda */

#endif
