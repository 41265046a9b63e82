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
 * least-significant-first passes of pass.cuh over the top digits, so there is no table of buckets and nobody searches
 * one. A CTA reads the window of positions [i T - reach, (i + 1) T), with the keys at i T and at (i + 1) T. Their
 * prefixes say which keys of the window are the tile's own: those from the first prefix on and less than the second.
 * Small buckets share a tile; a bucket that begins before the window is too large, and then all digits are sorted after
 * all (plan.cuh).
 *
 *     load     the window to registers
 *       |
 *     range    least and greatest code of the tile; as many bins as twice the keys, at most, divide what lies between
 *       |
 *     count    rank in the bin: what the addition to its counter returns; then scan the counters
 *       |
 *     scatter  keys to shared memory by bin, with where they came from if equal ones can be told apart
 *       |
 *     write    slot by slot: begin of the bin + how many of its few keys come before this one; neighbours go to
 *       |      neighbours
 *     values   copied to shared memory as they lie, then taken from there
 *
 * The order in a bin is that of (code, place before): stable, whatever order the additions were in. A bin with more
 * than `crowded_bin` keys would take a time that grows with the square: the tile is then sorted by the digits in which
 * its keys differ, least significant first, with stable ranks, all in shared memory.
 *
 * In place: source and target may be the same array. A CTA holds its keys in registers, and its values in shared
 * memory, before it writes any; it writes its own positions only, and of the others it looks at prefixes, which are the
 * same at every position before, while and after their owners sort them. A key is loaded and stored whole.
 *
 * Traffic: a read and a write of keys and values; neighbours' windows overlap, by reach / T of the keys, and are read
 * from L2 as a rule. Barriers: seven a tile, ten with values.
 *
 * Work: instructions of a warp for a row of 32 4-byte keys alone, in machine code for sm_90: 8 to load, 10 for the
 * range, 17 to count, 16 for its share of the bins' scan, 12 to scatter, 42 to write and 12 more for each key after the
 * first in the fullest of the row's bins, of which there are two or three: about 135, and 18 for a row of the window
 * that is not the tile's. That is the work of two passes: what is gained is their traffic and their waiting for each
 * other's counts, so the plan asks for two passes saved at least. Additions and lookups come in batches of four rows
 * that do not wait for each other. 64 registers: two CTAs of 512 threads share an SM, of at most 12,288 keys in 80 to
 * 104 KB.
 */
#ifndef SCAN_CUDA_SORT_LOCAL_CUH
#define SCAN_CUDA_SORT_LOCAL_CUH

#include "finish.cuh"
#include "local_digits.cuh"

