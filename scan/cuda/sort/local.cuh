/* SPDX-License-Identifier: MIT
 *
 * The local stage: keys in order by their top digits are put in order by the rest, a few buckets at a time, in the
 * shared memory of a CTA. One read and one write take the place of a pass for every digit below.
 *
 *     positions   0         T         2T        3T        T = 5
 *     keys        a a a a b b b b c c c d d d d d d d e   equal top digits, a bucket: equal letters
 *     tiles       [ 0    ][ 1    ][ 2  ][ 3            ]  tile i: from the start of the bucket that position i T is in
 *                                                         to the start of the one that (i + 1) T is in
 *
 * The idea is the hybrid radix sort's (Stehle and Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs",
 * 2017): most significant digits first until a bucket fits a CTA. Here the buckets come from the
 * least-significant-first passes of pass.cuh over the top digits, so there is no table of buckets: eight lanes find
 * where one begins by an 8-way search of the keys before its position, for up to 31 tiles at once. Runs of tiles are
 * dealt out to the CTAs in turn, for those that take long lie together.
 *
 * A bucket that begins more than `reach` before position i T is too large, unless all of its keys are equal: then they
 * are where they belong. Each tile copies its stretch of such a bucket, and compares every key with one at a tile's
 * position; the tiles on both sides of a position compare with the same key, and so all are compared with each other.
 * If two differ, a cluster sorts the bucket afterwards (large.cuh), or, if there are too many keys for that, all digits
 * are sorted after all (plan_all(), plan.cuh).
 *
 *     load     the tile to registers
 *       |
 *     count    bins of equal width, about two for a key, two counters to a word: a key's rank in its bin is what the
 *       |      addition returns; then scan the counters
 *       |
 *     scatter  keys to shared memory, in order by bins, with where they came from if equal ones can be told apart
 *       |
 *     mend     bins with two keys and more: neighbours change places, in windows of slots, a thread each, and then at
 *       |      their borders, as often as the fullest bin has keys; of fuller bins, or with ties, by insertion; full
 *       |      ones by a warp each: it counts the copies of a few codes, or has a network sort the keys
 *       |
 *     write    in order
 *       |
 *     values   copied to shared memory as they lie, then taken from there; with labels (local_bins.cuh) that is done
 *              while bins are mended, and keys and values are written together
 *
 * The order in a bin is that of (code, place before): stable, whatever order the additions were in. A bin of one code
 * needs no mending where equal keys are the same key. Floats alone of which some share a code, as -0 and NaNs do, are
 * sorted by codes but for the tiles that have such keys. A rank has 8 bits: where a bin has more keys, and codes tell
 * them, a second count gives the slots. Where that does not serve, the tile is sorted by the digits in which its keys
 * differ, least significant first, with stable ranks, all in shared memory. One of labels, also where they lack the
 * bits, is first taken again as keys. If there are many such tiles, the stage gives up, and all digits are sorted.
 *
 * In place: source and target may be the same array. A CTA holds its keys in registers, and its values in shared
 * memory, before it writes any; it writes its own positions only, and of the others it looks at prefixes, which are the
 * same at every position before, while and after their owners sort them, and at keys of buckets that nobody changes.
 * A key is loaded and stored whole.
 *
 * Traffic: a read and a write of keys and values. Barriers: seven a tile, eight for 4-byte floats alone, nine with
 * labels, ten with other values.
 *
 * Work: about 80 instructions of a warp for a row of 32 4-byte keys alone, a quarter to count, a fifth to mend; 1.15 ms
 * for 2^28 keys on an H200, 1.8 ms by labels with values of 4 bytes. That is the work of a pass and more: what is
 * gained is the traffic of passes and their waiting for each other's counts, so the plan asks for two passes saved at
 * least, three with values but no labels. 64 registers: four CTAs of 256 threads share an SM, of at most 6,144 keys
 * each, or fewer and larger ones (sort.cu), and work while one waits at a barrier.
 */
#ifndef SCAN_CUDA_SORT_LOCAL_CUH
#define SCAN_CUDA_SORT_LOCAL_CUH

#include "local_tile.cuh"

namespace scan_cuda {

/* Called once for each tile that is to be taken again, which takes some five times as long by digits, twice where
 * labels lacked the bits. Where there are many, and few passes or a sample sort follow a bucket that is too large,
 * these take less time: returns whether it is so. */
__device__ inline bool gives_up(const sort_job &job, uint64_t tiles) {
    const uint32_t passes = job.plan->counts_missing ? job.key_bytes : job.plan->passes_again;
    if (!job.again_follows || passes > crowded_passes ||
        atomicAdd(&job.plan->crowded, 1u) <= uint32_t(tiles / crowded_share))
        return false;
    atomicOr(&job.plan->again, 1u);
    return true;
}

/* The tiles in runs of neighbours, as many for each CTA, and of nearly one length, no longer than max_length. Of few
 * tiles a CTA has one run, or as many as that takes; also where buckets of one digit are longer than a tile: those in
 * which a bucket begins would not fall to all CTAs alike. Of many it has local_runs at least, so that crowded tiles,
 * which lie together, fall to several CTAs: 33 million f64 took 1/0.94 of CUB's time with one, 1/1.5 with four
 * (H200, 2026-11-26: tools/bench --device cuda --hunt 1 --seed 2642562588147082251). */
struct local_deck {
    uint32_t runs, length, longer; /* of all CTAs; tiles of a run; in so many runs, the first ones, one more */

