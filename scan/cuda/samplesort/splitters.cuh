/* SPDX-License-Identifier: MIT
 *
 * Splitters: the codes that a region is cut at, so that its children have about as many keys each, whatever the keys'
 * distribution. A CTA takes a sample of the region, sorts it in shared memory and keeps every 16th code:
 *
 *     sorted sample     2 3 3 5 | 5 8 8 8 | 8 8 8 8 | 8 8 8 9 | ...        (every 4th here)
 *     splitters                   5         8         9 = 8 + 1
 *     children          [0, 5)    [5, 8)    [8, 9)    [9, ...
 *
 * A code that is found where a splitter is due for the second time is heavy: the next splitter is the code + 1, so that
 * the heavy one has a child of its own. Such a child is pure: no other code belongs to it, so it is sorted.
 * The sample's keys are in the region's equal stretches, at places that a hash chooses: a period of the input does not
 * meet them.
 *
 * A key's child is found by a table of cells, which divide the splitters' range evenly: a cell says which children
 * begin up to it and in it; a binary search among those that begin in it does the rest. One comparison or two, as a
 * rule, and eight where all splitters share a cell.
 *
 * Work: 16 loads a child at random, and at most 4,096 codes merged in ten rounds. Limit: a child may be larger
 * than intended, with 16 samples by a half once in 40 and three times as large once in 10^8; then it is split again.
 *
 * Source: Leischner, Osipov, Sanders, "GPU sample sort", 2010; Axtmann, Witt, Ferizovic, Sanders, "In-place parallel
 * super scalar samplesort", 2017 (children of one value).
 */
#ifndef SCAN_CUDA_SAMPLESORT_SPLITTERS_CUH
#define SCAN_CUDA_SAMPLESORT_SPLITTERS_CUH

#include "../sort/merge_tile.cuh"
#include "job.cuh"

