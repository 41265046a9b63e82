/* SPDX-License-Identifier: MIT
 *
 * Elements and operators inside kernels.
 *
 * A kernel exists once a bit class, not once a type and operator: signed and unsigned integers add and multiply alike,
 * every min and max is the unsigned max of sortable bits, and a bitwise and is the or of complements. What differs at
 * run time is in element_code, an argument:
 *
 *   flipped      x ^ flip: flip complements for and
 *   sortable     integers: x ^ flip, which moves the sign bit (signed) and complements (min); floats: the usual
 *                sortable bits (sign bit: complement all, else set the sign bit), complemented for min; every NaN is
 *                the largest of all, so that it wins from there on, and comes back as the quiet NaN
 *   widening     integers are extended by the sign that `sign` names: (x ^ sign) - sign
 *
 * The kernels of the teaching grids and of the ends of pieces take the operator at run time too
 * (prefix/any_operator.cu).
 */
#ifndef SCAN_CUDA_DEVICE_ELEMENT_CUH
#define SCAN_CUDA_DEVICE_ELEMENT_CUH

#include <cstdint>

namespace scan_cuda {

/* What an operator folds: elements as they are, or coded as above. */
enum class operand_form { plain, flipped, sortable };

template <class T> constexpr bool is_floating = T(0.5) != T(0);

template <class T> struct add {
    using type = T;
    static constexpr operand_form form = operand_form::plain;
    static constexpr bool commutative = true;
    static __host__ __device__ T identity() { return T(0); }
    static __host__ __device__ T apply(T a, T b) { return T(a + b); }
};
template <> __host__ __device__ inline float add<float>::identity() { return -0.0f; } /* -0 + x is x, bit for bit */
template <> __host__ __device__ inline double add<double>::identity() { return -0.0; }

template <class T> struct mul {
    using type = T;
    static constexpr operand_form form = operand_form::plain;
    static constexpr bool commutative = true;
    static __host__ __device__ T identity() { return T(1); }
    static __host__ __device__ T apply(T a, T b) {
        if constexpr (sizeof(T) < 4)
            return T(uint32_t(a) * b); /* as int, u16 could overflow */
        else
            return a * b;
    }
};

template <class T> struct maximum {
    using type = T;
    static constexpr operand_form form = operand_form::sortable;
    static constexpr bool commutative = true;
    static __host__ __device__ T identity() { return T(0); }
    static __host__ __device__ T apply(T a, T b) { return a > b ? a : b; }
};

template <class T> struct bit_xor {
    using type = T;
    static constexpr operand_form form = operand_form::plain;
    static constexpr bool commutative = true;
    static __host__ __device__ T identity() { return T(0); }
    static __host__ __device__ T apply(T a, T b) { return T(a ^ b); }
};

template <class T> struct bit_or {
    using type = T;
    static constexpr operand_form form = operand_form::flipped;
    static constexpr bool commutative = true;
    static __host__ __device__ T identity() { return T(0); }
    static __host__ __device__ T apply(T a, T b) { return T(a | b); }
};

enum class operation : uint8_t; /* prefix/kernels.h */

/* How elements are encoded as operands. */
struct element_code {
    uint64_t sign; /* widening: the sign bit of a signed input type, else 0 */
    uint64_t flip; /* in the bits of the accumulator */
    bool is_float; /* sortable only */
    operation op;  /* for kernels that take it at run time */
};

/* Calls f with the operator that a kernel of Op applies: with Op itself, where prefix/any_operator.cu has no other. */
template <class Op, class F> __device__ void for_operator(Op op, const element_code &, F f) { f(op); }

template <class T> struct float_bits {
    static constexpr T sign = T(T(1) << (sizeof(T) * 8 - 1));
    static constexpr T infinity = sizeof(T) == 4 ? T(0x7f800000u) : T(0x7ff0000000000000ull);
    static constexpr T quiet_nan = sizeof(T) == 4 ? T(0x7fc00000u) : T(0x7ff8000000000000ull);
};

/* An accumulator as an operand of Op. Without branches: what is_float decides is the same for all elements. */
template <class Op> __device__ typename Op::type encode(typename Op::type v, const element_code &code) {
    using T = typename Op::type;
    if constexpr (Op::form == operand_form::plain) {
        return v;
    } else if constexpr (Op::form == operand_form::flipped || sizeof(T) < 4) {
        return T(v ^ T(code.flip));
    } else {
        using bits = float_bits<T>;
        const T all = T(~T(0)), negative = v & bits::sign ? all : 0, of_float = code.is_float ? all : 0;
        const T coded = T(v ^ T((negative | bits::sign) & of_float) ^ T(code.flip));
        const T limit = code.is_float ? bits::infinity : all; /* integers are not NaN */
        return T(v & T(~bits::sign)) > limit ? all : coded;
    }
}

/* An operand of Op as an output element. */
template <class Op> __device__ typename Op::type from_operand(typename Op::type v, const element_code &code) {
    using T = typename Op::type;
    if constexpr (Op::form == operand_form::plain) {
        return v;
    } else if constexpr (Op::form == operand_form::flipped || sizeof(T) < 4) {
        return T(v ^ T(code.flip));
    } else {
        using bits = float_bits<T>;
        const T all = T(~T(0)), x = T(v ^ T(code.flip)), positive = x & bits::sign ? 0 : all;
        const T of_float = code.is_float ? all : 0;
        return code.is_float && v == all ? bits::quiet_nan : T(x ^ T((positive | bits::sign) & of_float));
    }
}

/* An input element as an operand of Op. */
template <class Op, class I> __device__ typename Op::type to_operand(I x, const element_code &code) {
    using T = typename Op::type;
    if constexpr (sizeof(I) == sizeof(T) || is_floating<T>) { /* a float widens by itself */
        return encode<Op>(T(x), code);
    } else {
        T v = T(T(T(x) ^ T(code.sign)) - T(code.sign));
        if constexpr (Op::form == operand_form::sortable && sizeof(I) == 4 && sizeof(T) == 8)
            if (code.is_float)
                v = T(__double_as_longlong(double(__uint_as_float(uint32_t(x)))));
        return encode<Op>(v, code);
    }
}

/* Calls f with a value of the input type that has in_size bytes: the accumulator's own or one that widens to it. */
template <class Op, class F> __device__ void for_input(uint32_t in_size, F f) {
    using T = typename Op::type;
    if constexpr (sizeof(T) == 8 && is_floating<T>) {
        if (in_size == 4)
            return f(float());
    } else if constexpr (sizeof(T) == 8) {
        if (in_size == 4)
            return f(uint32_t());
        if (in_size == 2)
            return f(uint16_t());
        if (in_size == 1)
            return f(uint8_t());
    } else if constexpr (sizeof(T) == 4 && !is_floating<T>) {
        if (in_size == 1)
            return f(uint8_t());
    }
    f(T());
}

/* Element i of an array of elements of in_size bytes, as an operand. */
template <class Op>
__device__ typename Op::type load_operand(const void *in, uint32_t in_size, uint64_t i, const element_code &code) {
    typename Op::type x{};
    for_input<Op>(in_size, [&](auto type) {
        using I = decltype(type);
        x = to_operand<Op>(static_cast<const I *>(in)[i], code);
    });
    return x;
}

template <class T> __device__ T from_bits(uint64_t bits) {
    T v;
    if constexpr (sizeof(T) == 8)
        memcpy(&v, &bits, 8);
    else {
        uint32_t low = uint32_t(bits);
        memcpy(&v, &low, sizeof v);
    }
    return v;
}

} /* namespace scan_cuda */

#endif
