/* SPDX-License-Identifier: MIT
 *
 * What the ranking warps of a pass do with a tile (pass.cuh): load it, count its digits, publish the counts, put its
 * keys and values in order in shared memory, and write the tile before it meanwhile.
 */
#ifndef SCAN_CUDA_SORT_PASS_RANK_CUH
#define SCAN_CUDA_SORT_PASS_RANK_CUH

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
    using writer::digit_mask, writer::has_parts, writer::job, writer::order, writer::rows, writer::shared,
        writer::shift, writer::sorted_keys, writer::sorted_values, writer::thread, writer::warp;
    static constexpr int together = 4; /* rows whose values are asked for together */
    static constexpr int late_row = rows > 6 ? rows - 6 - (rows - 6) % together : 0;
    static constexpr int ticket_row = shape::large ? 0 : late_row;
    static constexpr uint32_t most_alike = 5; /* lanes of a row with one digit, see ranks_by_atomics() */
    static constexpr bool keeps_digits = sort_key<Key>::is_float && !coded; /* they cost more to find again */

    const uint32_t epoch, tiles;
    uint32_t *const counters;     /* `radix` of each warp: keys of a digit, then where the next one goes */
    uint32_t *const own_counters; /* of this warp */

    uint64_t first;  /* elements before the tile */
    uint32_t count;  /* elements in it */
    bool one_digit;  /* all keys of this warp have one */
    bool by_atomics; /* this warp's keys have `place` */
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
            return writer::digit_of_code(key[i]);
    }
    /* Where this thread's rows begin in the tile. */
    __device__ int at() const { return warp * (32 * rows) + thread % 32; }
    __device__ bool there(int i) const { return at() + i * 32 < int(count); }
    /* Whether this warp's keys, those with the same digit in any order, take places by atomics: each adds one to the
     * digit's counter and has what was there. Lanes with the same digit take turns at that, so that where in one of two
     * rows there are more than most_alike, ballots are quicker: sorted stretches, whose lowest digit that varies is the
     * same for many neighbours, took up to 1.2 times as long by atomics (H200, 2026-11-29: tools/bench --device cuda
     * --hunt 1 --seed 6968373898966553843, and 14979195710621080496). */
    __device__ bool ranks_by_atomics() const {
        if (value_bytes > 0 || !shared.pass.any_order || count < shape::tile) /* what lies past has to come last */
            return false;
        const uint32_t alike = max(__popc(lanes_with_byte(row_digit(0))), __popc(lanes_with_byte(row_digit(rows / 2))));
        return warp_max(alike) <= most_alike;
    }

    /* What lies past the tile's count has the last digit, so that it comes last. */
    __device__ void load_keys() {
        const K *from = static_cast<const K *>(keys_source(job, shared.pass.keys_from)) + first + at();
        const bool from_keys = coded && !shared.pass.codes_from;
        const K absent = !coded ? K(~order.flip) : from_keys ? key_of_exact_code<Key>(K(~K(0)), order) : K(~K(0));
        if (has_parts && shared.pass.part_from == UPPER_48) {
            const char *parts = static_cast<const char *>(keys_source(job, shared.pass.keys_from));
            const uint32_t *upper = reinterpret_cast<const uint32_t *>(parts) + first + at();
            const uint16_t *lower = reinterpret_cast<const uint16_t *>(parts + lower_16_at(job.n)) + first + at();
#pragma unroll
            for (int i = 0; i < rows; i++)
                key[i] = there(i) ? K(uint64_t(__ldcs(upper + i * 32)) << 32 | uint32_t(__ldcs(lower + i * 32)) << 16)
                                  : absent;
        } else {
#pragma unroll
            for (int i = 0; i < rows; i++)
                key[i] = there(i) ? __ldcs(from + i * 32) : absent;
        }
        if (from_keys) {
            /* An argsort writes no keys: those that share a code travel as it. No key is sure to have the last code, so
             * that what lies past the count gets it here. */
            if (value_bytes > 0 && !job.keys_out) {
#pragma unroll
                for (int i = 0; i < rows; i++)
                    key[i] = there(i) ? plain_code<Key>(key[i], order) : K(~K(0));
            } else {
#pragma unroll
                for (int i = 0; i < rows; i++)
                    key[i] = exact_code<Key>(key[i], order);
            }
        }
        if constexpr (keeps_digits) {
            writer::with_digits([&](auto digit_of) {
#pragma unroll
                for (int i = 0; i < rows; i++)
                    digit.set(i, there(i) ? digit_of(key[i]) : digit_mask);
            });
        }
    }

    __device__ void count_keys() {
        __syncwarp();
        for (int d = thread % 32; d < radix; d += 32)
            own_counters[d] = 0;
        __syncwarp();
        if constexpr (value_bytes == 0) {
            by_atomics = ranks_by_atomics();
            if (by_atomics) {
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

    /* Asks L2 for the keys of a tile of this pass, all of whose elements are there. */
    __device__ void prefetch(uint32_t tile) const {
        const uint64_t at = shared.launch.first + uint64_t(tile) * shape::tile;
        if (tile >= tiles || at + shape::tile > shared.launch.n)
            return;
        const char *from = static_cast<const char *>(keys_source(job, shared.pass.keys_from));
        const auto ask_for = [](const char *part, uint32_t bytes) {
            bulk_prefetch(part - uintptr_t(part) % 16, bytes);
        };
        if (has_parts && shared.pass.part_from == UPPER_48) {
            ask_for(from + at * sizeof(uint32_t), shape::tile * sizeof(uint32_t));
            ask_for(from + lower_16_at(job.n) + at * sizeof(uint16_t), shape::tile * sizeof(uint16_t));
        } else {
            ask_for(from + at * sizeof(K), shape::tile * sizeof(K));
        }
    }

    /* Keys and values go to their places in the tile. next: gets the number of another ticket, taken so early that the
     * last rows take as long as its way; or still earlier, for large tiles, so that its keys are on their way too. */
    __device__ void rank(uint32_t *next) {
        uint32_t taken = 0;
        shift = shared.pass.shift; /* read again: digits are found again, not kept in registers */
        if (value_bytes == 0 && by_atomics) {
            if (thread == 0)
                taken = take_ticket(job.state).number - shared.passed;
            if (shape::large && thread == 0)
                prefetch(taken);
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
                if (i == ticket_row && thread == 0)
                    taken = take_ticket(job.state).number - shared.passed;
                if (shape::large && i == late_row && thread == 0)
                    prefetch(taken);
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
            *next = taken;
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

} /* namespace scan_cuda */

#endif
