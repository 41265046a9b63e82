/* SPDX-License-Identifier: MIT
 *
 * Keys as unsigned codes whose order is the order asked for: then every sort is a sort of unsigned integers.
 *
 *   integers   flip the sign bit of signed types; flip all bits for descending order; keep the bits of the window.
 *   floats     IEEE 754 orders as sign and magnitude: flip the sign bit of positive numbers, all bits of negative ones;
 *              flip all for descending. -0 has the code of +0, and all NaNs one code at an end: no number has the code
 *              0 or ~0, which belong to NaNs of either sign.
 *
 * Where some float shares its code with others, codes exist in registers only, where a digit is taken: the keys that
 * travel are the caller's bits, so that -0 and the payloads of NaNs come out as they went in. Where none does, floats
 * travel from pass to pass as exact_code(), and those of an argsort, of which no key comes out, as their codes.
 * Descending order is a flipped code, not a reversed sort, so ties keep their input order in both directions.
 */
#ifndef SCAN_CUDA_SORT_KEY_BITS_CUH
#define SCAN_CUDA_SORT_KEY_BITS_CUH

#include <type_traits>

#include "../../scan.h"
#include "../device/element.cuh"

namespace scan_cuda {

/* What a sort's kernels exist for: integers by their size, signed or not, and the two floats. */
template <class Key> struct sort_key {
    using bits = Key;
    static constexpr bool is_float = false;
};
template <> struct sort_key<float> {
    using bits = uint32_t;
    static constexpr bool is_float = true;
};
template <> struct sort_key<double> {
    using bits = uint64_t;
    static constexpr bool is_float = true;
};

template <class Key> using key_bits = typename sort_key<Key>::bits;

/* Floats between two limits as integers of 32 bits, in order, equal steps of the one for equal steps of the other as
 * far as floats are that fine; what lies beyond the limits has the first or the last. */
struct even_code {
    double scale, offset; /* scale 0: none */
    __device__ bool exists() const { return __double2hiint(scale) != 0; }
    template <class Key> __device__ uint32_t of(key_bits<Key> key) const {
        if constexpr (sizeof(Key) == 4)
            return __float2uint_rz(fmaf(__uint_as_float(key), float(scale), float(offset)));
        else
            return __double2uint_rz(fma(__longlong_as_double((long long)key), scale, offset));
    }
};

struct sort_order {
    uint64_t flip;  /* bits to invert */
    uint64_t mask;  /* integers: the bits that decide */
    uint64_t nan;   /* floats: the code of NaN */
    uint32_t begin; /* the lowest bit that decides; codes begin there */
    even_code even; /* of floats, instead of their code, where a digit is taken */
};

/* In sort.cu; without even_code. */
sort_order sort_order_of(const scan_sort_desc *desc);

/* All bits like the highest one. */
template <class K> __device__ K spread_sign(K x) { return K(std::make_signed_t<K>(x) >> (8 * sizeof(K) - 1)); }

/* The code with the bits below `begin` still there and those above the window too. */
template <class Key> __device__ key_bits<Key> plain_code(key_bits<Key> key, const sort_order &order) {
    using K = key_bits<Key>;
    if constexpr (!sort_key<Key>::is_float) {
        return K(key ^ K(order.flip));
    } else {
        using bits = float_bits<K>;
        if constexpr (sizeof(K) == 4) {
            /* NaN comes after the numbers, and if all bits of the codes are flipped, before them. Where numbers would
             * then be in the wrong order, they are negated. Sorts of floats that share codes took up to 1.13 times as
             * long with the integer operations below; those of doubles took 1.3 times as long by arithmetic (H200,
             * 2026-11-30: tools/bench --device cuda --hunt 1 --seed 17156677094698502076, and 5438102236805802731). */
            const K flip = K(~order.nan), number = canonical_bits(key, K(order.flip) == flip ? 1.0f : -1.0f);
            return number ^ (spread_sign(number) | bits::sign) ^ flip;
        } else {
            const K code = key == bits::sign ? bits::sign : key ^ (spread_sign(key) | bits::sign);
            return (key & ~bits::sign) > bits::infinity ? K(order.nan) : code ^ K(order.flip);
        }
    }
}

template <class Key> __device__ key_bits<Key> sort_code(key_bits<Key> key, const sort_order &order) {
    using K = key_bits<Key>;
    const K code = plain_code<Key>(key, order);
    if constexpr (sort_key<Key>::is_float)
        return code;
    else
        return K(K(code & K(order.mask)) >> order.begin);
}

/* ---- keys that their codes tell ---------------------------------------------------------------------------------- */

/* Whether another key has the code of this one, if all bits decide: -0 has that of +0, and NaNs have one. */
template <class Key> __device__ bool shares_code(key_bits<Key> key) {
    if constexpr (sort_key<Key>::is_float) {
        using bits = float_bits<key_bits<Key>>;
        return key == bits::sign || (key & ~bits::sign) > bits::infinity;
    } else {
        return false;
    }
}

/* The code of a key that shares it with no other, all bits deciding, and back. */
template <class Key> __device__ key_bits<Key> exact_code(key_bits<Key> key, const sort_order &order) {
    using K = key_bits<Key>;
    if constexpr (sort_key<Key>::is_float)
        key ^= spread_sign(key) | float_bits<K>::sign;
    return K(key ^ K(order.flip));
}

template <class Key> __device__ key_bits<Key> key_of_exact_code(key_bits<Key> code, const sort_order &order) {
    using K = key_bits<Key>;
    const K key = code ^ K(order.flip);
    if constexpr (sort_key<Key>::is_float)
        return key ^ (K(~spread_sign(key)) | float_bits<K>::sign);
    else
        return key;
}

} /* namespace scan_cuda */

#endif
