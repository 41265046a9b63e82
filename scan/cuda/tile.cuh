/* SPDX-License-Identifier: MIT
 *
 * A tile in memory: where its vectors lie for forward and reverse scans, at any address.
 *
 * Positions count from the scan's start: position p is element p of a forward scan and element n - 1 - p of a reverse
 * one. Tile t covers positions [t * tile, (t + 1) * tile); its lowest address in a full tile is `base`, aligned to the
 * element only. A reverse tile is the mirror image: vector v of the tile lies at vector (last - v), its elements turned
 * round.
 */
#ifndef SCAN_CUDA_TILE_CUH
#define SCAN_CUDA_TILE_CUH

#include "order.cuh"

namespace scan_cuda {

/* ---- 16 bytes at any offset -------------------------------------------------------------------------------------- */

/* Bytes [shift, shift + 16) of low and high put side by side, 0 < shift < 16, the same in every lane. */
__device__ inline uint4 bytes_between(uint4 low, uint4 high, unsigned shift) {
    uint32_t a, b, c, d, e;
    switch (shift / 4) {
    case 0: a = low.x, b = low.y, c = low.z, d = low.w, e = high.x; break;
    case 1: a = low.y, b = low.z, c = low.w, d = high.x, e = high.y; break;
    case 2: a = low.z, b = low.w, c = high.x, d = high.y, e = high.z; break;
    default: a = low.w, b = high.x, c = high.y, d = high.z, e = high.w;
    }
    unsigned bits = shift % 4 * 8;
    return make_uint4(__funnelshift_r(a, b, bits), __funnelshift_r(b, c, bits), __funnelshift_r(c, d, bits),
                      __funnelshift_r(d, e, bits));
}

template <class V> __device__ V mirrored(V x) {
    constexpr int N = sizeof(x.v) / sizeof(x.v[0]);
    V y;
#pragma unroll
    for (int q = 0; q < N; q++)
        y.v[q] = x.v[N - 1 - q];
    return y;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A tile's input. Staged: it lies in shared memory, with the alignment modulo 16 that it has in global memory and 16
 * bytes after it that may be read; else in global memory, where nothing beyond it may be touched. */
template <class I, class Op, bool staged> struct input_tile {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>;
    static constexpr int last_vector = tile_elements<T> / E - 1;

    const char *data; /* of a full tile's lowest address */
    uint32_t count;   /* elements that exist */
    bool reverse;
    const element_code *code;

    __device__ uint32_t misalignment() const { return uint32_t(uintptr_t(data) % 16); }
    __device__ bool plain() const { return count == tile_elements<T> && !reverse && misalignment() == 0; }

    /* Vector v of the tile, the common case: whole, aligned, forward. */
    __device__ accumulators<T> plain_vector(int v) const {
        return lifted(reinterpret_cast<const vector<I, E> *>(data)[v]);
    }

    __device__ accumulators<T> any_vector(int v) const {
        const uint32_t shift = misalignment();
        const bool inside = uint32_t(v * E + E) <= count;
        const char *at = data + (reverse ? last_vector - v : v) * int(E * sizeof(I));
        vector<I, E> raw{};
        if (shift == 0 && inside) {
            raw = *reinterpret_cast<const vector<I, E> *>(at);
        } else if (staged && E * sizeof(I) == 16) {
            const uint4 *words = reinterpret_cast<const uint4 *>(at - shift);
            uint4 x = shift ? bytes_between(words[0], words[1], shift) : words[0];
            memcpy(&raw, &x, sizeof raw);
        } else {
#pragma unroll
            for (int q = 0; q < E; q++)
                if (uint32_t(v * E + (reverse ? E - 1 - q : q)) < count)
                    raw.v[q] = reinterpret_cast<const I *>(at)[q];
        }
        accumulators<T> x = lifted(reverse ? mirrored(raw) : raw);
        if (!inside)
#pragma unroll
            for (int q = 0; q < E; q++)
                if (uint32_t(v * E + q) >= count)
                    x.v[q] = Op::identity();
        return x;
    }

  private:
    __device__ accumulators<T> lifted(vector<I, E> raw) const {
        accumulators<T> x;
#pragma unroll
        for (int q = 0; q < E; q++)
            x.v[q] = lift<Op>(raw.v[q], *code);
        return x;
    }
};

/* ---- writing to global memory ------------------------------------------------------------------------------------ */

/* Writes a warp's `rows` consecutive rows: 16-byte stores even where the output is not aligned to 16, by making each
 * aligned vector from two neighbouring lanes. Each row keeps its vectors for the first lane of the next. */
template <class Op, int rows> struct row_writer {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>;
    static constexpr int last_vector = tile_elements<T> / E - 1;

    char *out;      /* lowest address of the tile, were it full */
    int first;      /* the first row's first vector in the tile */
    uint32_t count; /* elements of the tile that exist */
    bool reverse;
    const element_code *code;
    uint4 previous; /* this lane's vector of the row before */

    __device__ bool plain() const { return count == tile_elements<T> && !reverse && uintptr_t(out) % 16 == 0; }

    __device__ void plain_row(int k, int lane, accumulators<T> x) {
        __stcs(reinterpret_cast<uint4 *>(out) + first + k * 32 + lane, lowered(x));
    }

    __device__ void any_row(int k, int lane, accumulators<T> x) {
        int v = first + k * 32 + lane;
        char *at = out + ptrdiff_t(reverse ? last_vector - v : v) * 16;
        uint4 mine = lowered(x);
        const unsigned shift = unsigned(uintptr_t(at) % 16);
        const bool inside = uint32_t(v * E + E) <= count;
        if (reverse) {
            memcpy(&x, &mine, sizeof x);
            x = mirrored(x);
            memcpy(&mine, &x, sizeof x);
        }
        if (count < tile_elements<T> && (shift || !inside)) { /* the last tile: no neighbour to share a store with */
            memcpy(&x, &mine, sizeof x);
#pragma unroll
            for (int q = 0; q < E; q++)
                if (uint32_t(v * E + (reverse ? E - 1 - q : q)) < count)
                    reinterpret_cast<T *>(at)[q] = x.v[q];
            return;
        }
        if (shift == 0) {
            __stcs(reinterpret_cast<uint4 *>(at), mine);
            return;
        }
        /* The vector of the position before this lane's: the lane below, or lane 31 of the row before. */
        uint4 offer = lane == 31 ? previous : mine, before;
        int from = (lane + 31) % 32;
        before.x = __shfl_sync(all_lanes, offer.x, from), before.y = __shfl_sync(all_lanes, offer.y, from);
        before.z = __shfl_sync(all_lanes, offer.z, from), before.w = __shfl_sync(all_lanes, offer.w, from);
        previous = mine;
        bool begins = k == 0 && lane == 0, ends = k == rows - 1 && lane == 31;
        unsigned head = 16 - shift; /* bytes of this vector that lie before the next 16-byte boundary */
        if (!begins)
            __stcs(reinterpret_cast<uint4 *>(reverse ? at + head : at - shift),
                   reverse ? bytes_between(mine, before, head) : bytes_between(before, mine, head));
        /* The two ends share their 16 bytes with other warps: element by element. */
        if (reverse ? ends : begins)
            store_elements(at, mine, 0, head);
        if (reverse ? begins : ends)
            store_elements(at, mine, head, 16);
    }

  private:
    __device__ uint4 lowered(accumulators<T> x) const {
#pragma unroll
        for (int q = 0; q < E; q++)
            x.v[q] = lower<Op>(x.v[q], *code);
        uint4 y;
        memcpy(&y, &x, sizeof y);
        return y;
    }

    __device__ static void store_elements(char *at, uint4 y, unsigned from_byte, unsigned to_byte) {
        accumulators<T> x;
        memcpy(&x, &y, sizeof x);
#pragma unroll
        for (int q = 0; q < E; q++)
            if (q * sizeof(T) >= from_byte && q * sizeof(T) < to_byte)
                reinterpret_cast<T *>(at)[q] = x.v[q];
    }
};

} /* namespace scan_cuda */

#endif
