/* SPDX-License-Identifier: MIT
 *
 * One pass of the radix sort: keys move to where their digit says, stably, in one read and one write.
 *
 * Idea. Radix sort takes the keys by one digit after another, the least significant first. If every pass is stable,
 * keys that agree in a digit keep the order that the lower digits gave them. Where a key goes is
 *
 *     keys with smaller digits  +  keys of this digit in tiles before  +  keys of this digit before it in the tile
 *     (from the survey)            (look-back, pass_tiles.cuh)            (ranks)
 *
 * 12 warps of a CTA rank (16 where elements have 1 or 2 bytes), 4 look back; a tile is up to 28 (32) rows of 32 keys of
 * each ranking warp. For tile t:
 *
 *     ranking warps                                                        | warps that look back
 *     load     keys to registers                                           |
 *     count    of each digit, in counters of the warp's own                | counts of the tiles before tile t - 1,
 *     publish  the tile's counts; counters become places in the tile       | until they have those of all
 *     ---------------------------------------------------------------------+ both meet
 *     write    tile t - 1, see pass_scatter.cuh                              |
 *     rank     row by row (rank.cuh): each key and its value go to their   | tile t
 *              place in shared memory, now neighbours mostly go to         |
 *              neighbours; the next ticket                                 |
 *
 * This is the one-sweep radix sort of Adinets and Merrill ("Onesweep: A Faster Least Significant Digit Radix Sort for
 * GPUs", 2022) with decoupled look-back (Merrill and Garland, 2016) done by warps of its own, which have the time of a
 * whole tile for it: on an H200 it goes back over some ten tiles, and with less time the other warps wait for it.
 * From a ticket to the publication of the tile's counts no CTA waits for another one. Where tiles are few, the last
 * tile of a group first waits for the counts of the others in its group (look_back_by_groups()).
 *
 * A warp whose keys all have one digit has no need of ranks: its keys follow each other as they lie. Where lower passes
 * have brought few values together that is most warps: up to 1.3 times as fast, on average of 300 sets 1.009 times
 * (H200, 2026-11-28: tools/bench --device cuda --hunt 300 --seed 70707 --min-n 700000 --max-n 2^27).
 *
 * Why stable. Warps take the tile in order, rows in order within the warp, lanes in order within the row, and ranks
 * count exactly what comes before in that order; tiles add up in order. Only the first pass of keys alone may let equal
 * digits change places (sort_pass.any_order): the keys' other digits tell them apart later.
 *
 * Progress. Tiles are tickets (tickets.cuh): a tile waits only for counts of lower tickets, which CTAs that run publish
 * before they wait for anything but counts of tickets lower still. A grid smaller than the number of tiles takes them
 * one after another; a pass that the plan does not need returns at once, and so does a launch for the other kind of
 * pass.
 *
 * Traffic: a read and a write of the key and the value; 8 bytes of state a digit and tile, 2 to 5 % of that, which the
 * look-backs of some ten tiles read from L2. Barriers: four or five a tile. Work: about 90 instructions of a warp
 * for 32 pairs of 4 bytes each, 11 of them to load and count, 45 to rank and place, 27 to write, 9 to look back.
 */
#ifndef SCAN_CUDA_SORT_PASS_CUH
#define SCAN_CUDA_SORT_PASS_CUH

#include "../device/kernel.cuh"
#include "finish.cuh"
#include "kernels.h"
#include "pass_scatter.cuh"
#include "rank.cuh"

namespace scan_cuda {

/* By the warps that rank. */
template <class Key, int value_bytes, bool coded, class Shape>
class pass_tile : pass_writer<Key, value_bytes, coded, Shape> {
    using K = key_bits<Key>;
    using writer = pass_writer<Key, value_bytes, coded, Shape>;
    using shape = Shape;
    using V = typename writer::V;
    using writer::digit_mask, writer::digit_of, writer::job, writer::order, writer::rows, writer::shared, writer::shift,
        writer::sorted_keys, writer::sorted_values, writer::thread, writer::warp;
    static constexpr int together = 4; /* rows whose values are asked for together */
    static constexpr bool keeps_digits = sort_key<Key>::is_float && !coded; /* they cost more to find again */

