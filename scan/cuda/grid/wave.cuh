/* SPDX-License-Identifier: MIT
 *
 * Wave scan: one pass by persistent, warp-specialized CTAs that reduce tiles ahead of scanning them, for sm_80 and
 * later.
 *
 *   one CTA an SM          tickets hand out tiles of 32 KB in order
 *   ┌ load warp ────────── copies tiles j, j+1, ... into a ring of slots in shared memory; on sm_80 four warps do
 *   ├ reducing warps (8) ─ the totals of a tile's rows as soon as the tile is there
 *   ├ publish warp ─────── puts a tile's total in global memory the moment it is reduced
 *   ├ look-back warp ───── gathers other CTAs' totals and folds the prefix of a tile
 *   └ writing warps (8) ── scan a tile as far as they can, and store it when its prefix is known
 *
 * Idea. A tile's prefix needs only the totals of the tiles before it, and totals need nothing: they are published long
 * before they are needed, because tiles are reduced ahead of being written, as far as the ring has slots. So the
 * chain of inclusive prefixes that decoupled look-back walks is gone, and while a tile waits, loads of later tiles keep
 * the memory busy. Tiles are reduced and scanned from shared memory: global memory is read and written once. Reducing
 * and writing have warps of their own, for each is a chain of short steps that would leave the SM idle.
 *
 * Prefix. Groups of 32 tiles fold in index order, P[g + 1] = P[g] op total(g), the total by Kogge-Stone over the tiles
 * (scan.h). A CTA carries its own P forward; the CTA of a group's first tile publishes the P before it, so that a CTA
 * that fell behind jumps to the newest. The order of operations depends on the tile index only: same bits for any
 * number of CTAs.
 *
 * Progress, tickets and the ring of slots: ring.cuh and tickets.cuh.
 *
 * Pace. Every tile passes through the look-back warp, which has to be done with it in the 2 us that its 64 KB take an
 * SM's share of the memory: one round trip to L2, 1.2 us while the memory is busy, and 230 instructions. That is what
 * look_back_walk.cuh is made for; a second warp asks for twice the words and loses more than it gains (measured on an
 * H200).
 *
 * Work: an element is folded twice, to reduce it and to scan it, and its output is one more operation: order.cuh; a
 * tile costs the look-back warp 5 * 32 operations for itself and 9 * 32 for up to 5 groups. Depth: that of a tile, for
 * tiles do not wait for each other's scans. Traffic: n reads and n writes, 8 or 16 bytes of state a tile, and 1.5 or 3
 * KB of others' state from L2. Barriers: mbarriers, none of the whole CTA; a named barrier of the reducing warps once a
 * tile if tiles are reversed or not aligned (tile.cuh).
 *
 * Limits: sm_80; one CTA an SM, whose shared memory it fills, with six slots on sm_90 and sm_100 and with three, 99 KB,
 * on others; short inputs wait longer for the ring to start than look-back takes in all. 2^31 - 1 tiles. With three
 * slots an f32 scan of 2^28 takes 0.55 ms on an H200, and with the copies of sm_80 0.58, where six slots take 0.53 and
 * look-back 0.79.
 *
 * Source: the prefetch and the tickets are those of persistent kernels at large; totals that are published ahead of
 * being needed are decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
 * Look-back", 2016) without its chain.
 */
#ifndef SCAN_CUDA_GRID_WAVE_CUH
#define SCAN_CUDA_GRID_WAVE_CUH

#include "look_back_walk.cuh"
#include "../device/kernel.cuh"
#include "../device/ring.cuh"
#include "../device/tile.cuh"