namespace scan_cuda {

template <class Key, int value_bytes, bool ties> class local_tile {
    using K = key_bits<Key>;
    using V = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;
    static constexpr int rows = local_rows<Key, value_bytes>;

    const sort_job &job;
    local_shared &shared;
    const K *from;
    K *sorted;          /* the tile's keys; later, as V, the window's values */
    uint32_t *counters; /* of two bins each; then where bins begin */
    uint16_t *origin;   /* ties: where in the window the key lay */
    const int thread, warp, lane;

    uint64_t window; /* position of its first key */
    uint32_t begin;  /* of the tile in the window */
    uint32_t members;
    K base;              /* a code; bins begin there */
    uint32_t bin_shift;  /* bin = (code - base) >> bin_shift */
    uint32_t bin_rows;   /* of 256 bins */
    K key[rows];         /* the code if it tells the key, else the key */
    packed_u16<rows> in; /* rank in the bin */

    static __device__ uint32_t least(uint32_t x) {
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
            x = min(x, __shfl_xor_sync(all_lanes, x, d));
        return x;
    }

    __device__ K stored(K key) const { return ties ? key : exact_code<Key>(key, job.order); }
    __device__ K restored(K key) const { return ties ? key : key_of_exact_code<Key>(key, job.order); }
    __device__ K code(K stored) const { return ties ? sort_code<Key>(stored, job.order) : stored; }
    __device__ K code_at(uint64_t i) const { return code(stored(__ldcg(from + i))); }
    __device__ uint32_t bin_of(K key) const { return uint32_t((code(key) - base) >> bin_shift); }
    __device__ bool is_member(const local_deal &deal, int i) const { return deal.at + 32 * i - begin < members; }

    __device__ void clear() {
        auto *words = reinterpret_cast<vector<uint32_t, 4> *>(counters);
        for (uint32_t i = thread; i < job.local.bins / 8; i += blockDim.x)
            words[i] = {};
        if (thread < 32)
            shared.nobody[thread] = 0;
        if (thread == 0) {
            shared.low = shared.first = ~0u;
            shared.high = shared.end = shared.differ[0] = shared.differ[1] = 0;
        }
    }

    /* Which rows are the tile's, and their range in at most 32 bits. last: the greatest code that can be, less base. */
    __device__ void range(local_deal &deal, K last) {
        const uint32_t bits = bits_of(last), shift = sizeof(K) == 8 && bits > 32 ? bits - 32 : 0;
        uint32_t low = ~0u, high = 0, first = ~0u, end = 0;
        each_row<rows>(deal, [&](int i) {
            const K above = code(key[i]) - base;
            const uint32_t x = uint32_t(above >> shift);
            if (deal.there(i) && above <= last) {
                low = min(low, x);
                high = max(high, x);
                first = min(first, deal.at + 32 * i);
                end = deal.at + 32 * i + 1;
            }
        });
        low = least(low);
        high = ~least(~high);
        first = least(first);
        end = ~least(~end);
        if (lane == 0) {
            atomicMin(&shared.low, low);
            atomicMax(&shared.high, high);
            atomicMin(&shared.first, first);
            atomicMax(&shared.end, end);
        }
        __syncthreads();
        const uint32_t span = shared.high - shared.low, bits_of_bin = bits_of(job.local.bins) - 1,
                       drop = bits_of(span) > bits_of_bin ? bits_of(span) - bits_of_bin : 0;
        base += K(shared.low) << shift;
        bin_shift = shift + drop;
        bin_rows = (span >> drop) / 256 + 1;
        begin = shared.first;
        members = shared.end - begin;
        deal.narrow(begin, shared.end, lane);
    }

    /* Whether a bin is crowded. No branches: the additions of many rows are on their way at once. */
    __device__ bool count(const local_deal &deal) {
        uint32_t most = 0;
        each_row<rows>(deal, [&](int i) {
            const bool counts = is_member(deal, i);
            const uint32_t bin = bin_of(key[i]), half = bin % 2 * 16;
            uint32_t *counter = counts ? counters + bin / 2 : shared.nobody + lane;
            const uint32_t rank = atomicAdd(counter, counts ? 1u << half : 0) >> half & 0xffff;
            in.set(i, rank);
            most = max(most, rank);
        });
        return __syncthreads_or(most >= crowded_bin);
    }

    static __device__ uint32_t halves(const vector<uint32_t, 4> &x) {
        const uint32_t both = x.v[0] + x.v[1] + x.v[2] + x.v[3]; /* a tile's keys fit a half */
        return (both & 0xffff) + (both >> 16);
    }

    /* Counters become begins, and one more is the end of all. A row is the 256 bins whose counters a warp loads at
     * once; warps have as many rows each. */
    __device__ void scan_bins() {
        auto *words = reinterpret_cast<vector<uint32_t, 4> *>(counters) + lane;
        const uint32_t warps = blockDim.x / 32, each = (bin_rows + warps - 1) / warps;
        const uint32_t row = min(warp * each, bin_rows), end = min(row + each, bin_rows);
        uint32_t sum = 0;
        for (uint32_t r = row; r < end; r++)
            sum += halves(words[r * 32]);
        sum = warp_total<add<uint32_t>>(sum);
        if (lane == 0)
            shared.totals[warp] = sum;
        __syncthreads();
        const uint32_t total = uint32_t(lane) < warps ? shared.totals[lane] : 0,
                       through = warp_inclusive<add<uint32_t>>(total, lane);
        uint32_t next = __shfl_sync(all_lanes, through - total, warp);
        for (uint32_t r = row; r < end; r++) {
            vector<uint32_t, 4> x = words[r * 32];
            const uint32_t own = halves(x), fold = warp_inclusive<add<uint32_t>>(own, lane);
            uint32_t at = next + fold - own;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint32_t low = x.v[k] & 0xffff, high = x.v[k] >> 16;
                x.v[k] = at | (at + low) << 16;
                at += low + high;
            }
            words[r * 32] = x;
            next += __shfl_sync(all_lanes, fold, 31);
        }
        if (thread == 0)
            counters[bin_rows * 128] = members;
        __syncthreads();
    }

    __device__ void scatter(const local_deal &deal) {
        const uint16_t *begins = reinterpret_cast<const uint16_t *>(counters);
        each_batch<rows>(deal, [&](int b) {
            uint32_t slot[local_batch];
#pragma unroll
            for (int k = 0; k < local_batch; k++)
                slot[k] = begins[is_member(deal, b + k) ? bin_of(key[b + k]) : 0] + in.get(b + k);
#pragma unroll
            for (int k = 0; k < local_batch; k++)
                if (is_member(deal, b + k)) {
                    sorted[slot[k]] = key[b + k];
                    if (ties)
                        origin[slot[k]] = uint16_t(deal.at + 32 * (b + k));
                }
        });
        __syncthreads();
    }

    /* Where the key of a slot goes: after those of its bin, the slots from `first` to `end`, that come before it. */
    __device__ uint32_t place(uint32_t slot, K own, uint32_t own_origin, uint32_t first, uint32_t end) const {
        const K own_code = code(own);
        uint32_t at = first;
#pragma unroll 1
        for (uint32_t j = first; j < end; j++) {
            const K other = code(sorted[j]);
            if (other < own_code || (other == own_code && (ties ? origin[j] < own_origin : j < slot)))
                at++;
        }
        return at;
    }

