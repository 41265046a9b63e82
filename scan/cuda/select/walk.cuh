/* SPDX-License-Identifier: MIT
 *
 * How many elements are kept before a tile, from what other CTAs have published. A tile publishes one word, {epoch,
 * kept, last}; the first tile of a group of 32 two pairs of words, what is before it, for sums need 64 bits. A warp
 * adds up the words since a tile that it knows all about, or since the newest beginning of a group if that tile is far.
 *
 * Order. Nobody reads anything else on the strength of these words, so relaxed order is enough, unless the output lies
 * over the input: then a tile's word says that the tile has been read, and whoever passes the news on, in the word of
 * a group or by storing outputs, must have it. `ordered` puts a fence on both sides: release, acquire.
 */
#ifndef SCAN_CUDA_SELECT_WALK_CUH
#define SCAN_CUDA_SELECT_WALK_CUH

#include "../device/order.cuh"
#include "../device/tickets.cuh"
#include "rows.cuh"

namespace scan_cuda {

constexpr uint64_t words_of_group = 4;

/* What a tile tells: how many it keeps, and 1 + the position of the last of them (only for run lengths, else 0). */
struct tile_news {
    uint32_t bits;
    __device__ static tile_news of(uint32_t kept, uint32_t last) { return {kept << 16 | last}; }
    __device__ uint32_t kept() const { return bits >> 16; }
    __device__ uint32_t last() const { return bits & 0xffff; }
};

/* All tiles before some place: kept elements, and 1 + the index of the last of them, 0 if there is none. */
struct kept_so_far {
    uint64_t count, last;
};

__device__ inline kept_so_far operator+(const kept_so_far &a, const kept_so_far &b) {
    return {a.count + b.count, b.last ? b.last : a.last};
}

/* words: of a lane, asked for together. */
template <int words> class compaction_walk {
    const scan_state &state;
    const uint32_t epoch;
    const int tile; /* elements */
    const bool ordered;
    const int lane;

    /* `left` tiles from tile `at` on, at most 32 * words. Lanes too many ask for the last of them: only loads without
     * conditions are all in flight together. */
    __device__ kept_so_far add(uint64_t at, uint32_t left) const {
        const uint64_t *from = state.tiles + at;
        tile_news news[words];
        for (bool there = false; !there;) {
            there = true;
#pragma unroll
            for (int k = 0; k < words; k++)
                there &= try_load(from + min(uint32_t(k * 32 + lane), left - 1), epoch, news[k]);
            there = __all_sync(all_lanes, there);
        }
        uint32_t kept = 0, last = 0; /* last: 1 + the last kept element, counted from tile `at` on */
#pragma unroll
        for (int k = 0; k < words; k++) {
            const uint32_t i = uint32_t(k * 32 + lane);
            if (i < left) {
                kept += news[k].kept();
                last = news[k].last() ? i * uint32_t(tile) + news[k].last() : last;
            }
        }
        __syncwarp();
        last = warp_max(last);
        return {warp_sum(kept), last ? at * uint64_t(tile) + last : 0};
    }

  public:
    __device__ compaction_walk(const scan_state &state, uint32_t epoch, int tile, bool ordered)
        : state(state), epoch(epoch), tile(tile), ordered(ordered), lane(int(threadIdx.x % 32)) {}

    /* By one thread, when all of the tile has been read. */
    __device__ void tell(uint64_t t, tile_news news) const {
        if (ordered)
            gpu_fence();
        perturb();
        publish(state.tiles + t, epoch, news);
    }

    /* To the newest beginning of a group up to tile t's, among the last 32, that is published and after tile `from`, if
     * there is one: it becomes `from`, and what is before it `before`. By a whole warp, as all below. */
    __device__ bool jump(uint64_t t, uint64_t &from, kept_so_far &before) const {
        kept_so_far there = {0, 0};
        const uint64_t own = t / tiles_per_group, g = own - uint64_t(lane);
        const uint64_t *at = state.groups + g * words_of_group;
        const bool found = own >= uint64_t(lane) && g * tiles_per_group > from && try_load(at, epoch, there.count) &&
                           try_load(at + 2, epoch, there.last);
        const unsigned which = __ballot_sync(all_lanes, found);
        if (!which)
            return false;
        const int newest = __ffs(int(which)) - 1;
        from = (own - uint64_t(newest)) * tiles_per_group;
        before = {__shfl_sync(all_lanes, there.count, newest), __shfl_sync(all_lanes, there.last, newest)};
        return true;
    }

    /* What the tiles from `from` up to t keep; waits for those that have not told it yet. */
    __device__ kept_so_far between(uint64_t from, uint64_t t) const {
        kept_so_far sum = {0, 0};
        while (from < t) {
            const uint32_t left = uint32_t(min(t - from, uint64_t(32 * words)));
            sum = sum + add(from, left);
            from += left;
        }
        return sum;
    }

    /* `before` is before tile t; called ahead of anything that is done on the strength of it. */
    __device__ void pass_on(uint64_t t, const kept_so_far &before) const {
        if (ordered)
            gpu_fence();
        if (t % tiles_per_group == 0 && t > 0 && lane == 0) {
            uint64_t *at = state.groups + t / tiles_per_group * words_of_group;
            publish(at, epoch, before.count);
            publish(at + 2, epoch, before.last);
        }
    }
};

} /* namespace scan_cuda */

#endif
