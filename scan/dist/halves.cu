/* SPDX-License-Identifier: MIT
 *
 * Sorted integers of 4 bytes as halves: half the bytes to send. In sorted keys the upper half of a code seldom changes,
 * so it is enough to know where it does:
 *
 *     codes     0001'0007  0001'0009  0003'0000  0003'8000        upper halves can be 0001 ... 0003
 *     low            0007       0009       0000       8000
 *     begins    0 2 2                                             of 0001, 0002 (there is none) and 0003
 *
 *   halve    the first CTAs find where an upper half begins, by a binary search for each, the others write lower halves
 *   merge    by merge path, as in cuda/merge/merge.cuh, whose parts it uses. Element i of a run of halves is compared
 *            with a code by where the code's upper half begins and ends in the run, in three loads. A CTA copies the
 *            lower halves of its tile to shared memory as they are, and makes keys of them there: it is told the upper
 *            halves at both ends of the tile, and searches between them
 *
 * Lower halves are copied by words of 16 bytes: one by one they would pass through registers, and too few would be on
 * the way at once. So `low` is aligned to 16 bytes and has room for whole words. A tile's part of a run begins and ends
 * anywhere in a word, and is copied with at most 14 halves that are not the tile's. The words lie where the merge
 * writes places later, so that a CTA takes as much shared memory as in a merge of whole keys, and 56 bytes.
 *
 * Traffic: 6 bytes a key to halve; to merge 2 less than of whole keys, and at most 28 bytes for each part of a tile.
 */
#include "../cuda/merge/merge.cuh"
#include "device.cuh"

using namespace scan_cuda;

using key = uint32_t;

constexpr int halves_threads = 256, halves_batch = 8;
constexpr uint32_t halves_tile = halves_threads * halves_batch * 8; /* keys of a CTA */

__host__ __device__ static uint64_t ctas_for(uint64_t work, uint64_t each) { return (work + each - 1) / each; }

/* ---- halve ------------------------------------------------------------------------------------------------------- */

struct halve_job {
    const key *keys;
    scan_dist_halves to;
    uint32_t n, flip; /* the bits in which codes differ from keys */
};

