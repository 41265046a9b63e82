/* SPDX-License-Identifier: MIT
 *
 * How a pass writes a tile that lies in shared memory in order by its digit: the keys of a digit, a run, go to
 * neighbours. Two ways:
 *
 *     digit by digit     a warp writes a whole run, in stores of 32 that begin with a line of the target: 128 bytes of
 *                        the wider of keys and values, if the target begins with one
 *     slot by slot       a thread writes a slot, wherever its digit goes
 *
 * Slot by slot a store touches three lines, the rest of which other warps write at other times: 17 instructions instead
 * of 27, but pairs of 4 bytes took 7 % longer on an H200. It is the way of keys of up to 4 bytes alone, and of tiles
 * where some digit has too many keys for a warp.
 */
#ifndef SCAN_CUDA_SORT_PASS_SCATTER_CUH
#define SCAN_CUDA_SORT_PASS_SCATTER_CUH

#include <type_traits>

#include "pass_tiles.cuh"

namespace scan_cuda {

/* What a pass writes of keys: see key_part, too. The last pass over codes restores the keys; in an argsort, where some
 * may share a code, a key with that code, for the local stage. */
enum class written_keys { none, same, restored, upper_48, upper_32 };

/* coded: sort_pass.coded, of floats. Keys are codes then between the load and the write. */
template <class Key, int value_bytes, bool coded, class Shape> class pass_writer {
  protected:
    using K = key_bits<Key>;
    using V = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;
    using shape = Shape;
    static constexpr int rows = shape::rows;
    static constexpr bool has_parts = sizeof(K) == 8 && value_bytes > 0; /* see key_part */

    const sort_job &job;
    pass_shared<shape> &shared;
    const int thread, warp;
    const sort_order order;
    const uint32_t digit_mask;
    uint32_t shift;
    K *const sorted_keys;
    V *const sorted_values;

    __device__ pass_writer(const sort_job &job, pass_shared<shape> &shared, char *dynamic)
        : job(job), shared(shared), thread(threadIdx.x), warp(warp_of_cta()), order(shared.pass.order),
          digit_mask(shared.pass.digit_mask), shift(shared.pass.shift),
          sorted_keys(reinterpret_cast<K *>(dynamic + shape::counter_bytes)),
          sorted_values(reinterpret_cast<V *>(dynamic + shape::counter_bytes + shape::tile * sizeof(K))) {}

    __device__ uint32_t digit_of_code(K code) const { return uint32_t(code >> shift) & digit_mask; }

    /* f(digit_of), which finds a key's digit (see table_place()). A branch for each key, in place of this one, keeps
     * loads of several keys from being on their way together: passes of f32 that share codes took 1.05 times as long
     * (H200, 2026-11-29: tools/bench --device cuda --hunt 1 --seed 7705168611090790048, and 14106536678416314468). */
    template <class F> __device__ void with_digits(F f) const {
        if constexpr (!sort_key<Key>::is_float || coded)
            f([&](K key) { return digit_of_code(key); });
        else if (order.even.exists())
            f([&](K key) { return digit_of_code(order.even.template of<Key>(key)); });
        else
            f([&](K key) { return digit_of_code(plain_code<Key>(key, order)); });
    }

  private:
    static constexpr int line = shape::line;

    /* The keys of one digit in a tile: they go to neighbours. */
    struct digit_run {
        uint32_t line;       /* of the target, where the run begins: 2^32 lines are more than there is memory */
        uint32_t begin;      /* in the sorted tile */
        uint32_t ahead, end; /* elements of the line before the run, and with the run */
    };

    __device__ digit_run run_of(uint32_t digit, uint32_t turn) const {
        const uint32_t begin = shared.begins[turn][digit];
        const uint64_t to = shared.base[turn][table_place<Key>(shared.pass, digit)] + begin;
        const uint32_t ahead = uint32_t(to % line);
        return {uint32_t(to / line), begin, ahead, ahead + shared.counts[turn][digit]};
    }

    template <written_keys which>
    using stored = std::conditional_t<which == written_keys::upper_48 || which == written_keys::upper_32, uint32_t, K>;

    template <written_keys which> __device__ stored<which> written(K key) const {
        if constexpr (sizeof(stored<which>) < sizeof(K))
            return stored<which>(key >> 32);
        else
            return which == written_keys::restored ? key_of_exact_code<Key>(key, order) : key;
    }

    __device__ uint16_t *lower_16_target() const {
        return reinterpret_cast<uint16_t *>(static_cast<char *>(keys_target(job, shared.pass.keys_to)) +
                                            lower_16_at(job.n));
    }

    /* A run as a lane writes it: stores of 32 elements, one of which is its own, the first of which begins where a line
     * does. */
    template <written_keys which> struct run_lines {
        const pass_writer &writer;
        const K *keys;
        const V *values;
        stored<which> *to;
        uint16_t *lower_to; /* if the upper 48 bits are written */
        V *values_to;
        int lane, ahead, end; /* ahead, end: of the run, in elements from the beginning of its first line */

        __device__ void write(int step) const {
            if (end - lane > step * 32 && (step > 0 || lane >= ahead)) {
                if (which != written_keys::none)
                    to[step * 32] = writer.template written<which>(keys[step * 32]);
                if (which == written_keys::upper_48)
                    lower_to[step * 32] = uint16_t(keys[step * 32] >> 16);
                if constexpr (value_bytes > 0)
                    values_to[step * 32] = values[step * 32];
            }
        }
    };

    /* to, values_to: where this lane's elements of the target's line 0 are. */
    template <written_keys which>
    __device__ run_lines<which> lines_of(const digit_run &r, stored<which> *to, uint16_t *lower_to,
                                         V *values_to) const {
        const uint32_t lane = thread % 32;
        const int from = int(r.begin - r.ahead + lane);
        return {*this,
                opaque_shared(sorted_keys + from),
                sorted_values + from,
                opaque_global(to + uint64_t(r.line) * line),
                which == written_keys::upper_48 ? opaque_global(lower_to + uint64_t(r.line) * line) : nullptr,
                opaque_global(values_to + uint64_t(r.line) * line),
                int(lane),
                int(r.ahead),
                int(r.end)};
    }

    /* Each run by one warp, every lane of which looks one run up. */
    template <written_keys which> __device__ void write_runs(uint32_t turn) {
        constexpr int runs = (radix + shape::rank_warps - 1) / shape::rank_warps; /* of a warp */
        static_assert(runs <= 32 && shape::tile < 1 << 16 && shape::long_run + 2 * line < 1 << 10, "packed below");
        const uint32_t lane = thread % 32;
        using T = stored<which>;
        T *to = opaque_global(static_cast<T *>(keys_target(job, shared.pass.keys_to)) + lane);
        uint16_t *lower_to = which == written_keys::upper_48 ? opaque_global(lower_16_target() + lane) : nullptr;
        V *values_to = opaque_global(static_cast<V *>(values_target(job, shared.pass.values_to)) + lane);
        digit_run own = {};
        if (warp + lane * shape::rank_warps <= digit_mask)
            own = run_of(warp + lane * shape::rank_warps, turn);
        const uint32_t packed = own.begin << 16 | own.ahead << 10 | own.end;
        const auto lines_of_lane = [&](int i) {
            const uint32_t x = __shfl_sync(all_lanes, packed, i);
            const digit_run r = {__shfl_sync(all_lanes, own.line, i), x >> 16, x >> 10 & 63, x & 1023};
            return lines_of<which>(r, to, lower_to, values_to);
        };
#pragma unroll 2
        for (int i = 0; i < runs; i++) {
            const run_lines<which> lines = lines_of_lane(i);
#pragma unroll
            for (int k = 0; k < shape::usual_stores; k++)
                lines.write(k);
        }
        for (unsigned more = __ballot_sync(all_lanes, own.end > 32 * shape::usual_stores); more; more &= more - 1) {
            const run_lines<which> lines = lines_of_lane(__ffs(int(more)) - 1);
#pragma unroll 1
            for (int k = shape::usual_stores; k * 32 < lines.end; k++)
                lines.write(k);
        }
    }

    /* Slot s goes to base[digit] + s. */
    template <written_keys which, bool whole, class Digit>
    __device__ void write_slots(uint32_t count, const uint64_t *base, Digit digit_of) {
        using T = stored<which>;
        T *to = opaque_global(static_cast<T *>(keys_target(job, shared.pass.keys_to)) + thread);
        uint16_t *lower_to = which == written_keys::upper_48 ? opaque_global(lower_16_target() + thread) : nullptr;
        V *values_to = opaque_global(static_cast<V *>(values_target(job, shared.pass.values_to)) + thread);
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const int s = i * shape::rank_threads;
            if (whole || thread + s < int(count)) {
                const K k = sorted_keys[thread + s];
                const int64_t begin = int64_t(base[digit_of(k)]);
                if (which != written_keys::none)
                    to[begin + s] = written<which>(k);
                if (which == written_keys::upper_48)
                    lower_to[begin + s] = uint16_t(k >> 16);
                if constexpr (value_bytes > 0)
                    values_to[begin + s] = sorted_values[thread + s];
            }
        }
    }