    const uint32_t epoch, tiles;
    uint32_t *const counters;     /* `radix` of each warp: keys of a digit, then where the next one goes */
    uint32_t *const own_counters; /* of this warp */

    uint64_t first; /* elements before the tile */
    uint32_t count; /* elements in it */
    bool one_digit; /* all keys of this warp have one */
    K key[rows];
    packed_u8<keeps_digits ? rows : 1> digit; /* of key[i] */
    packed_u16<value_bytes ? 1 : rows> place; /* among the warp's keys of its digit, in any order */

  public:
    __device__ pass_tile(const sort_job &job, pass_shared<shape> &shared, char *dynamic)
        : writer(job, shared, dynamic), epoch(shared.first.epoch), tiles(shared.launch.tiles),
          counters(reinterpret_cast<uint32_t *>(dynamic)), own_counters(opaque_shared(counters + warp * radix)) {}

  private:
    __device__ uint32_t row_digit(int i) const {
        if constexpr (keeps_digits)
            return digit.get(i);
        else
            return digit_of(key[i]);
    }
    /* Where this thread's rows begin in the tile. */
    __device__ int at() const { return warp * (32 * rows) + thread % 32; }
    __device__ bool there(int i) const { return at() + i * 32 < int(count); }
    __device__ bool any_order() const {
        return value_bytes == 0 && shared.pass.any_order && count == shape::tile; /* what lies past has to come last */
    }

    /* What lies past the tile's count has the last digit, so that it comes last. */
    __device__ void load_keys() {
        const K *from = static_cast<const K *>(keys_source(job, shared.pass.keys_from)) + first + at();
        const bool from_keys = coded && !shared.pass.codes_from;
        const K absent = !coded ? K(~order.flip) : from_keys ? key_of_exact_code<Key>(K(~K(0)), order) : K(~K(0));
#pragma unroll
        for (int i = 0; i < rows; i++)
            key[i] = there(i) ? __ldcs(from + i * 32) : absent;
        if (from_keys)
#pragma unroll
            for (int i = 0; i < rows; i++)
                key[i] = exact_code<Key>(key[i], order);
        if constexpr (keeps_digits) {
            if (order.even.exists())
                keep_digits([&](K key) { return order.even.template of<Key>(key); });
            else
                keep_digits([&](K key) { return plain_code<Key>(key, order); });
        }
    }
    template <class F> __device__ void keep_digits(F code) {
#pragma unroll
        for (int i = 0; i < rows; i++)
            digit.set(i, there(i) ? uint32_t(code(key[i]) >> shift) & digit_mask : digit_mask);
    }

