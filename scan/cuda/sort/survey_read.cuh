/* SPDX-License-Identifier: MIT
 *
 * How a CTA of the survey reads its keys: counts their digits, compares each with the one before, and copies them.
 */
#ifndef SCAN_CUDA_SORT_SURVEY_READ_CUH
#define SCAN_CUDA_SORT_SURVEY_READ_CUH

#include <type_traits>

#include "../device/order.cuh"
#include "even.cuh"
#include "sample.cuh"

namespace scan_cuda {

/* How a CTA counts. Many keys are wanted as fast as memory gives them; of few, what a CTA does before and after them
 * takes longer, so that their counters have fewer columns. CTAs are large and few, for each adds all its counts to the
 * plan's: with twice as many of half as many threads 2-byte keys took 3 % longer. The loops over what is less than a
 * tile are not unrolled: fetching code that runs once takes longer than running it. */
template <class Key, bool wide> struct survey_shape {
    static constexpr bool tries_even = sort_key<Key>::is_float;
    static constexpr bool narrow = sizeof(Key) < 4; /* several keys to a word */
    static constexpr int digits = sizeof(Key) + (tries_even && !wide ? 1 : 0);
    static constexpr int threads = wide && !narrow ? 1024 : 512;
    static constexpr int ctas = wide && !narrow ? 1 : 2; /* of an SM */
    static constexpr int columns = !wide ? 32 / int(sizeof(Key)) : sizeof(Key) == 8 ? 16 : 32;
    static constexpr int vectors = wide ? 4 : narrow ? 1 : int(sizeof(Key)) / 2; /* of 16 bytes, a thread and tile */
    static constexpr uint64_t layer = uint64_t(threads) * vector_elements<key_bits<Key>>; /* keys: a vector a thread */
    static constexpr uint64_t tile = vectors * layer;                                     /* at most */
    static constexpr int counters = digits * radix;
    static constexpr int words = counters * columns;
    static_assert(!tries_even || wide == (threads == even_only_threads), "even.cuh tells them apart so");
    static_assert(!tries_even || words >= int(wide ? 2 * even_slots : even_parts), "the sample's");
    static_assert(narrow || (words >= int(sample_slots) && threads * sample_each >= int(sample_size)), "the plan's");
    static_assert(narrow || words >= int(wide_sample_size / 2), "the plan's");
    static_assert(sizeof(Key) < 8 || (words >= int(2 * gap_samples) && threads >= int(gap_samples / 8)), "the plan's");

    /* Keys of a tile. Few are divided among all CTAs. */
    static __device__ uint64_t tile_of(uint64_t n) {
        const uint64_t all = gridDim.x * layer; /* one layer each */
        return wide || n >= tile * gridDim.x ? tile : (uint32_t(n) / uint32_t(all) + 1) * layer;
    }
};

/* Keys as they are compared and counted: one of four bytes or more, or as many narrower ones as a word has. */
template <class Key> struct survey_word {
    using K = key_bits<Key>;
    using W = std::conditional_t<sizeof(K) < 4, uint32_t, K>;
    static constexpr int each = sizeof(W) / sizeof(K), key_width = 8 * int(sizeof(K));
    static constexpr W lows = each == 4 ? 0x01010101 : each == 2 ? 0x00010001 : 1; /* the lowest bit of each */
    static constexpr uint32_t highs = each == 1 ? 1 : uint32_t(lows) << (key_width - 1);
    using marks = std::conditional_t<each == 1, bool, uint32_t>; /* a bit of `highs` for each key */

    static __device__ W code(W keys, const sort_order &order) {
        if constexpr (each == 1)
            return sort_code<Key>(keys, order);
        else
            return ((keys ^ K(order.flip) * lows) & K(order.mask) * lows) >> order.begin;
    }
    /* The keys before these: the last of the word before, and all of these but the last. */
    static __device__ W before(W last, W codes) {
        if constexpr (each == 1)
            return last;
        else
            return __funnelshift_l(last, codes, key_width);
    }
    /* Keys for which a < b. Other bits may be set too. */
    static __device__ marks less(W a, W b) {
        if constexpr (each == 1)
            return a < b;
        else /* half of b + ~a, where a carry comes to the highest bit */
            return (b & ~a) + (((b ^ ~a) >> 1) & ~highs);
    }
};

template <class Key, bool wide> class survey {
    using K = key_bits<Key>;
    using word = survey_word<Key>;
    using W = typename word::W;
    using shape = survey_shape<Key, wide>;
    static constexpr int digits = sizeof(K), E = vector_elements<K>, words = E / word::each, vectors = shape::vectors;
    using vector_words = vector<W, words>;

    const sort_job &job;
    const uint64_t n;
    uint32_t *counts; /* of this thread's column */
    const even_code even;
    typename word::marks falls, rises;
    bool odd;

  public:
    __device__ survey(const sort_job &job, uint64_t n, uint32_t *counts, const even_code &even)
        : job(job), n(n), counts(counts), even(even), falls(0), rises(0), odd(false) {}

    /* `there` keys from element i on. */
    __device__ vector_words load(uint64_t i, int there, bool aligned) const {
        const K *from = static_cast<const K *>(job.keys_in) + i;
        if (aligned && there == E)
            return load_vector<vector_words>(from);
        vector_words v = {};
#pragma unroll
        for (int e = 0; e < E; e++)
            if (e < there)
                v.v[e / word::each] |= W(from[e]) << e % word::each * word::key_width;
        return v;
    }

    __device__ void store(uint64_t i, int there, bool aligned, const vector_words &keys) const {
        K *to = static_cast<K *>(job.keys_out) + i;
        if (aligned && there == E)
            *reinterpret_cast<vector_words *>(to) = keys;
        else
#pragma unroll
            for (int e = 0; e < E; e++)
                if (e < there)
                    to[e] = K(keys.v[e / word::each] >> e % word::each * word::key_width);
    }

    __device__ void add(int row, uint32_t digit) {
        shared_add(counts, (row * radix + digit) * (shape::columns * 4), 1);
    }

    template <bool only_even> __device__ void count(W keys, W codes, int there) {
        if constexpr (shape::tries_even)
            odd |= there > 0 && shares_code<Key>(keys);
#pragma unroll
        for (int k = 0; k < word::each; k++) {
            if (k >= there)
                continue;
            if (!only_even)
#pragma unroll
                for (int d = 0; d < digits; d++)
                    if (wide || d == 0 || d * digit_bits < int(job.bits)) /* of many keys all: a test takes longer */
                        add(d, uint32_t(codes >> (k * word::key_width + d * digit_bits)) & (radix - 1));
            if constexpr (only_even) {
                const uint32_t own = even.of<Key>(keys);
                add(0, own >> even_shift(2) & (radix - 1));
                add(1, own >> even_shift(1));
            } else if constexpr (shape::tries_even && !wide) {
                if (even.exists())
                    add(digits, even.of<Key>(keys) >> even_shift(1));
            }
        }
    }

    /* first: the first of these has none before it. */
    __device__ void compare(W last, W codes, int there, bool first) {
        const W before = word::before(last, codes);
        if constexpr (word::each == 1) {
            if (there <= 0 || first)
                return;
            falls |= codes < before;
            rises |= job.ties ? codes >= before : codes > before;
        } else {
            uint32_t compared = word::highs;
            if (there < word::each)
                compared &= (1u << max(there, 0) * word::key_width) - 1;
            if (first)
                compared &= compared - 1;
            const uint32_t less = word::less(codes, before);
            falls |= less & compared;
            rises |= (job.ties ? ~less : word::less(before, codes)) & compared;
        }
    }

    /* before: the key before element i, if there is one. ordered: order is looked at. only_even: codes are not counted.
     */
    template <bool whole, bool ordered, bool only_even>
    __device__ void take(uint64_t i, int there, vector_words keys, K before) {
        W last = word::code(W(before) << (word::each - 1) * word::key_width, job.order);
#pragma unroll(whole ? words : 1)
        for (int w = 0; w < words; w++) {
            const W own = keys.v[whole ? w : 0], codes = word::code(own, job.order);
            const int left = whole ? word::each : there - w * word::each;
            count<only_even>(own, codes, left);
            if (ordered)
                compare(last, codes, left, i == 0 && w == 0);
            last = codes;
            if (!whole)
                shift_down(keys.v);
        }
    }

    /* What comes next, to the front: a loop that is not unrolled has no index of registers. */
    template <class T, int count> static __device__ void shift_down(T (&x)[count]) {
#pragma unroll
        for (int i = 0; i + 1 < count; i++)
            x[i] = x[i + 1];
    }

    /* All loads first: the counting that follows is no place for the compiler to move one past. */
    template <bool whole, bool ordered, bool only_even>
    __device__ void take_tile(uint64_t first, uint64_t end, bool aligned, bool copy) {
        const K *in = static_cast<const K *>(job.keys_in);
        const uint64_t at = first + uint64_t(threadIdx.x) * E;
        constexpr int step = shape::threads * E;
        const auto there = [&](uint64_t i) { return whole ? E : i < end ? int(min(end - i, uint64_t(E))) : 0; };
        vector_words keys[vectors];
        K before[vectors];
#pragma unroll
        for (int k = 0; k < vectors; k++) {
            const uint64_t i = at + k * step;
            keys[k] = load(i, there(i), aligned);
            before[k] = ordered && i > 0 && there(i) > 0 ? in[i - 1] : K(0);
        }
        if (ordered && copy)
#pragma unroll
            for (int k = 0; k < vectors; k++)
                store(at + k * step, there(at + k * step), aligned, keys[k]);
#pragma unroll(whole ? vectors : 1)
        for (int k = 0; k < vectors; k++) {
            const uint64_t i = at + k * step;
            take<whole, ordered, only_even>(i, there(i), keys[whole ? k : 0], before[whole ? k : 0]);
            if (!whole) {
                shift_down(keys);
                shift_down(before);
            }
        }
    }

    template <bool ordered, bool only_even>
    __device__ void take_any(uint64_t first, uint64_t end, bool aligned, bool copy) {
        if ((wide || !ordered) && end - first == shape::tile)
            take_tile<wide || !ordered, ordered, only_even>(first, end, aligned, copy);
        else
            take_tile<false, ordered, only_even>(first, end, aligned, copy);
    }

    template <bool ordered> __device__ void tile(uint64_t first, uint64_t end, bool aligned, bool copy) {
        if constexpr (shape::tries_even)
            if (counts_even_only(job, even))
                return take_any<ordered, true>(first, end, aligned, copy);
        take_any<ordered, false>(first, end, aligned, copy);
    }

    __device__ bool fell() const { return falls != 0; }
    __device__ bool rose() const { return rises != 0; }
    __device__ bool is_odd() const { return odd; }
};

} /* namespace scan_cuda */

#endif
