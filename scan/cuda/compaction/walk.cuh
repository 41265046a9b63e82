/* SPDX-License-Identifier: MIT
 *
 * How many elements are kept before a tile, from what other CTAs have published: the walk over groups of 32 tiles of
 * groups.cuh, for sums of integers. A tile publishes one word, {epoch, kept, last}; a group's beginning two pairs of
 * words, for sums need 64 bits.
 *
 * Order. Nobody reads anything else on the strength of these words, so relaxed order is enough, unless the output lies
 * over the input: then a tile's word says that the tile has been read, and whoever passes the news on, in the word of
 * a group or by storing outputs, must have it. `ordered` puts a fence on both sides: release, acquire.
 */
#ifndef SCAN_CUDA_COMPACTION_WALK_CUH
#define SCAN_CUDA_COMPACTION_WALK_CUH

#include "../groups.cuh"
#include "rows.cuh"

namespace scan_cuda {

constexpr uint64_t words_of_group = 4;
constexpr int walk_groups = 10; /* asked for together: as a rule one round trip serves a tile of two look-back warps */

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

class compaction_walk {
    const scan_state &state;
    const uint32_t epoch;
    const int tile; /* elements */
    const bool ordered;
    const int lane;
    uint64_t group = 0; /* `before` is true of this group's beginning */
    kept_so_far before = {0, 0};

    /* Tile i, or nothing from tile `end` on; waits for what is not there yet. */
    __device__ bool ask(uint64_t i, uint64_t end, tile_news &news) const {
        news = {0};
        return i >= end || peek(state.tiles + i, epoch, news);
    }

    /* 1 + the index of the last kept element up to the tiles of group g that the news are of, one a lane. */
    __device__ uint64_t latest(uint64_t g, tile_news news, uint64_t earlier) const {
        const unsigned some = __ballot_sync(all_lanes, news.last() != 0);
        if (!some)
            return earlier;
        const int newest = 31 - __clz(int(some));
        return (g * tiles_per_group + uint64_t(newest)) * uint64_t(tile) + __shfl_sync(all_lanes, news.last(), newest);
    }

    /* To the newest beginning of a group among the last 32 that is published. */
    __device__ void jump(uint64_t own) {
        kept_so_far there = {0, 0};
        const uint64_t g = own - uint64_t(lane);
        const uint64_t *words = state.groups + g * words_of_group;
        bool found =
            own >= uint64_t(lane) && g > group && peek(words, epoch, there.count) && peek(words + 2, epoch, there.last);
        unsigned which = __ballot_sync(all_lanes, found);
        if (which) {
            int newest = __ffs(int(which)) - 1;
            before.count = __shfl_sync(all_lanes, there.count, newest);
            before.last = __shfl_sync(all_lanes, there.last, newest);
            group = own - uint64_t(newest);
        }
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

    /* Everything before tile t; t never decreases from call to call. By a whole warp. */
    __device__ kept_so_far to(uint64_t t) {
        const uint64_t own = t / tiles_per_group;
        if (own - group > 16 || group == 0)
            jump(own);
        tile_news mine = {0}; /* of this lane's tile in t's group */
        for (bool arrived = false; !arrived;) {
            tile_news news[walk_groups];
            bool there[walk_groups];
#pragma unroll
            for (int k = 0; k < walk_groups; k++)
                there[k] = ask((group + k) * tiles_per_group + uint64_t(lane), t, news[k]);
            uint32_t kept = 0, lasts = 0;
#pragma unroll
            for (int k = 0; k < walk_groups; k++) {
                while (!there[k])
                    there[k] = ask((group + k) * tiles_per_group + uint64_t(lane), t, news[k]);
                if (group + k < own) {
                    kept += news[k].kept();
                    lasts |= news[k].last();
                } else if (group + k == own) {
                    mine = news[k];
                    arrived = true;
                }
            }
            __syncwarp();
            before.count += warp_sum(kept);
            if (__any_sync(all_lanes, lasts != 0))
#pragma unroll
                for (int k = 0; k < walk_groups; k++)
                    before.last = latest(group + k, group + k < own ? news[k] : tile_news{0}, before.last);
            group = arrived ? own : group + walk_groups;
        }
        const kept_so_far sum = {before.count + warp_sum(mine.kept()), latest(group, mine, before.last)};
        if (ordered)
            gpu_fence();
        if (t % tiles_per_group == 0 && t > 0 && lane == 0) {
            uint64_t *words = state.groups + own * words_of_group;
            publish(words, epoch, sum.count);
            publish(words + 2, epoch, sum.last);
        }
        return sum;
    }
};

} /* namespace scan_cuda */

#endif
