/* SPDX-License-Identifier: MIT
 *
 * The local stage: keys in order by their top digits are put in order by the rest, a few buckets at a time, in the
 * shared memory of a CTA. One read and one write take the place of a pass for every digit below.
 *
 *     positions   0         T         2T        3T        T = 5
 *     keys        a a a a b b b b c c c d d d d d d d e   equal top digits, a bucket: equal letters
 *     tiles       [ 0    ][ 1    ][ 2  ][ 3            ]  tile i: from the start of the bucket that position i T is in
 *                                                         to the start of the one that (i + 1) T is in
 *
 * The idea is the hybrid radix sort's (Stehle and Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs",
 * 2017): most significant digits first until a bucket fits a CTA. Here the buckets come from the
 * least-significant-first passes of pass.cuh over the top digits, so there is no table of buckets: a warp finds where
 * one begins by a 32-way search of the keys before its position, for as many positions ahead as the CTA has warps.
 *
 * A bucket that begins more than `reach` before position i T is too large, unless all of its keys are equal: then they
 * are where they belong. Each tile copies its stretch of such a bucket, and compares every key with one at a tile's
 * position; the tiles on both sides of a position compare with the same key, and so all are compared with each other.
 * If two differ, all digits are sorted after all (plan.cuh), from the keys that were given.
 *
 *     load     the tile to registers
 *       |
 *     count    bins of equal width, about eight for a key, eight counters of four bits to a word: a key's rank in its
 *       |      bin is what the addition returns; then scan the words' sums
 *       |
 *     scatter  keys to shared memory, in order by bins, with where they came from if equal ones can be told apart
 *       |
 *     mend     bins with two keys and more, listed while scattering, each put in order by a thread
 *       |
 *     write    in order
 *       |
 *     values   copied to shared memory as they lie, then taken from there
 *
 * The order in a bin is that of (code, place before): stable, whatever order the additions were in. A bin of one code
 * needs no mending where equal keys are the same key. Where a bin gets more than 15 keys, or too many get two, the tile
 * is sorted by the digits in which its keys differ, least significant first, with stable ranks, all in shared memory.
 *
 * In place: source and target may be the same array. A CTA holds its keys in registers, and its values in shared
 * memory, before it writes any; it writes its own positions only, and of the others it looks at prefixes, which are the
 * same at every position before, while and after their owners sort them, and at keys of buckets that nobody changes.
 * A key is loaded and stored whole.
 *
 * Traffic: a read and a write of keys and values. Barriers: six a tile, nine with values.
 *
 * Work: about 130 instructions of a warp for a row of 32 4-byte keys alone, a third to scatter (on an H200, 2^28 keys).
 * That is the work of nearly two passes: what is gained is their traffic and their waiting for each other's counts, so
 * the plan asks for two passes saved at least, three with values. 64 registers: two CTAs of 512 threads share an SM, of
 * at most 12,288 keys.
 */
#ifndef SCAN_CUDA_SORT_LOCAL_CUH
#define SCAN_CUDA_SORT_LOCAL_CUH

#include <type_traits>

#include "../vector.cuh"
#include "finish.cuh"
#include "local_digits.cuh"

