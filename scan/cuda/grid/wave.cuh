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
 * Progress. A CTA waits only for tiles of lower tickets. Those are held by CTAs that run, and reducing a tile waits for
 * nothing but its own load: no co-residency of the grid is needed. A CTA may hold at most `flight` tickets, no more
 * than its share, or short inputs would queue behind one CTA.
 *
 * State. Words are tagged with the launch's epoch, so nothing is cleared between launches (ptx.cuh). The last CTA to
 * leave zeroes the ticket and stores the next epoch; before the epoch wraps it clears every word. Launches on one state
 * must be ordered, as launches on one stream are.
 *
 * Traffic: n reads and n writes, 8 or 16 bytes of state a tile. Barriers: mbarriers only, warps never meet as a CTA.
 */
#ifndef SCAN_CUDA_GRID_WAVE_CUH
#define SCAN_CUDA_GRID_WAVE_CUH

#include "../groups.cuh"
#include "../kernel.cuh"
#include "../tile.cuh"

namespace scan_cuda {

constexpr int wave_slots = 6; /* ring */
constexpr int wave_delay = 3; /* tiles between reducing and scanning */
constexpr int wave_threads = (chunks_per_tile + 3) * 32;

template <class I, class Op> struct wave_layout {
    using T = typename Op::type;
    static constexpr int input_bytes = tile_elements<T> * int(sizeof(I));
    static constexpr int slot_bytes =
        input_bytes + 32; /* misaligned tiles begin up to 15 bytes in, and are read past */
    static constexpr int shared_bytes = wave_slots * slot_bytes;
};

/* What the warps of a CTA hand each other, a slot's worth each. A barrier's use number j / wave_slots gives its parity.
 */
template <class T> struct wave_slot {
    uint64_t loaded;                  /* the tile is in shared memory, or there is none */
    uint64_t reduced;                 /* 8 chunk totals are there */
    uint64_t totalled;                /* chunk folds and tile total are there */
    uint64_t prefixed;                /* the tile's prefix is there */
    uint64_t consumed;                /* 8 warps have taken all they need: the slot may be loaded again */
    uint64_t tile;                    /* no_tile: the CTA is done */
    T chunks[chunks_per_tile];        /* chunk totals */
    T chunks_before[chunks_per_tile]; /* fold of the chunks up to and including this one */
    T before, after;                  /* folds before and after the tile */
};

constexpr uint64_t no_tile = ~uint64_t(0);

template <class I, class Op> class wave {
    using T = typename Op::type;
    using layout = wave_layout<I, Op>;
    static constexpr int tile = tile_elements<T>;

    const scan_job &job;
    const grid_part<T> part;
    char *ring;
    wave_slot<T> *slots;
    uint64_t tiles;
    uint32_t epoch;
    int flight, lane;

    __device__ wave_slot<T> &slot(int j) { return slots[j % wave_slots]; }
    __device__ static uint32_t parity(int j) { return j / wave_slots & 1; }
    __device__ uint32_t count(uint64_t t) const { return uint32_t(min(part.n - t * tile, uint64_t(tile))); }

    __device__ input_tile<I, Op, true> staged(int j, uint64_t t) const {
        uint32_t shift = uint32_t(uintptr_t(tile_address<I>(part.in, part.n, t, tile, job.reverse)) % 16);
        return {ring + j % wave_slots * layout::slot_bytes + shift, count(t), job.reverse, &job.code};
    }

  public:
    __device__ wave(const scan_job &job, char *ring, wave_slot<T> *slots, uint32_t epoch)
        : job(job), part(job_grid_part<I, Op>(job)), ring(ring), slots(slots), tiles((part.n + tile - 1) / tile),
          epoch(epoch), lane(threadIdx.x % 32) {
        uint64_t share = (tiles + gridDim.x - 1) / gridDim.x;
        flight = int(max(uint64_t(1), min(share, uint64_t(wave_slots))));
    }

    /* ---- load warp ----------------------------------------------------------------------------------------------- */

    __device__ void load(uint64_t first_ticket) {
        uint64_t t = first_ticket;
        for (int j = 0;; j++) {
            if (j > 0) {
                if (flight == 1) /* not before the tile in hand is reduced */
                    barrier_wait(&slot(j - 1).reduced, parity(j - 1));
                uint32_t ticket = lane == 0 ? uint32_t(atomicAdd((unsigned long long *)job.state.ticket, 1ull)) : 0;
                t = __shfl_sync(all_lanes, ticket, 0);
            }
            if (j >= flight)
                barrier_wait(&slot(j - flight).consumed, parity(j - flight));
            if (t >= tiles) {
                if (lane == 0) {
                    slot(j).tile = no_tile;
                    barrier_arrive(&slot(j).loaded);
                }
                return;
            }
            load_tile(j, t);
        }
    }

    /* The aligned middle as one bulk copy, at most 15 bytes at either end by ordinary loads. */
    __device__ void load_tile(int j, uint64_t t) {
        uint32_t elements = count(t);
        input_tile<I, Op, true> to = staged(j, t);
        const char *full = tile_address<I>(part.in, part.n, t, tile, job.reverse);
        const char *from = full + (job.reverse ? (tile - elements) * sizeof(I) : 0), *end = from + elements * sizeof(I);
        const char *middle = (const char *)((uintptr_t(from) + 15) / 16 * 16),
                   *middle_end = (const char *)(uintptr_t(end) / 16 * 16);
        if (middle > middle_end)
            middle = middle_end = end; /* no aligned 16 bytes at all */
        char *data = const_cast<char *>(to.data);
        for (const char *p = from + lane * sizeof(I); p < middle; p += 32 * sizeof(I))
            *(I *)(data + (p - full)) = *(const I *)p;
        for (const char *p = middle_end + lane * sizeof(I); p < end; p += 32 * sizeof(I))
            *(I *)(data + (p - full)) = *(const I *)p;
        __syncwarp();
        if (lane == 0) {
            uint32_t bytes = uint32_t(middle_end - middle);
            slot(j).tile = t;
            barrier_arrive_expect(&slot(j).loaded, bytes);
            if (bytes)
                bulk_load(data + (middle - full), middle, bytes, &slot(j).loaded);
        }
        __syncwarp();
    }

    /* ---- publish warp -------------------------------------------------------------------------------------------- */

    __device__ void publish_totals() {
        for (int j = 0;; j++) {
            wave_slot<T> &s = slot(j);
            barrier_wait(&s.loaded, parity(j));
            uint64_t t = s.tile;
            if (t == no_tile)
                return;
            barrier_wait(&s.reduced, parity(j));
            if (lane == 0) {
                T fold = s.chunks[0];
                s.chunks_before[0] = fold;
#pragma unroll
                for (int c = 1; c < chunks_per_tile; c++) {
                    fold = Op::apply(fold, s.chunks[c]);
                    s.chunks_before[c] = fold;
                }
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
            wave_slot<T> &s = slot(j);
            barrier_wait(&s.loaded, parity(j));
            if (s.tile == no_tile)
                return;
            if (s.tile == 0)
                publish_earlier(job.state, part, epoch, lane);
            uint64_t t = part.first_tile + s.tile;
            uint64_t own = t / tiles_per_group;
            if (own - walk.group > 16)
                walk.jump(own, lane);
            T total = walk.to(t, lane);
            uint64_t i = own * tiles_per_group + lane;
            __syncwarp();
            barrier_wait(&s.totalled, parity(j));
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
        int delay = min(wave_delay, flight - 1);
        bool more = true;
        for (int j = 0, done = 0; more || done < j; j += more) {
            if (more) {
                wave_slot<T> &s = slot(j);
                barrier_wait(&s.loaded, parity(j));
                more = s.tile != no_tile;
                if (more)
                    reduce(j, warp);
            }
            if (!more ? done < j : j - done >= delay)
                scan(done++, warp);
        }
    }

    __device__ void reduce(int j, int warp) {
        wave_slot<T> &s = slot(j);
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
        wave_slot<T> &s = slot(j);
        uint64_t t = s.tile;
        input_tile<I, Op, true> in = staged(j, t);
        int first = warp * rows_per_chunk * 32;
        scanned_rows<Op, rows_per_chunk> c;
        if (in.plain())
            c.scan([&](int k) { return in.plain_vector(first + k * 32 + lane); }, lane);
        else
            c.scan([&](int k) { return in.any_vector(first + k * 32 + lane); }, lane);
        barrier_wait(&s.prefixed, parity(j));
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

template <class I, class Op>
__global__ void __launch_bounds__(wave_threads, 1) wave_kernel(const __grid_constant__ scan_job job) {
#if __CUDA_ARCH__ >= 900
    using T = typename Op::type;
    __shared__ wave_slot<T> slots[wave_slots];
    __shared__ uint64_t first_word;
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        first_word = atomicAdd((unsigned long long *)job.state.ticket, 1ull);
        for (int i = 0; i < wave_slots; i++) {
            barrier_init(&slots[i].loaded, 1);
            barrier_init(&slots[i].reduced, chunks_per_tile);
            barrier_init(&slots[i].totalled, 1);
            barrier_init(&slots[i].prefixed, 1);
            barrier_init(&slots[i].consumed, chunks_per_tile);
        }
        barrier_init_fence();
    }
    __syncthreads();
    const uint32_t epoch = uint32_t(first_word >> 32) + 1;
    wave<I, Op> w(job, dynamic_shared<char>(), slots, epoch);
    if (warp == chunks_per_tile)
        w.load(uint32_t(first_word));
    else if (warp == chunks_per_tile + 1)
        w.look_back();
    else if (warp == chunks_per_tile + 2)
        w.publish_totals();
    else
        w.compute(warp);

    leave(job.state, epoch);
#endif
}

} /* namespace scan_cuda */

#endif