static __global__ void __launch_bounds__(halves_threads) halve_kernel(const __grid_constant__ halve_job job) {
    const uint32_t searching = uint32_t(ctas_for(job.to.count, halves_threads));
    if (blockIdx.x < searching) {
        const uint32_t h = blockIdx.x * halves_threads + threadIdx.x;
        if (h < job.to.count)
            job.to.begins[h] =
                merge_split(0u, job.n, [&](uint32_t i) { return (job.keys[i] ^ job.flip) >> 16 < job.to.first + h; });
        return;
    }
    const uint32_t begin = (blockIdx.x - searching) * halves_tile, size = min(job.n - begin, halves_tile);
    const key *keys = job.keys + begin;
    uint16_t *low = job.to.low + begin;
    for (uint32_t i = threadIdx.x; i < size; i += halves_threads * halves_batch) {
        key loaded[halves_batch];
#pragma unroll
        for (uint32_t k = 0; k < halves_batch; k++)
            if (i + k * halves_threads < size)
                loaded[k] = keys[i + k * halves_threads];
#pragma unroll
        for (uint32_t k = 0; k < halves_batch; k++)
            if (i + k * halves_threads < size)
                low[i + k * halves_threads] = uint16_t(loaded[k] ^ job.flip);
    }
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

struct halves_merge_job {
    merge_job path; /* values, outputs and splits; keys are in the runs */
    scan_dist_run run[2];
    uint32_t *uppers[2]; /* of each tile and of the end: the upper half at its first element, of those of the run */
    uint32_t flip;
};

/* The upper half of element i, of those of the run: between low and high. */
__device__ static uint32_t upper_of(const scan_dist_halves &halves, uint64_t i, uint32_t low, uint32_t high) {
    return merge_split(low + 1, high + 1, [&](uint32_t h) { return halves.begins[h] <= i; }) - 1;
}

__device__ static key code_at(const halves_merge_job &job, int side, uint64_t i) {
    const scan_dist_run &run = job.run[side];
    if (!run.halves.low)
        return static_cast<const key *>(run.keys)[i] ^ job.flip;
    const uint32_t upper = upper_of(run.halves, i, 0, run.halves.count - 1);
    return (run.halves.first + upper) << 16 | run.halves.low[i];
}

/* Less than 0: element i is less than the code; more: it is greater. */
__device__ static int64_t compare(const halves_merge_job &job, int side, uint64_t i, key code) {
    const scan_dist_halves &halves = job.run[side].halves;
    if (!halves.low)
        return int64_t(static_cast<const key *>(job.run[side].keys)[i] ^ job.flip) - code;
    const uint32_t upper = code >> 16, h = upper - halves.first;
    if (upper < halves.first || (h + 1 < halves.count && i >= halves.begins[h + 1]))
        return 1;
    if (h >= halves.count || i < halves.begins[h])
        return -1;
    return int64_t(halves.low[i]) - (code & 0xffff);
}

/* Codes of whole keys are compared with halves, if one run has whole keys. */
static __global__ void __launch_bounds__(merge_split_threads)
    halves_split_kernel(const __grid_constant__ halves_merge_job job, uint64_t tiles) {
    const uint64_t t = uint64_t(blockIdx.x) * merge_split_threads + threadIdx.x, tile = merge_tile<key>;
    const uint64_t a_n = job.run[0].n, b_n = job.run[1].n, d = min(t * tile, a_n + b_n);
    const bool by_b = job.run[0].halves.low;
    const uint64_t split = merge_split_of_tile(a_n, b_n, tile, [&](uint64_t diagonal, uint64_t i) {
        const uint64_t b = diagonal - 1 - i;
        return by_b ? compare(job, 0, i, code_at(job, 1, b)) <= 0 : compare(job, 1, b, code_at(job, 0, i)) >= 0;
    });
    if (t > tiles)
        return;
    job.path.splits[t] = split;
    for (int side = 0; side < 2; side++)
        if (job.run[side].halves.low)
            job.uppers[side][t] =
                upper_of(job.run[side].halves, side ? d - split : split, 0, job.run[side].halves.count - 1);
}

constexpr uint32_t halves_per_word = sizeof(uint4) / sizeof(uint16_t);
static_assert(sizeof(uint4) == SCAN_DIST_HALVES_ALIGN, "the words that `low` has room for");

/* A tile in shared memory: keys and places, or before there are places keys and words of halves. The words of one run
 * begin and end with at most halves_per_word - 1 halves that are not the tile's. */
union halves_shared {
    merge_shared<key> merge;
    struct {
        key keys[sizeof(merge_shared<key>::keys) / sizeof(key)];
        uint4 words[(merge_tile<key> + 2 * 2 * (halves_per_word - 1)) / halves_per_word];
    } loaded;
};

/* Starts copying one run's part of the tile, which begins at that element: whole keys to where they belong, halves to
 * `words`. Returns how many words those are. */
__device__ static uint32_t load_part(const scan_dist_run &run, uint64_t begin, uint32_t size, key *to, uint4 *words) {
    if (!run.halves.low) {
        const key *keys = static_cast<const key *>(run.keys) + begin;
        for (uint32_t i = threadIdx.x; i < size; i += merge_threads)
            copy_to_shared(&to[i], &keys[i]);
        return 0;
    }
    const uint64_t first = begin / halves_per_word;
    const uint4 *from = reinterpret_cast<const uint4 *>(run.halves.low) + first;
    const uint32_t count = uint32_t(ctas_for(begin + size, halves_per_word) - first);
    for (uint32_t i = threadIdx.x; i < count; i += merge_threads)
        copy_to_shared(&words[i], &from[i]);
    return count;
}

/* Makes keys of the words of one run's part. */
__device__ static void make_keys(const halves_merge_job &job, int side, uint64_t begin, uint32_t size, key *to,
                                 const uint4 *words) {
    const scan_dist_halves &halves = job.run[side].halves;
    if (!halves.low)
        return;
    const uint16_t *low = reinterpret_cast<const uint16_t *>(words) + begin % halves_per_word;
    const uint32_t first = job.uppers[side][blockIdx.x], last = max(first, job.uppers[side][blockIdx.x + 1]);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < size; i += merge_threads)
        to[i] = ((halves.first + upper_of(halves, begin + i, first, last)) << 16 | low[i]) ^ job.flip;
}

