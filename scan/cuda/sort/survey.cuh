/* SPDX-License-Identifier: MIT
 *
 * The survey: one read of the keys from which the whole sort is planned, on the device.
 *
 *     keys --> histograms of every digit --> where each digit's keys begin; a digit of one value needs no pass
 *          --> is a key less, or greater, than the one before it --> sorted or reversed input needs no pass
 *          --> is a float NaN or -0 --> without them no two keys that are equal in order can be told apart
 *          --> out, as long as all is in order: a sorted input is done when it has been read
 *
 * Copying costs an unsorted input next to nothing: a CTA stops at the first descent that it sees, or hears of, and when
 * it has seen a rise too it looks at order no more. The last CTA to finish turns the counts into the plan.
 *
 * Of floats alone that a sample finds spread evenly between two limits, digits of their values as integers are counted
 * (even.cuh): the top one beside the codes' if it is enough for the local stage, else the top two alone, and a second
 * survey counts the codes' if the plan needs them after all.
 *
 * Counting is the work. 32 lanes that add to one table of 256 counters meet three or four to a bank. Where the keys are
 * many and the GPU has the shared memory, a CTA is as large as can be and every counter is a row of 32, a lane each, as
 * in histogram_bytes.cuh: no two lanes meet (8-byte keys: rows of 16).
 *
 * Traffic: n keys read, twice if a guess of even floats was wrong; sorted input also written, with its values.
 */
#ifndef SCAN_CUDA_SORT_SURVEY_CUH
#define SCAN_CUDA_SORT_SURVEY_CUH

#include "../device/order.cuh"
#include "plan.cuh"

