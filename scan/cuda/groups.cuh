/* SPDX-License-Identifier: MIT
 *
 * The fold before a tile, from what other CTAs have published: P[g + 1] = P[g] op total(group g), and within the tile's
 * own group Kogge-Stone over the tiles. A warp walks; it starts from any group whose P it knows.
 */
#ifndef SCAN_CUDA_GROUPS_CUH
#define SCAN_CUDA_GROUPS_CUH

#include "job.cuh"

namespace scan_cuda {

constexpr int groups_at_once =
    6; /* groups whose totals are asked for together: as a rule one round trip serves a tile */

template <class Op> struct group_walk {
    using T = typename Op::type;
    const scan_state &state;
    uint32_t epoch;
    uint64_t group; /* `fold` is P of this group */
    T fold;

    /* To the newest group among the last 32 whose P is published. */
    __device__ void jump(uint64_t own, int lane) {
        T there;
        uint64_t g = own - lane;
        bool found = own >= uint64_t(lane) && g > group && peek(state.groups + g * tagged_words<T>, epoch, there);
        unsigned which = __ballot_sync(all_lanes, found);
        if (which) {
            int newest = __ffs(which) - 1;
            fold = __shfl_sync(all_lanes, there, newest);
            group = own - newest;
        }
    }

    /* Walks to tile t's group and publishes its P if t begins it. Answers the tile total of this lane's tile in the
     * group, the identity from t on. */
    __device__ T to(uint64_t t, int lane) {
        const uint64_t own = t / tiles_per_group;
        T mine = Op::identity();
        for (bool arrived = false; !arrived;) {
            T total[groups_at_once];
            bool there[groups_at_once];
#pragma unroll
            for (int k = 0; k < groups_at_once; k++) {
                uint64_t i = (group + k) * tiles_per_group + lane;
                total[k] = Op::identity();
                there[k] = i >= t || peek(state.tiles + i * tagged_words<T>, epoch, total[k]);
            }
            const uint64_t first = group;
#pragma unroll
            for (int k = 0; k < groups_at_once; k++) {
                if (arrived)
                    continue;
                uint64_t i = (first + k) * tiles_per_group + lane;
                while (!there[k])
                    there[k] = peek(state.tiles + i * tagged_words<T>, epoch, total[k]);
                __syncwarp();
                if (first + k == own) {
                    mine = total[k];
                    arrived = true;
                } else {
                    fold = Op::apply(fold, warp_total<Op>(total[k]));
                    group++;
                }
            }
        }
        if (t % tiles_per_group == 0 && own > 0 && lane == 0)
            publish(state.groups + own * tagged_words<T>, epoch, fold);
        return mine;
    }
};

/* The CTA of the grid's first tile makes the totals of earlier pieces look like everybody else's. */
template <class T>
__device__ void publish_earlier(const scan_state &state, const grid_part<T> &part, uint32_t epoch, int lane) {
    if (uint64_t(lane) < part.first_tile)
        publish(state.tiles + lane * tagged_words<T>, epoch, part.tiles[lane]);
}

} /* namespace scan_cuda */

#endif
