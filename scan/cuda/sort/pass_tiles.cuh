/* SPDX-License-Identifier: MIT
 *
 * The tiles of a pass: how they are cut, what a CTA keeps of them in shared memory, and the look-back, which finds how
 * many keys of each digit the tiles before one have.
 *
 *     tile          t - 3         t - 2         t - 1          t
 *     count         own           own           own           own       of a digit, known as soon as keys are loaded
 *     inclusive     those of all tiles up to it                         known after its look-back
 *
 * A tile adds the counts of those before it, back to one whose inclusive count is there, and publishes its own. State
 * words carry the epoch of the launch (tickets.cuh), so nothing is cleared. Of few tiles, which begin together, hardly
 * any knows its inclusive count in time: there look-backs are by groups of tiles.
 */
#ifndef SCAN_CUDA_SORT_PASS_TILES_CUH
#define SCAN_CUDA_SORT_PASS_TILES_CUH

#include "kernels.h"
#include "../device/tickets.cuh"
#include "job.cuh"

namespace scan_cuda {

/* `rank_warps` warps of `rows` rows of 32 keys, as many rows as measured best on an H200, or as fit: into 40 KB, of the
 * 64 KB of shared memory that a CTA of sm_75 has, or into 74 KB: two CTAs then leave an SM of the H200 60 KB of L1,
 * which loads on their way need (with two rows more, 28 KB of L1, pairs of 4 bytes took 2 to 4 % longer). Large tiles
 * of 4-byte keys, and tiles of 1- and 2-byte keys alone, have odd numbers of rows: where a tile has equally many keys
 * of each digit, as of a sequence, its runs then begin in different banks of shared memory. With 24 rows in place of
 * 23, 218,541,316 keys of which each tile had 64 values took 5.9 ms in place of 4.0, and with 32 in place of 31,
 * 10,370,797 2-byte keys 81 us in place of 53 (H200, 2026-11-30: tools/bench --device cuda --hunt 1 --seed
 * 8466348805053506015, and 7037796344512413821). But medium tiles of 4-byte pairs with a row less took 2 to 3 % longer,
 * and large ones of 16-byte pairs 5 %. A tile holds at least 32 KB of keys and values together, so that its state
 * words, 8 bytes a digit, fit the sixteenth of the workspace that is theirs; of bytes alone half of that, and half the
 * words, for all 8 bits of them are sorted by fill.cuh. Those of few keys of up to 4 bytes alone, and of 2 and 4 bytes
 * with 4-byte values, are smaller, so that more SMs have one: see choose_pass(); such a workspace has room for more
 * words. Code for sm_90 runs on newer GPUs that have no more than 99 KB a CTA: medium tiles fit there, large ones are
 * for 148 KB, or, in the emulator, 60.
 *
 * A large tile is two medium ones, of one CTA that has the SM for itself. Its runs of a digit are twice as long, so
 * that fewer lines are written in parts, and there are half as many state words to look back at; and its CTA takes a
 * ticket so early that L2 has the keys when it asks for them (asked for their values too, pairs of 16 bytes took
 * longer). Of 1,000 sets those of 17 M elements and more were sorted 1.03 times as fast, of 67 M and more 1.04 (H200,
 * 2026-11-28: tools/bench --device cuda --hunt 1000 --seed 20261128 --min-n 100000 --max-n 2^28). */
template <class Key, int value_bytes, bool roomy, pass_size size> struct pass_shape {
    static constexpr int key_size = sizeof(key_bits<Key>);
    static constexpr int widest = key_size > value_bytes ? key_size : value_bytes;
    static constexpr bool narrow = widest <= 2;
    static constexpr bool large = size == LARGE_TILES;
    static constexpr int rank_warps = narrow ? 16 : large ? 24 : 12;
    static constexpr int look_back_warps = 4;
    static constexpr int rank_threads = rank_warps * 32;
    static constexpr int look_back_threads = look_back_warps * 32;
    static constexpr int threads = rank_threads + look_back_threads;
    static constexpr int row_bytes = rank_threads * (key_size + value_bytes);
    static constexpr bool small = size == SMALL_TILES;
    static constexpr int best_rows = narrow             ? small ? 21 : 33
                                     : key_size == 8    ? 14
                                     : large            ? value_bytes == 8   ? 15
                                                          : value_bytes == 4 ? 23
                                                                             : 29
                                     : value_bytes == 8 ? 14
                                     : small            ? key_size == 4 ? 20 : 14
                                                        : 28;
    static constexpr int room = roomy ? large ? 148 : 74 : large ? 60 : 40; /* KB */
    static constexpr int fitting_rows = (room << 10) / row_bytes / 2 * 2;
    static constexpr int rows = best_rows < fitting_rows ? best_rows : fitting_rows;
    static constexpr int tile = rank_threads * rows;
    static constexpr uint32_t state_stride = key_size == 1 && !value_bytes ? radix / 2 : radix; /* words of a tile */
    static constexpr bool by_runs = value_bytes > 0 || key_size == 8;            /* others gain nothing */
    static constexpr int line = widest == 8 ? 16 : 32;                           /* 128 bytes of the wider elements */
    static constexpr int usual_stores = (tile / radix * 3 / 2 + line + 30) / 32; /* of 32 elements, for a digit */
    static constexpr uint32_t long_run = 4 * tile / radix;          /* keys of a digit that are too many for a warp */
    static constexpr uint32_t far_window = value_bytes > 0 ? 4 : 1; /* see look_back() */
    /* Tiles of a CTA up to which look_back_by_groups() serves. Measured. */
    static constexpr uint32_t grouped_tiles = value_bytes == 0 || key_size + value_bytes == 12 ? far_tiles : 1;
    static constexpr int counter_bytes = rank_warps * radix * 4;
    static constexpr int shared_bytes = counter_bytes + rows * row_bytes;
    static constexpr int ctas = narrow || large ? 1 : 2; /* of an SM */
};

/* Of the kernel that is being compiled. */
#ifdef __CUDA_ARCH__
constexpr bool roomy_here = is_roomy(__CUDA_ARCH__ / 10), large_here = takes_large_tiles(__CUDA_ARCH__ / 10);
#else
constexpr bool roomy_here = false, large_here = true;
#endif

template <class Shape> constexpr uint64_t portion_tiles = max_portion_keys / Shape::tile;

/* What a launch does. It is kept here because a pass has no registers to spare for what surrounds it. */
struct pass_launch {
    uint64_t first, n;      /* elements before the portion; of the sort */
    uint32_t tiles;         /* of the portion */
    uint32_t passes, epoch; /* the first one's */
    bool grouped;           /* look-backs are by groups of tiles */
    sort_finish finish;     /* what this launch does after them */
};

/* Arrays of two are for tiles in turns. */
template <class Shape> struct pass_shared {
    named_barrier_pair<1, Shape::rank_threads, Shape::look_back_threads> both;
    named_barrier<2, Shape::rank_threads> counted, written, sorted;
    named_barrier<3, radix> summed;
    sort_pass pass;
    pass_launch launch;
    uint32_t passed;                   /* tickets of the launch that belong to passes before this one */
    uint32_t next, done;               /* the CTA's first ticket of a later pass; its tiles of this one */
    uint32_t parity;                   /* of the barriers, when the pass begins */
    ticket first;                      /* the CTA's of this pass: its epoch and tile */
    uint32_t tile[2];                  /* numbers of later tickets */
    uint32_t sums[radix / 32];         /* keys of 32 digits in the tile */
    uint32_t long_runs[2][radix / 32]; /* digits that have them, a bit each */
    uint32_t counts[2][radix];         /* keys of the digit in the tile */
    uint32_t begins[2][radix];         /* where they begin in the sorted tile */
    uint64_t base[2][radix];           /* where they go, less their place in the sorted tile */
};

template <class Shape> constexpr size_t pass_bytes = Shape::shared_bytes + sizeof(pass_shared<Shape>);
static_assert(pass_bytes<pass_shape<uint32_t, 4, true, MEDIUM_TILES>> <= 99 << 10 &&
                  pass_bytes<pass_shape<uint64_t, 8, true, MEDIUM_TILES>> <= 99 << 10,
              "a GPU with 99 KB may be given code for sm_90");

/* The tables of digits in shared memory have a place for the bits of an integer as they stand in the key: they are
 * flipped here, once a digit and not once a key. */
template <class Key> __device__ uint32_t table_place(const sort_pass &pass, uint32_t digit) {
    return sort_key<Key>::is_float ? digit : digit ^ (uint32_t(pass.order.flip >> pass.shift) & pass.digit_mask);
}

constexpr uint32_t inclusive_count = 1u << 31; /* in a state word: the tile's own keys and those of all before it */

/* What the state words of two neighbouring digits say. */
struct digit_pair {
    uint32_t count[2];