    __device__ void count_keys() {
        __syncwarp();
        for (int d = thread % 32; d < radix; d += 32)
            own_counters[d] = 0;
        __syncwarp();
        if constexpr (value_bytes == 0) {
            if (any_order()) {
#pragma unroll
                for (int i = 0; i < rows; i++)
                    place.set(i, atomicAdd(own_counters + row_digit(i), 1u));
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < rows; i++)
            atomicAdd(own_counters + row_digit(i), 1u);
        __syncwarp();
        one_digit = own_counters[__shfl_sync(all_lanes, row_digit(0), 0)] == 32 * rows;
    }

    /* By `radix` threads. The counts go out first, for the tiles that follow wait for them. */
    __device__ void place_digits(uint32_t tile, uint32_t turn) {
        const uint32_t d = thread, entry = table_place<Key>(shared.pass, d);
        uint32_t own = 0;
#pragma unroll
        for (int w = 0; w < shape::rank_warps; w++)
            own += counters[w * radix + entry];
        const uint32_t real = own - (d == digit_mask ? shape::tile - count : 0);
        perturb();
        const bool grouped = shared.launch.grouped;
        if (d <= digit_mask && !(grouped && tile % group_tiles == group_tiles - 1))
            publish(job.state.tiles + uint64_t(tile) * shape::state_stride + d, epoch,
                    real | (tile == 0 && !grouped ? inclusive_count : 0));
        const uint32_t upto = warp_inclusive<add<uint32_t>>(own, thread % 32);
        const unsigned longs = __ballot_sync(all_lanes, real > shape::long_run);
        if (thread % 32 == 31) {
            shared.sums[warp] = upto;
            shared.long_runs[turn][warp] = longs;
        }
        shared.summed.sync(turn);
        uint32_t next = upto - own;
#pragma unroll
        for (int w = 0; w < radix / 32; w++)
            next += w < warp ? shared.sums[w] : 0;
        shared.counts[turn][d] = real;
        shared.begins[turn][d] = next;
#pragma unroll
        for (int w = 0; w < shape::rank_warps; w++) {
            uint32_t &begin = counters[w * radix + entry];
            const uint32_t counted = begin;
            begin = next;
            next += counted;
        }
    }

    /* numbers: values are the numbers of the elements, which come from nowhere. */
    enum values_kind : uint32_t { whole_tile, part_of_tile, numbers };

    /* Values of `together` rows from i on, or of as many as there are, go to their places by cp.async: waiting in
     * registers, a few rows ahead, they took 4 % longer. from: where the one of this thread's first row is. */
    __device__ void place_values(int i, const uint32_t (&p)[together], const V *from, uint32_t kind) {
        if (kind == whole_tile) {
#pragma unroll
            for (int k = 0; k < together && i + k < rows; k++)
                copy_to_shared(sorted_values + p[k], from + (i + k) * 32);
        } else if (kind == part_of_tile) {
#pragma unroll
            for (int k = 0; k < together && i + k < rows; k++)
                if (there(i + k))
                    copy_to_shared(sorted_values + p[k], from + (i + k) * 32);
        } else {
#pragma unroll
            for (int k = 0; k < together && i + k < rows; k++)
                sorted_values[p[k]] = V(first + at() + (i + k) * 32);
        }
    }

    /* Keys and values go to their places in the tile. next: gets the number of another ticket, taken so early that the
     * last rows take as long as its way. */
    __device__ void rank(uint32_t *next) {
        uint32_t taken = 0;
        shift = shared.pass.shift; /* read again: digits are found again, not kept in registers */
        if (any_order()) {
            if (thread == 0)
                taken = take_ticket(job.state).number;
            if constexpr (value_bytes == 0) {
#pragma unroll
                for (int i = 0; i < rows; i++)
                    sorted_keys[place.get(i) + own_counters[row_digit(i)]] = key[i];
            }
        } else {
            const unsigned below = (1u << thread % 32) - 1;
            const V *from =
                opaque_global(static_cast<const V *>(values_source(job, shared.pass.values_from)) + first + at());
            const uint32_t kind = shared.pass.values_from == BUFFER_NONE ? numbers
                                  : count == shape::tile                 ? whole_tile
                                                                         : part_of_tile;
            const uint32_t first_place = own_counters[row_digit(0)] + thread % 32;
#pragma unroll
            for (int i = 0; i < rows; i += together) {
                if (i == (rows - 6) / together * together && thread == 0)
                    taken = take_ticket(job.state).number;
                uint32_t p[together];
                if (opaque(one_digit)) {
#pragma unroll
                    for (int k = 0; k < together && i + k < rows; k++)
                        sorted_keys[p[k] = first_place + (i + k) * 32] = key[i + k];
                } else {
#pragma unroll
                    for (int k = 0; k < together && i + k < rows; k++)
                        sorted_keys[p[k] = rank_row(own_counters, row_digit(i + k), below)] = key[i + k];
                }
                if constexpr (value_bytes > 0)
                    place_values(i, p, from, opaque(kind));
            }
            if constexpr (value_bytes > 0)
                copies_arrive();
        }
        if (thread == 0)
            *next = taken - shared.passed;
    }

  public:
    /* The CTA's tiles of this pass. Returns the number of the first ticket past it. */
    __device__ uint32_t run() {
        const uint64_t portion_first = shared.launch.first, n = shared.launch.n;
        uint32_t tile = shared.first.number, written = 0; /* elements of the tile that waits to be written */
        for (uint32_t turn = shared.parity;; turn ^= 1) {
            const bool more = tile < tiles;
            if (more) {
                first = portion_first + uint64_t(tile) * shape::tile;
                count = uint32_t(min(n - first, uint64_t(shape::tile)));
                load_keys();
                count_keys();
                shared.counted.sync(turn);
                if (warp < radix / 32)
                    place_digits(tile, turn);
            }
            shared.both.first_sync(turn);
            if (written > 0)
                writer::write(written, turn ^ 1);
            if (!more) {
                shared.both.first_sync(turn ^ 1); /* as often as the other barriers */
                return tile;
            }
            shared.written.sync(turn);
            if (thread == 0)
                shared.done++;
            rank(&shared.tile[turn ^ 1]);
            shared.sorted.sync(turn);
            written = count;
            tile = shared.tile[turn ^ 1];
        }
    }
};

/* The CTA's tiles of one pass, from shared.first on. */
template <class Key, int value_bytes, bool coded, class Shape>
__device__ void run_pass(const sort_job &job, pass_shared<Shape> &shared, uint32_t portion) {
    if (warp_of_cta() < Shape::rank_warps) {
        const uint32_t next = pass_tile<Key, value_bytes, coded, Shape>(job, shared, dynamic_shared<char>()).run();
        if (threadIdx.x == 0)
            shared.next = next;
    } else {
        sort_plan *plan = job.plan;
        const bool full = shared.launch.n - shared.launch.first >= portion_tiles<Shape> * Shape::tile;
        look_back_from_tiles<Key, Shape>(job, shared,
                                         portion ? plan->carry[portion % 2] : plan->before[shared.pass.row],
                                         full ? plan->carry[(portion + 1) % 2] : nullptr);
    }
}

/* By threads of which there are `step`, word by word. */
__device__ inline void copy_pass(sort_pass &to, const sort_pass &from, uint32_t first, uint32_t step) {
    static_assert(sizeof(sort_pass) % sizeof(uint64_t) == 0 && alignof(sort_pass) == sizeof(uint64_t), "in words");
    for (uint32_t i = first; i < sizeof(sort_pass) / sizeof(uint64_t); i += step)
        reinterpret_cast<uint64_t *>(&to)[i] = reinterpret_cast<const uint64_t *>(&from)[i];
}

/* By one thread: the CTA's ticket is shared.next, and its pass begins. */
template <class Shape> __device__ void begin_pass(sort_plan *plan, pass_shared<Shape> &shared, uint32_t which) {
    const uint32_t pass = shared.next / shared.launch.tiles;
    if (pass > 0) {
        wait_for(&plan->tiles_done[which + pass - 1], shared.launch.tiles);
        copy_pass(shared.pass, plan->pass[which + pass], 0, 1);
    }
    shared.passed = pass * shared.launch.tiles;
    shared.first = {shared.launch.epoch + pass, shared.next - shared.passed};
    shared.done = 0;
}

/* By one thread: the CTA has done its part of the pass. Nobody waits for the last one unless something follows. */
template <class Shape> __device__ void end_pass(sort_plan *plan, pass_shared<Shape> &shared, uint32_t which) {
    const uint32_t pass = shared.passed / shared.launch.tiles;
    if (pass + 1 < shared.launch.passes || shared.launch.finish != FINISH_NOTHING)
        add_release(&plan->tiles_done[which + pass], shared.done);
    shared.next += shared.passed;
    shared.parity ^= shared.done % 2;
}

/* Whether one kernel does a pass or several. That of 4-byte keys alone has no registers for the loop around a pass, so
 * that several are done by a kernel that keeps some of them in memory. */
template <class Key, int value_bytes> constexpr bool has_registers_to_loop = sizeof(Key) != 4 || value_bytes > 0;

/* The launch's passes, the CTA's tiles of each; all are coded or none. One branch around all of this keeps floats that
 * are coded and those that are not out of each other's registers. */
template <class Key, int value_bytes, bool coded, bool loops, class Shape>
__device__ void run_passes(const sort_job &job, pass_shared<Shape> &shared, uint32_t which, uint32_t portion) {
    while (shared.next < shared.launch.passes * shared.launch.tiles) {
        __syncthreads();
        if (threadIdx.x == 0)
            begin_pass(job.plan, shared, which);
        __syncwarp(); /* lanes have waited each for itself, here and below */
        __syncthreads();
        run_pass<Key, value_bytes, coded>(job, shared, portion);
        __syncwarp();
        __syncthreads();
        if (threadIdx.x == 0)
            end_pass(job.plan, shared, which);
        __syncthreads();
        if constexpr (!loops)
            break;
    }
}

/* Up to `count` passes of the plan, from `which` on. portion: which of the launches of one pass; only a single one does
 * several passes. loops: it may. kind: passes of other kinds are left to another kernel. */
template <class Key, int value_bytes, bool loops, pass_kind kind, bool few = false>
__global__ void __launch_bounds__(pass_shape<Key, value_bytes, roomy_here, few>::threads,
                                  pass_shape<Key, value_bytes, roomy_here, few>::ctas)
    pass_kernel(const __grid_constant__ sort_job job, uint32_t which, uint32_t count, uint32_t portion) {
    using shape = pass_shape<Key, value_bytes, roomy_here, few>;
    __shared__ pass_shared<shape> shared;
    pass_launch &launch = shared.launch;
    grid_dependency_wait();
    {
        const uint64_t n = sort_count(job), first = portion * portion_tiles<shape> * shape::tile;
        const uint32_t end = pass_end(job.plan, which);
        const sort_finish finish = which + count == job.finishing ? plan_finish(job.plan) : FINISH_NOTHING;
        const bool needed = which < end && first < n;
        if (kind != PASS_ANY && (needed && job.plan->pass[which].coded) != (kind == PASS_OF_CODES))
            return;
        if (!needed) {
            finish_typed<key_bits<Key>, value_bytes>(job, n, finish);
            return;
        }
        if (threadIdx.x == 0) {
            const ticket own = take_ticket(job.state);
            const uint64_t tiles = min((n - first + shape::tile - 1) / shape::tile, portion_tiles<shape>);
            const bool grouped = tiles <= shape::grouped_tiles * gridDim.x;
            launch = {first, n, uint32_t(tiles), min(count, end - which), own.epoch, grouped, finish};
            shared.next = own.number;
            shared.parity = 0;
            shared.both.open();
            shared.counted.open();
            shared.summed.open();
            shared.written.open();
            shared.sorted.open();
        } else if (threadIdx.x >= 32) { /* meanwhile; begin_pass() takes others that come first */
            copy_pass(shared.pass, job.plan->pass[which], threadIdx.x - 32, blockDim.x - 32);
        }
    }
    __syncthreads();
    if (kind == PASS_OF_CODES || (kind == PASS_ANY && sort_key<Key>::is_float && shared.pass.coded))
        run_passes<Key, value_bytes, sort_key<Key>::is_float, loops>(job, shared, which, portion);
    else
        run_passes<Key, value_bytes, false, loops>(job, shared, which, portion);
    /* each CTA takes one ticket too many */
    if (threadIdx.x == 0 && shared.next == launch.passes * launch.tiles + gridDim.x - 1)
        hand_over(job.state, launch.epoch + launch.passes - 1);
    leave(job.state, launch.epoch + launch.passes - 1);
    if (launch.finish != FINISH_NOTHING) {
        if (threadIdx.x == 0)
            wait_for(&job.plan->tiles_done[which + launch.passes - 1], launch.tiles);
        __syncwarp();
        __syncthreads();
        finish_typed<key_bits<Key>, value_bytes>(job, launch.n, launch.finish);
    }
}

} /* namespace scan_cuda */

#endif
