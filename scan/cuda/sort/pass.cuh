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
 * 12 warps of a CTA rank (24 in large tiles, 16 where elements have 1 or 2 bytes), 4 look back; a tile is up to 29 (33)
 * rows of 32 keys of each ranking warp. For tile t:
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
 * have brought equal keys together most warps are so. Sorts are up to 1.3 times as fast, those of 300 sets 1.009 times
 * on average (H200, 2026-11-28: tools/bench --device cuda --hunt 300 --seed 70707 --min-n 700000 --max-n 2^27).
 *
 * Why stable. Warps take the tile in order, rows in order within the warp, lanes in order within the row, and ranks
 * count exactly what comes before in that order; tiles add up in order. Only the first pass of keys alone may let equal
 * digits change places (sort_pass.any_order): the keys' other digits tell them apart later. There a warp's keys take
 * places by atomics, unless many lanes of a row share a digit (pass_rank.cuh).
 *
 * Progress. Tiles are tickets (tickets.cuh): a tile waits only for counts of lower tickets, which CTAs that run publish
 * before they wait for anything but counts of tickets lower still. A grid smaller than the number of tiles takes them
 * one after another; a pass that the plan does not need returns at once, and so does a launch for the other kind of
 * pass.
 *
 * Traffic: a read and a write of the key and the value; 8 bytes of state a digit and tile, 1 to 5 % of that, which the
 * look-backs of some ten tiles read from L2. Barriers: four or five a tile. Work: about 90 instructions of a warp
 * for 32 pairs of 4 bytes each, 11 of them to load and count, 45 to rank and place, 27 to write, 9 to look back.
 */
#ifndef SCAN_CUDA_SORT_PASS_CUH
#define SCAN_CUDA_SORT_PASS_CUH

#include "../device/kernel.cuh"
#include "finish.cuh"
#include "kernels.h"
#include "pass_rank.cuh"
#include "plan_passes.cuh"

namespace scan_cuda {

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
        copy_pass(shared.pass, plan->pass[which + pass], 0, 1); /* the plan is complete: this may come first */
        wait_for(&plan->tiles_done[which + pass - 1], shared.launch.tiles);
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
template <class Key, int value_bytes, bool loops, pass_kind kind, pass_size size>
__global__ void __launch_bounds__(pass_shape<Key, value_bytes, roomy_here, size>::threads,
                                  pass_shape<Key, value_bytes, roomy_here, size>::ctas)
    pass_kernel(const __grid_constant__ sort_job job, uint32_t which, uint32_t count, uint32_t portion) {
    using shape = pass_shape<Key, value_bytes, roomy_here, size>;
    if (size == LARGE_TILES && !large_here)
        return; /* no code for GPUs that do not run it, see can_run() */
    __shared__ pass_shared<shape> shared;
    pass_launch &launch = shared.launch;
    grid_dependency_wait();
    if (job.plan_ctas == 0)
        plan_one_digit(job);
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
