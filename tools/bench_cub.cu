/* SPDX-License-Identifier: MIT
 *
 * CUB as a peer (bench_cub.cmake chooses the version): scans, selections, histograms. Rows are few, because CUB is slow
 * to compile: unsigned and float types, 32-bit counts. bench_cub_sort.cu has the sorts.
 */
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

#include "bench_cuda.h"

#define HAS_RUN_TO_RUN_SCAN (CUB_VERSION >= 300500)

#if HAS_RUN_TO_RUN_SCAN
#include <cuda/execution>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#endif

namespace bench_cuda {

const char *cub_version() {
    static char text[32];
    snprintf(text, sizeof text, "CUB %d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    return text;
}

static void free_memory(contender *c) { cudaFree(c->memory); }

size_t add_peer(const job *j, contender *c, const char *name, peer_call call, bool (*run)(job *, contender *)) {
    *c = contender{};
    snprintf(c->name, sizeof c->name, "CUB %s", name);
    c->run = run;
    c->close = free_memory;
    if (call(j, nullptr, c->memory_bytes) != cudaSuccess ||
        cudaMalloc(&c->memory, c->memory_bytes + 256) != cudaSuccess) { /* not NULL, which asks for the size */
        cudaGetLastError();
        return 0;
    }
    return 1;
}

template <class T> const T *in(const job *j) { return static_cast<const T *>(j->d_in); }
template <class T> T *out(const job *j) { return static_cast<T *>(j->d_out); }

/* ---- prefix ------------------------------------------------------------------------------------------------------ */

template <class I, class T, class Op> cudaError_t inclusive(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceScan::InclusiveScan(memory, bytes, in<I>(j), out<T>(j), Op(), uint32_t(j->n), stream);
}

template <class I, class T, class Op> cudaError_t exclusive(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(memory, bytes, in<I>(j), out<T>(j), Op(), T(0), uint32_t(j->n), stream);
}

template <class T> using plus = cuda::std::plus<T>;

#if HAS_RUN_TO_RUN_SCAN
/* CUB's workspace as a memory resource. Where memory is NULL, it learns how much CUB needs; CUB, given NULL, then
 * stops. */
struct workspace {
    void *memory;
    size_t *bytes;

    void *allocate_sync(size_t needed, size_t) {
        *bytes = needed;
        return memory;
    }
    void *allocate(cuda::stream_ref, size_t needed, size_t alignment) { return allocate_sync(needed, alignment); }
    void deallocate_sync(void *, size_t, size_t) {}
    void deallocate(cuda::stream_ref, void *, size_t, size_t) {}
    bool operator==(const workspace &other) const { return memory == other.memory; }
    bool operator!=(const workspace &other) const { return memory != other.memory; }
};

/* The scan whose sums are added in the same order in every run on the same GPU. */
template <class I, class T> cudaError_t run_to_run(const job *j, void *memory, size_t &bytes) {
    const auto env = cuda::std::execution::env{
        cuda::stream_ref{stream}, cuda::execution::require(cuda::execution::determinism::run_to_run),
        cuda::std::execution::prop{cuda::mr::get_memory_resource, workspace{memory, &bytes}}};
    if (j->kind == SCAN_EXCLUSIVE)
        return cub::DeviceScan::ExclusiveScan(in<I>(j), out<T>(j), plus<T>(), T(0), uint32_t(j->n), env);
    return cub::DeviceScan::InclusiveScan(in<I>(j), out<T>(j), plus<T>(), uint32_t(j->n), env);
}
#endif

template <class I, class T, class Op> size_t add_scans(const job *j, contender *list) {
    constexpr bool adds = std::is_same_v<Op, plus<T>>;
    size_t count = 0;
    if (j->kind != SCAN_EXCLUSIVE)
        count = add_peer(j, list, "InclusiveScan", inclusive<I, T, Op>, run_peer<inclusive<I, T, Op>>);
    else if constexpr (adds)
        count = add_peer(j, list, "ExclusiveScan", exclusive<I, T, Op>, run_peer<exclusive<I, T, Op>>);
#if HAS_RUN_TO_RUN_SCAN
    if constexpr (adds && std::is_floating_point_v<T>)
        count += add_peer(j, list + count, "run-to-run", run_to_run<I, T>, run_peer<run_to_run<I, T>>);
#endif
    return count;
}

/* The unsigned type of the same size, which comes before the signed one in the enum. */
static scan_type without_sign(scan_type type) {
    return scan_type_class(type) == SCAN_SIGNED ? scan_type(type - 1) : type;
}

/* The rows that CUB serves; for any other operator or type it is no peer. */
static size_t prefix_contenders(const job *j, contender *list) {
    const bool signless = j->op == SCAN_ADD || j->op == SCAN_XOR; /* the unsigned type gives the same bits */
    const scan_type from = signless ? without_sign(j->type) : j->type;
    const scan_type to = signless ? without_sign(j->out_type) : j->out_type;
    if (from != to && j->type != from)
        return 0; /* the sign bit must be extended */
    const struct {
        scan_op op;
        scan_type from, to;
        size_t (*add)(const job *, contender *);
    } rows[] = {
        {SCAN_ADD, SCAN_U8, SCAN_U8, add_scans<uint8_t, uint8_t, plus<uint8_t>>},
        {SCAN_ADD, SCAN_U16, SCAN_U16, add_scans<uint16_t, uint16_t, plus<uint16_t>>},
        {SCAN_ADD, SCAN_U32, SCAN_U32, add_scans<uint32_t, uint32_t, plus<uint32_t>>},
        {SCAN_ADD, SCAN_U64, SCAN_U64, add_scans<uint64_t, uint64_t, plus<uint64_t>>},
        {SCAN_ADD, SCAN_F32, SCAN_F32, add_scans<float, float, plus<float>>},
        {SCAN_ADD, SCAN_F64, SCAN_F64, add_scans<double, double, plus<double>>},
        {SCAN_ADD, SCAN_U8, SCAN_U32, add_scans<uint8_t, uint32_t, plus<uint32_t>>},
        {SCAN_ADD, SCAN_U32, SCAN_U64, add_scans<uint32_t, uint64_t, plus<uint64_t>>},
        {SCAN_ADD, SCAN_F32, SCAN_F64, add_scans<float, double, plus<double>>},
        {SCAN_MAX, SCAN_U32, SCAN_U32, add_scans<uint32_t, uint32_t, cuda::maximum<uint32_t>>},
        {SCAN_MAX, SCAN_F32, SCAN_F32, add_scans<float, float, cuda::maximum<float>>},
        {SCAN_MUL, SCAN_U32, SCAN_U32, add_scans<uint32_t, uint32_t, cuda::std::multiplies<uint32_t>>},
        {SCAN_XOR, SCAN_U32, SCAN_U32, add_scans<uint32_t, uint32_t, cuda::std::bit_xor<uint32_t>>},
    };
    for (const auto &r : rows)
        if (r.op == j->op && r.from == from && r.to == to)
            return r.add(j, list);
    return 0;
}

/* ---- selections -------------------------------------------------------------------------------------------------- */

template <class T> struct below {
    T limit;
    __host__ __device__ bool operator()(T x) const { return x < limit; }
};

template <class T> below<T> predicate(const job *j) {
    return {std::is_floating_point_v<T> ? T(j->threshold.f) : T(j->threshold.u)};
}

template <class T> cudaError_t select_if(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceSelect::If(memory, bytes, in<T>(j), out<T>(j), j->d_count, int64_t(j->n), predicate<T>(j),
                                 stream);
}

template <class T> cudaError_t select_flagged(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceSelect::Flagged(memory, bytes, in<T>(j), static_cast<const uint8_t *>(j->d_values_in), out<T>(j),
                                      j->d_count, int64_t(j->n), stream);
}

template <class T> cudaError_t select_indices(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceSelect::FlaggedIf(memory, bytes, thrust::counting_iterator<uint32_t>(0), in<T>(j),
                                        out<uint32_t>(j), j->d_count, int64_t(j->n), predicate<T>(j), stream);
}

template <class T> cudaError_t partition_if(const job *j, void *memory, size_t &bytes) {
    return cub::DevicePartition::If(memory, bytes, in<T>(j), out<T>(j), j->d_count, int64_t(j->n), predicate<T>(j),
                                    stream);
}

template <class T> cudaError_t unique(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceSelect::Unique(memory, bytes, in<T>(j), out<T>(j), j->d_count, int64_t(j->n), stream);
}

template <class T> cudaError_t run_lengths(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceRunLengthEncode::Encode(memory, bytes, in<T>(j), out<T>(j),
                                              static_cast<uint32_t *>(j->d_values_out), j->d_count, int64_t(j->n),
                                              stream);
}

/* CUB writes the rejected elements after the kept ones, in reverse order. */
template <class T> void settle_partition(job *j, contender *) {
    const T *all = static_cast<const T *>(j->out);
    T *rest = static_cast<T *>(j->values_out);
    for (uint64_t i = j->count; i < j->n; i++)
        rest[j->n - 1 - i] = all[i];
}

template <class T> size_t selection_contenders(const job *j, contender *list) {
    size_t count = 0;
    switch (j->verb) {
    case BENCH_COMPACT: return add_peer(j, list, "Select::If", select_if<T>, run_peer<select_if<T>>);
    case BENCH_FLAGGED: return add_peer(j, list, "Select::Flagged", select_flagged<T>, run_peer<select_flagged<T>>);
    case BENCH_INDICES: return add_peer(j, list, "Select::FlaggedIf", select_indices<T>, run_peer<select_indices<T>>);
    case BENCH_PARTITION:
        count = add_peer(j, list, "Partition::If", partition_if<T>, run_peer<partition_if<T>>);
        list->settle = settle_partition<T>;
        return count;
    case BENCH_UNIQUE: return add_peer(j, list, "Select::Unique", unique<T>, run_peer<unique<T>>);
    case BENCH_LENGTHS: return add_peer(j, list, "RunLengthEncode", run_lengths<T>, run_peer<run_lengths<T>>);
    default: return 0;
    }
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

template <class T> cudaError_t histogram(const job *j, void *memory, size_t &bytes) {
    constexpr int bins = 1 << (8 * sizeof(T));
    return cub::DeviceHistogram::HistogramEven(memory, bytes, in<T>(j), out<unsigned>(j), bins + 1, 0, bins,
                                               int64_t(j->n), stream);
}

/* CUB's counts are widened: it counts in 32 bits here, which is its fastest way. */
static void settle_histogram(job *j, contender *) {
    char *bins = static_cast<char *>(j->out);
    for (size_t b = j->out_bytes / sizeof(uint64_t); b-- > 0;) {
        uint32_t narrow;
        memcpy(&narrow, bins + b * sizeof narrow, sizeof narrow);
        uint64_t wide = narrow;
        memcpy(bins + b * sizeof wide, &wide, sizeof wide);
    }
}

template <class T> size_t histogram_contenders(const job *j, contender *list) {
    size_t count = add_peer(j, list, "HistogramEven", histogram<T>, run_peer<histogram<T>>);
    list->settle = settle_histogram;
    return count;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

size_t contenders(const job *j, contender *list) {
    const bool ordered = j->spread.nan == 0; /* NaN equals NaN in the library, but not in CUB */
    if (j->n > UINT32_MAX)
        return 0;
    if (j->verb == BENCH_PREFIX)
        return prefix_contenders(j, list);
    if (j->verb == BENCH_HISTOGRAM && j->type == SCAN_U8)
        return histogram_contenders<uint8_t>(j, list);
    if (j->verb == BENCH_HISTOGRAM) {
        const size_t count = histogram_contenders<uint16_t>(j, list);
        return count + add_bare_histogram(list + count);
    }
    if (size_t count = sort_contenders(j, list))
        return count;
    switch (j->type) {
    case SCAN_U8: return selection_contenders<uint8_t>(j, list);
    case SCAN_U32: return selection_contenders<uint32_t>(j, list);
    case SCAN_U64: return selection_contenders<uint64_t>(j, list);
    case SCAN_F32: return ordered ? selection_contenders<float>(j, list) : 0;
    case SCAN_F64: return ordered ? selection_contenders<double>(j, list) : 0;
    default: return 0;
    }
}

} /* namespace bench_cuda */
