/* SPDX-License-Identifier: MIT
 *
 * The select engine as a wave: one pass, persistent, warp-specialized, for sm_90 and later, on the ring of ring.cuh.
 *
 *   load warp            copies values, and flags, into slots in bulk
 *   counting warps (8)   compute the bits of a tile as soon as it is loaded, and count them
 *   publish warp         publishes the tile's status as soon as its count is known
 *   look-back warps (2)  gather the statuses of other CTAs, every other tile each, because a round trip to L2 takes
 *                        about as long as memory takes for a tile
 *   writing warps (8)    write the outputs of a tile from its bits, once its prefix is known
 *
 * A tile's count needs its own input only, and counting runs ahead of writing as far as the ring has slots; meanwhile
 * the loads of later tiles are in flight. Values stay in their slot and are gathered from there by position. Counting
 * and writing have warps of their own because each is a chain of short steps through shared memory: a warp that
 * alternated between them would leave the SM idle.
 *
 * Look-back. A warp that loads a status too early must load it again, and all CTAs load the same few lines of L2, so
 * repeated loads slow every CTA down; more look-back warps, or quicker ones, made it worse. Three rules make the first
 * load succeed in most cases:
 *
 *   - a tile's ticket is taken only when its slot is about to be free (ring.cuh, patient);
 *   - if the ring is full, the look-back from a tile starts when the CTA has counted two more: by then the tiles before
 *     it are published;
 *   - a look-back adds up the statuses since the CTA's previous tile only, then that tile's prefix, which the other
 *     look-back warp may compute in the meantime.
 *
 * Measured on an H200, 2^28 elements of 4 bytes, 1, 10, 50 and 90 % kept: 383, 419, 512 and 604 us with the first
 * rule alone, 316, 357, 445 and 559 with all, and 274, 296, 387 and 497 in slots that begin where lines do (ring.cuh).
 * A delay of one tile is 2 % quicker where 1 % is kept, and 2 % slower where 90 % are.
 *
 * Work, in warp instructions for a row of 32 elements: about 7 for its bits, 8 for its positions (fewer where few are
 * kept), 6 for each row of outputs; memory allows about 40 at 4 bytes an element with half of them kept.
 */
#ifndef SCAN_CUDA_SELECT_WAVE_CUH
#define SCAN_CUDA_SELECT_WAVE_CUH

#include "../device/kernel.cuh"
#include "../device/ring.cuh"
#include "selectors.cuh"
#include "walk.cuh"

