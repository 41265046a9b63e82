/* SPDX-License-Identifier: MIT
 *
 * The look-back: how many elements are kept before a tile, from what other CTAs have published. Every tile publishes
 * its status, one word {epoch, kept, last}. The first tile of a group of 32 also publishes its prefix, which is what
 * all tiles before it keep: four words, because a prefix has two numbers of 64 bits. A warp adds up the statuses of the
 * tiles between its own tile and one whose prefix it knows: an earlier tile of the CTA or, if that one is far, the
 * newest group whose prefix is published.
 *
 * Memory order. Relaxed order is enough where the output lies beside the input, because no other memory is read after
 * these words. In place, a tile's status also means that the tile has been read, and a CTA that publishes a prefix or
 * stores outputs relies on that for all tiles before. Then `ordered` makes each publication a release and each prefix
 * an acquire, by a fence on both sides.
 */
#ifndef SCAN_CUDA_SELECT_WALK_CUH
#define SCAN_CUDA_SELECT_WALK_CUH

#include "../device/order.cuh"
#include "../device/tickets.cuh"
#include "rows.cuh"

namespace scan_cuda {

/* How many elements a tile keeps, and 1 + the position of the last of them (only for run lengths, else 0). */
struct tile_status {
    uint32_t bits;
    __device__ static tile_status of(uint32_t kept, uint32_t last) { return {kept << 16 | last}; }
    __device__ uint32_t kept() const { return bits >> 16; }
    __device__ uint32_t last() const { return bits & 0xffff; }
};

/* What the tiles before a tile keep: how many elements, and 1 + the index of the last of them, 0 if there is none. */
struct kept_prefix {
    uint64_t count, last;
};

__device__ inline kept_prefix operator+(const kept_prefix &a, const kept_prefix &b) {
    return {a.count + b.count, b.last ? b.last : a.last};
}

/* words: statuses that a lane loads at once. */
template <int words> class tile_walk {
    const scan_state &state;
    const uint32_t epoch;
    const int tile; /* elements */
    const bool ordered;
    const int lane;

    /* What `left` tiles from tile `at` on keep, at most 32 * words tiles. Lanes without a tile load the status of the
     * last one, because the compiler has only unconditional loads in flight together. */
    __device__ kept_prefix sum_of(uint64_t at, uint32_t left) const {
        const uint64_t *from = state.tiles + at;
        tile_status status[words];
        for (bool there = false; !there;) {
            there = true;
#pragma unroll
            for (int k = 0; k < words; k++)
                there &= try_load(from + min(uint32_t(k * 32 + lane), left - 1), epoch, status[k]);
            there = __all_sync(all_lanes, there);
        }
        uint32_t kept = 0, last = 0; /* last: 1 + the last kept element, counted from tile `at` on */
#pragma unroll
        for (int k = 0; k < words; k++) {
            const uint32_t i = uint32_t(k * 32 + lane);
            if (i < left) {
                kept += status[k].kept();
                last = status[k].last() ? i * uint32_t(tile) + status[k].last() : last;
            }
        }
        __syncwarp();
        last = warp_max(last);
        return {warp_sum(kept), last ? at * uint64_t(tile) + last : 0};
    }

  public:
    __device__ tile_walk(const scan_state &state, uint32_t epoch, int tile, bool ordered)
        : state(state), epoch(epoch), tile(tile), ordered(ordered), lane(int(threadIdx.x % 32)) {}

    /* By one thread, after the whole tile has been read. */
    __device__ void publish_tile(uint64_t t, tile_status status) const {
        if (ordered)
            gpu_fence();
        perturb();
        publish(state.tiles + t, epoch, status);
    }

    /* Looks for the newest group that begins after tile `from` and whose prefix is published, among the 32 groups up to
     * that of tile t. If there is one, sets `from` to its first tile and `before` to its prefix, and returns true. By a
     * whole warp, like the functions below. */
    __device__ bool jump(uint64_t t, uint64_t &from, kept_prefix &before) const {
        kept_prefix there = {0, 0};
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

    /* What the tiles from `from` up to t keep, without t; waits for their statuses. */
    __device__ kept_prefix between(uint64_t from, uint64_t t) const {
        kept_prefix sum = {0, 0};
        while (from < t) {
            const uint32_t left = uint32_t(min(t - from, uint64_t(32 * words)));
            sum = sum + sum_of(from, left);
            from += left;
        }
        return sum;
    }

    /* before: the prefix of tile t. Publishes it if t begins a group. To be called before anything that depends on the
     * prefix: in place, it makes the reads of the tiles before t visible. */
    __device__ void publish_prefix(uint64_t t, const kept_prefix &before) const {
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
