/* SPDX-License-Identifier: MIT
 *
 * Buckets that are too large for the local stage (local.cuh) and that no sample has shown, sorted in `out`, where the
 * local stage has left them as they came: a small one by a CTA, others by clusters of CTAs (large_passes.cuh). Likewise
 * the runs of one code that are too long in an argsort (pack.cuh): there only indices move.
 *
 *     local stage     a tile that finds two codes in a large bucket notes a position in it
 *     size            a place some keys before or behind a note is in its bucket too: all digits are sorted
 *                     after all (plan.cuh). Prefixes stand still while buckets are sorted, so all CTAs see the same
 *     ends            a CTA takes a note, searches for the ends of its bucket on both sides, and leaves the bucket
 *                     to the note of the lowest position in it
 *     sort            the CTA sorts the bucket if it is small; then the cluster sorts what its CTAs have left, one
 *                     bucket after another
 *
 * A bucket that escaped the sample has few keys beside all of them, so that few SMs are enough for it: where digits
 * hang together in ways that their counts and a sample do not show, this takes the place of passes over all digits. On
 * GPUs without clusters a CTA sorts any bucket.
 *
 * Without notes a CTA ends at once.
 */
#ifndef SCAN_CUDA_SORT_LARGE_CUH
#define SCAN_CUDA_SORT_LARGE_CUH

#include "large_passes.cuh"

namespace scan_cuda {

/* by_index: a bucket is a run of one packed code. */
template <class K, bool by_index> class large_bucket {
    using F = std::conditional_t<sizeof(K) == 8, double, float>;
    const sort_job &job;
    large_shared &shared;
    const uint32_t thread;
    large_arrays whole, scratch; /* of the sort; where the keys are, and the other buffers */
    large_passes<K, by_index> passes;

    /* What tells buckets apart, of the key at a position: the greater, the later. */
    __device__ K bucket_of(uint64_t i) const {
        if (by_index)
            return reinterpret_cast<const uint32_t *>(whole.keys)[i];
        const K key = reinterpret_cast<const K *>(whole.keys)[i];
        const even_code &even = job.plan->even;
        return (even.exists() ? K(even.of<F>(key)) : passes.code_of(key)) >> job.plan->local_shift;
    }

    /* By the CTA: the first of positions [low, high) from which on no bucket is below this one, or, with `past`, all
     * are above it; else high. */
    __device__ uint64_t search(uint64_t low, uint64_t high, K bucket, bool past) const {
#pragma unroll 1
        while (low < high) {
            const uint64_t step = (high - low + large_threads - 1) / large_threads, i = low + thread * step;
            bool below = false;
            if (i < high) {
                const K other = bucket_of(i);
                below = past ? other <= bucket : other < bucket;
            }
            const uint64_t less = uint64_t(__syncthreads_count(below));
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
        for (uint32_t i = thread; i < notes; i += large_threads)
            before |= at[i] >= begin && (at[i] < at[note] || (at[i] == at[note] && i < note));
        return __syncthreads_or(before);
    }

    __device__ large_arrays in(const large_arrays &all, uint64_t begin) const {
        return {by_index ? nullptr : all.keys + begin * job.key_bytes, all.values + begin * job.value_bytes};
    }

  public:
    __device__ large_bucket(const sort_job &job, large_shared &shared)
        : job(job), shared(shared), thread(threadIdx.x), passes(job, shared) {
        const bool first = job.plan->local_keys == BUFFER_FIRST;
        whole = {static_cast<char *>(job.keys_out ? job.keys_out
                                     : first      ? job.keys_first
                                                  : job.keys_second),
                 static_cast<char *>(job.values_out)};
        scratch = {static_cast<char *>(job.keys_out || !first ? job.keys_first : job.keys_second),
                   static_cast<char *>(job.values_first)};
    }

    /* By the CTA: whether some noted bucket may be too large. */
    __device__ bool reach_too_far(uint32_t notes) const {
        const uint64_t n = sort_count(job), half = large_reach(n);
        bool far = false;
#pragma unroll 1
        for (uint32_t i = thread; i < 2 * notes; i += large_threads) {
            const uint64_t at = job.plan->large_at[i / 2], to = i % 2 ? at + half : at - half;
            far |= (i % 2 ? to < n : half <= at) && bucket_of(to) == bucket_of(at);
        }
        return __syncthreads_or(far);
    }

    /* By the CTA: the bucket of a note, empty if another note has it. */
    __device__ large_range find(uint32_t note, uint32_t notes) const {
        const uint64_t at = job.plan->large_at[note], n = sort_count(job), half = large_reach(n);
        const K bucket = bucket_of(at);
        const uint64_t begin = search(at - min(at, half), at, bucket, false),
                       end = search(at, min(n, at + half), bucket, true);
        return {begin, is_noted_before(note, notes, begin) ? 0 : uint32_t(end - begin)};
    }

    /* By the cluster, a bucket of each CTA: in the first turn a CTA sorts its own, if that is small. */
    __device__ void take(const large_range &own) {
        const bool small = own.size <= large_alone;
        if (thread == 0)
            shared.left = {own.begin, small ? 0 : own.size};
        passes.be_alone();
#pragma unroll 1
        for (uint32_t turn = 0; turn <= cluster_size(); turn++) {
            const large_range bucket = turn > 0 ? passes.of_cta(shared.left, turn - 1) : own;
            if (bucket.size > 0 && (turn > 0 || small))
                passes.sort(in(whole, bucket.begin), in(scratch, bucket.begin), bucket.size);
            if (turn == 0) {
                passes.be_in_cluster();
                passes.barrier();
            }
        }
        passes.barrier();
    }
};

/* Each CTA has a note of each round, neighbours mostly in different clusters: they may be of large buckets. */
template <class K, bool by_index> __device__ void sort_large_buckets(const sort_job &job, large_shared &shared) {
    const uint32_t notes = min(job.plan->large_notes, max_large_notes), clusters = gridDim.x / cluster_size(),
                   own = cluster_rank() * clusters + blockIdx.x / cluster_size();
    /* Another CTA may set it right now: all threads see the same. CTAs of a cluster may not, but then all find below
     * that a bucket is too large. */
    if (!notes || __syncthreads_or(int(__ldcg(&job.plan->again))))
        return;
    large_bucket<K, by_index> bucket(job, shared);
    if (!bucket.reach_too_far(notes))
        for (uint32_t first = 0; first < notes; first += gridDim.x)
            bucket.take(first + own < notes ? bucket.find(first + own, notes) : large_range{0, 0});
    else if (threadIdx.x == 0)
        atomicOr(&job.plan->again, 1u);
}

} /* namespace scan_cuda */

#endif