namespace scan_cuda {

/* The sum of the eight counters of a word, plus x. */
__device__ inline uint32_t add_counters(uint32_t word, uint32_t x) {
    return __dp4a(word & 0x0f0f0f0f, 0x01010101u, __dp4a(word >> 4 & 0x0f0f0f0f, 0x01010101u, x));
}

template <class Key, int value_bytes, bool ties> class local_tile {
    using K = key_bits<Key>;
    using V = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;
    static constexpr int rows = local_rows<Key, value_bytes>;

    const sort_job &job;
    local_shared &shared;
    const K *from;
    K *sorted;        /* the tile's keys; later, as V, its values */
    uint32_t *counts; /* of bins, eight to a word */
    uint16_t *begins; /* of words */
    uint32_t *list;   /* bins to mend: first slot, and keys << 16 */
    uint16_t *origin; /* ties: where in the tile the key lay */
    const int thread, warp, lane;
    const K ones; /* the bits that do not tell buckets apart */

    uint64_t first; /* position of the tile */
    uint32_t members;
    K base;                         /* a code; bins begin there */
    uint32_t bin_shift;             /* bin = (code - base) >> bin_shift */
    uint32_t bin_rows;              /* of 128 words */
    K key[rows];                    /* the code if it tells the key, else the key */
    uint32_t ranks[(rows + 7) / 8]; /* in bins, four bits each */

    __device__ K stored(K key) const { return ties ? key : exact_code<Key>(key, job.order); }
    __device__ K restored(K key) const { return ties ? key : key_of_exact_code<Key>(key, job.order); }
    __device__ K code(K stored) const { return ties ? sort_code<Key>(stored, job.order) : stored; }
    __device__ K code_at(uint64_t i) const { return code(stored(__ldcg(from + i))); }
    __device__ uint32_t bin_of(K key) const { return uint32_t((code(key) - base) >> bin_shift); }

    /* By a warp: the first position of [low, high) from which on no bucket is below that of `bucket`, or, with `past`,
     * all are above it; else high. */
    __device__ uint64_t search(uint64_t low, uint64_t high, K bucket, bool past) const {
        while (low < high) {
            const uint64_t step = (high - low + 31) / 32, i = low + lane * step;
            bool there = true;
            if (i < high) {
                const K other = code_at(i) | ones;
                there = past ? other > bucket : other >= bucket;
            }
            const uint32_t less = uint32_t(__popc(~__ballot_sync(all_lanes, there)));
            if (less == 0)
                break;
            high = min(high, low + less * step);
            low += (less - 1) * step + 1;
        }
        return low;
    }

    /* The tile's bins, and its counters cleared. */
    __device__ void clear() {
        const K head = code_at(first), last = code_at(first + members - 1) | ones;
        base = head & ~ones;
        const uint32_t bits = bits_of(K(last - base)),
                       wanted = min(bits_of(members * 8 - 1), bits_of(local_words(blockDim.x) * 8) - 1);
        bin_shift = bits > wanted ? bits - wanted : 0;
        bin_rows = uint32_t((last - base) >> bin_shift) / 1024 + 1;
        auto *words = reinterpret_cast<vector<uint32_t, 4> *>(counts);
        for (uint32_t i = thread; i < bin_rows * 32; i += blockDim.x)
            words[i] = {};
        if (thread == 0)
            shared.listed = shared.differ[0] = shared.differ[1] = 0;
        __syncthreads();
    }

    /* Whether a bin is crowded. Keys that are not there are the first bin's, and add nothing. */
    __device__ bool count(const local_deal &deal) {
        bool crowded = false;
        each_row<rows>(deal, [&](int i) {
            const uint32_t bin = bin_of(key[i]), shift = bin % 8 * 4;
            const uint32_t rank = atomicAdd(counts + bin / 8, deal.there(i) ? 1u << shift : 0) >> shift & 15;
            ranks[i / 8] = i % 8 ? ranks[i / 8] | rank << i % 8 * 4 : rank;
            crowded |= rank == 15;
        });
        return __syncthreads_or(crowded);
    }

    /* Where the keys of each word begin. A row is the 128 words that a warp loads at once; warps have as many rows
     * each, and begin at 0 until all have been summed. */
    __device__ void scan_bins() {
        const auto *words = reinterpret_cast<const vector<uint32_t, 4> *>(counts) + lane;
        auto *to = reinterpret_cast<vector<uint16_t, 4> *>(begins) + lane;
        const uint32_t warps = blockDim.x / 32, each = (bin_rows + warps - 1) / warps;
        const uint32_t row = min(warp * each, bin_rows), end = min(row + each, bin_rows);
        uint32_t next = 0;
        for (uint32_t r = row; r < end; r++) {
            const vector<uint32_t, 4> x = words[r * 32];
            uint32_t through[4], sum = 0;
#pragma unroll
            for (int k = 0; k < 4; k++)
                through[k] = sum = add_counters(x.v[k], sum);
            const uint32_t fold = warp_inclusive<add<uint32_t>>(sum, lane), at = next + fold - sum;
            vector<uint16_t, 4> begin;
#pragma unroll
            for (int k = 0; k < 4; k++)
                begin.v[k] = uint16_t(k ? at + through[k - 1] : at);
            to[r * 32] = begin;
            next += __shfl_sync(all_lanes, fold, 31);
        }
        if (lane == 0)
            shared.totals[warp] = next;
        __syncthreads();
        const uint32_t before = warp_total<add<uint32_t>>(lane < warp ? shared.totals[lane] : 0);
        for (uint32_t r = row; r < end; r++) {
            auto &pair = reinterpret_cast<vector<uint32_t, 2> &>(to[r * 32]);
            pair = {pair.v[0] + before * 0x10001, pair.v[1] + before * 0x10001};
        }
        __syncthreads();
    }

    /* Answers whether the list was long enough. */
    __device__ bool scatter(const local_deal &deal) {
        const bool mends = ties || bin_shift > 0;
        const uint32_t most = local_listed(blockDim.x);
        each_batch<rows>(deal, [&](int b) {
            uint32_t slot[local_batch], word[local_batch], shift[local_batch], mend = 0;
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                const uint32_t bin = bin_of(key[b + k]);
                shift[k] = bin % 8 * 4;
                word[k] = counts[bin / 8];
                slot[k] = begins[bin / 8];
            }
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                const uint32_t rank = ranks[(b + k) / 8] >> (b + k) % 8 * 4 & 15;
                slot[k] = add_counters(word[k] & ~(~0u << shift[k]), slot[k] + rank);
                if (deal.there(b + k)) {
                    sorted[slot[k]] = key[b + k];
                    if (ties)
                        origin[slot[k]] = uint16_t(deal.at + 32 * (b + k));
                }
                if (rank == 0 && deal.there(b + k) && word[k] >> shift[k] & 14)
                    mend |= 1u << k;
            }
            if (mends && mend) {
                uint32_t at = atomicAdd(&shared.listed, uint32_t(__popc(mend)));
#pragma unroll
                for (int k = 0; k < local_batch; k++)
                    if (mend >> k & 1 && at < most)
                        list[at++] = slot[k] | (word[k] >> shift[k] & 15) << 16;
            }
        });
        __syncthreads();
        return shared.listed <= most;
    }

    __device__ void mend() {
        for (uint32_t e = thread; e < shared.listed; e += blockDim.x) {
            const uint32_t begin = list[e] & 0xffff, end = begin + (list[e] >> 16);
            for (uint32_t j = begin + 1; j < end; j++) {
                const K own = sorted[j], own_code = code(own);
                const uint32_t own_origin = ties ? origin[j] : 0;
                uint32_t at = j;
                for (; at > begin; at--) {
                    const K other = sorted[at - 1], other_code = code(other);
                    if (other_code < own_code || (other_code == own_code && (!ties || origin[at - 1] < own_origin)))
                        break;
                    sorted[at] = other;
                    if (ties)
                        origin[at] = origin[at - 1];
                }
                sorted[at] = own;
                if (ties)
                    origin[at] = uint16_t(own_origin);
            }
        }
        __syncthreads();
    }

    __device__ void write(const local_deal &deal) {
        if (value_bytes == 0 || job.keys_out) {
            K *keys = static_cast<K *>(job.keys_out) + first + deal.at;
            each_row<rows>(deal, [&](int i) {
                if (deal.there(i))
                    keys[32 * i] = restored(sorted[deal.at + 32 * i]);
            });
        }
        if constexpr (value_bytes > 0) {
            const V *values = static_cast<const V *>(values_source(job, job.plan->local_values)) + first + deal.at;
            V *moved = reinterpret_cast<V *>(sorted), *out = static_cast<V *>(job.values_out) + first + deal.at;
            packed_u16<rows> source;
            each_row<rows>(deal, [&](int i) { source.set(i, deal.there(i) ? origin[deal.at + 32 * i] : 0); });
            __syncthreads();
            each_row<rows>(deal, [&](int i) {
                if (deal.there(i))
                    moved[deal.at + 32 * i] = __ldcg(values + 32 * i);
            });
            __syncthreads();
            each_row<rows>(deal, [&](int i) {
                if (deal.there(i))
                    out[32 * i] = moved[source.get(i)];
            });
            __syncthreads();
        }
    }

    /* Instead of bins: keys to shared memory in the order they came. Answers the bits in which their codes differ. */
    __device__ K gather(const local_deal &deal) {
        K differ = 0;
        each_row<rows>(deal, [&](int i) {
            if (deal.there(i)) {
                const uint32_t slot = deal.at + 32 * i;
                differ |= code(key[i]) ^ base;
                sorted[slot] = key[i];
                if (ties)
                    origin[slot] = uint16_t(slot);
            }
        });
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
            differ |= __shfl_xor_sync(all_lanes, differ, d);
        if (lane == 0) {
            atomicOr(&shared.differ[0], uint32_t(differ));
            if (sizeof(K) == 8)
                atomicOr(&shared.differ[1], uint32_t(uint64_t(differ) >> 32));
        }
        __syncthreads();
        return sizeof(K) == 8 ? K(shared.differ[0] | uint64_t(shared.differ[1]) << 32) : K(shared.differ[0]);
    }

    __device__ void sort(uint64_t begin, uint64_t end) {
        first = begin;
        members = uint32_t(end - begin);
        const local_deal deal(members, warp, lane);
        each_row<rows>(deal, [&](int i) { key[i] = __ldcg(from + first + (deal.there(i) ? deal.at + 32 * i : 0)); });
        clear();
        each_row<rows>(deal, [&](int i) { key[i] = stored(key[i]); });
        bool binned = !count(deal);
        if (binned) {
            scan_bins();
            binned = scatter(deal);
        }
        if (binned) {
            mend();
        } else {
            __syncthreads();
            packed_u16<rows> place;
            const K differ = gather(deal);
            __syncthreads(); /* the next tile clears it */
            local_digits<Key, value_bytes, ties>(job.order, shared, sorted, origin, counts, members, key, place)
                .sort(differ);
        }
        write(deal);
    }

    /* Part of a large bucket. Answers whether all its codes are `one`, as far as this thread knows. */
    __device__ bool copy(uint64_t begin, uint64_t end, K one) const {
        K *to = static_cast<K *>(job.keys_out);
        bool same = true;
        for (uint64_t i = begin + thread; i < end; i += blockDim.x) {
            const K own = __ldcg(from + i);
            same &= code(stored(own)) == one;
            if ((value_bytes == 0 || to) && to != from)
                to[i] = own;
        }
        if constexpr (value_bytes > 0) {
            const V *values = static_cast<const V *>(values_source(job, job.plan->local_values));
            V *out = static_cast<V *>(job.values_out);
            for (uint64_t i = begin + thread; i < end && out != values; i += blockDim.x)
                out[i] = values[i];
        }
        return same;
    }

  public:
    __device__ local_tile(const sort_job &job, local_shared &shared)
        : job(job), shared(shared), from(static_cast<const K *>(keys_source(job, job.plan->local_keys))),
          thread(threadIdx.x), warp(warp_of_cta()), lane(threadIdx.x % 32),
          ones(K((K(1) << job.plan->local_shift) - 1)) {
        const uint32_t capacity = job.local.stride + job.local.reach;
        char *memory = dynamic_shared<char>();
        sorted = reinterpret_cast<K *>(memory);
        memory += capacity * local_element<Key, value_bytes>;
        counts = reinterpret_cast<uint32_t *>(memory);
        memory += local_words(blockDim.x) * sizeof(uint32_t);
        list = reinterpret_cast<uint32_t *>(memory);
        memory += local_listed(blockDim.x) * sizeof(uint32_t);
        begins = reinterpret_cast<uint16_t *>(memory);
        origin = begins + local_words(blockDim.x);
    }

    /* By a warp: the bucket at position i, from `stride + reach` before to `stride` after. */
    __device__ void find(uint64_t i, uint64_t n, uint32_t reach, local_cut *cut) const {
        local_cut own = {i, i, false};
        if (i > 0 && i < n) {
            const uint64_t back = job.local.stride + job.local.reach;
            const K bucket = code_at(i) | ones;
            own.begin = search(i > back ? i - back : 0, i, bucket, false);
            own.large = i - own.begin > reach;
            if (own.large)
                own.end = search(i, min(n, i + job.local.stride + 1), bucket, true);
        }
        if (lane == 0)
            *cut = own;
    }

    /* The tile between positions `at` and `next`. Answers whether it could, as far as this thread knows. */
    __device__ bool take(uint64_t at, uint64_t next, const local_cut &low, const local_cut &high) {
        uint64_t begin = low.begin, own = begin;
        bool good = true;
        if (low.large) {
            const K one = code_at(at);
            begin = low.end;
            own = at;
            good = copy(at, min(begin, next), one) && (begin <= next || code_at(next) == one);
        }
        if (high.large && !(low.large && begin >= next))
            good &= copy(max(high.begin, own), next, code_at(next));
        if (begin < high.begin)
            sort(begin, high.begin);
        return good;
    }
};

