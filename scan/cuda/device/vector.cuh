/* SPDX-License-Identifier: MIT
 *
 * 16 bytes of operands: what one lane does with them. The fold inside a vector is serial (scan.h).
 *
 * Operands of 4 and 8 bytes are registers of their own. Those of 1 and 2 bytes stay packed in four words until their
 * outputs are made, as a chain from the base: they are integers, which may be folded in any order. The chain runs in
 * whole registers, of which the lower 1 or 2 bytes count: sums, products and bitwise operators have those right
 * whatever is above, and max is given nothing above.
 */
#ifndef SCAN_CUDA_DEVICE_VECTOR_CUH
#define SCAN_CUDA_DEVICE_VECTOR_CUH

#include "element.cuh"

namespace scan_cuda {

template <class T> constexpr int vector_elements = 16 / int(sizeof(T));

/* Elements as they lie in memory, loaded at once. */
template <class T, int N> struct alignas(sizeof(T) * N) vector { T v[N]; };

template <int bytes> struct word_of;
template <> struct word_of<2> { using type = uint16_t; };
template <> struct word_of<4> { using type = uint32_t; };
template <> struct word_of<8> { using type = uint2; };
template <> struct word_of<16> { using type = uint4; };

/* A vector from memory aligned to its size, by one instruction. Read as a struct it would take one for each element:
 * the compiler does not infer the alignment of an address from its type. */
template <class V> __device__ V load_vector(const void *at) {
    const auto word = *static_cast<const typename word_of<sizeof(V)>::type *>(at);
    V v;
    memcpy(&v, &word, sizeof v);
    return v;
}

/* 16 bytes of an array, as a vector if it is aligned. `left` of its elements exist; what is beyond them is 0. */
template <class T> __device__ vector<T, vector_elements<T>> load_elements(const T *from, uint64_t left, bool aligned) {
    constexpr int E = vector_elements<T>;
    if (aligned && left >= E)
        return load_vector<vector<T, E>>(from);
    vector<T, E> v;
#pragma unroll
    for (int e = 0; e < E; e++)
        v.v[e] = uint64_t(e) < left ? from[e] : T(0);
    return v;
}

/* Stores 16 bytes of unsigned elements. They are packed into words first, and the instruction is named, because the
 * compiler would store 2-byte elements two by two. */
template <class T> __device__ void store_vector(void *at, const vector<T, vector_elements<T>> &v) {
    uint32_t words[4];
    if constexpr (sizeof(T) < 4) {
        constexpr int each = 4 / int(sizeof(T));
#pragma unroll
        for (int w = 0; w < 4; w++) {
            words[w] = 0;
#pragma unroll
            for (int k = 0; k < each; k++)
                words[w] |= uint32_t(v.v[w * each + k]) << k * 8 * int(sizeof(T));
        }
    } else {
        memcpy(words, &v, sizeof words);
    }
    __stcg(static_cast<uint4 *>(at), make_uint4(words[0], words[1], words[2], words[3]));
}

template <class Op, bool packed = sizeof(typename Op::type) < 4> struct operands {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>;
    T v[E];

    /* The vector as it lies in memory, to be loaded at once. */
    template <class I> using raw = vector<I, E>;

    template <class I> static __device__ operands from_elements(const raw<I> &raw, const element_code &code) {
        operands x;
#pragma unroll
        for (int q = 0; q < E; q++)
            x.v[q] = to_operand<Op>(raw.v[q], code);
        return x;
    }

    /* Operands from `first` on become the identity. */
    __device__ void clear_from(int first) {
#pragma unroll
        for (int q = 0; q < E; q++)
            if (q >= first)
                v[q] = Op::identity();
    }

    __device__ T fold() const {
        T x = v[0];
#pragma unroll
        for (int q = 1; q < E; q++)
            x = Op::apply(x, v[q]);
        return x;
    }

    /* Scans inside the vector; returns its fold. */
    __device__ T scan() {
#pragma unroll
        for (int q = 1; q < E; q++)
            v[q] = Op::apply(v[q - 1], v[q]);
        return v[E - 1];
    }

    /* Once scanned: base is the fold before the vector, next the fold after it. */
    __device__ operands outputs(T base, T next, bool exclusive) const {
        operands out;
        if (exclusive) {
            out.v[0] = base;
#pragma unroll
            for (int q = 1; q < E; q++)
                out.v[q] = Op::apply(base, v[q - 1]);
        } else {
#pragma unroll
            for (int q = 0; q < E - 1; q++)
                out.v[q] = Op::apply(base, v[q]);
            out.v[E - 1] = next;
        }
        return out;
    }

    __device__ uint4 to_elements(const element_code &code) const {
        operands x;
#pragma unroll
        for (int q = 0; q < E; q++)
            x.v[q] = from_operand<Op>(v[q], code);
        uint4 y;
        memcpy(&y, &x, sizeof y);
        return y;
    }
};

/* The same operator on whole registers. */
template <class Op> struct on_words;
template <template <class> class O, class T> struct on_words<O<T>> { using type = O<uint32_t>; };

/* x folded with all operands of a word. */
template <class Op> __device__ uint32_t fold_word(uint32_t x, uint32_t w) {
    constexpr int bits = sizeof(typename Op::type) * 8;
#pragma unroll
    for (int i = 0; i < 32; i += bits)
        x = on_words<Op>::type::apply(x, Op::form == operand_form::sortable ? w >> i & ((1u << bits) - 1) : w >> i);
    return x;
}
template <> __device__ inline uint32_t fold_word<add<uint8_t>>(uint32_t x, uint32_t w) {
    return __dp4a(w, 0x01010101u, x);
}

template <class Op> struct operands<Op, true> {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>, bits = sizeof(T) * 8;
    uint32_t w[4];

    template <class> using raw = uint4; /* an array of bytes would be split into registers */

    template <class> static __device__ operands from_elements(const uint4 &raw, const element_code &code) {
        operands x = {{raw.x, raw.y, raw.z, raw.w}};
        return x.coded(code);
    }

    __device__ void clear_from(int first) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int kept = (first - i * E / 4) * bits;
            uint32_t keep = kept <= 0 ? 0 : kept >= 32 ? ~0u : (1u << kept) - 1;
            w[i] = (w[i] & keep) | (spread(Op::identity()) & ~keep);
        }
    }

    __device__ T fold() const {
        uint32_t x = Op::identity();
#pragma unroll
        for (int i = 0; i < 4; i++)
            x = fold_word<Op>(x, w[i]);
        return T(x);
    }

    __device__ T scan() { return fold(); }

    __device__ operands outputs(T base, T, bool exclusive) const {
        operands out;
        uint32_t fold = base, before = uint32_t(base) << (32 - bits);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t folds[32 / bits];
#pragma unroll
            for (int q = 0; q < 32 / bits; q++) {
                uint32_t x = w[i] >> q * bits;
                fold = on_words<Op>::type::apply(fold, Op::form == operand_form::sortable ? x & uint32_t(T(~T(0))) : x);
                folds[q] = fold;
            }
            uint32_t inclusive;
            if constexpr (bits == 8)
                inclusive = __byte_perm(__byte_perm(folds[0], folds[1], 0x0040),
                                        __byte_perm(folds[2], folds[3], 0x0040), 0x5410);
            else
                inclusive = __byte_perm(folds[0], folds[1], 0x5410);
            out.w[i] = exclusive ? __funnelshift_l(before, inclusive, bits) : inclusive;
            before = inclusive;
        }
        return out;
    }

    __device__ uint4 to_elements(const element_code &code) const {
        operands x = coded(code);
        return make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]);
    }

  private:
    /* x in every operand of a word. */
    static __device__ uint32_t spread(T x) { return x * (0xffffffffu / T(~T(0))); }

    /* Types of 1 and 2 bytes are integers, whose encoding is its own inverse. */
    __device__ operands coded(const element_code &code) const {
        operands x = *this;
        if constexpr (Op::form != operand_form::plain)
#pragma unroll
            for (int i = 0; i < 4; i++)
                x.w[i] ^= spread(T(code.flip));
        return x;
    }
};

} /* namespace scan_cuda */

#endif
