/* SPDX-License-Identifier: MIT
 *
 * CUB's merge and radix sort as peers: keys, pairs, and for argsort pairs of keys and positions, where the positions
 * are written beforehand, untimed. Each is measured with n of 4 bytes and of 8, for which CUB has different kernels;
 * either may be faster (4-byte keys alone: 5.4 ms instead of 6.3 with 8 bytes, 2^28 on an H200).
 */
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <cstdlib>

#include "bench_cuda.h"

namespace bench_cuda {

template <class K> int end_bit(const job *j) { return j->end_bit != 0 ? int(j->end_bit) : int(8 * sizeof(K)); }

template <class K, class N> cudaError_t sort_keys(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, static_cast<const K *>(j->d_in), static_cast<K *>(j->d_out),
                                          N(j->n), int(j->begin_bit), end_bit<K>(j), stream);
}

template <class K, class V, class N> cudaError_t sort_pairs(const job *j, void *memory, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, static_cast<const K *>(j->d_in), static_cast<K *>(j->d_out),
                                           static_cast<const V *>(j->d_values_in), static_cast<V *>(j->d_values_out),
                                           N(j->n), int(j->begin_bit), end_bit<K>(j), stream);
}

static size_t align_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* The memory holds the positions, the sorted keys, which are not used, and CUB's workspace. */
template <class K, class N> cudaError_t sort_positions(const job *j, void *memory, size_t &bytes) {
    const size_t positions_bytes = align_up(j->n * sizeof(uint32_t)), keys_bytes = align_up(j->n * sizeof(K));
    char *positions = static_cast<char *>(memory), *keys = positions + positions_bytes;
    size_t own = memory ? bytes - positions_bytes - keys_bytes : 0;
    cudaError_t error = cub::DeviceRadixSort::SortPairs(
        memory ? keys + keys_bytes : nullptr, own, static_cast<const K *>(j->d_in), reinterpret_cast<K *>(keys),
        reinterpret_cast<const uint32_t *>(positions), static_cast<uint32_t *>(j->d_out), N(j->n), int(j->begin_bit),
        end_bit<K>(j), stream);
    if (!memory)
        bytes = positions_bytes + keys_bytes + own;
    return error;
}

size_t stable_sort_bytes(uint64_t n) {
    size_t bytes = 0;
    cub::DeviceRadixSort::SortPairs(nullptr, bytes, static_cast<const uint64_t *>(nullptr),
                                    static_cast<uint64_t *>(nullptr), static_cast<const uint32_t *>(nullptr),
                                    static_cast<uint32_t *>(nullptr), n, 0, 64, stream);
    return bytes;
}

bool stable_sort(const uint64_t *numbers, uint64_t *numbers_out, uint32_t *positions, uint32_t *positions_out,
                 void *workspace, size_t bytes, uint64_t n) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, numbers, numbers_out,
                                           static_cast<const uint32_t *>(positions), positions_out, n, 0, 64,
                                           stream) == cudaSuccess;
}

/* With lengths of 8 bytes. */
template <class K> cudaError_t merge_keys(const job *j, void *memory, size_t &bytes) {
    const K *in = static_cast<const K *>(j->d_in);
    const int64_t half = int64_t(j->n / 2);
    return cub::DeviceMerge::MergeKeys(memory, bytes, in, half, in + half, int64_t(j->n) - half,
                                       static_cast<K *>(j->d_out), {}, stream);
}

/* Contenders with n of type N. */
template <class K, class N> size_t contenders_with(const job *j, contender *list, const char *name) {
    switch (j->verb) {
    case BENCH_SORT: return add_peer(j, list, name, sort_keys<K, N>, run_peer<sort_keys<K, N>>);
    case BENCH_PAIRS:
        if (j->value_bytes == 8)
            return add_peer(j, list, name, sort_pairs<K, uint64_t, N>, run_peer<sort_pairs<K, uint64_t, N>>);
        return add_peer(j, list, name, sort_pairs<K, uint32_t, N>, run_peer<sort_pairs<K, uint32_t, N>>);
    case BENCH_ARGSORT: {
        size_t count = add_peer(j, list, name, sort_positions<K, N>, run_peer<sort_positions<K, N>>);
        return count && write_positions(list->memory, sizeof(uint32_t), j->n) ? 1 : 0;
    }
    default: return 0;
    }
}

template <class K> size_t contenders_of(const job *j, contender *list) {
    if (j->verb == BENCH_MERGE)
        return add_peer(j, list, "merge", merge_keys<K>, run_peer<merge_keys<K>>);
    const size_t count = contenders_with<K, uint32_t>(j, list, "radix sort, u32 n");
    return count + contenders_with<K, uint64_t>(j, list + count, "radix sort, u64 n");
}

/* CUB is slow to compile, so signed keys are sorted as unsigned ones of the same bits, and descending as ascending: it
 * inverts bits of the keys as it reads and writes them, and the passes and their cost are the same. These results, and
 * those of NaN, which CUB orders by their bits, are not the job's, and are not checked. */
static bool is_another_order(const job *j) {
    return j->descending || j->nan_first || scan_type_class(j->type) == SCAN_SIGNED || j->spread.nan > 0 ||
           key_set_has_nan(j->keys);
}

size_t sort_contenders(const job *j, contender *list) {
    size_t count = 0;
    switch (j->type) {
    case SCAN_U8:
    case SCAN_I8: count = contenders_of<uint8_t>(j, list); break;
    case SCAN_U16:
    case SCAN_I16: count = contenders_of<uint16_t>(j, list); break;
    case SCAN_U32:
    case SCAN_I32: count = contenders_of<uint32_t>(j, list); break;
    case SCAN_U64:
    case SCAN_I64: count = contenders_of<uint64_t>(j, list); break;
    case SCAN_F32: count = contenders_of<float>(j, list); break;
    case SCAN_F64: count = contenders_of<double>(j, list); break;
    case SCAN_TYPE_NONE: break;
    }
    for (size_t c = 0; c < count; c++)
        list[c].unchecked = is_another_order(j);
    return count;
}

} /* namespace bench_cuda */