namespace scan_cuda {
namespace samplesort {

/* Where the sample s of `samples` is, of `size` keys: somewhere in its stretch of them. */
__host__ __device__ inline uint64_t sample_place(uint32_t s, uint32_t samples, uint64_t size, uint32_t level) {
    uint64_t z = (uint64_t(level) << 32 | s) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 32) * 0xbf58476d1ce4e5b9u;
    const uint64_t stretch = size / samples;
    return s * stretch + ((z >> 32) * stretch >> 32);
}

__host__ __device__ inline uint32_t children_of(uint64_t size, uint32_t target) {
    const uint64_t wanted = (size + target - 1) / target;
    return wanted < most_children ? uint32_t(wanted) : most_children;
}

/* 2^p, at least x. */
__device__ inline uint32_t power_from(uint32_t x) { return x > 1 ? 1u << (32 - __clz(int(x - 1))) : 1; }

/* ---- the sample and the tables ----------------------------------------------------------------------------------- */

/* The splitter of child k: of the first child, the least code sampled. */
template <class K> __device__ K splitter_of(const K *sorted, uint32_t k) {
    const K code = sorted[k * samples_each];
    return k > 1 && code == sorted[(k - 1) * samples_each] && code != K(~K(0)) ? K(code + 1) : code;
}

template <class K> __device__ void take_sample(const job &j, const region &r, uint32_t level, K *codes) {
    const uint32_t samples = samples_each * r.children;
    const source<K, 4> narrow(j, level);
    const source<K, 8> wide(j, level);
#pragma unroll 8
    for (uint32_t s = threadIdx.x; s < samples; s += threads) {
        const uint64_t i = r.begin + sample_place(s, samples, r.size, level);
        codes[s] = code_of(j.sort.value_bytes == 8 ? wide.key(i) : narrow.key(i), j.sort);
    }
    merged_tile<merged_pieces(most_samples, threads), K, false>(codes, samples).sort();
}

/* cells[c]: how many splitters, that of the first child left out, belong to cells before c. The last cell's end is
 * followed by three more, because words are read (tables::load). */
template <class K> __device__ void make_tables(const job &j, const region &r, const K *sorted) {
    K *splitters = static_cast<K *>(j.splitters) + r.first_child;
    for (uint32_t k = threadIdx.x; k < r.children; k += threads)
        splitters[k] = splitter_of(sorted, k);
    uint8_t *cells = j.cells + uint64_t(2 * cells_each) * r.first_child;
    for (uint32_t c = threadIdx.x; c < r.cells + 4; c += threads) {
        uint32_t first = 1, end = r.children;
        while (first < end) {
            const uint32_t k = (first + end) / 2;
            if (K(splitter_of(sorted, k) - K(r.low)) >> r.shift < c)
                first = k + 1;
            else
                end = k;
        }
        cells[c] = uint8_t(first - 1);
    }
}

/* Makes a region of a child: units, and places in the lists. By one thread. */
__device__ inline void open_region(const job &j, level_counts *counts, region *r) {
    r->children = children_of(r->size, j.target);
    r->units = uint32_t((r->size + j.unit_keys - 1) / j.unit_keys);
    r->first_unit = atomicAdd(&counts->units, r->units);
    r->first_child = atomicAdd(&counts->children, r->children);
    r->first_word = atomicAdd(&counts->words, (unsigned long long)(r->units) * r->children);
}

/* The cells of a region, whose sample is sorted. By one thread. */
template <class K> __device__ void lay_cells(region *r, const K *sorted) {
    const K low = splitter_of(sorted, 1), range = K(splitter_of(sorted, r->children - 1) - low);
    r->low = low;
    r->cells = power_from(cells_each * r->children);
    const uint32_t cell_bits = 31 - uint32_t(__clz(int(r->cells))), range_bits = range ? bits_of(range) : 0;
    r->shift = range_bits > cell_bits ? range_bits - cell_bits : 0;
}

/* Says where the keys of level 0 are. By one thread. */
__device__ inline void find_origin(const job &j) {
    const sort_plan *plan = j.sort.plan;
    list_counts *counts = j.counts;
    const bool moved = j.planned && j.in_place && plan->local_keys != BUFFER_IN; /* by passes */
    counts->keys = moved ? keys_source(j.sort, plan->local_keys) : j.sort.keys_in;
    counts->values = moved ? values_source(j.sort, plan->local_keys) : j.sort.values_in;
    counts->to_out = moved && plan->local_keys == BUFFER_FIRST;
    counts->from_out = j.in_place && !counts->to_out;
}

template <class K> struct splitters_shared {
    K codes[most_samples];
    region r;
};

/* Region i of a level; of level 0 all keys are one. By the CTA. */
template <class K> __device__ void split_region(const job &j, splitters_shared<K> &shared, uint32_t level, uint32_t i) {
    region &r = shared.r;
    level_counts *counts = &j.counts->level[level];
    if (threadIdx.x == 0) {
        if (level) {
            r = j.regions[level % 2][i];
        } else {
            find_origin(j);
            r.begin = 0;
            r.size = sort_count(j.sort);
        }
        if (r.size > j.most)
            open_region(j, counts, &r);
        else if (r.size > 0) /* of level 0 alone: there are few keys on the device */
            j.buckets[atomicAdd(&j.counts->buckets, 1u)] = {0, r.size, 0, false};
    }
    __syncthreads();
    if (r.size <= j.most)
        return;
    take_sample(j, r, level, shared.codes);
    if (threadIdx.x == 0) {
        lay_cells(&r, shared.codes);
        j.regions[level % 2][i] = r;
        if (level == 0)
            counts->regions = 1;
    }
    __syncthreads();
    make_tables(j, r, shared.codes);
    for (uint32_t part = threadIdx.x; part < r.units; part += threads)
        j.units[r.first_unit + part] = {i, part};
}

/* ---- a key's child ----------------------------------------------------------------------------------------------- */

/* In shared memory. */
template <class K> struct tables {
    K splitters[most_children];
    uint32_t cells[most_cells / 4 + 1]; /* bytes */
    K low;
    uint32_t shift, last_cell, children;

    /* By the CTA; a barrier follows. */
    __device__ void load(const job &j, const region &r) {
        const K *from = static_cast<const K *>(j.splitters) + r.first_child;
        const uint32_t *cells_from =
            reinterpret_cast<const uint32_t *>(j.cells) + uint64_t(cells_each / 2) * r.first_child;
        for (uint32_t k = threadIdx.x; k < r.children; k += threads)
            splitters[k] = from[k];
        for (uint32_t c = threadIdx.x; c <= r.cells / 4; c += threads)
            cells[c] = cells_from[c];
        if (threadIdx.x == 0) {
            low = K(r.low);
            shift = r.shift;
            last_cell = r.cells - 1;
            children = r.children;
        }
    }

    __device__ uint32_t child_of(K code) const {
        if (code < low)
            return 0;
        const K far = K(code - low) >> shift;
        const uint32_t cell = far < last_cell ? uint32_t(far) : last_cell;
        const uint8_t *first = reinterpret_cast<const uint8_t *>(cells) + cell;
        uint32_t child = first[0], end = first[1];
        while (child < end) {
            const uint32_t k = (child + end + 1) / 2;
            if (code >= splitters[k])
                child = k;
            else
                end = k - 1;
        }
        return child;
    }
};

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