namespace scan_cuda {

constexpr int wave_select_warps = 8; /* counting warps, and as many writing warps */
constexpr int wave_look_back_warps = 2;
constexpr int wave_look_back_delay = 2; /* tiles counted after a tile before its look-back starts, in a full ring */
constexpr int wave_walk_words = 6;      /* statuses a lane loads at once: one round trip serves most tiles */
constexpr int wave_select_threads = (2 * wave_select_warps + wave_look_back_warps + 2) * 32;

/* Tiles as large as the shared memory of an SM allows. */
template <class Selector, class U> struct wave_select_layout {
    static constexpr int size = int(sizeof(U));
    static constexpr int tile = Selector::reads_flags ? (size == 1   ? 14336
                                                         : size == 2 ? 8192
                                                         : size == 4 ? 6144
                                                                     : 3584)
                                                      : (size == 1   ? 24576
                                                         : size == 2 ? 14336
                                                                     : 32768 / size);
    using shape = unit_shape<tile, wave_select_warps>;
    /* A slot: room for the element before the tile, values, flags, words of bits. Values and flags each begin as far
     * from a line as in global memory. */
    static constexpr int values_at = 16;
    static constexpr int flags_at = whole_lines(values_at + tile * size + bulk_line);
    static constexpr int words_at = flags_at + (Selector::reads_flags ? tile + bulk_line : 0);
    static constexpr int slot_bytes = whole_lines(words_at + tile / 32 * int(sizeof(uint2)));
    static constexpr int lists_at = ring_slots * slot_bytes;
    static constexpr int shared_bytes = lists_at + shape::tile / shape::units * int(sizeof(uint16_t));
    static_assert(shared_bytes + int(wave_static_bytes) <= 227 << 10, "what a CTA of sm_90 may have");
    static_assert(tile % bulk_line == 0, "tiles of values and of flags begin equally far from a line");
};

struct wave_select_slot : ring_slot {
    uint32_t kept[wave_select_warps], last[wave_select_warps]; /* of each warp's part; last: 1 + position in the tile */
    uint32_t kept_before[wave_select_warps], last_before[wave_select_warps]; /* in the tile, before the warp's part */
    uint32_t tile_kept, tile_last;
    uint64_t previous; /* the CTA's tile before this one */
    kept_prefix before;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
template <class Selector, class U> class wave_select_cta {
    using layout = wave_select_layout<Selector, U>;
    using shape = typename layout::shape;
    using slot_ring = ring<wave_select_slot, Selector::reads_flags ? 2 : 1, wave_look_back_warps, true>;

    const select_job &job;
    const typename Selector::source &source;
    const uint64_t n, tiles;
    const slot_ring tiles_in;
    uint16_t *const lists; /* positions, room for one unit for each writing warp */
    const uint32_t epoch;
    const int lane;

    __device__ uint32_t count(uint64_t t) const { return uint32_t(min(n - t * shape::tile, uint64_t(shape::tile))); }

    __device__ const char *values(uint64_t t) const {
        return static_cast<const char *>(job.in) + t * shape::tile * sizeof(U);
    }
    __device__ const char *flags(uint64_t t) const {
        return reinterpret_cast<const char *>(job.flags) + t * shape::tile;
    }

    __device__ char *staged_values(int j, uint64_t t) const {
        return tiles_in.data(j) + layout::values_at + (uintptr_t(values(t)) - layout::values_at) % bulk_line;
    }
    __device__ char *staged_flags(int j, uint64_t t) const {
        return tiles_in.data(j) + layout::flags_at + uintptr_t(flags(t)) % bulk_line;
    }
    __device__ tile_view<U> view(int j, uint64_t t) const {
        return {reinterpret_cast<const U *>(staged_values(j, t)),
                Selector::reads_flags ? reinterpret_cast<const uint8_t *>(staged_flags(j, t)) : nullptr,
                t * shape::tile, count(t)};
    }
    __device__ unit_words<shape::rows> &words(int j, int unit) const {
        return reinterpret_cast<unit_words<shape::rows> *>(tiles_in.data(j) + layout::words_at)[unit];
    }

  public:
    __device__ wave_select_cta(const select_job &job, const typename Selector::source &source, uint64_t n, char *memory,
                               wave_select_slot *slots, uint32_t epoch)
        : job(job), source(source), n(n), tiles(n / shape::tile + (n % shape::tile != 0)),
          tiles_in(memory, slots, layout::slot_bytes, ring_slots, tiles),
          lists(reinterpret_cast<uint16_t *>(memory + layout::lists_at)), epoch(epoch), lane(int(threadIdx.x % 32)) {}

    __device__ static void open(wave_select_slot *slots) { slot_ring::open(slots, ring_slots, shape::warps); }

    /* ---- load warp ----------------------------------------------------------------------------------------------- */

    __device__ void load(ticket first) {
        uint64_t previous = 0;
        tiles_in.load(job.state, first, tiles, lane, [&](int j, uint64_t t) {
            if (lane == 0)
                tiles_in.slot(j).previous = previous;
            previous = t;
            uint64_t *loaded = &tiles_in.slot(j).loaded;
            /* For the element before the tile, 16 bytes are copied, so that an aligned tile needs no ordinary loads,
             * which the warp would wait for. The rest of the 16 bytes is unused; in place, the tile before may be
             * writing there. */
            const uint32_t elements = count(t), before = Selector::reads_before && t > 0 ? 16 : 0;
            load_bytes(staged_values(j, t) - before, values(t) - before, elements * uint32_t(sizeof(U)) + before,
                       loaded, lane);
            if (Selector::reads_flags)
                load_bytes(staged_flags(j, t), flags(t), elements, loaded, lane);
            if (Selector::reads_before && t == 0) /* later tiles begin earlier: bulk copies over these stores */
                bulk_fence();
        });
    }

    /* ---- publish warp -------------------------------------------------------------------------------------------- */

    __device__ void publish_counts() {
        const tile_walk<wave_walk_words> walk(job.state, epoch, shape::tile, job.in_place);
        for (int j = 0;; j++) {
            wave_select_slot &s = tiles_in.slot(j);
            const uint64_t t = tiles_in.tile(j);
            if (t == no_tile)
                return;
            barrier_wait(&s.reduced, tiles_in.parity(j));
            const uint32_t kept = lane < shape::warps ? s.kept[lane] : 0, last = lane < shape::warps ? s.last[lane] : 0;
            const uint32_t kept_through = warp_inclusive<add<uint32_t>>(kept, lane);
            const unsigned some = __ballot_sync(all_lanes, last != 0), earlier = some & ((1u << lane) - 1);
            const uint32_t last_before = __shfl_sync(all_lanes, last, earlier ? 31 - __clz(int(earlier)) : 0);
            const uint32_t tile_kept = __shfl_sync(all_lanes, kept_through, 31);
            const uint32_t tile_last = __shfl_sync(all_lanes, last, some ? 31 - __clz(int(some)) : 0);
            if (lane == 0) {
                walk.publish_tile(t, tile_status::of(tile_kept, tile_last));
                s.tile_kept = tile_kept;
                s.tile_last = tile_last;
            }
            if (lane < shape::warps) {
                s.kept_before[lane] = kept_through - kept;
                s.last_before[lane] = earlier ? last_before : 0;
            }
            barrier_arrive(&s.totalled);
        }
    }

    /* ---- look-back warps ----------------------------------------------------------------------------------------- */

    /* Every other tile. Starts from the CTA's previous tile, whose own look-back may still be under way. */
    __device__ void look_back(int which) const {
        const tile_walk<wave_walk_words> walk(job.state, epoch, shape::tile, job.in_place);
        for (int j = which;; j += wave_look_back_warps) {
            wave_select_slot &s = tiles_in.slot(j);
            const uint64_t t = tiles_in.tile(j);
            if (t == no_tile)
                return;
            perturb();
            barrier_wait(&s.totalled, tiles_in.parity(j));
            const int delay = tiles_in.flight == ring_slots ? wave_look_back_delay : 0;
            for (int i = j + 1; i <= j + delay && tiles_in.tile(i) != no_tile; i++)
                barrier_wait(&tiles_in.slot(i).totalled, tiles_in.parity(i));
            uint64_t from = s.previous;
            kept_prefix before = {0, 0};
            const bool far = j == 0 || t - from > 32 * wave_walk_words, jumped = far && walk.jump(t, from, before);
            const kept_prefix between = walk.between(from, t);
            if (j > 0) {
                barrier_wait(&tiles_in.slot(j - 1).prefixed, tiles_in.parity(j - 1));
                if (!jumped)
                    before = tiles_in.slot(j - 1).before;
            }
            before = before + between;
            walk.publish_prefix(t, before);
            if (lane == 0) {
                s.before = before;
                if (t == tiles - 1)
                    put_end(job, n, before.count + s.tile_kept,
                            s.tile_last ? t * shape::tile + s.tile_last : before.last);
            }
            barrier_arrive(&s.prefixed);
        }
    }

    /* ---- counting and writing warps ------------------------------------------------------------------------------ */

    __device__ void count(int warp) const {
        for (int j = 0; tiles_in.tile(j) != no_tile; j++)
            count_bits(j, warp);
    }

    /* What is kept may recur at one place in all tiles: a warp takes another part of each. Not for small elements,
     * whose tiles have lengths that fewer patterns share; with them it takes 2 % longer on an H200. */
    __device__ void write(int warp) const {
        for (int j = 0; tiles_in.tile(j) != no_tile; j++) {
            barrier_wait(&tiles_in.slot(j).reduced, tiles_in.parity(j));
            write_part(j, sizeof(U) < 4 ? warp : warp ^ (j % shape::warps), lists + warp * shape::unit);
        }
    }

  private:
    __device__ void count_bits(int j, int warp) const {
        wave_select_slot &s = tiles_in.slot(j);
        const tile_view<U> tile = view(j, s.tile);
        uint32_t kept = 0, last = 0;
        for (int u = 0; u < shape::units; u++) {
            const uint32_t first = uint32_t(warp * shape::chunk + u * shape::unit);
            const uint32_t bits = unit_word<Selector, shape::rows>(source, tile, job.index_base, first, lane);
            kept += keep_words(words(j, warp * shape::units + u), bits, lane);
            if (job.run_lengths) {
                const uint32_t last_here = unit_last(bits);
                last = last_here ? first + last_here : last;
            }
        }
        if (lane == 0) {
            s.kept[warp] = kept;
            s.last[warp] = last;
        }
        barrier_arrive(&s.reduced);
    }

    /* part: that of a counting warp; mine: the list of the warp that calls. */
    __device__ void write_part(int j, int part, uint16_t *mine) const {
        wave_select_slot &s = tiles_in.slot(j);
        const tile_view<U> tile = view(j, s.tile);
        listed_unit unit = {};
        if (has_arrays(job))
            unit = list(j, part, 0, tile, mine);
        barrier_wait(&s.prefixed, tiles_in.parity(j));
        if (has_arrays(job)) {
            uint64_t kept_before = s.before.count + s.kept_before[part];
            uint64_t begun = (s.last_before[part] ? tile.first + s.last_before[part] : s.before.last) - 1;
            put_unit(job, tile, mine, unit, kept_before, begun, lane);
            for (int u = 1; u < shape::units; u++) {
                if (unit.kept)
                    begun = tile.first + mine[unit.kept - 1];
                kept_before += unit.kept;
                __syncwarp();
                unit = list(j, part, u, tile, mine);
                put_unit(job, tile, mine, unit, kept_before, begun, lane);
            }
        }
        __syncwarp(); /* the warp's lists are free again */
        barrier_arrive(&s.consumed);
    }

    __device__ listed_unit list(int j, int part, int u, const tile_view<U> &tile, uint16_t *mine) const {
        return list_unit(mine, words(j, part * shape::units + u), tile, uint32_t(part * shape::chunk + u * shape::unit),
                         job.rejected != nullptr, lane);
    }
};
#endif

template <class Selector, class U>
__global__ void __launch_bounds__(wave_select_threads, 1)
    wave_select(const __grid_constant__ select_job job, const __grid_constant__ typename Selector::source source) {
#if __CUDA_ARCH__ >= 900
    __shared__ wave_select_slot slots[ring_slots];
    __shared__ ticket first;
    const int warp = int(threadIdx.x / 32);
    if (threadIdx.x == 0)
        wave_select_cta<Selector, U>::open(slots);
    grid_dependency_wait();
    if (threadIdx.x == 0)
        first = take_ticket(job.state);
    __syncthreads();
    const uint64_t n = element_count(job);
    if (n == 0 && blockIdx.x == 0 && threadIdx.x == 0)
        put_end(job, 0, 0, 0);
    wave_select_cta<Selector, U> w(job, source, n, dynamic_shared<char>(), slots, first.epoch);
    if (warp < wave_select_warps)
        w.count(warp);
    else if (warp < 2 * wave_select_warps)
        w.write(warp - wave_select_warps);
    else if (warp == 2 * wave_select_warps)
        w.load(first);
    else if (warp == 2 * wave_select_warps + 1)
        w.publish_counts();
    else
        w.look_back(warp - 2 * wave_select_warps - 2);
    leave(job.state, first.epoch);
#endif
}

} /* namespace scan_cuda */

#endif