template <class Key, int value_bytes, bool ties>
__device__ void sort_tiles(const sort_job &job, uint64_t n, local_shared &shared) {
    const uint64_t stride = job.local.stride, tiles = (n + stride - 1) / stride;
    const uint64_t end = tiles * (blockIdx.x + 1) / gridDim.x;
    const uint32_t reach = job.plan->local_reach, ahead = blockDim.x / 32 - 1;
    bool good = true;
    for (uint64_t first = tiles * blockIdx.x / gridDim.x; first < end; first += ahead) {
        const uint32_t count = uint32_t(min(end - first, uint64_t(ahead)));
        const uint32_t warp = warp_of_cta();
        __syncthreads();
        if (warp <= count)
            local_tile<Key, value_bytes, ties>(job, shared)
                .find(min(n, (first + warp) * stride), n, reach, shared.cut + warp);
        __syncthreads();
        for (uint32_t i = 0; i < count; i++) {
            local_tile<Key, value_bytes, ties> tile(job, shared);
            const uint64_t at = (first + i) * stride;
            good &= tile.take(at, min(n, at + stride), shared.cut[i], shared.cut[i + 1]);
        }
    }
    if (!good)
        atomicOr(&job.plan->again, 1u);
}

template <class Key, int value_bytes>
__global__ void __launch_bounds__(local_most_threads, 1) local_kernel(const __grid_constant__ sort_job job) {
    __shared__ local_shared shared;
    after_previous();
    const uint64_t n = sort_count(job);
    if (job.plan->local_shift == 0) {
        if (!job.again_follows)
            finish_sort(job, n, job.plan->finish);
    } else if (value_bytes > 0 || job.plan->ties) {
        sort_tiles<Key, value_bytes, true>(job, n, shared);
    } else {
        sort_tiles<Key, value_bytes, false>(job, n, shared);
    }
}

} /* namespace scan_cuda */

#endif
