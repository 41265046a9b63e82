/* SPDX-License-Identifier: MIT
 *
 * The measure of a histogram of 16-bit samples: a bare loop of atomic additions in shared memory over the same samples.
 * A CTA a multiprocessor keeps all 2^16 counters in 128 KB, two to a word, and adds them to the bins at its end. It
 * does nothing about a counter that overflows, so its bins are not those of the image, and they are not checked.
 */
#include <cstdio>

#include "bench_cuda.h"

namespace bench_cuda {

enum { ATOMICS_THREADS = 1024, ATOMICS_WORDS = 1 << 15 };

static __device__ void add_sample(unsigned *words, unsigned sample) {
    atomicAdd(&words[sample / 2], sample & 1 ? 1u << 16 : 1u);
}

static __global__ void __launch_bounds__(ATOMICS_THREADS)
    count_bare(const uint4 *samples, uint64_t vectors, unsigned *bins) {
    extern __shared__ unsigned words[];
    for (unsigned w = threadIdx.x; w < ATOMICS_WORDS; w += ATOMICS_THREADS)
        words[w] = 0;
    __syncthreads();
    const uint64_t step = uint64_t(gridDim.x) * ATOMICS_THREADS;
#pragma unroll 4
    for (uint64_t v = uint64_t(blockIdx.x) * ATOMICS_THREADS + threadIdx.x; v < vectors; v += step) {
        const uint4 eight = samples[v];
        for (unsigned word : {eight.x, eight.y, eight.z, eight.w}) {
            add_sample(words, word & 0xffff);
            add_sample(words, word >> 16);
        }
    }
    __syncthreads();
    for (unsigned w = threadIdx.x; w < ATOMICS_WORDS; w += ATOMICS_THREADS) {
        if (const unsigned pair = words[w]) {
            atomicAdd(&bins[2 * w], pair & 0xffff);
            atomicAdd(&bins[2 * w + 1], pair >> 16);
        }
    }
}

static bool run_bare(job *j, contender *) {
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    const size_t bytes = ATOMICS_WORDS * sizeof(unsigned);
    cudaError_t error = cudaFuncSetAttribute(count_bare, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (error == cudaSuccess)
        error = cudaMemsetAsync(j->d_out, 0, 2 * bytes, stream);
    if (error == cudaSuccess) {
        count_bare<<<processors, ATOMICS_THREADS, bytes, stream>>>(static_cast<const uint4 *>(j->d_in), j->n / 8,
                                                                   static_cast<unsigned *>(j->d_out));
        error = cudaGetLastError();
    }
    j->wrong = cudaGetErrorString(error);
    return error == cudaSuccess;
}

size_t add_bare_histogram(contender *c) {
    *c = contender{};
    snprintf(c->name, sizeof c->name, "bare loop of shared atomics");
    c->run = run_bare;
    c->unchecked = true;
    return 1;
}

} /* namespace bench_cuda */
