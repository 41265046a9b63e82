/* SPDX-License-Identifier: MIT
 *
 * Where look-back waits: the fold before a tile, from what other CTAs have published. P[g + 1] = P[g] op total(group
 * g), and within the tile's own group Kogge-Stone over the tiles. One warp walks from group to group, from any whose P
 * it knows, and spins until the totals that it needs are there.
 */
#ifndef SCAN_CUDA_GRID_LOOK_BACK_WALK_CUH
#define SCAN_CUDA_GRID_LOOK_BACK_WALK_CUH

#include "job.cuh"

namespace scan_cuda {

/* at_once: groups whose totals are loaded together, so that as a rule one round trip serves a tile. Their words lie at
 * one address and constant offsets from it, and are loaded whether needed or not (spare_tiles): with branches or
 * addresses of their own the compiler would make some loads wait for others. */
template <class Op, int at_once = 7> struct group_walk {
    using T = typename Op::type;
    static constexpr uint64_t groups_at_once = at_once;
    const scan_state &state;
    uint32_t epoch;
    uint64_t group; /* `fold` is P of this group */
    T fold;

    /* Goes to the newest group among the last 32 whose P is published, if there is one. */
    __device__ void jump(uint64_t own, int lane) {
        T there;
        uint64_t g = own - lane;
        bool found = own >= uint64_t(lane) && g > group && try_load(state.groups + g * tagged_words<T>, epoch, there);
        unsigned which = __ballot_sync(all_lanes, found);
        if (which) {
            int newest = __ffs(which) - 1;
            fold = __shfl_sync(all_lanes, there, newest);
            group = own - newest;
        }
    }

    /* Walks to tile t's group and publishes its P if t begins it. Returns the total of this lane's tile in
     * the group, the identity from t on. */
    __device__ T to(uint64_t t, int lane) {
        constexpr int merged = 8, group_words = tiles_per_group * tagged_words<T>;
        static_assert(at_once <= merged, "groups are folded eight at once");
        const uint64_t own = t / tiles_per_group;
        const uint64_t *own_word = state.tiles + own * group_words + lane * tagged_words<T>;
        const int before = int(t % tiles_per_group); /* tiles of its group */
        T mine;
        while (true) {
            const int groups = int(min(own - group, uint64_t(at_once)));
            const uint64_t *word = state.tiles + group * group_words + lane * tagged_words<T>;
            T totals[merged];
            bool all;
            do {
                all = try_load(own_word, epoch, mine) | (lane >= before);
#pragma unroll
                for (int k = 0; k < at_once; k++)
                    all &= try_load(word + k * group_words, epoch, totals[k]) | (k >= groups);
            } while (!__all_sync(all_lanes, all));
            __syncwarp();
#pragma unroll
            for (int k = at_once; k < merged; k++)
                totals[k] = Op::identity();
            const T group_total = warp_totals<Op, merged>(totals, lane);
#pragma unroll
            for (int k = 0; k < at_once; k++) {
                const T total = __shfl_sync(all_lanes, group_total, k);
                fold = k < groups ? Op::apply(fold, total) : fold;
            }
            group += uint64_t(groups);
            if (group == own)
                break;
        }
        if (t % tiles_per_group == 0 && own > 0 && lane == 0)
            publish(state.groups + own * tagged_words<T>, epoch, fold);
        return lane < before ? mine : Op::identity();
    }
};

/* Publishes the totals of the group's tiles in earlier pieces, by the CTA of the grid's first tile. */
template <class T>
__device__ void publish_earlier(const scan_state &state, const grid_part<T> &part, uint32_t epoch, int lane) {
    if (uint64_t(lane) < part.first_tile)
        publish(state.tiles + lane * tagged_words<T>, epoch, part.tiles[lane]);
}

} /* namespace scan_cuda */

#endif
