/* SPDX-License-Identifier: MIT
 *
 * A tile of the local stage (local.cuh), by bins: registers to shared memory, in order.
 *
 *     bin          0    1    2    3    4 ...      (code - base) >> bin_shift
 *     keys         2    0    1    1    3          counted by additions, two counters to a word
 *     begins       0    2    2    3    4          the same words, scanned
 *     slots        b a  |    c |  d |  g f e      a key's is its bin's begin and its rank, what the addition returned
 *     mended       a b  |    c |  d |  e f g
 */
#ifndef SCAN_CUDA_SORT_LOCAL_BINS_CUH
#define SCAN_CUDA_SORT_LOCAL_BINS_CUH

#include <type_traits>

#include "../device/vector.cuh"
#include "local_digits.cuh"

namespace scan_cuda {

/* What a tile is sorted as:
 *   codes    which tell the keys: integers alone, and floats alone where none of the tile shares its code
 *   keys     and where in the tile they lay, beside them, for those of one code stay in that order
 *   labels   codes, less the tile's first, with where they lay in the bits below: then no two are equal, and they are
 *            sorted as integers alone are. 4-byte keys with values, where the tile's codes leave the bits */
enum local_form { LOCAL_CODES, LOCAL_KEYS, LOCAL_LABELS };

template <class Key, int value_bytes>
constexpr bool local_labels = !sort_key<Key>::is_float && sizeof(Key) == 4 && value_bytes > 0;

/* A key in shared memory, with what tells it from equal ones. */
template <class K> struct local_placed {
    K key, code;
    uint32_t origin;
    __device__ bool operator<(const local_placed &other) const {
        return code < other.code || (code == other.code && origin < other.origin);
    }
};

constexpr uint32_t local_max_codes = 8;                     /* in a full bin, if a warp counts the copies of each */
constexpr int local_window = 17, local_reach_of_border = 6; /* slots; an odd number, so that lanes meet in no bank */
static_assert(local_window + local_reach_of_border <= local_spare && 2 * local_reach_of_border < local_window);

template <class Key, int value_bytes, local_form form> class local_bins {
  protected:
    using K = key_bits<Key>;
    static constexpr bool ties = form == LOCAL_KEYS;
    /* Codes tell the keys, so that a bin of one code is in order, however many keys it has. */
    static constexpr bool codes_alone = form == LOCAL_CODES;
    static constexpr uint32_t max_inserted = local_max_inserted<Key, codes_alone>;
    static constexpr int rows = local_rows<Key, value_bytes>;
    static_assert(form != LOCAL_LABELS || rows <= 32, "counters and origins leave room for the values");

    const sort_job &job;
    local_shared &shared;
    uint32_t *counts; /* of bins, two to a word; then, as 16-bit numbers, where the bins begin */
    uint16_t *origin; /* keys: where in the tile they lay */
    K *sorted;        /* the tile's keys; later, as V, its values */
    const int thread, warp, lane;

    uint32_t members;
    K base;               /* a code; bins begin there */
    uint32_t bin_shift;   /* bin = (code or spread value - base) >> bin_shift */
    uint32_t grain;       /* shift for bins of one code */
    bool values;          /* bins are of equal steps of values, see spread() */
    uint32_t bin_rows;    /* of 256 bins, 128 words */
    K key[rows];          /* the code if it tells the key, else the key */
    packed_u8<rows> rank; /* in the bin */
    static_assert((local_max_rank & (local_max_rank + 1)) == 0 && local_max_rank <= 255, "a mask of a byte");

    __device__ K stored(K key) const { return ties ? key : exact_code<Key>(key, job.order); }
    __device__ K restored(K key) const { return ties ? key : key_of_exact_code<Key>(key, job.order); }
    __device__ K code(K stored) const { return ties ? sort_code<Key>(stored, job.order) : stored; }
    /* Floats: what bins are made of in place of codes, an even code fine enough. 8-byte ones have the buckets' own. */
    static constexpr bool tries_values = sort_key<Key>::is_float && form == LOCAL_CODES;
    __device__ even_code spread() const { return sizeof(K) == 8 ? shared.even : shared.spread; }
    template <bool by_values> __device__ uint32_t bin_of(K stored, const even_code &even) const {
        K place = code(stored);
        if constexpr (by_values)
            place = even.template of<Key>(restored(stored));
        return uint32_t((place - base) >> bin_shift);
    }
    __device__ uint32_t bin_of(K stored) const {
        if constexpr (tries_values)
            if (values)
                return bin_of<true>(stored, spread());
        return bin_of<false>(stored, {});
    }
    /* f(std::true_type or std::false_type, spread()): by values, or not. */
    template <class F> __device__ auto choose_bins(F f) const {
        if constexpr (tries_values)
            if (values)
                return f(std::true_type(), spread());
        return f(std::false_type(), even_code{});
    }
    __device__ uint16_t *begins() const { return reinterpret_cast<uint16_t *>(counts); }
    __device__ bool mends() const { return ties || values || bin_shift > grain; }

    /* The bins, from the least to the greatest code that the tile may have, and their counters cleared. low: bits at
     * the bottom in which codes do not differ. */
    __device__ void clear(K least, K greatest, uint32_t low) {
        base = least;
        grain = low;
        const uint32_t bits = bits_of(K(greatest - base)),
                       wanted = min(bits_of(members * 2 - 1), bits_of(local_words(blockDim.x) * 2) - 1);
        bin_shift = bits > wanted + grain ? bits - wanted : grain;
        bin_rows = uint32_t((greatest - base) >> bin_shift) / 256 + 1;
        auto *words = reinterpret_cast<uint4 *>(counts);
        for (uint32_t i = thread; i < bin_rows * 32; i += blockDim.x)
            words[i] = uint4{};
        if (thread == 0)
            shared.most = 0;
        __syncthreads();
    }

    /* Returns whether keys can be scattered: codes tell them, or ranks have the bits. Keys that are not there fall in
     * some bin, and add nothing. */
    __device__ bool count(const local_deal &deal) {
        uint32_t most = choose_bins(
            [&](auto by_values, const even_code &even) { return count_by<decltype(by_values)::value>(deal, even); });
        most = warp_max(most) >> 16;
        if (lane == 0)
            atomicMax(&shared.most, most);
        __syncthreads();
        return codes_alone || shared.most <= local_max_rank;
    }
    template <bool by_values> __device__ uint32_t count_by(const local_deal &deal, const even_code &even) {
        uint32_t most = 0; /* upper half: the highest rank */
        each_whole_batch<rows>(deal, [&](int b, auto there) {
            uint32_t bin[local_batch], old[local_batch];
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                bin[k] = bin_of<by_values>(key[b + k], even);
                old[k] = atomicAdd(counts + bin[k] / 2, there(b + k) ? __funnelshift_l(0, 1, bin[k] * 16) : 0);
            }
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                const uint32_t upper = __funnelshift_l(0, old[k], bin[k] * 16 + 16); /* the bin's own half */
                most = max(most, upper);
                rank.set(b + k, upper >> 16 & local_max_rank);
            }
        });
        return most;
    }

    /* Where the keys of each bin begin. A row is the 128 words that a warp loads at once; warps have as many rows each,
     * summed two at a time, as halves of a word. */
    __device__ void scan_bins() {
        constexpr int most = 4; /* rows of a warp */
        const int lane = int(opaque(this->lane));
        const uint32_t warps = blockDim.x / 32, each = (bin_rows + warps - 1) >> (bits_of(warps) - 1);
        const uint32_t row = min(warp * each, bin_rows), end = min(row + each, bin_rows);
        uint4 *words = reinterpret_cast<uint4 *>(counts) + row * 32 + lane;
        uint32_t sum[most], at[most], next = 0;
#pragma unroll
        for (int r = 0; r < most; r++) {
            sum[r] = 0;
            if (row + r < end) {
                const uint4 x = words[r * 32];
                const uint32_t halves = x.x + x.y + x.z + x.w;
                sum[r] = (halves & 0xffff) + (halves >> 16);
            }
        }
#pragma unroll
        for (int r = 0; r < most; r += 2) {
            const uint32_t own = sum[r] | sum[r + 1] << 16, fold = warp_inclusive<add<uint32_t>>(own, lane),
                           total = __shfl_sync(all_lanes, fold, 31);
            at[r] = next + (fold & 0xffff) - sum[r];
            next += total & 0xffff;
            at[r + 1] = next + (fold >> 16) - sum[r + 1];
            next += total >> 16;
        }
        if (lane == 0)
            shared.totals[warp] = next;
        __syncthreads();
        const uint32_t before = warp_sum(lane < warp ? shared.totals[lane] : 0);
#pragma unroll
        for (int r = 0; r < most; r++)
            if (row + r < end) {
                uint4 x = words[r * 32];
                uint32_t begin = (before + at[r]) * 0x10001; /* in both halves */
                const auto place = [&](uint32_t &word) {
                    const uint32_t through = word * 0x10001;
                    word = begin + (word << 16);
                    begin += __byte_perm(through, 0, 0x3232);
                };
                place(x.x);
                place(x.y);
                place(x.z);
                place(x.w);
                words[r * 32] = x;
            }
        if (thread == 0)
            counts[bin_rows * 128] = members;
        __syncthreads();
    }

    __device__ void scatter(const local_deal &deal) {
        const bool past_ranks = codes_alone && shared.most > local_max_rank;
        choose_bins([&](auto by_values, const even_code &even) {
            if (past_ranks)
                scatter_unranked<decltype(by_values)::value>(deal, even);
            else
                scatter_by<decltype(by_values)::value>(deal, even);
        });
        if (!ties && thread < local_spare)
            sorted[members + thread] = K(~K(0));
        __syncthreads();
    }
    template <bool by_values> __device__ void scatter_by(const local_deal &deal, const even_code &even) {
        each_whole_batch<rows>(deal, [&](int b, auto there) {
            uint32_t slot[local_batch];
#pragma unroll
            for (int k = 0; k < local_batch; k++)
                slot[k] = begins()[bin_of<by_values>(key[b + k], even)];
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                slot[k] += rank.get(b + k);
                if (there(b + k)) {
                    sorted[slot[k]] = key[b + k];
                    if (ties)
                        origin[slot[k]] = uint16_t(deal.at + 32 * (b + k));
                }
            }
        });
    }

    /* Where a bin has more keys than there are ranks: numbers them again, by its begin, which it gets back. */
    template <bool by_values> __device__ void scatter_unranked(const local_deal &deal, const even_code &even) {
        const auto add_to = [&](uint32_t bin, uint32_t x) {
            const uint32_t old = atomicAdd(counts + bin / 2, __funnelshift_l(0, x, bin * 16));
            return __funnelshift_l(0, old, bin * 16 + 16) >> 16;
        };
        each_row<rows>(deal, [&](int i) {
            if (deal.there(i))
                sorted[add_to(bin_of<by_values>(key[i], even), 1)] = key[i];
        });
        __syncthreads();
        each_row<rows>(deal, [&](int i) {
            if (deal.there(i))
                add_to(bin_of<by_values>(key[i], even), ~0u);
        });
    }

    using placed = local_placed<K>;
    __device__ placed get(uint32_t slot) const {
        const K own = sorted[slot];
        return {own, code(own), ties ? uint32_t(origin[slot]) : 0};
    }
    __device__ void put(uint32_t slot, const placed &x) {
        sorted[slot] = x.key;
        if (ties)
            origin[slot] = uint16_t(x.origin);
    }

    /* The first slot from this one on where a bin begins. */
    __device__ uint32_t bin_border(uint32_t slot) const {
        if (slot == 0 || slot >= members)
            return min(slot, members);
        const uint32_t bin = bin_of(sorted[slot]), begin = begins()[bin];
        return begin == slot ? slot : begins()[bin + 1];
    }

    /* A thread has the bins that begin in its share of the slots, an odd number: lanes meet in no bank. some_full: full
     * bins are in order already. */
    template <bool some_full> __device__ void insert() {
        const uint32_t each = (((members - 1) >> (bits_of(blockDim.x) - 1)) + 1) | 1;
        uint32_t begin = bin_border(thread * each);
        const uint32_t end = bin_border(thread * each + each);
        __syncthreads();
        while (begin < end) {
            const uint32_t past = some_full ? begins()[bin_of(sorted[begin]) + 1] : end;
            if (!some_full || past - begin <= max_inserted)
                for (uint32_t at = begin + 1; at < past; at++) {
                    const placed own = get(at);
                    uint32_t to = at;
                    for (; to > begin; to--) {
                        const placed other = get(to - 1);
                        if (!(own < other))
                            break;
                        put(to, other);
                    }
                    if (to < at)
                        put(to, own);
                }
            begin = past;
        }
        __syncthreads();
    }

    /* By a warp: a bin's keys in order, if few codes have many copies each: each code in turn is counted, and known to
     * one lane. Returns false, and moves no key, as soon as the codes found have less than count / local_max_codes keys
     * each on average. */
    __device__ bool select_codes(uint32_t begin, uint32_t count) {
        K last = 0, own = 0;
        uint32_t codes = 0, own_end = 0; /* of the lane's code, counted from `begin` */
        for (uint32_t found = 0; found < count; codes++) {
            if (found * local_max_codes < count * codes)
                return false;
            K least = K(~K(0));
            uint32_t copies = 0;
#pragma unroll 8
            for (uint32_t first = 0; first < count; first += 32) {
                const K key = sorted[begin + min(first + lane, count - 1)];
                const bool is_left = (first + lane < count) & ((codes == 0) | (key > last));
                copies = !is_left ? copies : key == least ? copies + 1 : key < least ? 1 : copies;
                least = is_left ? min(least, key) : least;
            }
            last = K(~warp_max(K(~least)));
            found += warp_sum(least == last ? copies : 0);
            if (uint32_t(lane) == codes) {
                own = last;
                own_end = found;
            }
        }
        __syncwarp();
        for (uint32_t first = 0; codes > 1 && first < count; first += 32) {
            K key = 0;
            for (uint32_t c = codes; c-- > 0;) {
                const K of_lane = __shfl_sync(all_lanes, own, int(c));
                const uint32_t end = __shfl_sync(all_lanes, own_end, int(c));
                key = first + lane < end ? of_lane : key;
            }
            if (first + lane < count)
                sorted[begin + first + lane] = key;
        }
        __syncwarp();
        return true;
    }

    /* By a warp: a bin's keys in order, by a bitonic network whose comparisons all put the lesser key first, so that
     * those with a place past the bin's end are left out. Source: Batcher, "Sorting networks and their applications",
     * 1968. */
    __device__ void sort_bin(uint32_t begin, uint32_t count) {
        for (uint32_t size = 2; size < 2 * count; size *= 2)
            for (uint32_t half = size / 2; half > 0; half /= 2) {
                const auto low_of = [&](uint32_t pair) { return 2 * pair - (pair & (half - 1)); };
                for (uint32_t first = 0; low_of(first) < count; first += 32) {
                    const uint32_t low = low_of(first + lane), high = half == size / 2 ? low ^ (size - 1) : low + half;
                    if (high < count) { /* the only branch on keys: lanes stay together */
                        const placed a = get(begin + low), b = get(begin + high);
                        if ((b.code < a.code) | ((b.code == a.code) & (b.origin < a.origin))) {
                            put(begin + low, b);
                            put(begin + high, a);
                        }
                    }
                }
                __syncwarp();
            }
    }

    /* A warp sorts each bin of more than max_inserted keys. Its lane l looks at word (i + l) % 32 of row l, so that
     * lanes meet in no bank and neighbouring bins, often full together, fall to different warps. Returns the size of
     * the largest other bin, or more than a tile has, if a bin was left: of more keys than there are ranks, and not of
     * few codes. */
    __device__ uint32_t sort_full_bins() {
        const uint32_t word_rows = bin_rows * 4; /* of 32 */
        uint32_t most = 0;
        for (uint32_t i = warp; i < (word_rows + 31) / 32 * 32; i += blockDim.x / 32) {
            const uint32_t row = i / 32 * 32 + lane,
                           word = row < word_rows ? row * 32 + (i + lane) % 32 : word_rows * 32, both = counts[word],
                           next = row < word_rows ? counts[word + 1] & 0xffff : 0;
#pragma unroll 1
            for (int half = 0; half < 2; half++) {
                const uint32_t begin = half ? both >> 16 : both & 0xffff, past = half ? next : both >> 16,
                               count = row < word_rows ? past - begin : 0;
                const bool full = count > max_inserted;
                most = max(most, full ? 0 : count);
                for (uint32_t left = __ballot_sync(all_lanes, full); left; left &= left - 1) {
                    const int from = __ffs(int(left)) - 1;
                    const uint32_t first = __shfl_sync(all_lanes, begin, from),
                                   keys = __shfl_sync(all_lanes, count, from);
                    if (codes_alone && select_codes(first, keys))
                        continue;
                    if (keys <= local_max_rank + 1)
                        sort_bin(first, keys);
                    else
                        most = ~0u;
                }
            }
        }
        most = warp_max(most);
        if (lane == 0)
            shared.totals[warp] = most;
        __syncthreads();
        return warp_max(lane < int(blockDim.x) / 32 ? shared.totals[lane] : 0);
    }

    /* Slots from `first` on, by one thread: neighbours change places until none of a bin within them is out of order,
     * which takes as many rounds as it has keys. */
    template <int count> __device__ void settle(uint32_t first, uint32_t rounds) {
        K x[count];
#pragma unroll
        for (int i = 0; i < count; i++)
            x[i] = sorted[first + i];
        for (uint32_t r = 0; r < rounds; r += 2) {
#pragma unroll
            for (int odd = 0; odd < 2; odd++)
#pragma unroll
                for (int i = odd; i + 1 < count; i += 2) {
                    const K low = min(x[i], x[i + 1]), high = max(x[i], x[i + 1]);
                    x[i] = low;
                    x[i + 1] = high;
                }
        }
#pragma unroll
        for (int i = 0; i < count; i++)
            sorted[first + i] = x[i];
    }

    /* Of small bins, first all that lie in a window, then those at the borders of two; of fuller ones by insertion, and
     * by warps. Returns whether it could. unneeded(): called as soon as nobody needs the counters. */
    template <class F> __device__ bool mend(F unneeded) {
        uint32_t rounds = mends() ? shared.most + 1 : 0;
        const bool some_full = rounds > max_inserted;
        if (some_full)
            rounds = sort_full_bins();
        if (rounds > members)
            return false;
        if (ties || rounds > local_reach_of_border + 1) {
            if (some_full)
                insert<true>();
            else
                insert<false>();
            unneeded();
            return true;
        }
        unneeded();
        if (rounds == 0)
            return true;
        for (uint32_t w = thread * local_window; w < members; w += blockDim.x * local_window)
            settle<local_window>(w, rounds);
        __syncthreads();
        for (uint32_t border = (thread + 1) * local_window; border < members; border += blockDim.x * local_window)
            settle<2 * local_reach_of_border>(border - local_reach_of_border, rounds);
        __syncthreads();
        return true;
    }

  public:
    __device__ local_bins(const sort_job &job, local_shared &shared)
        : job(job), shared(shared), thread(int(opaque(threadIdx.x))), warp(__shfl_sync(all_lanes, thread / 32, 0)),
          lane(thread % 32) {
        const uint32_t capacity = job.local.stride + job.local.reach;
        counts = dynamic_shared<uint32_t>();
        origin = reinterpret_cast<uint16_t *>(reinterpret_cast<char *>(counts) + local_counter_bytes(blockDim.x));
        sorted = reinterpret_cast<K *>(origin + (form == LOCAL_CODES ? 0 : capacity));
        if (form == LOCAL_LABELS) /* behind where the values will be */
            sorted += capacity * (local_element<Key, value_bytes> / sizeof(K) - 1);
    }
};

} /* namespace scan_cuda */

#endif
