/* SPDX-License-Identifier: MIT
 *
 * Buckets that are too large for the local stage (local.cuh) and that no sample has shown. One CTA sorts such a bucket
 * in `out`, where the local stage has left it as it came; all others are done.
 *
 *     local stage     a tile that finds two codes in a large bucket notes a position in it
 *     size            a place some keys before or behind a note is in its bucket too: all digits are sorted
 *                     after all (plan.cuh). Prefixes stand still while buckets are sorted, so all CTAs see the same
 *     ends            the CTA of a note searches for them on both sides, and leaves the bucket to the note of the
 *                     lowest position in it
 *     passes          over the digits in which codes of the bucket differ, the least significant first, between `out`
 *                     and the scratch: counts, then tile by tile as in the cooperative sort (cooperative/tile.cuh)
 *
 * A bucket that escaped the sample has few keys beside all of them, so one CTA is enough for it: where digits hang
 * together in ways that their counts and a sample do not show, this takes the place of passes over all digits.
 *
 * Traffic: of these buckets two reads and a write for each digit that differs. Without notes a CTA ends at once.
 */
#ifndef SCAN_CUDA_SORT_LARGE_CUH
#define SCAN_CUDA_SORT_LARGE_CUH

#include "../cooperative/tile.cuh"

namespace scan_cuda {

constexpr uint32_t large_rows = 4; /* of a warp and tile */

struct large_shared {
    cooperative_counters counters;
    uint32_t ranks[large_rows * cooperative_threads];
    uint32_t begins[radix], counts[radix]; /* in the tile, of each digit */
    uint32_t next[radix];                  /* where the next key of the digit goes, in the bucket */
    unsigned long long differ;
};

/* Of a bucket: its keys and values in one buffer. */
struct large_arrays {
    char *keys, *values;
};

class large_bucket {
    const sort_job &job;
    large_shared &shared;
    const uint32_t thread;
    large_arrays whole, scratch; /* of the sort; where the keys are, and the other buffers */

    /* Keys and values have 4 or 8 bytes. */
    static __device__ uint64_t load(const char *array, uint32_t i, uint32_t bytes) {
        return bytes == 8 ? reinterpret_cast<const uint64_t *>(array)[i] : reinterpret_cast<const uint32_t *>(array)[i];
    }
    static __device__ void copy(const char *from, uint32_t i, char *to, uint32_t at, uint32_t bytes) {
        if (bytes == 8)
            reinterpret_cast<uint64_t *>(to)[at] = reinterpret_cast<const uint64_t *>(from)[i];
        else
            reinterpret_cast<uint32_t *>(to)[at] = reinterpret_cast<const uint32_t *>(from)[i];
    }

    /* Called, because in a pass, and where rows are unrolled, ptxas 13.0 finds too few predicates for it. */
    __attribute__((noinline)) __device__ uint64_t code_at(const char *keys, uint32_t i) const {
        return code_of_bits(job, load(keys, i, job.key_bytes));
    }

    /* What tells buckets apart, of the key at a position: the greater, the later. */
    __attribute__((noinline)) __device__ uint64_t bucket_of(uint64_t i) const {
        const uint64_t key = load_bits(whole.keys, i, job.key_bytes);
        const even_code &even = job.plan->even;
        const uint64_t code = !even.exists()       ? code_of_bits(job, key)
                              : job.key_bytes == 4 ? even.of<float>(uint32_t(key))
                                                   : even.of<double>(key);
        return code >> job.plan->local_shift;
    }

    /* By the CTA: the first of positions [low, high) from which on no bucket is below this one, or, with `past`, all
     * are above it; else high. */
    __attribute__((noinline)) __device__ uint64_t search(uint64_t low, uint64_t high, uint64_t bucket,
                                                         bool past) const {
        while (low < high) {
            const uint64_t step = (high - low + cooperative_threads - 1) / cooperative_threads, i = low + thread * step;
            const uint64_t less = uint64_t(__syncthreads_count(i < high && bucket_of(i) < bucket + past));
            if (less == 0)
                return low;
            high = min(high, low + less * step);
            low += (less - 1) * step + 1;
        }
        return low;
    }

    /* Whether a note before this one, by position and then by number, is in the same bucket. */
    __device__ bool is_noted_before(uint32_t note, uint32_t notes, uint64_t begin) const {
        const uint64_t *at = job.plan->large_at;
        bool before = false;
        for (uint32_t i = thread; i < notes; i += cooperative_threads)
            before |= at[i] >= begin && (at[i] < at[note] || (at[i] == at[note] && i < note));
        return __syncthreads_or(before);
    }

    /* Of each of `size` elements. */
    template <class F> __device__ void for_elements(uint32_t size, F f) const {
#pragma unroll 1
        for (uint32_t i = thread; i < size; i += cooperative_threads)
            f(i);
    }

    /* The bits in which codes differ. */
    __device__ uint64_t differing(const char *keys, uint32_t size) {
        const uint64_t first = code_at(keys, 0);
        uint64_t differ = 0;
        if (thread == 0)
            shared.differ = 0;
        __syncthreads();
        for_elements(size, [&](uint32_t i) { differ |= code_at(keys, i) ^ first; });
        if (differ)
            atomicOr(&shared.differ, (unsigned long long)(differ));
        __syncthreads();
        return shared.differ;
    }

