/* SPDX-License-Identifier: MIT
 *
 * Kernels of verbs over ranks, with the device code of scan/cuda.
 *
 *   totals   a CTA reduces a group, tile by tile, as look-back reduces one (grid/register_rows.cuh): the order of
 *            operations is that of scan.h. Reads an element once. Work n; depth 32 tiles
 *   counts   a thread makes one binary search in sorted keys. Depth log2 n loads
 */
#include <cstdlib>

#include "../cuda/grid/register_rows.cuh"
#include "../cuda/prefix/operator_code.h"
#include "device.cuh"

using namespace scan_cuda;

/* ---- totals of groups -------------------------------------------------------------------------------------------- */

constexpr int totals_threads = chunks_per_tile * threads_per_chunk;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int totals_ctas = 2; /* of an SM, which has 1,024 threads */
#else
constexpr int totals_ctas = 3;
#endif
constexpr size_t group_bytes = 1 << 20; /* of accumulators */

static_assert(tile_elements<uint32_t> * tiles_per_group * 4 == group_bytes, "the groups of scan.h");

template <class Op>
__global__ void __launch_bounds__(totals_threads, totals_ctas)
    totals_kernel(const __grid_constant__ scan_job job, typename Op::type *totals) {
    using T = typename Op::type;
    __shared__ T row_totals[2][rows_per_tile]; /* of a tile, and of the next */
    __shared__ T tile_totals[tiles_per_group];
    const int lane = threadIdx.x % 32, warp = warp_of_cta();
    const grid_part<T> part = {job.in, nullptr, job.n, 0, T(), nullptr};
    for (int i = 0; i < tiles_per_group; i++) {
        const uint64_t tile = uint64_t(blockIdx.x) * tiles_per_group + i;
        const bool exists = tile * tile_elements<T> < job.n;
        T *rows = row_totals[i % 2];
        if (exists)
            register_rows<Op>(job, part, tile, warp * rows_per_warp).reduce(rows + warp * rows_per_warp);
        __syncthreads();
        if (warp == 0) {
            const T total = exists ? chunk_folds<Op>(rows, lane).total : Op::identity();
            if (lane == 0)
                tile_totals[i] = total;
        }
    }
    __syncwarp();
    if (warp == 0) {
        const T total = warp_total<Op>(tile_totals[lane]);
        if (lane == 0)
            totals[blockIdx.x] = from_operand<Op>(total, job.code);
    }
}

static const struct {
    operation op;
    bool is_float;
    size_t size;
    const void *kernel;
} totals_kernels[] = {
#define ROW(op, T) {operation::op, is_floating<T>, sizeof(T), address(totals_kernel<op<T>>)},
#define INTEGERS(op, ...) ROW(op, uint8_t) ROW(op, uint16_t) ROW(op, uint32_t) ROW(op, uint64_t)
#define NUMBERS(op, ...) INTEGERS(op) ROW(op, float) ROW(op, double)
#define ROWS(op, CLASSES, ...) CLASSES(op)
    SCAN_CUDA_OPERATORS(ROWS, )
#undef ROWS
#undef NUMBERS
#undef INTEGERS
#undef ROW
};

