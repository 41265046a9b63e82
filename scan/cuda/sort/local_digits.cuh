/* SPDX-License-Identifier: MIT
 *
 * A tile of the local stage (local.cuh) in shared memory, sorted by the digits in which its codes differ, least
 * significant first: for tiles with a crowded bin, at about 60 instructions of a warp for a row of 32 keys and digit.
 * And what the files share: how rows of a tile are dealt out to warps.
 */
#ifndef SCAN_CUDA_SORT_LOCAL_DIGITS_CUH
#define SCAN_CUDA_SORT_LOCAL_DIGITS_CUH

#include "../device/kernel.cuh"
#include "rank.cuh"

namespace scan_cuda {

constexpr int local_most_threads = 4 * local_threads;

template <class Key, int value_bytes>
constexpr int local_element = sizeof(Key) > value_bytes ? int(sizeof(Key)) : value_bytes; /* bytes */

constexpr int local_cuts = 32;     /* found together, by eight lanes each */
constexpr uint32_t local_runs = 4; /* for each CTA, where it has twice as many tiles */

/* The bucket at a tile's position. */
struct local_cut {
    uint64_t at, begin;
    uint64_t end; /* of a large one */
    bool large;   /* it begins too far before */
};

struct local_shared {
    const void *keys;         /* the input */
    uint64_t ones;            /* the bits of a code that do not tell buckets apart */
    uint64_t first;           /* position of the tile */
    even_code even;           /* see sort_plan */
    even_code spread;         /* a finer one, of the tile */
    uint32_t least, greatest; /* codes of the tile */
    uint32_t varying;         /* bits in which they differ */
    uint32_t crowded;         /* a bit a tile that is to be taken again */
    bool gives_up;            /* the stage does: there are too many of them */
    local_cut cut[local_cuts];
    uint32_t most;      /* the highest rank in a bin */
    uint32_t differ[2]; /* bits in which the tile's codes differ */
    uint32_t totals[32];
    uint32_t count[radix], begin[radix]; /* of a digit */
    bool some_share;                     /* floats alone: some share their code with others */
};

/* Rows of 32 elements, dealt out in order, local_batch rows at a time, so that no warp has two batches more. */
struct local_deal {
    int used;    /* rows of the warp */
    uint32_t at; /* this lane's first element; its row i is at + 32 i */
    int bound;   /* elements from there on; none if it is not positive */

    __device__ local_deal(uint32_t count, uint32_t warp, uint32_t lane) {
        constexpr uint32_t batch = local_batch * 32;
        const uint32_t batches = (count + batch - 1) / batch, log_warps = 26 - __clz(int(blockDim.x)),
                       each = batches >> log_warps, more = batches - (each << log_warps);
        used = int(each + (warp < more)) * local_batch;
        at = (warp * each + min(warp, more)) * batch + lane;
        bound = int(count) - int(at);
    }
    /* The same for another loop over rows, of which the compiler keeps no predicates from this one. */
    __device__ local_deal again() const {
        local_deal deal = *this;
        deal.used = int(opaque(uint32_t(used)));
        deal.bound = int(opaque(uint32_t(bound)));
        return deal;
    }
    __device__ bool there(int i) const { return i * 32 < bound; }
    /* ~0 for a row that is not there, by arithmetic: a thread has more rows than predicates. */
    __device__ uint32_t past(int i) const { return uint32_t((bound - 1 - i * 32) >> 31); }
};

/* f(0), f(local_batch) ... as far as there are rows. */
template <int rows, class F> __device__ void each_batch(const local_deal &deal, F f) {
#pragma unroll
    for (int b = 0; b < rows; b += local_batch)
        if (b < deal.used)
            f(b);
}

/* f(row) in the same batches. */
template <int rows, class F> __device__ void each_row(const local_deal &deal, F f) {
    each_batch<rows>(deal, [&](int b) {
#pragma unroll
        for (int k = 0; k < local_batch; k++)
            f(b + k);
    });
}

/* f(b, there): the same, with there(row) for local_deal.there(row). But for a tile's last batch that is true in all
 * lanes, which the compiler is told. */
template <int rows, class F> __device__ void each_whole_batch(const local_deal &deal, F f) {
    const int last = __shfl_sync(all_lanes, deal.bound, 31);
    each_batch<rows>(deal, [&](int b) {
        if ((b + local_batch - 1) * 32 < last)
            f(b, [](int) { return true; });
        else
            f(b, [&](int i) { return deal.there(i); });
    });
}

/* A tile in shared memory, by the digits in which its codes differ, least significant first. counters: `radix` a warp.
 * Whole rows are sorted: what lies past the last key, rubbish, has the last digit, and so comes last. */
template <class Key, int value_bytes, bool ties> class local_digits {
    using K = key_bits<Key>;
    static constexpr int rows = local_rows<Key, value_bytes>;

    const sort_order &order;
    local_shared &shared;
    K *sorted;
    uint16_t *origin;
    uint32_t *counters;
    const int thread, warp, lane;
    const local_deal slots;

    __device__ uint32_t digit(K stored, uint32_t shift, int i) const {
        const K code = ties ? sort_code<Key>(stored, order) : stored;
        return (uint32_t(code >> shift) | slots.past(i)) & (radix - 1);
    }

    __device__ void pass(uint32_t shift) {
        const unsigned below = (1u << lane) - 1;
        uint32_t *own = counters + warp * radix;
        /* All set here: what is set under a condition lives in registers before it, for the compiler, and loops later.
         */
        K key[rows] = {};
        packed_u16<rows> place = {}, source = {};
        for (uint32_t i = thread; i < blockDim.x / 32 * radix; i += blockDim.x)
            counters[i] = 0;
        __syncthreads();
        each_row<rows>(slots, [&](int i) {
            key[i] = sorted[slots.at + 32 * i];
            if (ties)
                source.set(i, origin[slots.at + 32 * i]);
            const uint32_t d = digit(key[i], shift, i);
            place.set(i, rank_among(own, d, __match_any_sync(all_lanes, d), below));
        });
        __syncthreads();
        for (int d = thread; d < radix; d += int(blockDim.x)) {
            uint32_t next = 0;
            for (uint32_t w = 0; w < blockDim.x / 32; w++) {
                uint32_t &begins = counters[w * radix + d], count = begins;
                begins = next;
                next += count;
            }
            shared.count[d] = next;
        }
        __syncthreads();
        if (warp == 0)
            begins_of_digits(shared.count, shared.begin, lane);
        __syncthreads();
        each_row<rows>(slots, [&](int i) {
            const uint32_t d = digit(key[i], shift, i), slot = shared.begin[d] + own[d] + place.get(i);
            sorted[slot] = key[i];
            if (ties)
                origin[slot] = uint16_t(source.get(i));
        });
        __syncthreads();
    }

  public:
    __device__ local_digits(const sort_order &order, local_shared &shared, K *sorted, uint16_t *origin,
                            uint32_t *counters, uint32_t members)
        : order(order), shared(shared), sorted(sorted), origin(origin), counters(counters), thread(threadIdx.x),
          warp(warp_of_cta()), lane(threadIdx.x % 32), slots(members, warp, lane) {}

    __device__ void sort(K differ) {
        while (differ) {
            const uint32_t shift = bits_of(K(differ & (K(0) - differ))) - 1;
            differ &= K(~(K(radix - 1) << shift));
            pass(shift);
        }
    }
};

} /* namespace scan_cuda */

#endif
