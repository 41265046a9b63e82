/* SPDX-License-Identifier: MIT
 *
 * Counts the additions of the block scans: the operator counts its calls on the device, and the count is compared with
 * the formula at the head of the algorithm's file.
 */
#include <cstdio>

#include "bench_cuda.h"
#include "scan/cuda/block/brent_kung.cuh"
#include "scan/cuda/block/kogge_stone.cuh"
#include "scan/cuda/block/warp.cuh"
#include "scan/cuda/device/kernel.cuh"

namespace bench_cuda {

constexpr int max_n = 2048;

__device__ unsigned counted;

struct counting_add {
    using type = uint32_t;
    static constexpr bool coded = false, commutative = true;
    static __host__ __device__ uint32_t identity() { return 0; }
    static __device__ uint32_t apply(uint32_t a, uint32_t b) {
        atomicAdd(&counted, 1u);
        return a + b;
    }
};

/* One CTA scans x[i] = i + 1 for i below the length of its section. */
template <class Block> __global__ void count_kernel(uint32_t *out, unsigned *additions) {
    const uint32_t section = blockDim.x * Block::elements_per_thread;
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>(), *other = xy + section;
    if (threadIdx.x == 0)
        counted = 0;
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x)
        xy[i] = i + 1;
    __syncthreads();
    const uint32_t *scanned = Block::template inclusive<counting_add>(xy, other);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < section; i += blockDim.x)
        out[i] = scanned[i];
    if (threadIdx.x == 0)
        *additions = counted;
}

/* ---- formulas, n a power of two ---------------------------------------------------------------------------------- */

static unsigned log2_of(unsigned n) { return unsigned(__builtin_ctz(n)); }
static unsigned kogge_stone_additions(unsigned n) { return n * log2_of(n) - (n - 1); }
static unsigned brent_kung_additions(unsigned n) { return n - 1 + (n - 1 - log2_of(n)); }

/* Kogge-Stone in each warp, then over the warps' totals; then all warps but the first add a total. */
static unsigned warp_additions(unsigned n) { return (n / 32 + 1) * kogge_stone_additions(32) + n - 32; }

struct row {
    const char *name, *formula;
    const void *kernel;
    unsigned elements_per_thread;
    unsigned (*additions)(unsigned n);
    unsigned sections[3];
};

static bool count(const row &r, unsigned n, uint32_t *out, unsigned *counter) {
    void *arguments[] = {&out, &counter};
    uint32_t host[max_n];
    unsigned additions = 0;
    cudaError_t error = cudaLaunchKernel(r.kernel, dim3(1), dim3(n / r.elements_per_thread), arguments,
                                         2 * n * sizeof(uint32_t), stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess)
        error = cudaMemcpy(host, out, n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = cudaMemcpy(&additions, counter, sizeof additions, cudaMemcpyDeviceToHost);
    bool right = error == cudaSuccess;
    for (unsigned i = 0; right && i < n; i++)
        right = host[i] == (i + 1) * (i + 2) / 2;
    if (!right) {
        printf("  %-12s %5u  wrong: %s\n", r.name, n, error == cudaSuccess ? "the sums" : cudaGetErrorString(error));
        return false;
    }
    printf("  %-12s %5u %8u %8u  %s%s\n", r.name, n, additions, r.additions(n), r.formula,
           additions == r.additions(n) ? "" : "  DIFFERS");
    return additions == r.additions(n);
}

bool additions() {
    using namespace scan_cuda;
    const row rows[] = {
        {"kogge-stone",
         "n log2 n - (n - 1)",
         address(count_kernel<kogge_stone>),
         kogge_stone::elements_per_thread,
         kogge_stone_additions,
         {16, 256, 1024}},
        {"brent-kung",
         "n - 1 to reduce, n - 1 - log2 n to distribute",
         address(count_kernel<brent_kung>),
         brent_kung::elements_per_thread,
         brent_kung_additions,
         {16, 1024, 2048}},
        {"warp",
         "129 (n / 32 + 1) + n - 32",
         address(count_kernel<warp_shuffle>),
         warp_shuffle::elements_per_thread,
         warp_additions,
         {64, 256, 1024}},
    };
    uint32_t *out = nullptr;
    if (cudaMalloc(reinterpret_cast<void **>(&out), (max_n + 1) * sizeof *out) != cudaSuccess)
        return false;
    printf("Additions of one block scan, counted by the operator (a serial scan needs n - 1)\n");
    printf("  %-12s %5s %8s %8s  %s\n", "block", "n", "counted", "formula", "");
    bool right = true;
    for (const row &r : rows)
        for (unsigned n : r.sections)
            right &= count(r, n, out, out + max_n);
    cudaFree(out);
    return right;
}

} /* namespace bench_cuda */