namespace scan_cuda {

constexpr int wave_threads(int load_warps) { return (2 * chunks_per_tile + 2 + load_warps) * 32; }

template <class I, class Op> struct wave_layout {
    using T = typename Op::type;
    static constexpr int slot_bytes = whole_lines(tile_elements<T> * int(sizeof(I)) + slot_margin);
};

template <class T> struct wave_slot : ring_slot {
    T rows[rows_per_tile];          /* row totals */
    T chunk_folds[chunks_per_tile]; /* fold of the chunks up to and including this one */
    T before, after;                /* folds before and after the tile */
};

/* Writing warps hold a tile in registers while they wait for its prefix. */
constexpr bool wave_is_early = true;

/* Shared memory beside the tiles, which begin where a line does. */
template <class T> constexpr int wave_status_bytes(int slots) {
    return whole_lines(ring_status_slots(slots, wave_is_early) * int(sizeof(wave_slot<T>)) + int(sizeof(ticket)));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <class T> using wave_ring = ring<wave_slot<T>, 1, 1, true, wave_is_early>;

template <class I, class Op> class wave {
    using T = typename Op::type;
    using raw = typename operands<Op>::template raw<I>;
    using layout = wave_layout<I, Op>;
    static constexpr int tile = tile_elements<T>;

    const scan_job &job;
    const grid_part<T> part;
    const uint64_t tiles;
    const wave_ring<T> tiles_in;
    const uint32_t epoch;
    const int lane;
    const bool not_plain; /* tiles are reversed or not aligned to 16 bytes */

    __device__ uint32_t count(uint64_t t) const { return uint32_t(min(part.n - t * tile, uint64_t(tile))); }

    __device__ uint32_t shift() const {
        return uint32_t(uintptr_t(tile_address<I>(part.in, part.n, 0, tile, job.reverse)) % 16);
    }

    /* Row k of a chunk in a normal tile. */
    struct chunk_rows {
        const raw *data;
        const element_code &code;
        __device__ operands<Op> operator()(int k) const {
            return operands<Op>::template from_elements<I>(data[k * 32], code);
        }
    };

    __device__ chunk_rows rows(int j, int warp) const {
        return {reinterpret_cast<const raw *>(tiles_in.data(j)) + warp * rows_per_chunk * 32 + lane, job.code};
    }

  public:
    __device__ wave(const scan_job &job, char *memory, wave_slot<T> *slots, uint32_t epoch)
        : job(job), part(job_grid_part<Op>(job)), tiles((part.n + tile - 1) / tile),
          tiles_in(memory, slots, layout::slot_bytes, room(), tiles), epoch(epoch), lane(threadIdx.x % 32),
          not_plain(job.reverse || shift()) {}

    __device__ static int room() { return ring_slots_on(device_capability()); }
    __device__ static void open(wave_slot<T> *slots) { wave_ring<T>::open(slots, room(), chunks_per_tile); }

    /* Prefetches one of the grid's first tiles to L2 for the CTA that will get its ticket, while tickets are taken or
     * even while the launch before ends: 1.5 us earlier on an H200. The last 16 bytes are left out, for tiles lie at
     * any address. */
    __device__ static void prefetch(const scan_job &job) {
        if ((uint64_t(blockIdx.x) + 1) * tile > job.n)
            return;
        const char *from = tile_address<I>(job.in, job.n, blockIdx.x, tile, job.reverse);
        bulk_prefetch(from + (-uintptr_t(from) % 16), tile * uint32_t(sizeof(I)) - 16);
    }

    /* ---- load warps ---------------------------------------------------------------------------------------------- */

    __device__ void load(ticket first, int which) {
        const auto fetch = [&](int j, uint64_t t) {
            const char *full = tile_address<I>(part.in, part.n, t, tile, job.reverse);
            const uint32_t elements = count(t), skipped = job.reverse ? (tile - elements) * sizeof(I) : 0;
            load_bytes(tiles_in.data(j) + uintptr_t(full) % 16 + skipped, full + skipped, elements * sizeof(I),
                       &tiles_in.slot(j).loaded, lane, which);
        };
        tiles_in.load(job.state, first, tiles, lane, fetch, which);
    }

    /* ---- publish warp -------------------------------------------------------------------------------------------- */

    __device__ void publish_totals() {
        for (int j = 0;; j++) {
            wave_slot<T> &s = tiles_in.slot(j);
            const uint64_t t = tiles_in.tile(j);
            if (t == no_tile)
                return;
            barrier_wait(&s.reduced, tiles_in.parity(j));
            const chunk_folds<Op> folds(s.rows, lane);
            perturb();
            if (lane == 0)
                publish(job.state.tiles + (part.first_tile + t) * tagged_words<T>, epoch, folds.total);
            if (lane < chunks_per_tile)
                s.chunk_folds[lane] = folds.mine;
            barrier_arrive(&s.totalled);
        }
    }

    /* ---- look-back warp ------------------------------------------------------------------------------------------ */

    __device__ void look_back() {
        group_walk<Op, 5> walk = {job.state, epoch, 0, part.group};
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
                total = s.chunk_folds[chunks_per_tile - 1];
            T tiles_fold = warp_inclusive<Op>(total, lane);
            if (i + 1 == t)
                s.before = Op::apply(walk.fold, tiles_fold);
            if (i == t) {
                s.after = Op::apply(walk.fold, tiles_fold);
                if (lane == 0)
                    s.before = walk.fold;
            }
            barrier_arrive(&s.prefixed);
        }
    }

    /* ---- reducing warps ------------------------------------------------------------------------------------------ */

    __device__ void reduce(int warp) const {
        for (int j = 0;; j++) {
            wave_slot<T> &s = tiles_in.slot(j);
            const uint64_t t = tiles_in.tile(j);
            if (t == no_tile)
                return;
            const uint32_t n = count(t);
            if (not_plain) {
                normalise<I, tile, chunks_per_tile>(tiles_in.data(j), shift(), job.reverse, warp, lane);
                bulk_fence();
            }
            const chunk_rows in = rows(j, warp);
            T totals{};
            if (whole(n, warp))
                totals = row_totals<Op, rows_per_chunk>(in, lane);
            else
#pragma unroll 1
                for (int k = 0; k < rows_per_chunk; k++) {
                    const T total = warp_total<Op>(partial_row(in, n, warp, k).fold());
                    totals = lane == k ? total : totals;
                }
            if (lane < rows_per_chunk)
                s.rows[warp * rows_per_chunk + lane] = totals;
            barrier_arrive(&s.reduced);
        }
    }

    /* ---- writing warps ------------------------------------------------------------------------------------------- */

    __device__ void write(int warp) const {
        for (int j = 0;; j++) {
            const uint64_t t = tiles_in.tile(j);
            if (t == no_tile)
                return;
            barrier_wait(&tiles_in.slot(j).reduced, tiles_in.parity(j));
            if (whole(count(t), warp))
                write_whole(j, t, warp);
            else
                write_partial(j, t, warp);
            if (t == 0 && warp == 0)
                put_first(job, part, lane);
        }
    }

  private:
    __device__ static bool whole(uint32_t count, int warp) { return count >= uint32_t(warp + 1) * chunk_elements<T>; }

    /* Row k of a warp's chunk, with the identity for elements that do not exist. */
    __device__ operands<Op> partial_row(const chunk_rows &rows, uint32_t count, int warp, int k) const {
        operands<Op> x = rows(k);
        x.clear_from(int(count) - ((warp * rows_per_chunk + k) * 32 + lane) * vector_elements<T>);
        return x;
    }

    struct bases {
        T base, next; /* folds before the chunk and before the one after it */
    };

    __device__ bases wait_prefix(int j, int warp) const {
        const wave_slot<T> &s = tiles_in.slot(j);
        barrier_wait(&tiles_in.slot(j).prefixed, tiles_in.parity(j));
        T before = s.before;
        return {warp ? Op::apply(before, s.chunk_folds[warp - 1]) : before,
                warp == chunks_per_tile - 1 ? s.after : Op::apply(before, s.chunk_folds[warp])};
    }

    __device__ void write_whole(int j, uint64_t t, int warp) const {
        scanned_rows<Op, rows_per_chunk> c;
        c.scan(rows(j, warp), lane);
        barrier_arrive(&tiles_in.slot(j).consumed);
        const bases b = wait_prefix(j, warp);
        row_writer<Op, rows_per_chunk> to(tile_address<T>(part.out, part.n, t, tile, job.reverse),
                                          warp * rows_per_chunk * 32, lane, job.reverse);
        if (to.plain())
            write_chunk<Op>(c, b.base, b.next, job.exclusive, lane,
                            [&](int k, const operands<Op> &x) { to.plain_row(k, x.to_elements(job.code)); });
        else
            write_chunk<Op>(c, b.base, b.next, job.exclusive, lane,
                            [&](int k, const operands<Op> &x) { to.general_row(k, lane, x.to_elements(job.code)); });
    }

    /* Row by row, which is slow: there is one such tile. */
    __device__ void write_partial(int j, uint64_t t, int warp) const {
        const uint32_t n = count(t);
        const chunk_rows in = rows(j, warp);
        const bases b = wait_prefix(j, warp);
        char *out = tile_address<T>(part.out, part.n, t, tile, job.reverse);
        T folds{}, base = b.base;
#pragma unroll 1
        for (int k = 0; k < rows_per_chunk; k++) {
            scanned_rows<Op, 1> row;
            row.scan([&](int) { return partial_row(in, n, warp, k); }, lane);
            T total = __shfl_sync(all_lanes, row.lanes[0], 31);
            folds = k ? Op::apply(folds, total) : total;
            T next = k == rows_per_chunk - 1 ? b.next : Op::apply(b.base, folds);
            uint4 x = row.outputs(0, base, next, job.exclusive, lane).to_elements(job.code);
            const int v = (warp * rows_per_chunk + k) * 32 + lane, last = tile / vector_elements<T> - 1;
            store_some<T>(out + (job.reverse ? last - v : v) * 16, int(n) - v * vector_elements<T>, job.reverse, x);
            base = next;
        }
        barrier_arrive(&tiles_in.slot(j).consumed);
    }
};
#endif

template <class I, class Op>
__global__ void __launch_bounds__(wave_threads(load_warps_on(device_capability())), 1)
    wave_kernel(const __grid_constant__ scan_job job) {
#if __CUDA_ARCH__ >= 800
    using T = typename Op::type;
    __shared__ wave_slot<T> slots[wave_ring<T>::status_slots(ring_slots_on(__CUDA_ARCH__ / 10))];
    __shared__ ticket first;
    const int warp = warp_of_cta();
    if (threadIdx.x == 0) {
        wave<I, Op>::prefetch(job);
        wave<I, Op>::open(slots);
    }
    grid_dependency_wait();
    if (threadIdx.x == 0)
        first = take_ticket(job.state);
    __syncthreads();
    wave<I, Op> w(job, dynamic_shared<char>(), slots, first.epoch);
    if (warp < chunks_per_tile)
        w.reduce(warp);
    else if (warp < 2 * chunks_per_tile)
        w.write(warp - chunks_per_tile);
    else if (warp == 2 * chunks_per_tile)
        w.look_back();
    else if (warp == 2 * chunks_per_tile + 1)
        w.publish_totals();
    else
        w.load(first, load_warps() > 1 ? warp - 2 * chunks_per_tile - 2 : 0);
    leave(job.state, first.epoch);
#endif
}

} /* namespace scan_cuda */

#endif
