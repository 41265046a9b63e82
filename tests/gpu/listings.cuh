/* SPDX-License-Identifier: MIT
 *
 * Scans as they stand in printed listings, with the defects those have: one kernel a defect, for tests that show that
 * it matters and that the library's kernels do not share it. Nothing here is used outside the tests.
 *
 *     1, 2   undefined behaviour: compute-sanitizer reports the first, the emulator the second; their results prove
 *            nothing
 *     3 - 8  wrong results or wrong addresses, on any device
 */
#ifndef TESTS_GPU_LISTINGS_CUH
#define TESTS_GPU_LISTINGS_CUH

#include <cstdint>

#include "scan/cuda/device/kernel.cuh"

namespace listings {

/* Defect 1. Kogge-Stone in one buffer: each thread reads what its neighbour writes between the same two barriers. */
static __global__ void one_buffer(const uint32_t *x, uint32_t *y) {
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>();
    const unsigned t = threadIdx.x;
    xy[t] = x[blockIdx.x * blockDim.x + t];
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        if (t >= stride)
            xy[t] += xy[t - stride];
    }
    y[blockIdx.x * blockDim.x + t] = xy[t];
}

/* Defect 2. A barrier in a loop that every thread leaves after its own number of steps. */
static __global__ void own_number_of_barriers(const uint32_t *x, uint32_t *y) {
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>();
    const unsigned t = threadIdx.x;
    xy[t] = x[blockIdx.x * blockDim.x + t];
    for (unsigned stride = 1; stride <= t; stride *= 2) {
        __syncthreads();
        xy[t] += xy[t - stride];
    }
    y[blockIdx.x * blockDim.x + t] = xy[t];
}

/* Defect 3. The last section is partial, and written whole. */
static __global__ void writes_past_the_end(const uint32_t *x, uint32_t *y, uint64_t n) {
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>(), *other = xy + blockDim.x;
    const unsigned t = threadIdx.x;
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + t;
    if (i < n)
        xy[t] = x[i]; /* else whatever the shared memory holds */
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        other[t] = t >= stride ? xy[t - stride] + xy[t] : xy[t];
        __syncthreads();
        uint32_t *written = other;
        other = xy;
        xy = written;
    }
    y[i] = xy[t];
}

/* Defect 4. Brent-Kung with two elements a thread, its loops bounded by the number of threads: by the first bound the
 * reduction lacks its last level, by the second the distribution reaches half the section only. */
static __global__ void bounds_of_the_block(const uint32_t *x, uint32_t *y, bool reduction, bool distribution) {
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>();
    const unsigned t = threadIdx.x, threads = blockDim.x, section = 2 * threads;
    xy[t] = x[t];
    xy[t + threads] = x[t + threads];
    __syncthreads();
    for (unsigned stride = 1; stride < (reduction ? threads : section); stride *= 2) {
        const unsigned i = (t + 1) * 2 * stride - 1;
        if (i < (reduction ? threads : section))
            xy[i] += xy[i - stride];
        __syncthreads();
    }
    for (unsigned stride = section / 4; stride > 0; stride /= 2) {
        const unsigned i = (t + 1) * 2 * stride - 1;
        if (i + stride < (distribution ? threads : section))
            xy[i + stride] += xy[i];
        __syncthreads();
    }
    y[t] = xy[t];
    y[t + threads] = xy[t + threads];
}

/* Sections of two elements a thread, scanned by one thread: what follows is about the block sums. */
static __device__ void scan_section(const uint32_t *x, uint32_t *y, uint64_t n, uint32_t *xy) {
    const unsigned section = 2 * blockDim.x;
    const uint64_t first = uint64_t(blockIdx.x) * section;
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < section; i++) {
            xy[i] = (i ? xy[i - 1] : 0) + (first + i < n ? x[first + i] : 0);
            if (first + i < n)
                y[first + i] = xy[i];
        }
    __syncthreads();
}

/* Defect 5. No thread has the number section - 1 when each has two elements: S is never written. */
static __global__ void sums_by_the_last_element(const uint32_t *x, uint32_t *y, uint32_t *s, uint64_t n) {
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>();
    const unsigned section = 2 * blockDim.x;
    scan_section(x, y, n, xy);
    if (threadIdx.x == section - 1)
        s[blockIdx.x] = xy[section - 1];
}

/* The same with the sum written; a partial last section has one too, so S needs ceil(n / section) elements. */
static __global__ void sums_of_sections(const uint32_t *x, uint32_t *y, uint32_t *s, uint64_t n) {
    uint32_t *xy = scan_cuda::dynamic_shared<uint32_t>();
    scan_section(x, y, n, xy);
    if (threadIdx.x == 0)
        s[blockIdx.x] = xy[2 * blockDim.x - 1];
}

/* Defect 6. A block adds the fold that includes its own elements. */
static __global__ void adds_its_own_sum(uint32_t *y, const uint32_t *s, uint64_t n) {
    const uint64_t first = uint64_t(blockIdx.x) * 2 * blockDim.x;
    for (unsigned i = threadIdx.x; i < 2 * blockDim.x; i += blockDim.x)
        if (first + i < n)
            y[first + i] += s[blockIdx.x];
}

/* ... and as it must be. */
static __global__ void adds_the_sum_before(uint32_t *y, const uint32_t *s, uint64_t n) {
    const uint64_t first = uint64_t(blockIdx.x) * 2 * blockDim.x;
    for (unsigned i = threadIdx.x; i < 2 * blockDim.x; i += blockDim.x)
        if (first + i < n && blockIdx.x > 0)
            y[first + i] += s[blockIdx.x - 1];
}

/* Defect 7. S is scanned by one block, as far as one section reaches. */
static __global__ void scans_one_section_of_sums(uint32_t *s, uint64_t count) {
    const unsigned section = 2 * blockDim.x;
    if (threadIdx.x == 0)
        for (uint64_t b = 1; b < section && b < count; b++)
            s[b] += s[b - 1];
}

/* Defect 8. In place, doubles; the last thread of a block reads the block's total back from the array: in a partial
 * last block that is an address past its end. Threads past the end add what the shared memory happens to hold. */
static __global__ void reads_the_total_back(double *a, double *s, uint64_t width) {
    double *p = scan_cuda::dynamic_shared<double>();
    const unsigned t = threadIdx.x;
    const uint64_t b = uint64_t(blockIdx.x) * blockDim.x;
    double x = 0;
    if (b + t < width)
        p[t] = a[b + t];
    __syncthreads();
    for (unsigned i = 1; i < blockDim.x; i *= 2) {
        if (t >= i)
            x = p[t] + p[t - i];
        __syncthreads();
        if (t >= i)
            p[t] = x;
        __syncthreads();
    }
    if (b + t < width)
        a[b + t] = p[t];
    if (t == blockDim.x - 1)
        s[blockIdx.x + 1] = a[b + t];
}

} /* namespace listings */

#endif
