/* SPDX-License-Identifier: MIT
 *
 * A bucket of the local stage (local.cuh), by bins: its keys go to `out`, and its values get their ranks.
 *
 *     keys ──> bins, counted ──> keys in order by bin ──> a key's rank: its bin's begin, and the keys of its bin that
 *                                                         come before it by code, then by place ──> out
 *
 * Most bins have a key or two. Atomics number the keys of a bin in any order, and ranks do not depend on it: codes and
 * places decide. A bin of many copies of one code is ranked by places alone, as a digit of a tile is. None compares a
 * key with more than 32 others, so that copies cost no more than other keys.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LOCAL_BINS_CUH
#define SCAN_CUDA_SAMPLESORT_LOCAL_BINS_CUH

#include <type_traits>

#include "../device/order.cuh"
#include "local_groups.cuh"
#include "splitters.cuh"

namespace scan_cuda {
namespace samplesort {

/* In bins, keys are kept as exact codes; a bucket with floats that share a code (-0, NaN) is not sorted by bins. */
template <class K, int value_bytes, class Shape> class bucket_bins {
  protected:
    using F = std::conditional_t<sizeof(K) == 8, double, float>;
    using shared_type = local_shared<K, value_bytes, Shape>;
    static constexpr int rows = Shape::rows;

    const sort_job &job;
    shared_type &shared;
    const uint32_t size;
    K key[rows]; /* by place */

  private:
    bin_range<K> range;
    uint32_t bins_used; /* bins, a power of two */
    divided bins;       /* what has become of them */

  protected:
    __device__ bucket_bins(const sort_job &job, shared_type &shared, uint32_t size)
        : job(job), shared(shared), size(size) {}

    /* What a thread has in row r: the key at that place, or in that slot of an order. */
    static __device__ uint32_t place(int r) { return uint32_t(r) * threads + threadIdx.x; }
    /* Whether the row has any key, for all threads alike. */
    __device__ bool has(int r) const { return uint32_t(r) * threads < size; }

    /* Of this thread's rows, those that have a key. */
    template <class Do> __device__ void each_key(Do f) const {
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (!has(r))
                break;
            if (place(r) < size)
                f(r);
        }
    }

  private:
    /* The bits of an exact code that decide. */
    __device__ K mask() const { return K(job.is_float ? ~0ull : job.order.mask); }
    __device__ K code(K exact) const { return exact & mask(); }
    __device__ K code_at(uint32_t slot) const { return code(shared.keys[slot]); }
    __device__ K restored(K exact) const {
        return job.is_float ? key_of_exact_code<F>(exact, job.order) : key_of_exact_code<K>(exact, job.order);
    }

    /* Makes exact codes of the keys, and bins for their range. Returns false, for the whole CTA, if some key shares its
     * code with others. */
    __device__ bool find_range() {
        bins_used = min(max(power_from(2 * size), 128u), Shape::bins);
        for (uint32_t i = threadIdx.x; i < bins_used / 4; i += threads)
            reinterpret_cast<uint4 *>(shared.bins)[i] = make_uint4(0, 0, 0, 0);
        shared.clear_mixed();
        K low = K(~K(0)), high = 0;
        bool ambiguous = false;
        each_key([&](int r) {
            if (job.is_float) {
                ambiguous |= shares_code<F>(key[r]);
                key[r] = exact_code<F>(key[r], job.order);
            } else {
                key[r] = exact_code<K>(key[r], job.order);
            }
            low = min(low, code(key[r]));
            high = max(high, code(key[r]));
        });
        low = K(~warp_max(K(~low)));
        high = warp_max(high);
        if (threadIdx.x % 32 == 0) {
            shared.low[threadIdx.x / 32] = low;
            shared.high[threadIdx.x / 32] = high;
        }
        ambiguous = __syncthreads_or(ambiguous);
        low = K(~warp_max(K(~shared.low[threadIdx.x % warps])));
        high = warp_max(shared.high[threadIdx.x % warps]);
        range = bin_range<K>::of(low, high, bins_used);
        return !ambiguous;
    }

    /* Turns counts of bins into where they begin. Returns the largest count of this thread's bins. */
    __device__ uint32_t scan_bins() {
        uint32_t largest = 0;
        scan_vectors<Shape::bin_rows>(
            reinterpret_cast<uint4 *>(shared.bins), bins_used / 4, shared.sums,
            [&](const uint4 &x) {
                largest = max(largest, max(max(x.x, x.y), max(x.z, x.w)));
                return x.x + x.y + x.z + x.w;
            },
            [](const uint4 &x, uint32_t begin) {
                const uint32_t c = begin + x.x, d = c + x.y;
                return make_uint4(begin, c, d, d + x.z);
            });
        return largest;
    }

    /* Puts keys and places in order by bin, or by group. Returns false, for the whole CTA, if some is crowded. */
    __device__ bool fill() {
        packed_u16<rows> ranks;
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (!has(r))
                break;
            ranks.set(r, place(r) < size ? atomicAdd(&shared.bins[range.bin(code(key[r]))], 1u) : 0);
        }
        __syncthreads();
        const uint32_t largest = scan_bins();
        if (threadIdx.x == 0)
            shared.bins[bins_used] = size;
        const bool dense = __syncthreads_or(largest > (Shape::has_groups ? 2 * few : crowd));
        each_key([&](int r) {
            const uint32_t slot = shared.bins[range.bin(code(key[r]))] + ranks.get(r);
            shared.keys[slot] = key[r];
            shared.order[slot] = uint16_t(place(r));
        });
        __syncthreads();
        bins = {};
        if (dense)
            bins = divide_bins<K, value_bytes, Shape>(shared, size, range, mask());
        return !bins.crowded;
    }

    __device__ slots slots_of(uint32_t slot, K own) const { return shared.slots_of(range, bins.grouped, slot, own); }

    /* Leaves the ranks of copies in `ranked`. Bins that are 32 keys apart have different digits; the last digit is for
     * all other keys. */
    __device__ void rank_copies() {
        for (uint32_t slot = threadIdx.x; slot < size; slot += threads) {
            const slots s = slots_of(slot, code_at(slot));
            const uint32_t digit = s.begin / crowd;
            const bool copy = s.count() > crowd;
            shared.ranked[shared.order[slot]] = uint16_t(copy ? digit : radix - 1);
            if (copy && slot == s.begin)
                shared.copies_begin[digit] = uint16_t(slot);
        }
        __syncthreads();
        const uint32_t rows_used = rows_of_tile(size);
        packed_u8<rows> digits;
        packed_u16<rows> to;
        each_used_row<rows>(rows_used, [&](int r) {
            const uint32_t at = place_in_tile(r, rows_used);
            digits.set(r, at < size ? uint32_t(shared.ranked[at]) : uint32_t(radix - 1));
        });
        rank_tile<rows>(shared.ranks, digits, to, rows_used);
        each_used_row<rows>(rows_used, [&](int r) {
            const uint32_t digit = digits.get(r);
            if (digit < radix - 1)
                shared.ranked[place_in_tile(r, rows_used)] =
                    uint16_t(to.get(r) - shared.ranks.begins[digit] + shared.copies_begin[digit]);
        });
        __syncthreads();
    }

    /* Where the key of a slot belongs: behind those of its bin that come before it. told: bins of more than a few keys
     * are known to have one code or several. Of one code places alone are compared: sorts of values with 30 copies took
     * 1/1.2 to 1/1.4 of the time (H200, 2026-12-01: tools/bench --device cuda --algorithm sample --type u64 --n
     * 6000000,25000000 --distribution few:200000,few:833333, with --verb sort and --verb pairs). */
    template <bool told> __device__ uint32_t rank_of(uint32_t slot, K own, const slots &s) const {
        if (s.count() == 1)
            return s.begin;
        if (s.count() > crowd)
            return job.ties ? shared.ranked[shared.order[slot]] : slot;
        uint32_t rank = s.begin;
        if (told && s.count() > few && !shared.is_mixed(s.begin)) {
            if (!job.ties)
                return slot;
            const uint32_t place = shared.order[slot];
#pragma unroll 4
            for (uint32_t i = s.begin; i < s.end; i++)
                rank += shared.order[i] < place;
            return rank;
        }
#pragma unroll 1
        for (uint32_t i = s.begin; i < s.end; i++) {
            const K other = code_at(i);
            rank += other < own;
            if (other == own && i != slot)
                rank += shared.order[i] < shared.order[slot];
        }
        return rank;
    }

  protected:
    /* Returns false, for the whole CTA, if bins do not tell the keys apart. */
    __device__ bool fill_bins() {
        if (find_range() && fill())
            return true;
        each_key([&](int r) { key[r] = restored(key[r]); });
        return false;
    }

    /* Keys go to `out`, and with values their ranks to `ranked`. */
    __device__ void rank_bins(K *out) {
        if (bins.copies && job.ties)
            rank_copies();
        if (bins.grouped && bins.told)
            rank_slots<true, true>(out);
        else if (bins.grouped)
            rank_slots<true, false>(out);
        else if (bins.told)
            rank_slots<false, true>(out);
        else
            rank_slots<false, false>(out);
    }

  private:
    template <bool grouped, bool told> __device__ void rank_slots(K *out) {
        for (uint32_t slot = threadIdx.x; slot < size; slot += threads) {
            const K exact = shared.keys[slot], own = code(exact);
            const uint32_t rank = rank_of<told>(slot, own, shared.slots_of(range, grouped, slot, own));
            if (out)
                out[rank] = restored(exact);
            if (value_bytes)
                shared.ranked[shared.order[slot]] = uint16_t(rank);
        }
    }
};

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
