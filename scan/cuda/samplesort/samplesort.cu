/* SPDX-License-Identifier: MIT
 *
 * Sample sort: the launches, two for a level, one for the local stage; levels that no region is left for end at once.
 *
 * It is for keys of any distribution: the radix sort's buckets are as large as the keys make them (sort/plan.cuh), here
 * a sample makes them equally large. Stable, and the same result in every run: ranks come from places in the input.
 *
 * Source: Leischner, Osipov, Sanders, "GPU sample sort", 2010; Axtmann et al., "In-place parallel super scalar
 * samplesort", 2017; Stehle, Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs", 2017.
 */
#include "kernel.cuh"
#include "layout.h"
#include "samplesort.h"

namespace scan_cuda {
namespace samplesort {

constexpr int ctas_each = 2; /* of an SM */

struct cut {
    const void *kernel;
    size_t shared_bytes[2]; /* the second where samplesort_is_roomy() */
};

struct kernels {
    const void *split;
    cut move, local;
};

template <class K, int value_bytes> kernels kernels_of() {
    using tight = local_shape<K, value_bytes, false>;
    using roomy = local_shape<K, value_bytes, true>;
    constexpr size_t partition = sizeof(partition_shared<K, value_bytes>),
                     moved = partition > sizeof(places_shared) ? partition : sizeof(places_shared),
                     room = size_t(64) << 10;
    static_assert(moved <= room && local_bytes<K, value_bytes, tight>() + 4 * sizeof(bucket) <= room,
                  "a CTA of sm_75 has no more");
    return {address(split_kernel<K, value_bytes>),
            {address(move_kernel<K, value_bytes>), {moved, moved}},
            {address(local_kernel<K, value_bytes>),
             {local_bytes<K, value_bytes, tight>(), local_bytes<K, value_bytes, roomy>()}}};
}

/* By key bytes / 4 - 1 and value bytes / 4. */
static const kernels table[2][3] = {
    {kernels_of<uint32_t, 0>(), kernels_of<uint32_t, 4>(), kernels_of<uint32_t, 8>()},
    {kernels_of<uint64_t, 0>(), kernels_of<uint64_t, 4>(), kernels_of<uint64_t, 8>()},
};

static bool roomy(const scan_ctx *ctx, size_t value_bytes) {
    return samplesort_is_roomy(state_of(ctx)->capability, value_bytes);
}

static layout layout_of(const scan_ctx *ctx, size_t key_bytes, size_t value_bytes, uint64_t n, bool argsort) {
    return lay_out(key_bytes, value_bytes, n, argsort, roomy(ctx, value_bytes),
                   uint64_t(state_of(ctx)->sm_count) * ctas_each);
}

static job job_of(const layout &l, const sort_job &given, char *scratch, bool in_place, bool planned) {
    job j = {};
    j.sort = given;
    if (planned || l.second_bytes == 0)
        j.sort.keys_second = nullptr;
    j.planned = planned;
    j.levels = l.levels;
    j.most = l.most;
    j.target = l.target;
    j.unit_keys = l.unit_keys;
    j.in_place = in_place;
    j.counts = reinterpret_cast<list_counts *>(scratch);
    for (int k = 0; k < 2; k++)
        j.regions[k] = reinterpret_cast<region *>(scratch + l.regions[k]);
    j.units = reinterpret_cast<unit *>(scratch + l.units);
    j.splitters = scratch + l.splitters;
    j.cells = reinterpret_cast<uint8_t *>(scratch + l.cells);
    j.words = reinterpret_cast<unsigned long long *>(scratch + l.words);
    j.buckets = reinterpret_cast<bucket *>(scratch + l.buckets);
    return j;
}

static scan_status run(scan_ctx *ctx, const sort_job &given, char *scratch, bool in_place, bool planned) {
    const layout l = layout_of(ctx, given.key_bytes, given.value_bytes, given.n, given.keys_out == nullptr);
    const kernels &k = table[given.key_bytes / 4 - 1][given.value_bytes / 4];
    const bool room = roomy(ctx, given.value_bytes);
    job j = job_of(l, given, scratch, in_place, planned);
    const uint64_t most = uint64_t(state_of(ctx)->sm_count) * ctas_each;
    const uint64_t units = given.n / l.unit_keys + l.most_regions, ctas = units < most ? units : most;
    if (l.levels && !planned)
        SCAN_CUDA_TRY(ctx, cudaMemsetAsync(j.counts, 0, sizeof *j.counts, state_of(ctx)->stream));
    for (uint32_t level = 0; level < l.levels; level++) {
        void *arguments[] = {&j, &level};
        SCAN_TRY(launch_pdl(ctx, k.split, ctas, threads, arguments, 0));
        SCAN_TRY(launch_pdl(ctx, k.move.kernel, ctas, threads, arguments, k.move.shared_bytes[room]));
    }
    void *arguments[] = {&j};
    return launch_pdl(ctx, k.local.kernel, l.levels ? most : 1, threads, arguments, k.local.shared_bytes[room]);
}

} /* namespace samplesort */

/* ---- what sort.cu calls ------------------------------------------------------------------------------------------ */

samplesort_room samplesort_room_of(const scan_ctx *ctx, size_t key_bytes, size_t value_bytes, uint64_t n,
                                   bool argsort) {
    const samplesort::layout l = samplesort::layout_of(ctx, key_bytes, value_bytes, n, argsort);
    return {l.end, l.first_bytes, l.second_bytes, l.values_bytes};
}

size_t samplesort_zeroed_bytes(void) { return align_up(sizeof(samplesort::list_counts)); }

scan_status samplesort_open(scan_ctx *ctx) {
    for (const auto &row : samplesort::table)
        for (size_t value_bytes : {0, 4, 8})
            for (const samplesort::cut *c : {&row[value_bytes / 4].move, &row[value_bytes / 4].local})
                SCAN_CUDA_TRY(ctx, cudaFuncSetAttribute(c->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                        int(c->shared_bytes[samplesort::roomy(ctx, value_bytes)])));
    return SCAN_OK;
}

scan_status samplesort_load(scan_ctx *ctx) {
    for (const auto &row : samplesort::table)
        for (const samplesort::kernels &k : row)
            for (const void *kernel : {k.split, k.move.kernel, k.local.kernel})
                SCAN_TRY(load_kernel(ctx, kernel));
    return SCAN_OK;
}

scan_status samplesort_run(scan_ctx *ctx, const sort_job &job, char *lists, bool in_place, bool planned) {
    return samplesort::run(ctx, job, lists, in_place, planned);
}

} /* namespace scan_cuda */