static const void *find_totals_kernel(const scan_prefix_desc *desc) {
    const operator_row &row = operator_rows[desc->op];
    const bool is_float = scan_type_class(desc->out_type) == SCAN_FLOAT && !row.sortable;
    for (const auto &k : totals_kernels)
        if (k.op == row.op && k.is_float == is_float && k.size == scan_type_size(desc->out_type))
            return k.kernel;
    return nullptr;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

constexpr int counts_threads = 128;

struct counts_job {
    scan_dist_codes codes;
    const void *keys;
    const scan_dist_splitter *splitters;
    uint64_t count, ranges;
    uint64_t *counts;
};

__device__ static uint64_t load_key(const void *keys, uint64_t i, uint32_t key_bytes) {
    switch (key_bytes) {
    case 1: return static_cast<const uint8_t *>(keys)[i];
    case 2: return static_cast<const uint16_t *>(keys)[i];
    case 4: return static_cast<const uint32_t *>(keys)[i];
    default: return static_cast<const uint64_t *>(keys)[i];
    }
}

__global__ void __launch_bounds__(counts_threads) counts_kernel(const __grid_constant__ counts_job job) {
    const uint64_t i = uint64_t(blockIdx.x) * counts_threads + threadIdx.x, probes = job.ranges - 1;
    if (i >= job.count * probes)
        return;
    const scan_dist_splitter s = job.splitters[i / probes];
    const uint64_t code = scan_dist_probe(&s, i % probes, job.ranges);
    uint64_t from = s.from, to = s.to;
    while (from < to) {
        const uint64_t middle = from + (to - from) / 2;
        if (scan_dist_code(&job.codes, load_key(job.keys, middle, job.codes.key_bytes)) <= code)
            from = middle + 1;
        else
            to = middle;
    }
    job.counts[i] = from;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static const char *fetch(scan_dist_device *d, void *to_host, const void *from, size_t bytes) {
    CUDA_TRY(d, cudaMemcpyAsync, to_host, from, bytes, cudaMemcpyDeviceToHost, d->stream);
    CUDA_TRY(d, cudaStreamSynchronize, d->stream);
    return nullptr;
}

const char *scan_dist_device_totals(scan_dist_device *d, const scan_prefix_desc *desc, const void *in, size_t n,
                                    void *memory, void *totals) {
    const current_device current(d->ordinal);
    const size_t size = scan_type_size(desc->out_type), group = group_bytes / size;
    const size_t groups = n / group + (n % group != 0);
    scan_job job = {};
    job.in = in;
    job.n = n;
    job.in_size = uint32_t(scan_type_size(desc->type));
    job.reverse = desc->reverse;
    job.code = code_of(desc);
    void *arguments[] = {&job, &memory};
    const char *failed = groups ? launch(d, find_totals_kernel(desc), groups, totals_threads, arguments) : nullptr;
    return failed ? failed : fetch(d, totals, memory, groups * size);
}

size_t scan_dist_device_count_bytes(size_t count, uint64_t ranges) {
    return count * (sizeof(scan_dist_splitter) + (ranges - 1) * sizeof(uint64_t));
}

const char *scan_dist_device_counts(scan_dist_device *d, const scan_dist_codes *codes, const void *keys,
                                    const scan_dist_splitter *splitters, size_t count, uint64_t ranges, void *memory,
                                    uint64_t *counts) {
    const current_device current(d->ordinal);
    auto *on_device = static_cast<scan_dist_splitter *>(memory);
    counts_job job = {*codes, keys, on_device, count, ranges, reinterpret_cast<uint64_t *>(on_device + count)};
    const uint64_t searches = count * (ranges - 1);
    void *arguments[] = {&job};
    CUDA_TRY(d, cudaMemcpyAsync, on_device, splitters, count * sizeof *splitters, cudaMemcpyHostToDevice, d->stream);
    const char *failed =
        launch(d, address(counts_kernel), (searches + counts_threads - 1) / counts_threads, counts_threads, arguments);
    return failed ? failed : fetch(d, counts, job.counts, searches * sizeof *counts);
}

const char *scan_dist_device_wait(scan_dist_device *d) {
    const current_device current(d->ordinal);
    CUDA_TRY(d, cudaStreamSynchronize, d->stream);
    return nullptr;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

const char *scan_dist_device_open(scan_dist_device **device, int ordinal) {
    const current_device current(ordinal);
    scan_dist_device *d = *device = static_cast<scan_dist_device *>(calloc(1, sizeof *d));
    if (!d)
        return "no memory for a device";
    d->ordinal = ordinal;
    CUDA_TRY(d, cudaStreamCreateWithFlags, &d->stream, cudaStreamNonBlocking);
    return nullptr;
}

void scan_dist_device_close(scan_dist_device *d) {
    if (!d)
        return;
    const current_device current(d->ordinal);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    free(d);
}
