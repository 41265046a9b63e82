/* SPDX-License-Identifier: MIT
 *
 * Counting into 65,536 bins.
 *
 * A CTA holds a counter of 16 bits for every bin: a word of its table counts level i in its low half and level i +
 * 32,768 in its high half, 128 KiB of shared memory in all. A GPU with less splits the words into ranges, each counted
 * by CTAs of its own, which all read the image.
 *
 * Banks. Level i has word i ^ (i >> 5), so that levels a power of two apart, as of 12 bits in the upper part of 16, lie
 * in different banks. Random levels then take 3.5 steps for a warp's additions, and these bound the speed.
 *
 * Overflow. Each addition that takes a counter to or beyond a multiple of 2^13 moves 2^13 from the counter to the bin
 * in global memory before its thread ends its step. The low 13 bits change by additions alone, so exactly one thread
 * sees each crossing, however many add meanwhile. A CTA is in three steps at a time, of 2^14 samples each: what they
 * add crosses at most 6 multiples. So no counter reaches 2^16, and the low half of a word never carries into the high
 * half.
 *
 * Contention. Additions of one warp to one counter are serialized: an image of few levels costs about as many steps as
 * lanes have the same level. A thread adds 16 pixels of one level at once, so an image of one level costs 1/16 of an
 * addition a sample. Shorter runs are not looked for, because the pixels of one thread do not meet; nor are levels that
 * many pixels of a warp have, for looking costs all images a tenth.
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

constexpr uint32_t half_bins = 0x8000;    /* words of a whole table */
constexpr uint32_t crossing = 0x20002000; /* the bit of either counter that changes where one crosses a multiple */
constexpr uint32_t moved = 0x2000;        /* samples that are then moved to the bin */
constexpr uint32_t max_unmoved = 0xc000;  /* samples of the steps under way at a time */
constexpr int word_threads = 1024;
static_assert(3 * word_threads * chunk_pixels == max_unmoved, "three steps of a chunk a thread");
static_assert(moved - 1 + max_unmoved / moved * moved < 0x10000, "what a counter reaches");

/* The levels of a chunk's pixels, two to a word. */
struct chunk_levels {
    uint32_t w[chunk_pixels / 2];

    __device__ void set(int p, uint32_t level) { w[p / 2] = p % 2 ? w[p / 2] | level << 16 : level; } /* in order */
    __device__ uint32_t get(int p) const { return p % 2 ? w[p / 2] >> 16 : w[p / 2] & 0xffff; }
    /* Makes the compiler have them here: the warp waits for their loads. */
    __device__ void settle() {
#pragma unroll
        for (int k = 0; k < chunk_pixels / 2; k++)
            w[k] = opaque(w[k]);
    }
    __device__ bool are_same() const {
        uint32_t differ = (w[0] ^ w[0] >> 16) & 0xffff;
#pragma unroll
        for (int k = 1; k < chunk_pixels / 2; k++)
            differ |= w[k] ^ w[0];
        return !differ;
    }
};

struct word_counter {
    uint32_t *table; /* shared: `size` words */
    uint64_t *bins;  /* global: of all levels, zero before the launch */
    uint32_t first, size;

    __device__ void clear() const {
        for (uint32_t i = threadIdx.x; i < size / 4; i += blockDim.x)
            reinterpret_cast<uint4 *>(table)[i] = make_uint4(0, 0, 0, 0);
    }

    /* Adds up to 512 samples to a level, which may be of another range. */
    __device__ void add(uint32_t level, uint32_t count) const { add_one<false>(level, count); }