namespace scan_cuda {

constexpr int survey_vectors = 4;   /* of 16 bytes, a thread and tile */
constexpr uint32_t survey_asks = 4; /* tiles after each of which a CTA asks its threads whether one saw a rise */

template <class Key> constexpr int survey_tile = survey_vectors *vector_elements<key_bits<Key>>; /* of a thread */

/* How a CTA counts. wide: a row of columns for each counter; else two tables, of half the warps each. */
template <class Key, bool wide> struct survey_shape {
    static constexpr bool tries_even = sort_key<Key>::is_float;
    static constexpr int digits = sizeof(Key) + (tries_even && !wide ? 1 : 0);
    static constexpr int threads = wide ? 1024 : 256;
    static constexpr int columns = !wide ? 1 : sizeof(Key) == 8 ? 16 : 32;
    static constexpr int tables = wide ? 1 : 2;
    static constexpr int counters = digits * radix;
    static constexpr int counter_words = counters * columns * tables;
    static constexpr int words = digits >= 4 && counter_words < int(sample_slots) ? int(sample_slots) : counter_words;
    static_assert(threads * sample_each >= int(sample_size), "the plan's threads");
};

/* ---- the read ---------------------------------------------------------------------------------------------------- */

/* Elements [begin, end) as they are, or their indices. */
template <class V> __device__ void copy_values(const sort_job &job, uint64_t begin, uint64_t end) {
    const V *from = static_cast<const V *>(job.values_in);
    V *to = static_cast<V *>(job.values_out);
    for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
        to[i] = from ? from[i] : V(i);
}

template <class Key, bool wide> class survey {
    using K = key_bits<Key>;
    using shape = survey_shape<Key, wide>;
    static constexpr int digits = sizeof(K), E = vector_elements<K>;

    const sort_job &job;
    const uint64_t n;
    uint32_t *counts; /* of this thread's table and column */
    const even_code even;
    bool falls, rises, odd;

  public:
    __device__ survey(const sort_job &job, uint64_t n, uint32_t *counts, const even_code &even)
        : job(job), n(n), counts(counts), even(even), falls(false), rises(false), odd(false) {}

    /* E keys from element i on, of which those before `end` exist. */
    template <bool whole> __device__ vector<K, E> load(uint64_t i, uint64_t end, bool aligned) const {
        return load_elements(static_cast<const K *>(job.keys_in) + i, whole ? E : i < end ? end - i : 0, aligned);
    }

    template <bool whole>
    __device__ void store(uint64_t i, uint64_t end, bool aligned, const vector<K, E> &keys) const {
        K *to = static_cast<K *>(job.keys_out) + i;
        if (whole && aligned)
            *reinterpret_cast<vector<K, E> *>(to) = keys;
        else
#pragma unroll
            for (int e = 0; e < E; e++)
                if (whole || i + e < end)
                    to[e] = keys.v[e];
    }

    __device__ void add(int row, uint32_t digit) {
        shared_add(counts, (row * radix + digit) * (shape::columns * 4), 1);
    }

    /* before: the key before element i, if there is one. ordered: order is looked at. only_even: codes are not counted.
     */
    template <bool whole, bool ordered, bool only_even>
    __device__ void take(uint64_t i, uint64_t end, const vector<K, E> &keys, K before) {
        K last = sort_code<Key>(before, job.order);
#pragma unroll
        for (int e = 0; e < E; e++) {
            if (!whole && i + e >= end)
                continue;
            const K code = sort_code<Key>(keys.v[e], job.order);
            odd |= shares_code<Key>(keys.v[e]);
            if (!only_even)
#pragma unroll
                for (int d = 0; d < digits; d++)
                    add(d, uint32_t(code >> d * digit_bits) & (radix - 1));
            if constexpr (only_even) {
                const uint32_t own = even.of<Key>(keys.v[e]);
                add(0, own >> even_shift(2) & (radix - 1));
                add(1, own >> even_shift(1));
            } else if constexpr (shape::tries_even && !wide) {
                if (even.exists())
                    add(digits, even.of<Key>(keys.v[e]) >> even_shift(1));
            }
            if (ordered && (e > 0 || i > 0)) {
                falls |= code < last;
                rises |= job.ties ? code >= last : code > last;
            }
            last = code;
        }
    }

    /* All loads first: the counting that follows is no place for the compiler to move one past. */
    template <bool whole, bool ordered, bool only_even>
    __device__ void take_tile(uint64_t first, uint64_t end, bool aligned, bool copy) {
        const K *in = static_cast<const K *>(job.keys_in);
        const uint64_t at = first + uint64_t(threadIdx.x) * E;
        constexpr int step = shape::threads * E;
        vector<K, E> keys[survey_vectors];
        K before[survey_vectors];
#pragma unroll
        for (int k = 0; k < survey_vectors; k++) {
            const uint64_t i = at + k * step;
            keys[k] = load<whole>(i, end, aligned);
            before[k] = ordered && i > 0 && (whole || i < end) ? in[i - 1] : K(0);
        }
        if (ordered && copy)
#pragma unroll
            for (int k = 0; k < survey_vectors; k++)
                store<whole>(at + k * step, end, aligned, keys[k]);
#pragma unroll
        for (int k = 0; k < survey_vectors; k++)
            take<whole, ordered, only_even>(at + k * step, end, keys[k], before[k]);
    }

    template <bool ordered, bool only_even> __device__ void take_any(uint64_t first, bool aligned, bool copy) {
        constexpr uint64_t all = uint64_t(shape::threads) * survey_tile<Key>;
        const uint64_t end = min(n, first + all);
        if (end - first == all)
            take_tile<true, ordered, only_even>(first, end, aligned, copy);
        else
            take_tile<false, ordered, only_even>(first, end, aligned, copy);
    }

    template <bool ordered> __device__ void tile(uint64_t first, bool aligned, bool copy) {
        if constexpr (shape::tries_even)
            if (counts_even_only(job, even))
                return take_any<ordered, true>(first, aligned, copy);
        take_any<ordered, false>(first, aligned, copy);
    }

    __device__ bool fell() const { return falls; }
    __device__ bool rose() const { return rises; }
    __device__ bool is_odd() const { return odd; }
};

/* second: the second survey, of floats, which counts codes. */
template <class Key, bool wide>
__global__ void __launch_bounds__(survey_shape<Key, wide>::threads)
    survey_kernel(const __grid_constant__ sort_job job, bool second) {
    using shape = survey_shape<Key, wide>;
    if (!shape::tries_even)
        second = false; /* for the compiler: integers have none */
    constexpr uint64_t tile = uint64_t(shape::threads) * survey_tile<Key>;
    grid_dependency_wait();
    uint32_t *counts = dynamic_shared<uint32_t>();
    __shared__ bool last;
    const uint64_t n = sort_count(job), stride = uint64_t(gridDim.x) * tile;
    sort_plan *plan = job.plan;
    if (second && !(plan->again && plan->counts_missing))
        return;
    for (int i = threadIdx.x; i < shape::counter_words; i += shape::threads)
        counts[i] = 0;
    __syncthreads();

    const bool copies_keys = job.keys_out && job.keys_out != job.keys_in;
    const bool copies_values = job.value_bytes && job.values_out != job.values_in;
    const bool aligned = (uintptr_t(job.keys_in) | (copies_keys ? uintptr_t(job.keys_out) : 0)) % 16 == 0;
    even_code even = {};
    if constexpr (shape::tries_even)
        if (!second && (!wide || job.again_follows))
            even = find_even<Key, shape::threads>(job, n);
    if constexpr (sizeof(Key) >= 4)
        if (!second && takes_sample(job, n))
            take_sample<Key>(job, n, even);
    survey<Key, wide> s(
        job, n, counts + threadIdx.x / 32 % shape::tables * shape::counters + threadIdx.x % shape::columns, even);
    bool in_order = true, rose = false;
    uint32_t asked = 0;
    uint64_t first = blockIdx.x * tile;
    for (; first < n && !rose && !second; first += stride) {
        s.template tile<true>(first, aligned, in_order && copies_keys);
        if (!in_order) {
            if (asked++ < survey_asks)
                rose = __syncthreads_or(s.rose());
            continue;
        }
        const uint64_t end = min(n, first + tile);
        const bool copies = copies_values && !s.fell(); /* its share, by a thread that saw no descent */
        if (copies && job.value_bytes == 4)
            copy_values<uint32_t>(job, first, end);
        else if (copies)
            copy_values<uint64_t>(job, first, end);
        const bool heard = threadIdx.x == 0 && __ldcg(&plan->falls);
        in_order = !__syncthreads_or(s.fell() || heard);
        if (!in_order && threadIdx.x == 0 && !heard)
            atomicOr(&plan->falls, 1u);
    }
    for (; first < n; first += stride)
        s.template tile<false>(first, aligned, false);
    if (__syncthreads_or(s.rose()) && threadIdx.x == 0)
        atomicOr(&plan->rises, 1u);
    if (sort_key<Key>::is_float && __syncthreads_or(s.is_odd()) && threadIdx.x == 0)
        atomicOr(&plan->odd, 1u);

    const int first_row = shape::tries_even && counts_even_only(job, even) ? int(sizeof(Key)) : 0;
    for (int i = threadIdx.x; i < shape::counters; i += shape::threads) {
        uint32_t sum = 0;
#pragma unroll 8
        for (int c = 0; c < shape::columns; c++) /* neighbours begin at different columns: other banks */
            sum += counts[i * shape::columns + (i + c) % shape::columns];
        for (int t = 1; t < shape::tables; t++)
            sum += counts[t * shape::counters + i];
        if (sum)
            atomicAdd(&plan->counts[first_row + i / radix][i % radix], (unsigned long long)sum);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&plan->done, 1u) == (second ? 2 : 1) * gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    if constexpr (wide)
        call_plan(job, n, counts, even, second);
    else
        make_plan(job, n, counts, even, second);
}

} /* namespace scan_cuda */

#endif
