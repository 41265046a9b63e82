/* SPDX-License-Identifier: MIT
 *
 * Wave scan: one pass, persistent, for sm_90 and later.
 *
 *   one CTA an SM          tickets hand out tiles of 32 KB in order
 *   ┌ load warp ────────── bulk copies tiles j, j+1, ... into a ring of slots in shared memory
 *   ├ compute warps (8) ── reduce tile j as soon as it is there; scan and store tile j - delay
 *   ├ publish warp ─────── puts a tile's total in global memory the moment it is reduced
 *   └ look-back warp ───── gathers other CTAs' totals and folds the prefix of tile j
 *
 * Idea. A tile's prefix needs only the totals of the tiles before it, and totals need nothing: they are published long
 * before anybody asks for them, because every tile is reduced some tiles ahead of being scanned. So the chain of
 * inclusive prefixes that decoupled look-back (Merrill and Garland, 2016) walks is gone, and while a tile waits, loads
 * of later tiles keep the memory busy. Tiles are reduced and scanned from shared memory: global memory is read and
 * written once.
 *
 * Prefix. Groups of 32 tiles fold in index order, P[g + 1] = P[g] op total(g), the total by Kogge-Stone over the tiles
 * (scan.h). A CTA carries its own P forward; whoever starts a group publishes the P before it, so that a CTA that fell
 * behind jumps to the newest. The order of operations depends on the tile index only: same bits for any number of CTAs.
 *
 * Progress, tickets and the ring of slots: ring.cuh and tickets.cuh.
 *
 * Traffic: n reads and n writes, 8 or 16 bytes of state a tile. Barriers: mbarriers only, warps never meet as a CTA.
 */
#ifndef SCAN_CUDA_GRID_WAVE_CUH
#define SCAN_CUDA_GRID_WAVE_CUH

#include "../groups.cuh"
#include "../kernel.cuh"
#include "../ring.cuh"
#include "../tile.cuh"