    __device__ local_deck(const sort_job &job, uint32_t tiles, uint32_t max_length) {
        const uint32_t ctas = gridDim.x, each = job.again_follows && tiles >= 2 * local_runs * ctas ? local_runs : 1;
        runs = ctas * max((tiles + max_length * ctas - 1) / (max_length * ctas), each);
        length = tiles / runs;
        longer = tiles - length * runs;
    }
    __device__ uint32_t begin(uint32_t run) const { return run * length + min(run, longer); }
};

template <class Key, int value_bytes, local_form form>
__device__ void sort_tiles(const sort_job &job, local_shared &shared) {
    using tile = local_tile<Key, value_bytes, form>;
    using key_tile = local_tile<Key, value_bytes, LOCAL_KEYS>;
    constexpr bool may_share = form == LOCAL_CODES && sort_key<Key>::is_float;
    const uint32_t stride = job.plan->local_stride;
    const uint32_t tiles = uint32_t((sort_count(job) + stride - 1) / stride);
    const uint32_t cuts = min(blockDim.x / 8, uint32_t(local_cuts));
    const local_deck deck(job, tiles, cuts - 1);
    const uint32_t cuts_of_run = deck.length + (deck.longer > 0) + 1, together = cuts / cuts_of_run; /* runs */
    if (threadIdx.x == 0) {
        shared.keys = keys_source(job, job.plan->local_keys);
        shared.ones = (uint64_t(1) << job.plan->local_shift) - 1;
        shared.even = job.plan->even;
        if (may_share)
            shared.some_share = job.plan->ties;
        shared.least = ~0u;
        shared.greatest = shared.varying = 0;
    }
    for (uint32_t first = blockIdx.x; first < deck.runs; first += together * gridDim.x) {
        /* Cut i is where a tile begins, or the run before ends. */
        const auto run_of = [&](uint32_t i) { return min(first + i / cuts_of_run * gridDim.x, deck.runs); };
        const auto tile_of = [&](uint32_t i) { return deck.begin(run_of(i)) + i % cuts_of_run; };
        __syncthreads();
        if (threadIdx.x == 0)
            shared.crowded = 0;
        if (warp_of_cta() < local_cuts / 4)
            tile(job, shared)
                .find(min(sort_count(job), uint64_t(tile_of(threadIdx.x / 8)) * stride), sort_count(job),
                      shared.cut + threadIdx.x / 8);
        __syncthreads();
        const uint32_t lane = threadIdx.x % 32, run = run_of(lane);
        bool some = false;
        if (lane < together * cuts_of_run && run < deck.runs && tile_of(lane) < deck.begin(run + 1)) {
            const local_cut &low = shared.cut[lane], &high = (&low)[1];
            some = low.large || high.large || low.begin < high.begin;
        }
        for (uint32_t left = __ballot_sync(all_lanes, some); left; left &= left - 1) {
            const uint32_t i = __ffs(int(left)) - 1;
            if (tile(job, shared).take(shared.cut[i], shared.cut[i + 1]))
                continue;
            if (threadIdx.x == 0) {
                shared.crowded |= 1u << i;
                shared.gives_up = gives_up(job, tiles);
            }
            __syncthreads();
            if (shared.gives_up)
                return;
        }
        __syncthreads();
        /* These come later, where the keys of others take no registers. */
        for (uint32_t left = shared.crowded; left; left &= left - 1) {
            const local_cut &low = shared.cut[__ffs(int(left)) - 1], &high = (&low)[1];
            if (__syncthreads_or(job.again_follows && threadIdx.x == 0 && __ldcg(&job.plan->again)))
                return; /* the stage has given up */
            if (form != LOCAL_LABELS && !(may_share && shared.some_share))
                tile(job, shared).take_crowded(low, high);
            else if (form != LOCAL_LABELS || !key_tile(job, shared).take(low, high))
                key_tile(job, shared).take_crowded(low, high);
        }
    }
}

template <class Key, int value_bytes>
__global__ void __launch_bounds__(local_most_threads, 1) local_kernel(const __grid_constant__ sort_job job) {
    __shared__ local_shared shared;
    grid_dependency_wait();
    if (job.plan->local_shift == 0) {
        if (!job.again_follows)
            finish_typed<key_bits<Key>, value_bytes>(job, sort_count(job), job.plan->finish);
        return;
    }
    if constexpr (local_labels<Key, value_bytes>)
        if (job.local.labels)
            return sort_tiles<Key, value_bytes, LOCAL_LABELS>(job, shared);
    if (value_bytes > 0 || (job.plan->ties && !sort_key<Key>::is_float)) {
        sort_tiles<Key, value_bytes, LOCAL_KEYS>(job, shared);
    } else {
        sort_tiles<Key, value_bytes, LOCAL_CODES>(job, shared);
    }
}

} /* namespace scan_cuda */

#endif
