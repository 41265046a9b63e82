/* SPDX-License-Identifier: MIT
 *
 * From histograms to look-up tables: scan the counts, find a few facts about them, then evaluate the formula of
 * equalize_lut.h, in every thread for its own bin.
 *
 * 256 bins are one block scan, which every CTA of the map does for itself, because that takes less time than a launch
 * between two kernels.
 *
 * 65,536 bins are the hierarchical scan of the textbook in two kernels: sections of 1,024 bins are summed, then every
 * section is scanned by a CTA of its own, which first scans the sums of all 64.
 *
 * The facts follow from the scans. The first bin that is not empty is the one whose inclusive sum is its own count; the
 * last is the one whose inclusive sum is the total. The same holds for sections. So exactly one thread finds each fact,
 * without a search or contention.
 */
#ifndef SCAN_CUDA_IMAGE_EQUALIZE_TABLE_CUH
#define SCAN_CUDA_IMAGE_EQUALIZE_TABLE_CUH

#include <cmath>

#include "../block/warp.cuh"
#include "histogram.cuh"

extern "C" {
#include "../../shared/equalize_lut.h"
}

namespace scan_cuda {

/* ---- the block scan ---------------------------------------------------------------------------------------------- */

constexpr int table_threads = warp_shuffle::max_section;

struct table_storage { /* shared */
    uint64_t counts[table_threads], totals[32];
};

/* The inclusive sums over the threads of a CTA of at most table_threads; storage.counts holds them all afterwards.
 * Every thread calls it, and none writes to storage before a barrier. */
__device__ inline uint64_t block_inclusive(table_storage &storage, uint64_t count) {
    storage.counts[threadIdx.x] = count;
    __syncthreads();
    return warp_shuffle::inclusive<add<uint64_t>>(storage.counts, storage.totals)[threadIdx.x];
}

/* ---- 256 bins ---------------------------------------------------------------------------------------------------- */

/* The table of one histogram, in shared memory; visible after a barrier. At least 256 threads, all of which call it. */
__device__ inline void make_byte_table(table_storage &storage, scan_lut_facts &facts, scan_like like,
                                       const uint64_t *bins, uint8_t *table) {
    const uint32_t i = threadIdx.x;
    const uint64_t count = i < byte_bins ? bins[i] : 0;
    if (i == 0)
        facts = {};
    const uint64_t inclusive = block_inclusive(storage, count), total = storage.counts[byte_bins - 1];
    if (i == 0) {
        facts.total = total;
        facts.at_zero = count;
        facts.top = byte_bins - 1;
    }
    if (count && inclusive == count) {
        facts.first = i;
        facts.first_count = count;
    }
    if (count && inclusive == total) {
        facts.last = i;
        facts.last_count = count;
    }
    __syncthreads();
    if (i < byte_bins)
        table[i] = uint8_t(
            scan_lut_is_identity(like, &facts) ? i : scan_lut_entry(like, &facts, i, inclusive, inclusive - count));
    __syncthreads();
}

/* ---- 65,536 bins ------------------------------------------------------------------------------------------------- */

constexpr uint32_t section_bins = table_threads, sections = uint32_t(word_bins) / section_bins;

struct section_facts {
    uint64_t sum, first_count, last_count;
    uint32_t first, last; /* bins that are not empty, if sum is not 0 */
};

/* CTA b: section b % sections of histogram b / sections. */
template <class Count>
__global__ void __launch_bounds__(table_threads) section_sums_kernel(const Count *bins, section_facts *out) {
    __shared__ table_storage storage;
    __shared__ section_facts facts;
    if (threadIdx.x == 0)
        facts = {};
    const uint64_t count = bins[uint64_t(blockIdx.x) * section_bins + threadIdx.x];
    const uint64_t inclusive = block_inclusive(storage, count), total = storage.counts[section_bins - 1];
    const uint32_t bin = blockIdx.x % sections * section_bins + threadIdx.x;
    if (threadIdx.x == 0)
        facts.sum = total;
    if (count && inclusive == count) {
        facts.first = bin;
        facts.first_count = count;
    }
    if (count && inclusive == total) {
        facts.last = bin;
        facts.last_count = count;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = facts;
}

struct table_job {
    const uint64_t *bins;       /* `planes` histograms of 65,536 bins */
    const section_facts *facts; /* planes * sections of them */
    void *tables;               /* a table of S for each of the first histograms */
    scan_like like;
    uint32_t planes;
};

/* CTA b: the entries of section b % sections of table b / sections. Tables of bytes take every 257th bin. */
template <class S>
__global__ void __launch_bounds__(table_threads) table_kernel(const __grid_constant__ table_job job) {
    constexpr uint32_t stride = uint32_t(word_bins - 1) / top_of<S>;
    __shared__ table_storage storage;
    __shared__ scan_lut_facts facts;
    __shared__ uint64_t before_section;
    __shared__ uint32_t largest;
    const uint32_t t = threadIdx.x, section = blockIdx.x % sections, table = blockIdx.x / sections;
    const uint64_t *bins = job.bins + table * word_bins;
    if (t == 0) {
        facts = {};
        largest = 0;
    }
    section_facts here = {};
    if (t < sections)
        here = job.facts[table * sections + t];
    const uint64_t sum = block_inclusive(storage, here.sum), total = storage.counts[sections - 1];
    if (t < job.planes * sections)
        atomicMax(&largest, job.facts[t].sum ? job.facts[t].last : 0u);
    if (t == section)
        before_section = sum - here.sum;
    if (t == 0) {
        facts.total = total;
        facts.at_zero = bins[0];
        facts.top = top_of<S>;
    }
    if (here.sum && sum == here.sum) {
        facts.first = here.first;
        facts.first_count = here.first_count;
    }
    if (here.sum && sum == total) {
        facts.last = here.last;
        facts.last_count = here.last_count;
    }
    __syncthreads();
    if (t == 0)
        facts.largest = largest;
    const uint32_t bin = section * section_bins + t, i = bin / stride;
    const uint64_t count = bins[bin];
    const uint64_t inclusive = before_section + block_inclusive(storage, count);
    if (bin % stride == 0)
        static_cast<S *>(job.tables)[table * (top_of<S> + 1) + i] = S(
            scan_lut_is_identity(job.like, &facts) ? i
                                                   : scan_lut_entry(job.like, &facts, i, inclusive, inclusive - count));
}

} /* namespace scan_cuda */

#endif
