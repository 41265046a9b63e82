/* SPDX-License-Identifier: MIT
 *
 * A hunt's sets on the GPU: keys are made there, by the functions that make them on the host, and sorts are checked
 * there, by kernels that know of the library only what scan.h says of the order. So a set costs little more than its
 * sorts.
 *
 * Where positions travel along (pairs, argsort) there is one right result, and it is the one in which every element
 * comes before the next: by its key, or at an equal key by its position. n positions in strict order are all different,
 * so they are a permutation. Keys alone are checked by order and by a hash of the multiset, and where equal keys can be
 * told apart (NaN, zeros of both signs, ranges of bits) against the positions that a stable sort by the order's numbers
 * gives: CUB's, or in an emulated build the C++ library's.
 */
#include <algorithm>
#include <numeric>

#include "bench_cuda.h"

#define KEY_FUNCTION static inline __host__ __device__
#define ORDER_FUNCTION static inline __host__ __device__
enum { KEY_BLOCK = 1 };
#include "bench_sort_order.h"
#include "key_set_fill.h"
#include "scan/cuda/device/kernel.cuh"

namespace bench_cuda {

constexpr int threads = 256;
constexpr unsigned max_ctas = 4096;

static __device__ uint64_t first_index() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
static __device__ uint64_t index_step() { return uint64_t(gridDim.x) * blockDim.x; }

static __device__ uint64_t load(const void *array, unsigned bytes, uint64_t i) {
    switch (bytes) {
    case 1: return static_cast<const uint8_t *>(array)[i];
    case 2: return static_cast<const uint16_t *>(array)[i];
    case 4: return static_cast<const uint32_t *>(array)[i];
    default: return static_cast<const uint64_t *>(array)[i];
    }
}

/* One thread for some elements of n each. */
static bool run(const void *kernel, uint64_t n, void **arguments) {
    const uint64_t ctas = (n + threads - 1) / threads;
    return cudaLaunchKernel(kernel, dim3(unsigned(ctas < max_ctas ? ctas : max_ctas)), dim3(threads), arguments, 0,
                            stream) == cudaSuccess;
}

using scan_cuda::address;

/* ---- sets -------------------------------------------------------------------------------------------------------- */

__global__ void keys_kernel(const __grid_constant__ key_set set, void *to, unsigned bytes) {
    for (uint64_t i = first_index(); i < set.n; i += index_step()) {
        uint64_t key;
        fill_block(&set, i, 1, &key);
        store_key(static_cast<char *>(to) + i * bytes, bytes, key);
    }
}

__global__ void positions_kernel(void *to, unsigned bytes, uint64_t n) {
    for (uint64_t i = first_index(); i < n; i += index_step())
        store_key(static_cast<char *>(to) + i * bytes, bytes, i);
}

bool write_positions(void *to, unsigned bytes, uint64_t n) {
    void *arguments[] = {&to, &bytes, &n};
    return run(address(positions_kernel), n, arguments);
}

bool make_sets(const job *j) {
    key_set set = *j->keys;
    void *to = j->d_in;
    unsigned bytes = unsigned(type_bytes(j->type));
    void *arguments[] = {&set, &to, &bytes};
    return run(address(keys_kernel), j->n, arguments) &&
           (j->verb != BENCH_PAIRS || write_positions(j->d_values_in, j->value_bytes, j->n)) &&
           cudaStreamSynchronize(stream) == cudaSuccess;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

struct findings {
    unsigned long long hash; /* of the keys that came out, less that of those that went in */
    unsigned wrong;          /* elements */
    unsigned apart;          /* keys that compare equal to others: threads that saw some */
};

/* What is checked: keys, and positions unless bytes are 0. */
struct sorted_arrays {
    sort_order order;
    const void *in, *out; /* out: NULL for argsort */
    const void *positions;
    unsigned key_bytes, position_bytes;
    uint64_t n;
};

__global__ void positions_check_kernel(const __grid_constant__ sorted_arrays a, findings *found) {
    unsigned wrong = 0;
    for (uint64_t i = first_index(); i < a.n; i += index_step()) {
        const uint64_t at = load(a.positions, a.position_bytes, i),
                       last = i > 0 ? load(a.positions, a.position_bytes, i - 1) : 0;
        if (at >= a.n || last >= a.n) {
            wrong++;
            continue;
        }
        const uint64_t key = load(a.in, a.key_bytes, at), number = ordered(&a.order, key);
        wrong += a.out && load(a.out, a.key_bytes, i) != key;
        if (i > 0) {
            const uint64_t before = ordered(&a.order, load(a.in, a.key_bytes, last));
            wrong += !(before < number || (before == number && last < at));
        }
    }
    if (wrong)
        atomicAdd(&found->wrong, wrong);
}

__global__ void keys_check_kernel(const __grid_constant__ sorted_arrays a, findings *found) {
    unsigned wrong = 0;
    unsigned long long sum = 0;
    bool apart = false;
    for (uint64_t i = first_index(); i < a.n; i += index_step()) {
        const uint64_t went_in = load(a.in, a.key_bytes, i), came_out = load(a.out, a.key_bytes, i);
        if (i > 0)
            wrong += ordered(&a.order, load(a.out, a.key_bytes, i - 1)) > ordered(&a.order, came_out);
        sum += hash(1, came_out) - hash(1, went_in);
        apart |= has_equals(&a.order, went_in);
    }
    if (wrong)
        atomicAdd(&found->wrong, wrong);
    if (sum)
        atomicAdd(&found->hash, sum);
    if (apart)
        atomicAdd(&found->apart, 1u);
}

__global__ void numbers_kernel(const __grid_constant__ sorted_arrays a, uint64_t *numbers) {
    for (uint64_t i = first_index(); i < a.n; i += index_step())
        numbers[i] = ordered(&a.order, load(a.in, a.key_bytes, i));
}

__global__ void same_keys_kernel(const __grid_constant__ sorted_arrays a, findings *found) {
    unsigned wrong = 0;
    for (uint64_t i = first_index(); i < a.n; i += index_step())
        wrong += load(a.out, a.key_bytes, i) != load(a.in, a.key_bytes, load(a.positions, a.position_bytes, i));
    if (wrong)
        atomicAdd(&found->wrong, wrong);
}

#ifdef SCAN_EMULATED
size_t stable_sort_bytes(uint64_t) { return 1; }
bool stable_sort(const uint64_t *numbers, uint64_t *, uint32_t *, uint32_t *positions, void *, size_t, uint64_t n) {
    cudaStreamSynchronize(stream);
    std::iota(positions, positions + n, 0u);
    std::stable_sort(positions, positions + n, [&](uint32_t x, uint32_t y) { return numbers[x] < numbers[y]; });
    return true;
}
#endif

/* Sets wrong where a key that came out is not the one that a stable sort puts there. */
static bool compare_with_stable_sort(sorted_arrays a, findings *found) {
    const size_t bytes = stable_sort_bytes(a.n);
    char *memory = nullptr;
    if (cudaMalloc(reinterpret_cast<void **>(&memory), a.n * 24 + bytes + 512) != cudaSuccess)
        return false;
    uint64_t *numbers = reinterpret_cast<uint64_t *>(memory), *numbers_out = numbers + a.n;
    uint32_t *positions = reinterpret_cast<uint32_t *>(numbers_out + a.n), *positions_out = positions + a.n;
    char *workspace = memory + (a.n * 24 + 255) / 256 * 256;
    void *number_arguments[] = {&a, &numbers}, *arguments[] = {&a, &found};
    a.positions = positions_out;
    a.position_bytes = sizeof *positions_out;
    const bool right = run(address(numbers_kernel), a.n, number_arguments) &&
                       write_positions(positions, sizeof *positions, a.n) &&
                       stable_sort(numbers, numbers_out, positions, positions_out, workspace, bytes, a.n) &&
                       run(address(same_keys_kernel), a.n, arguments) && cudaStreamSynchronize(stream) == cudaSuccess;
    cudaFree(memory);
    return right;
}

static bool read_findings(const findings *found, findings *host) {
    return cudaMemcpyAsync(host, found, sizeof *host, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
           cudaStreamSynchronize(stream) == cudaSuccess;
}

const char *check_sort(const job *j) {
    static findings *found;
    findings host;
    const bool positions = j->verb != BENCH_SORT, pairs = j->verb == BENCH_PAIRS;
    sorted_arrays a = {order_of_job(j), j->d_in, j->verb == BENCH_ARGSORT ? nullptr : j->d_out, nullptr, 0, 0, j->n};
    a.key_bytes = unsigned(type_bytes(j->type));
    if (positions) {
        a.positions = pairs ? j->d_values_out : j->d_out;
        a.position_bytes = pairs ? j->value_bytes : j->n < UINT64_C(1) << 32 ? 4 : 8;
    }
    void *arguments[] = {&a, &found};
    if ((!found && cudaMalloc(reinterpret_cast<void **>(&found), sizeof *found) != cudaSuccess) ||
        cudaMemsetAsync(found, 0, sizeof *found, stream) != cudaSuccess ||
        !run(positions ? address(positions_check_kernel) : address(keys_check_kernel), j->n, arguments) ||
        !read_findings(found, &host) ||
        (host.apart && !(compare_with_stable_sort(a, found) && read_findings(found, &host)))) {
        cudaGetLastError();
        return "the result could not be checked";
    }
    return host.wrong || host.hash ? "not sorted, not stable, or not the same elements" : nullptr;
}

} /* namespace bench_cuda */