namespace scan_cuda {

constexpr int wave_delay = 3; /* tiles between reducing and scanning */
constexpr int wave_threads = (chunks_per_tile + 3) * 32;

template <class I, class Op> struct wave_layout {
    using T = typename Op::type;
    static constexpr int input_bytes = tile_elements<T> * int(sizeof(I));
    static constexpr int slot_bytes =
        input_bytes + 32; /* misaligned tiles begin up to 15 bytes in, and are read past */
    static constexpr int shared_bytes = ring_slots * slot_bytes;
};

template <class T> struct wave_slot : ring_slot {
    T chunks[chunks_per_tile];        /* chunk totals */
    T chunks_before[chunks_per_tile]; /* fold of the chunks up to and including this one */
    T before, after;                  /* folds before and after the tile */
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
template <class I, class Op> class wave {
    using T = typename Op::type;
    using layout = wave_layout<I, Op>;
    static constexpr int tile = tile_elements<T>;

    const scan_job &job;
    const grid_part<T> part;
    const uint64_t tiles;
    const ring<wave_slot<T>> tiles_in;
    const uint32_t epoch;
    const int lane;

    __device__ uint32_t count(uint64_t t) const { return uint32_t(min(part.n - t * tile, uint64_t(tile))); }

    __device__ input_tile<I, Op, true> staged(int j, uint64_t t) const {
        uint32_t shift = uint32_t(uintptr_t(tile_address<I>(part.in, part.n, t, tile, job.reverse)) % 16);
        return {tiles_in.data(j) + shift, count(t), job.reverse, &job.code};
    }

  public:
    __device__ wave(const scan_job &job, char *memory, wave_slot<T> *slots, uint32_t epoch)
        : job(job), part(job_grid_part<I, Op>(job)), tiles((part.n + tile - 1) / tile),
          tiles_in(memory, slots, layout::slot_bytes, tiles), epoch(epoch), lane(threadIdx.x % 32) {}

    /* ---- load warp ----------------------------------------------------------------------------------------------- */

    __device__ void load(ticket first) {
        tiles_in.load(job.state, first, tiles, lane, [&](int j, uint64_t t) {
            const char *full = tile_address<I>(part.in, part.n, t, tile, job.reverse);
            const uint32_t elements = count(t), skipped = job.reverse ? (tile - elements) * sizeof(I) : 0;
            load_bytes(tiles_in.data(j) + uintptr_t(full) % 16 + skipped, full + skipped, elements * sizeof(I),
                       &tiles_in.slot(j).loaded, lane);
        });
    }

    /* ---- publish warp -------------------------------------------------------------------------------------------- */

    __device__ void publish_totals() {
        for (int j = 0;; j++) {
            wave_slot<T> &s = tiles_in.slot(j);
            const uint64_t t = tiles_in.tile(j);
            if (t == no_tile)
                return;
            barrier_wait(&s.reduced, tiles_in.parity(j));
            if (lane == 0) {
                T fold = s.chunks[0];
                s.chunks_before[0] = fold;
#pragma unroll
                for (int c = 1; c < chunks_per_tile; c++) {
                    fold = Op::apply(fold, s.chunks[c]);
                    s.chunks_before[c] = fold;
                }
                perturb();
                publish(job.state.tiles + (part.first_tile + t) * tagged_words<T>, epoch, fold);
                barrier_arrive(&s.totalled);
            }
            __syncwarp();
        }
    }

    /* ---- look-back warp ------------------------------------------------------------------------------------------ */

    __device__ void look_back() {
        group_walk<Op> walk = {job.state, epoch, 0, part.group};
        for (int j = 0;; j++) {
            wave_slot<T> &s = tiles_in.slot(j);
            if (tiles_in.tile(j) == no_tile)
                return;
            if (s.tile == 0)
                publish_earlier(job.state, part, epoch, lane);
            perturb();
            uint64_t t = part.first_tile + s.tile;
            uint64_t own = t / tiles_per_group;
            if (own - walk.group > 16)
                walk.jump(own, lane);
            T total = walk.to(t, lane);
            uint64_t i = own * tiles_per_group + lane;
            __syncwarp();
            barrier_wait(&s.totalled, tiles_in.parity(j));
            if (i == t)
                total = s.chunks_before[chunks_per_tile - 1];
            T tiles_fold = warp_inclusive<Op>(total, lane);
            if (i + 1 == t)
                s.before = Op::apply(walk.fold, tiles_fold);
            if (i == t) {
                s.after = Op::apply(walk.fold, tiles_fold);
                if (lane == 0)
                    s.before = walk.fold;
            }
            __syncwarp();
            if (lane == 0)
                barrier_arrive(&s.prefixed);
        }
    }

    /* ---- compute warps ------------------------------------------------------------------------------------------- */

    __device__ void compute(int warp) {
        int delay = min(wave_delay, tiles_in.flight - 1);
        bool more = true;
        for (int j = 0, done = 0; more || done < j; j += more) {
            if (more) {
                more = tiles_in.tile(j) != no_tile;
                if (more)
                    reduce(j, warp);
            }
            if (!more ? done < j : j - done >= delay)
                scan(done++, warp);
        }
    }

    __device__ void reduce(int j, int warp) {
        wave_slot<T> &s = tiles_in.slot(j);
        input_tile<I, Op, true> in = staged(j, s.tile);
        int first = warp * rows_per_chunk * 32 + lane;
        T total;
        if (in.plain())
            total = chunk_total<Op>([&](int k) { return in.plain_vector(first + k * 32); });
        else
            total = chunk_total<Op>([&](int k) { return in.any_vector(first + k * 32); });
        if (lane == 0) {
            s.chunks[warp] = total;
            barrier_arrive(&s.reduced);
        }
    }

    __device__ void scan(int j, int warp) {
        wave_slot<T> &s = tiles_in.slot(j);
        uint64_t t = s.tile;
        input_tile<I, Op, true> in = staged(j, t);
        int first = warp * rows_per_chunk * 32;
        scanned_rows<Op, rows_per_chunk> c;
        if (in.plain())
            c.scan([&](int k) { return in.plain_vector(first + k * 32 + lane); }, lane);
        else
            c.scan([&](int k) { return in.any_vector(first + k * 32 + lane); }, lane);
        barrier_wait(&s.prefixed, tiles_in.parity(j));
        T before = s.before;
        T base = warp ? Op::apply(before, s.chunks_before[warp - 1]) : before;
        T next = warp == chunks_per_tile - 1 ? s.after : Op::apply(before, s.chunks_before[warp]);
        __syncwarp();
        if (lane == 0)
            barrier_arrive(&s.consumed);

        row_writer<Op, rows_per_chunk> to = {
            tile_address<T>(part.out, part.n, t, tile, job.reverse), first, count(t), job.reverse, &job.code, {}};
        if (to.plain())
            write_chunk<Op>(c, base, next, job.exclusive, lane,
                            [&](int k, accumulators<T> x) { to.plain_row(k, lane, x); });
        else
            write_chunk<Op>(c, base, next, job.exclusive, lane,
                            [&](int k, accumulators<T> x) { to.any_row(k, lane, x); });
        if (t == 0 && warp == 0 && lane == 0 && job.show_first)
            static_cast<T *>(part.out)[job.reverse ? part.n - 1 : 0] = from_bits<T>(job.shown);
    }
};
#endif

template <class I, class Op>
__global__ void __launch_bounds__(wave_threads, 1) wave_kernel(const __grid_constant__ scan_job job) {
#if __CUDA_ARCH__ >= 900
    using T = typename Op::type;
    __shared__ wave_slot<T> slots[ring_slots];
    __shared__ ticket first;
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        first = take_ticket(job.state);
        ring<wave_slot<T>>::open(slots, chunks_per_tile);
    }
    __syncthreads();
    wave<I, Op> w(job, dynamic_shared<char>(), slots, first.epoch);
    if (warp == chunks_per_tile)
        w.load(first);
    else if (warp == chunks_per_tile + 1)
        w.look_back();
    else if (warp == chunks_per_tile + 2)
        w.publish_totals();
    else
        w.compute(warp);

    leave(job.state, first.epoch);
#endif
}

} /* namespace scan_cuda */

#endif
