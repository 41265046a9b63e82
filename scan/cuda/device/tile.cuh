/* SPDX-License-Identifier: MIT
 *
 * A tile in memory: where its vectors lie for forward and reverse scans, at any address.
 *
 * Positions count from the scan's start: position p is element p of a forward scan and element n - 1 - p of a reverse
 * one. Tile t covers positions [t * tile, (t + 1) * tile); its lowest address in a full tile is `base`, aligned to the
 * element only. A reverse tile is the mirror image: vector v of the tile lies at vector (last - v), its elements in
 * opposite order.
 *
 * A plain tile is forward and aligned to 16 bytes. Any other is made plain before it is read, and its outputs are moved
 * back as they are written, by code without branches: what a tile's address and direction decide is the same for all
 * its vectors, and a uniform branch in an unrolled loop costs more than the selects that replace it.
 *
 *   normalise        makes a tile in shared memory plain, word by word, in place
 *   vector_words     a vector of global memory, from the aligned words that it lies in
 *   row_writer       rows of outputs, as 16-byte stores of vectors made from two neighbouring lanes each
 *   load_some, store_some    the elements that exist of a vector that the end of the array cuts
 */
#ifndef SCAN_CUDA_DEVICE_TILE_CUH
#define SCAN_CUDA_DEVICE_TILE_CUH

#include "order.cuh"