    /* Where the keys of each digit begin. */
    __device__ void count(const char *keys, uint32_t size, uint32_t shift) {
        for (uint32_t d = thread; d < radix; d += cooperative_threads)
            shared.counts[d] = 0;
        __syncthreads();
        for_elements(size, [&](uint32_t i) {
            atomicAdd(&shared.counts[uint32_t(code_at(keys, i) >> shift) & (radix - 1)], 1u);
        });
        __syncthreads();
        if (warp_of_cta() == 0)
            begins_of_digits(shared.counts, shared.next, int(thread));
        __syncthreads();
    }

    __device__ void move(const large_arrays &from, uint32_t i, const large_arrays &to, uint32_t at) const {
        copy(from.keys, i, to.keys, at, job.key_bytes);
        if (job.value_bytes)
            copy(from.values, i, to.values, at, job.value_bytes);
    }

    /* A stable pass over the digit at `shift`. */
    __device__ void pass(const large_arrays &from, const large_arrays &to, uint32_t size, uint32_t shift) {
        cooperative_tile tile(shared.counters);
        tile.rows = opaque(large_rows);
        tile.ranks = shared.ranks;
        count(from.keys, size, shift);
#pragma unroll 1
        for (uint32_t first = 0; first < size; first += tile.slots()) {
            const uint32_t there = min(size - first, tile.slots()), past = tile.slots() - there;
            tile.rank([&](uint32_t slot) {
                return slot < there ? uint32_t(code_at(from.keys, first + slot) >> shift) & (radix - 1) : radix - 1;
            });
            tile.add_up(shared.begins, [&](int digit, uint32_t counted) {
                shared.counts[digit] = digit == radix - 1 ? counted - past : counted;
            });
            tile.for_slots([&](uint32_t slot) {
                if (slot < there)
                    move(from, first + slot, to,
                         shared.next[tile.digit_of(slot)] + tile.place_of(slot) - shared.begins[tile.digit_of(slot)]);
            });
            __syncthreads();
            for (uint32_t d = thread; d < radix; d += cooperative_threads)
                shared.next[d] += shared.counts[d];
            __syncthreads();
        }
    }

    __device__ large_arrays bucket_in(const large_arrays &all, uint64_t begin) const {
        return {all.keys + begin * job.key_bytes, all.values + begin * job.value_bytes};
    }

    /* In the end in the buffer where it began. */
    __device__ void sort(uint64_t begin, uint32_t size) {
        large_arrays from = bucket_in(whole, begin), to = bucket_in(scratch, begin);
        bool moved = false; /* to the scratch */
#pragma unroll 1
        for (uint64_t left = differing(from.keys, size); left; moved = !moved) {
            const uint32_t shift = uint32_t(__ffsll((long long)(left))) - 1;
            left &= ~(uint64_t(radix - 1) << shift);
            pass(from, to, size, shift);
            const large_arrays done = to;
            to = from;
            from = done;
        }
        if (moved)
            for_elements(size, [&](uint32_t i) { move(from, i, to, i); });
        __syncthreads();
    }

  public:
    __device__ large_bucket(const sort_job &job, large_shared &shared) : job(job), shared(shared), thread(threadIdx.x) {
        const bool first = job.plan->local_keys == BUFFER_FIRST;
        whole = {static_cast<char *>(job.keys_out ? job.keys_out
                                     : first      ? job.keys_first
                                                  : job.keys_second),
                 static_cast<char *>(job.values_out)};
        scratch = {static_cast<char *>(job.keys_out || !first ? job.keys_first : job.keys_second),
                   static_cast<char *>(job.values_first)};
    }

    /* How far a bucket may reach from a note. */
    __device__ uint64_t reach() const { return min(sort_count(job) / large_share, large_most); }

    /* By the CTA: whether some noted bucket may be too large. */
    __device__ bool reach_too_far(uint32_t notes) const {
        const uint64_t n = sort_count(job), half = reach();
        bool far = false;
#pragma unroll 1
        for (uint32_t i = thread; i < 2 * notes; i += cooperative_threads) {
            const uint64_t at = job.plan->large_at[i / 2], to = i % 2 ? at + half : at - half;
            far |= (i % 2 ? to < n : half <= at) && bucket_of(to) == bucket_of(at);
        }
        return __syncthreads_or(far);
    }

    /* The bucket of a note. */
    __device__ void take(uint32_t note, uint32_t notes) {
        const uint64_t at = job.plan->large_at[note], n = sort_count(job), half = reach(), bucket = bucket_of(at),
                       begin = search(at - min(at, half), at, bucket, false),
                       end = search(at, min(n, at + half), bucket, true);
        if (!is_noted_before(note, notes, begin))
            sort(begin, uint32_t(end - begin));
    }
};

__device__ inline void sort_large_buckets(const sort_job &job, large_shared &shared) {
    const uint32_t notes = min(job.plan->large_notes, max_large_notes);
    /* Another CTA may set it right now: all threads see the same. */
    if (!notes || __syncthreads_or(int(__ldcg(&job.plan->again))))
        return;
    large_bucket bucket(job, shared);
    if (!bucket.reach_too_far(notes))
        for (uint32_t note = blockIdx.x; note < notes; note += gridDim.x)
            bucket.take(note, notes);
    else if (threadIdx.x == 0)
        atomicOr(&job.plan->again, 1u);
}

} /* namespace scan_cuda */

#endif