    __device__ bool is_inclusive() const { return count[0] & inclusive_count; }
    __device__ digit_pair plus(const digit_pair &other) const {
        return {count[0] + (other.count[0] & ~inclusive_count), count[1] + (other.count[1] & ~inclusive_count)};
    }
    __device__ digit_pair inclusive() const { return {count[0] | inclusive_count, count[1] | inclusive_count}; }
};

/* Two words of which one is an inclusive count and the other is not yet are asked for again. */
__device__ inline bool try_load_pair(const uint64_t *words, uint32_t epoch, digit_pair &counts) {
    return try_load(words, epoch, counts) && !((counts.count[0] ^ counts.count[1]) & inclusive_count);
}

/* How many keys of two digits the tiles before `tile` have. words: the first digit's own, in the state of this tile,
 * which has `own`: their sum is published. Tiles are asked for in windows, of which what is there is taken in order.
 * The counts of the first tile are inclusive ones.
 *
 * What look-backs read from L2 is what keys wait for, so a window is one tile: with four, passes of 2^21 to 2^26 keys
 * of 8 bytes took a tenth longer on an H200, of 4 bytes a twentieth (2026-11-26). Only pairs, if a CTA has many tiles,
 * gain more from the shorter way back: f64 + u32 of 2^23 to 2^24 elements 7 %. */
template <class Shape, uint32_t window>
__device__ digit_pair look_back(uint64_t *words, uint32_t tile, const digit_pair &own, uint32_t epoch) {
    digit_pair sum = {};
    uint32_t left = tile; /* tiles not taken yet */
    const uint64_t *before = words;
    for (bool more = tile > 0; more;) {
        digit_pair counts[window];
        bool there[window];
#pragma unroll
        for (uint32_t w = 0; w < window; w++) {
            counts[w] = {};
            there[w] = w < left && try_load_pair(before - (w + 1) * Shape::state_stride, epoch, counts[w]);
        }
        uint32_t taken = 0;
#pragma unroll
        for (uint32_t w = 0; w < window; w++) {
            if (there[w] && taken == w && more) {
                taken = w + 1;
                sum = sum.plus(counts[w]);
                more = !counts[w].is_inclusive();
            }
        }
        left -= taken;
        before -= taken * Shape::state_stride;
    }
    if (tile > 0)
        publish(words, epoch, sum.plus(own).inclusive());
    return sum;
}

/* The same where most tiles of a pass begin together, so that there are few inclusive counts yet: tile by tile the k-th
 * one would ask some sqrt(2 k) times, each time for half a microsecond. Here the tiles of a group are asked for by
 * threes, and then the groups before. The last tile of a group publishes the group's counts in place of its own. On an
 * H200 passes of as many tiles as CTAs took a tenth less than tile by tile, of three tiles a CTA 3 %; pairs of 8 and of
 * 16 bytes took 1 to 5 % more if a CTA had more than one (2026-11-27). */
template <class Shape>
__device__ digit_pair look_back_by_groups(uint64_t *words, uint32_t tile, const digit_pair &own, uint32_t epoch) {
    constexpr uint32_t window = 3; /* tiles that are asked for together: for more there are no registers */
    static_assert((group_tiles - 1) % window == 0, "the tiles before the last one of a group");
    const uint32_t in_group = tile % group_tiles;
    const bool is_last = in_group == group_tiles - 1;
    const uint64_t *before = words - in_group * Shape::state_stride;
    digit_pair sum = {};
    for (uint32_t first = 0; first < in_group; first += window) {
        const uint64_t *some = before + first * Shape::state_stride;
        digit_pair counts[window];
        bool there[window];
#pragma unroll
        for (uint32_t w = 0; w < window; w++) {
            counts[w] = {};
            there[w] = first + w >= in_group || try_load(some + w * Shape::state_stride, epoch, counts[w]);
        }
#pragma unroll
        for (uint32_t w = 0; w < window; w++) {
            while (!there[w])
                there[w] = try_load(some + w * Shape::state_stride, epoch, counts[w]);
            sum = sum.plus(counts[w]);
        }
    }
    uint32_t groups = tile / group_tiles; /* not taken yet */
    if (is_last && groups > 0)
        publish(words, epoch, sum.plus(own));
    perturb();
    for (before -= Shape::state_stride; groups > 0;) {
        digit_pair counts;
        if (!try_load_pair(before, epoch, counts))
            continue;
        sum = sum.plus(counts);
        groups = counts.is_inclusive() ? 0 : groups - 1;
        before -= group_tiles * Shape::state_stride;
    }
    if (is_last)
        publish(words, epoch, sum.plus(own).inclusive());
    return sum;
}

/* The CTA's tiles of a pass, from the one of its first ticket. By the warps that look back, a thread for two digits.
 * before: of the digits, keys with smaller ones, and those of this one in portions before. carry: NULL, or where the
 * next portion finds that. */
template <class Key, class Shape>
__device__ void look_back_from_tiles(const sort_job &job, pass_shared<Shape> &shared, const uint64_t *before,
                                     uint64_t *carry) {
    static_assert(2 * Shape::look_back_threads == radix, "a thread has two digits");
    const uint32_t first = 2 * (threadIdx.x - Shape::rank_threads), tiles = shared.launch.tiles;
    const uint32_t epoch = shared.first.epoch;
    const bool decides = first <= shared.pass.digit_mask;
    const bool far = Shape::far_window > 1 && tiles > far_tiles * gridDim.x;
    uint64_t begin[2] = {};
    if (decides)
        for (int k = 0; k < 2; k++)
            begin[k] = before[first + k];
    shared.both.second_sync(shared.parity); /* having looked back from nothing yet */
    uint32_t tile = shared.first.number;
    uint32_t turn = shared.parity;
    for (; tile < tiles; turn ^= 1, tile = shared.tile[turn]) {
        uint64_t *words = job.state.tiles + uint64_t(tile) * Shape::state_stride + first;
        perturb();
        if (decides) {
            const digit_pair own = {shared.counts[turn][first], shared.counts[turn][first + 1]},
                             sum = shared.launch.grouped ? look_back_by_groups<Shape>(words, tile, own, epoch)
                                   : far                 ? look_back<Shape, Shape::far_window>(words, tile, own, epoch)
                                                         : look_back<Shape, 1>(words, tile, own, epoch);
#pragma unroll
            for (uint32_t k = 0; k < 2; k++) {
                const uint32_t d = first + k;
                shared.base[turn][table_place<Key>(shared.pass, d)] = begin[k] + sum.count[k] - shared.begins[turn][d];
                if (carry && tile == tiles - 1)
                    carry[d] = begin[k] + sum.count[k] + own.count[k];
            }
        }
        __syncwarp(); /* lanes have looked back each for itself, and the barrier may be an aligned one */
        shared.both.second_sync(turn ^ 1);
    }
    shared.both.second_sync(turn ^ 1); /* as often as the other barriers */
}

} /* namespace scan_cuda */

#endif