    template <written_keys which> __device__ void write_keys(uint32_t count, uint32_t turn) {
        if constexpr (shape::by_runs) {
            uint32_t longs = 0;
#pragma unroll
            for (int w = 0; w < radix / 32; w++)
                longs |= shared.long_runs[turn][w];
            if (!longs)
                return write_runs<which>(turn);
        }
        with_digits([&](auto digit_of) {
            if (count == shape::tile)
                write_slots<which, true>(count, shared.base[turn], digit_of);
            else
                write_slots<which, false>(count, shared.base[turn], digit_of);
        });
    }

  protected:
    /* turn: that of the tile, of `count` elements. By the warps that rank. */
    __device__ void write(uint32_t count, uint32_t turn) {
        if constexpr (value_bytes > 0)
            if (shared.pass.keys_to == BUFFER_NONE)
                return write_keys<written_keys::none>(count, turn);
        if constexpr (has_parts) {
            if (shared.pass.part_to == UPPER_48)
                return write_keys<written_keys::upper_48>(count, turn);
            if (shared.pass.part_to == UPPER_32)
                return write_keys<written_keys::upper_32>(count, turn);
        }
        if constexpr (coded)
            if (!shared.pass.codes_to)
                return write_keys<written_keys::restored>(count, turn);
        write_keys<written_keys::same>(count, turn);
    }
};

} /* namespace scan_cuda */

#endif