namespace scan_cuda {

/* ---- mirrors ----------------------------------------------------------------------------------------------------- */

/* Elements of 1 and 2 bytes in a word, in opposite order if `reverse`; larger ones are not split. */
template <class I> __device__ uint32_t oriented_word(uint32_t x, bool reverse) {
    if constexpr (sizeof(I) == 1)
        return __byte_perm(x, 0, reverse ? 0x0123 : 0x3210);
    else if constexpr (sizeof(I) == 2)
        return __byte_perm(x, 0, reverse ? 0x1032 : 0x3210);
    else
        return x;
}

/* The elements of a vector, in opposite order if `reverse`. */
template <class I> __device__ uint4 oriented_vector(uint4 v, bool reverse) {
    uint4 x = {oriented_word<I>(v.x, reverse), oriented_word<I>(v.y, reverse), oriented_word<I>(v.z, reverse),
               oriented_word<I>(v.w, reverse)};
    if constexpr (sizeof(I) == 8)
        return make_uint4(reverse ? x.z : x.x, reverse ? x.w : x.y, reverse ? x.x : x.z, reverse ? x.y : x.w);
    else
        return make_uint4(reverse ? x.w : x.x, reverse ? x.z : x.y, reverse ? x.y : x.z, reverse ? x.x : x.w);
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

/* Bytes after a tile's slot that normalise may read: a misaligned tile begins up to 15 bytes in, and is read in words.
 */
constexpr int slot_margin = 32;

/* A tile of `elements` whose lowest address is slot + shift becomes aligned and forward. `warps` warps call it, each
 * for its chunk, which is then visible to that warp only. Words are read into registers, and written after a barrier of
 * the warps, for one's target is another's source. */
template <class I, int elements, int warps>
__device__ void normalise(char *slot, uint32_t shift, bool reverse, int warp, int lane) {
    constexpr int words = elements * int(sizeof(I)) / 4, per_lane = words / warps / 32;
    uint32_t *w = reinterpret_cast<uint32_t *>(slot);
    const int first = warp * per_lane * 32 + lane, step = reverse ? -32 : 32;
    const int source = (reverse ? (words - 1 - first) ^ (sizeof(I) == 8) : first) + int(shift / 4);
    const uint32_t bits = shift % 4 * 8;
    uint32_t x[per_lane];
#pragma unroll
    for (int k = 0; k < per_lane; k++) {
        x[k] = w[source + k * step];
        if constexpr (sizeof(I) < 4)
            x[k] = oriented_word<I>(__funnelshift_r(x[k], w[source + k * step + 1], bits), reverse);
    }
    named_barrier_sync(1, warps * 32);
#pragma unroll
    for (int k = 0; k < per_lane; k++)
        w[first + k * 32] = x[k];
    __syncwarp();
}

/* ---- reading global memory --------------------------------------------------------------------------------------- */

/* Reads the vector whose lowest address is `at`, in the order of memory, from the aligned words around it. Returns
 * false if one of those reaches outside [low, high). */
__device__ inline bool vector_words(const char *at, const char *low, const char *high, uint4 &x) {
    const uint32_t shift = uint32_t(uintptr_t(at) % 4);
    const uint32_t *w = reinterpret_cast<const uint32_t *>(at - shift);
    if (at - shift < low || at - shift + (shift ? 20 : 16) > high)
        return false;
    uint32_t a = w[0], b = w[1], c = w[2], d = w[3], e = shift ? w[4] : 0;
    x = make_uint4(__funnelshift_r(a, b, shift * 8), __funnelshift_r(b, c, shift * 8), __funnelshift_r(c, d, shift * 8),
                   __funnelshift_r(d, e, shift * 8));
    return true;
}

/* Operands from the first `count` elements, in the order of positions, of a vector; the identity for the rest. at: the
 * lowest address that the whole vector would have. */
template <class I, class Op>
__device__ operands<Op> load_some(const char *at, int count, bool reverse, const element_code &code) {
    constexpr int E = vector_elements<typename Op::type>;
    const I *in = reinterpret_cast<const I *>(at) + (reverse ? E - 1 : 0);
    const int step = reverse ? -1 : 1;
    typename operands<Op>::template raw<I> raw{};
    if constexpr (sizeof(I) < 4 && E * sizeof(I) == 16) {
        constexpr int bits = sizeof(I) * 8;
#pragma unroll 1
        for (int q = min(count, E) - 1; q >= 0; q--) {
            raw.w = __funnelshift_l(raw.z, raw.w, bits), raw.z = __funnelshift_l(raw.y, raw.z, bits);
            raw.y = __funnelshift_l(raw.x, raw.y, bits), raw.x = raw.x << bits | in[q * step];
        }
    } else {
#pragma unroll
        for (int q = 0; q < E; q++)
            if (q < count)
                raw.v[q] = in[q * step];
    }
    operands<Op> x = operands<Op>::template from_elements<I>(raw, code);
    x.clear_from(count);
    return x;
}

/* ---- writing global memory --------------------------------------------------------------------------------------- */

/* Stores the first `count` elements of x, which is in the order of positions. at: as in load_some(). */
template <class T> __device__ void store_some(char *at, int count, bool reverse, uint4 x) {
    constexpr int E = vector_elements<T>, bits = sizeof(T) * 8;
    T *out = reinterpret_cast<T *>(at) + (reverse ? E - 1 : 0);
    const int step = reverse ? -1 : 1;
    if constexpr (sizeof(T) < 4) {
#pragma unroll 1
        for (int q = 0; q < min(count, E); q++) {
            out[q * step] = T(x.x);
            x.x = __funnelshift_r(x.x, x.y, bits), x.y = __funnelshift_r(x.y, x.z, bits);
            x.z = __funnelshift_r(x.z, x.w, bits), x.w >>= bits;
        }
    } else {
        vector<T, E> v;
        memcpy(&v, &x, sizeof v);
#pragma unroll
        for (int q = 0; q < E; q++)
            if (q < count)
                out[q * step] = v.v[q];
    }
}

/* Writes a warp's `rows` consecutive whole rows of a tile.
 *
 *   lane      l - 1              l                  l + 1
 *   vector   [a b c d]          [e f g h]          [i j k l]
 *   memory   ... a | b c d e | f g h i | j k l ...              | at multiples of 16 bytes
 *
 * An aligned vector begins `head` bytes into the lower of two vectors that lie side by side: the one of the lane before
 * and this lane's (forward), or this lane's and the one of the lane before (reverse). The lane before lane 0 is lane 31
 * of the row before. What remains at the warp's two ends is stored by elements, for other warps write the rest of those
 * 16 bytes.
 *
 * Ordinary stores: with those that ask to leave L2 first (__stcs) a scan of 2^26 or 2^28 elements takes 2 % longer on
 * an H200. */
template <class Op, int rows> class row_writer {
    using T = typename Op::type;

    char *at; /* this lane's vector of row 0 */
    bool reverse;
    uint32_t head;
    uint4 previous; /* row k - 1's words, rotated as below */

  public:
    /* out: the lowest address that the full tile would have; first: row 0's first vector in the tile. */
    __device__ row_writer(char *out, int first, int lane, bool reverse)
        : reverse(reverse), head(uint32_t(-uintptr_t(out) % 16)), previous() {
        constexpr int last_vector = tile_elements<T> / vector_elements<T> - 1;
        at = out + (reverse ? last_vector - first - lane : first + lane) * 16;
    }

    __device__ bool plain() const { return !reverse && head == 0; }

    /* Row k, of a plain tile. */
    __device__ void plain_row(int k, uint4 x) const { *reinterpret_cast<uint4 *>(at + k * 512) = x; }

    /* Row k, of any tile; rows are written in order. */
    __device__ void general_row(int k, int lane, uint4 x) {
        x = oriented_vector<T>(x, reverse);
        char *here = reverse ? at - k * 512 : at + k * 512;
        if (k == 0 && head)
            store_end(here, lane, x, 0, !reverse);
        if (k == rows - 1 && head)
            store_end(here, lane, x, 31, reverse);

        /* Words i of the two vectors that word i of the aligned one may come from: word (i + head / 4) % 4. */
        const uint32_t words = head / 4;
        if constexpr (sizeof(T) < 8)
            x = words & 1 ? make_uint4(x.y, x.z, x.w, x.x) : x;
        x = words & 2 ? make_uint4(x.z, x.w, x.x, x.y) : x;
        const uint4 offer = lane == 31 ? previous : x;
        const int from = (lane + 31) % 32;
        const uint4 other = {__shfl_sync(all_lanes, offer.x, from), __shfl_sync(all_lanes, offer.y, from),
                             __shfl_sync(all_lanes, offer.z, from), __shfl_sync(all_lanes, offer.w, from)};
        previous = x;

        /* The lower vector has the first 4 - words of them, and a share of the next by bytes. */
        const uint4 low = reverse ? x : other, high = reverse ? other : x;
        uint4 y = {low.x, words < 3 ? low.y : high.y, words < 2 ? low.z : high.z, words < 1 ? low.w : high.w};
        if constexpr (sizeof(T) < 4) {
            const uint32_t bits = head % 4 * 8;
            y = make_uint4(__funnelshift_r(y.x, y.y, bits), __funnelshift_r(y.y, y.z, bits),
                           __funnelshift_r(y.z, y.w, bits), __funnelshift_r(y.w, high.x, bits));
        }
        if (k || lane || !head)
            *reinterpret_cast<uint4 *>(here + head - (reverse ? 0 : 16)) = y;
    }

  private:
    /* Of lane `source`'s vector, which lies at that lane's `here`, the bytes below head or those from head on: one
     * element a lane. */
    __device__ void store_end(const char *here, int lane, uint4 x, int source, bool below) const {
        constexpr int E = vector_elements<T>;
        const uint32_t w[4] = {__shfl_sync(all_lanes, x.x, source), __shfl_sync(all_lanes, x.y, source),
                               __shfl_sync(all_lanes, x.z, source), __shfl_sync(all_lanes, x.w, source)};
        const int apart = (reverse ? lane - source : source - lane) * 16;
        if (lane >= E || (lane * sizeof(T) < head) != below)
            return;
        T *to = reinterpret_cast<T *>(const_cast<char *>(here) + apart) + lane;
        if constexpr (sizeof(T) == 8) {
            *to = from_bits<T>(lane ? uint64_t(w[3]) << 32 | w[2] : uint64_t(w[1]) << 32 | w[0]);
        } else {
            const int i = lane * int(sizeof(T)) / 4;
            uint32_t y = i == 0 ? w[0] : i == 1 ? w[1] : i == 2 ? w[2] : w[3];
            *to = from_bits<T>(y >> lane * sizeof(T) % 4 * 8);
        }
    }
};

} /* namespace scan_cuda */

#endif