/* As merge_kernel does, a CTA a tile. */
static __global__ void __launch_bounds__(merge_threads)
    halves_merge_kernel(const __grid_constant__ halves_merge_job job) {
    __shared__ halves_shared memory;
    merge_shared<key> &shared = memory.merge;
    const uint64_t n = job.run[0].n + job.run[1].n;
    const merge_range r = range_of_tile<key>(job.path, blockIdx.x, n);
    const uint32_t b_count = r.count - r.a_count;
    key *a_keys = shared.keys, *b_keys = a_keys + r.a_count;
    uint4 *a_words = memory.loaded.words;
    uint4 *b_words = a_words + load_part(job.run[0], r.a_first, r.a_count, a_keys, a_words);
    load_part(job.run[1], r.b_first, b_count, b_keys, b_words);
    copies_arrive();
    __syncthreads();
    make_keys(job, 0, r.a_first, r.a_count, a_keys, a_words);
    make_keys(job, 1, r.b_first, b_count, b_keys, b_words);
    __syncthreads();
    merge_places<key>(shared, r, job.path.order);
    key *out = static_cast<key *>(job.path.keys_out) + r.first;
#pragma unroll merge_unroll < key>
    for (int k = 0; k < merge_items<key>; k++) {
        const uint32_t i = uint32_t(k) * merge_threads + threadIdx.x;
        if (i < r.count)
            out[i] = shared.keys[merged_place(shared.places, i)];
    }
    if (job.path.value_bytes == 4)
        store_values<uint32_t>(job.path, r, shared.places);
    else if (job.path.value_bytes == 8)
        store_values<uint64_t>(job.path, r, shared.places);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static uint32_t flip_of(const scan_dist_codes *codes) {
    return (codes->is_signed ? 1u << 31 : 0) ^ (codes->descending ? ~0u : 0);
}

const char *scan_dist_device_halve(scan_dist_device *d, const scan_dist_codes *codes, const void *keys, size_t n,
                                   scan_dist_halves to) {
    const current_device current(d->ordinal);
    halve_job job = {static_cast<const key *>(keys), to, uint32_t(n), flip_of(codes)};
    void *arguments[] = {&job};
    return launch(d, address(halve_kernel), ctas_for(to.count, halves_threads) + ctas_for(n, halves_tile),
                  halves_threads, arguments);
}

static uint64_t tiles_of(size_t n) { return ctas_for(n, merge_tile<key>); }

size_t scan_dist_device_merge_bytes(size_t n) { return (tiles_of(n) + 1) * (sizeof(uint64_t) + 2 * sizeof(uint32_t)); }

const char *scan_dist_device_merge(scan_dist_device *d, const scan_dist_codes *codes, uint32_t value_bytes,
                                   const scan_dist_run *a, const scan_dist_run *b, void *keys_out, void *values_out,
                                   void *memory) {
    const current_device current(d->ordinal);
    uint64_t tiles = tiles_of(a->n + b->n);
    halves_merge_job job = {};
    job.run[0] = *a;
    job.run[1] = *b;
    job.path.a.values = a->values;
    job.path.b.values = b->values;
    job.path.keys_out = keys_out;
    job.path.values_out = values_out;
    job.path.value_bytes = value_bytes;
    job.path.splits = static_cast<uint64_t *>(memory);
    job.uppers[0] = reinterpret_cast<uint32_t *>(job.path.splits + tiles + 1);
    job.uppers[1] = job.uppers[0] + tiles + 1;
    job.flip = flip_of(codes);
    job.path.order.flip = job.flip;
    void *split_arguments[] = {&job, &tiles}, *arguments[] = {&job};
    if (tiles == 0)
        return nullptr;
    const char *failed = launch(d, address(halves_split_kernel), ctas_for(tiles + 1, merge_split_threads),
                                merge_split_threads, split_arguments);
    return failed ? failed : launch(d, address(halves_merge_kernel), tiles, merge_threads, arguments);
}