    /* whole: the table is, and all pixels are present. */
    template <bool whole> __device__ void add(const chunk_levels &levels, uint32_t present) const {
        if (levels.are_same())
            add_one<whole>(levels.get(0), whole ? chunk_pixels : uint32_t(__popc(present)));
        else
            add_each<whole>(levels, present);
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
            const uint32_t level = level_of(first + i);
            add_to_bin(level, (mine & 0xffff) + (others & 0xffff));
            add_to_bin(level + half_bins, (mine >> 16) + (others >> 16));
        }
    }

  private:
    static constexpr int group = chunk_pixels / 2; /* additions in flight together: more take too many registers */

    template <bool whole> __device__ void add_one(uint32_t level, uint32_t count) const {
        if (put<whole>(level, count) & crossing)
            move<whole>(level);
    }

    __device__ static uint32_t word_of(uint32_t level) {
        const uint32_t i = level & (half_bins - 1);
        return i ^ i >> 5;
    }
    __device__ static uint32_t level_of(uint32_t word) { return word ^ word >> 5 ^ word >> 10; }
    __device__ static uint32_t unit_of(uint32_t level) { return level / half_bins * 0xffff + 1; }

    /* Adds to a level and returns which bits of the word changed. It has no branch, so that the additions of a group
     * are issued one after another: a lane without an addition adds 0 to a word in its own bank. whole: all levels are
     * of this range, and the count is not 0. */
    template <bool whole> __device__ uint32_t put(uint32_t level, uint32_t count) const {
        const uint32_t i = word_of(level) - (whole ? 0 : first);
        const bool counts = whole || (count && i < size);
        const uint32_t sum = counts ? count * unit_of(level) : 0;
        const uint32_t before = atomicAdd(table + (counts ? i : threadIdx.x % 32), sum);
        return before ^ (before + sum);
    }

    /* For a thread whose addition crossed a multiple. */
    template <bool whole> __device__ void move(uint32_t level) const {
        atomicSub(table + word_of(level) - (whole ? 0 : first), moved * unit_of(level));
        add_to_bin(level, moved);
    }

    template <bool whole> __device__ void add_each(const chunk_levels &levels, uint32_t present) const {
#pragma unroll
        for (int begin = 0; begin < chunk_pixels; begin += group) {
            uint32_t changed[group], any = 0;
#pragma unroll
            for (int k = 0; k < group; k++) {
                changed[k] = put<whole>(levels.get(begin + k), whole ? 1 : present >> (begin + k) & 1);
                any |= changed[k];
            }
            if (any & crossing)
#pragma unroll
                for (int k = 0; k < group; k++)
                    if (changed[k] & crossing)
                        move<whole>(levels.get(begin + k));
        }
    }

    __device__ void add_to_bin(uint32_t level, uint32_t count) const {
        if (count)
            atomicAdd((unsigned long long *)bins + level, (unsigned long long)count);
    }
};

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
    /* Both at the end of a step, in this order. */
    __device__ void wait(uint32_t step) const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        if (split && step)
            barrier_wait(barrier, (step - 1) % 2);
#endif
    }
    __device__ void arrive(uint32_t step) const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        if (split) {
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

/* The chunks of a CTA: i = first, first + step, ... for its first thread. The next one is loaded while one is counted.
 * Returns how many steps that were. plain: the table is whole, and there is no mask. */
template <bool plain, class S, int channels>
__device__ uint32_t count_chunks(const count_job &job, const word_counter &counter, const step_barrier &barrier,
                                 uint32_t view, uint64_t chunks, uint64_t first, uint64_t step) {
    const S *in = static_cast<const S *>(job.in) + uint64_t(job.span.head) * channels;
    chunk<S, channels> x;
    uint32_t present = 0, steps = 0;
    auto load = [&](uint64_t i) {
        if (i < chunks)
            x.load_aligned(in + i * chunk_pixels * channels);
        if (!plain)
            present = i < chunks ? masked_pixels(job.mask, job.span.head + i * chunk_pixels) : 0;
    };
    load(first + threadIdx.x);
    barrier.open();
    counter.clear();
    __syncthreads();
    chunk_levels levels;
    auto take_levels = [&]() {
        visit_levels(x, view, [&](int p, uint32_t level) { levels.set(p, level); });
        levels.settle();
    };
    take_levels();
    for (uint64_t i = first; i < chunks; i += step) {
        const uint32_t now = present;
        const bool exists = i + threadIdx.x < chunks;
        load(i + step + threadIdx.x);
        if (exists)
            counter.add<plain>(levels, plain ? all_pixels : now);
        barrier.wait(steps);
        take_levels();
        barrier.arrive(steps++);
    }
    return steps;
}

/* Cluster c counts plane and range c % (planes * ranges), each of its CTAs a share of the pixels. */
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
    uint32_t steps = !job.mask && job.ranges == 1
                         ? count_chunks<true, S, channels>(job, counter, barrier, view, chunks, first, step)
                         : count_chunks<false, S, channels>(job, counter, barrier, view, chunks, first, step);
    for (uint64_t i = first; i < loose; i += step) {
        const uint64_t k = i + threadIdx.x, pixel = loose_pixel(job.span, chunks, k);
        if (k < loose && (!job.mask || job.mask[pixel]))
            counter.add(level_at(in + pixel * channels, view), 1);
        barrier.wait(steps);
        barrier.arrive(steps++);
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
