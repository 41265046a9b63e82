/* SPDX-License-Identifier: MIT
 *
 * 16 bytes of operands: what one lane does with them. The fold inside a vector is serial (scan.h).
 *
 * Operands of 4 and 8 bytes are registers of their own. Those of 1 and 2 bytes stay packed in four words and are folded
 * by words: as integers they may be folded in any order.
 */
#ifndef SCAN_CUDA_VECTOR_CUH
#define SCAN_CUDA_VECTOR_CUH

#include "element.cuh"

namespace scan_cuda {

template <class T> constexpr int vector_elements = 16 / int(sizeof(T));

/* Elements as they lie in memory, loaded at once. */
template <class T, int N> struct alignas(sizeof(T) * N) vector { T v[N]; };

template <class Op, bool packed = sizeof(typename Op::type) < 4> struct operands {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>;
    T v[E];

    template <class I> static __device__ operands lifted(vector<I, E> raw, const element_code &code) {
        operands x;
#pragma unroll
        for (int q = 0; q < E; q++)
            x.v[q] = lift<Op>(raw.v[q], code);
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

    /* To inclusive folds. */
    __device__ void scan() {
#pragma unroll
        for (int q = 1; q < E; q++)
            v[q] = Op::apply(v[q - 1], v[q]);
    }

    __device__ T last() const { return v[E - 1]; }

    /* Of inclusive folds, the outputs: base is the fold before the vector, next the fold after it. */
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

    __device__ uint4 lowered(const element_code &code) const {
        operands x;
#pragma unroll
        for (int q = 0; q < E; q++)
            x.v[q] = lower<Op>(v[q], code);
        uint4 y;
        memcpy(&y, &x, sizeof y);
        return y;
    }
};

template <class Op> struct operands<Op, true> {
    using T = typename Op::type;
    static constexpr int E = vector_elements<T>, bits = sizeof(T) * 8;
    uint32_t w[4];

    static __device__ operands lifted(vector<T, E> raw, const element_code &code) {
        operands x;
        memcpy(&x, &raw, sizeof x);
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
        uint32_t x = Op::apply_words(Op::apply_words(w[0], w[1]), Op::apply_words(w[2], w[3]));
#pragma unroll
        for (int half = 16; half >= bits; half /= 2)
            x = Op::apply_words(x, x >> half);
        return T(x);
    }

    __device__ void scan() {
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int d = bits; d < 32; d *= 2)
                w[i] = Op::apply_words(w[i], w[i] << d | (spread(Op::identity()) & ((1u << d) - 1)));
            if (i)
                w[i] = Op::apply_words(w[i], spread(T(w[i - 1] >> (32 - bits))));
        }
    }

    __device__ T last() const { return T(w[3] >> (32 - bits)); }

    __device__ operands outputs(T base, T, bool exclusive) const {
        operands out;
        uint32_t before = Op::identity();
        before <<= 32 - bits;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t x = exclusive ? __funnelshift_l(before, w[i], bits) : w[i];
            before = w[i];
            out.w[i] = Op::apply_words(x, spread(base));
        }
        return out;
    }

    __device__ uint4 lowered(const element_code &code) const {
        operands x = coded(code);
        return make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]);
    }

  private:
    /* Types of 1 and 2 bytes are integers, whose code is its own inverse. */
    __device__ operands coded(const element_code &code) const {
        operands x = *this;
        if constexpr (Op::coded)
#pragma unroll
            for (int i = 0; i < 4; i++)
                x.w[i] ^= spread(T(code.flip));
        return x;
    }
};

} /* namespace scan_cuda */

#endif