    /* binned: keys lie by bins; else in order. */
    __device__ void write(const local_deal &deal, bool binned) {
        const local_deal slots(members, warp, lane);
        const uint64_t to = window + begin;
        K *keys = static_cast<K *>(job.keys_out) + to;
        packed_u16<rows> source, target;
        const uint16_t *begins = reinterpret_cast<const uint16_t *>(counters);
        each_batch<rows>(slots, [&](int b) {
            K own[local_batch];
            uint32_t slot[local_batch], own_origin[local_batch], first[local_batch], end[local_batch];
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                slot[k] = min(slots.at + 32 * (b + k), members - 1);
                own[k] = sorted[slot[k]];
                own_origin[k] = ties ? origin[slot[k]] : 0;
                const uint32_t bin = binned ? bin_of(own[k]) : 0;
                first[k] = binned ? begins[bin] : slot[k];
                end[k] = binned ? begins[bin + 1] : slot[k];
            }
#pragma unroll
            for (int k = 0; k < local_batch; k++) {
                const uint32_t at = place(slot[k], own[k], own_origin[k], first[k], end[k]);
                if (slots.there(b + k) && (value_bytes == 0 || job.keys_out))
                    keys[at] = restored(own[k]);
                source.set(b + k, own_origin[k]);
                target.set(b + k, at);
            }
        });
        __syncthreads();
        if constexpr (value_bytes > 0) {
            const V *values = static_cast<const V *>(values_source(job, job.plan->local_values)) + window;
            V *moved = reinterpret_cast<V *>(sorted), *out = static_cast<V *>(job.values_out) + to;
            each_row<rows>(deal, [&](int i) {
                if (is_member(deal, i))
                    moved[deal.at + 32 * i] = __ldcg(values + deal.at + 32 * i);
            });
            __syncthreads();
            each_row<rows>(slots, [&](int i) {
                if (slots.there(i))
                    out[target.get(i)] = moved[source.get(i)];
            });
            __syncthreads();
        }
    }

    /* Instead: keys to shared memory in the order they came. Answers the bits in which their codes differ. */
    __device__ K gather(const local_deal &deal, K head) {
        K differ = 0;
        each_row<rows>(deal, [&](int i) {
            if (is_member(deal, i)) {
                const uint32_t slot = deal.at + 32 * i - begin;
                differ |= code(key[i]) ^ head;
                sorted[slot] = key[i];
                if (ties)
                    origin[slot] = uint16_t(deal.at + 32 * i);
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

  public:
    __device__ local_tile(const sort_job &job, local_shared &shared)
        : job(job), shared(shared), from(static_cast<const K *>(keys_source(job, job.plan->local_keys))),
          thread(threadIdx.x), warp(warp_of_cta()), lane(threadIdx.x % 32) {
        const uint32_t capacity = job.local.stride + job.local.reach;
        char *memory = dynamic_shared<char>();
        sorted = reinterpret_cast<K *>(memory);
        counters = reinterpret_cast<uint32_t *>(memory + capacity * local_element<Key, value_bytes>);
        origin = reinterpret_cast<uint16_t *>(reinterpret_cast<char *>(counters) + local_counter_bytes(job.local.bins));
    }

    /* The tile from the bucket at position `first` to the one at `end`. Answers whether it could. */
    __device__ bool sort(uint64_t n, uint64_t first, uint64_t end, uint32_t prefix_shift, uint32_t reach) {
        window = first > reach ? first - reach : 0;
        const K head = code_at(first), tail = code_at(end < n ? end : n - 1), guard = code_at(window);
        local_deal deal(uint32_t(min(end, n) - window), warp, lane);
        each_row<rows>(deal, [&](int i) { key[i] = deal.there(i) ? __ldcg(from + window + deal.at + 32 * i) : 0; });
        clear();
        const K ones = (K(1) << prefix_shift) - 1;
        base = head & ~ones;
        K last = (end < n ? (tail & ~ones) - 1 : tail | ones) - base;
        if (window > 0 && guard >= base)
            return false;
        if (end < n && (tail & ~ones) == base)
            return true; /* the tile is in the middle of a bucket, which is the next one's */
        __syncthreads();
        each_row<rows>(deal, [&](int i) { key[i] = stored(key[i]); });
        range(deal, last);
        const bool binned = !count(deal);
        if (binned) {
            scan_bins();
            scatter(deal);
        } else {
            const K differ = gather(deal, head);
            local_digits<Key, value_bytes, ties>(job.order, shared, sorted, origin, counters, members, key, in)
                .sort(differ);
        }
        write(deal, binned);
        return true;
    }
};

template <class Key, int value_bytes, bool ties>
__device__ void sort_tiles(const sort_job &job, uint64_t n, local_shared &shared) {
    const uint64_t stride = job.local.stride;
    const uint32_t shift = job.plan->local_shift, reach = job.plan->local_reach;
    bool all = true;
    for (uint64_t first = blockIdx.x * stride; first < n; first += gridDim.x * stride) {
        local_tile<Key, value_bytes, ties> tile(job, shared);
        all &= tile.sort(n, first, first + stride, shift, reach);
    }
    if (!all && threadIdx.x == 0)
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
