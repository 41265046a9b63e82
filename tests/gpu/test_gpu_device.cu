/* SPDX-License-Identifier: MIT
 *
 * The functions of CUDA C++ that kernels rely on, against plain loops over the lanes. On a device this is hardly
 * needed; it shows that the emulator means the same by them.
 */
#include "gpu_support.h"

#include <cuda_runtime_api.h>

#include "scan/cuda/device/kernel.cuh"
#include "scan/cuda/device/ptx.cuh"

using scan_cuda::all_lanes;

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

enum { THREADS = 96, RESULTS = 40 };

/* A value for every lane of every warp. */
static __host__ __device__ uint32_t value_of(uint32_t thread) {
    uint32_t x = thread * 2654435761u + 12345;
    return x ^ x >> 13;
}

struct results {
    uint32_t at[RESULTS][THREADS];
};

static __global__ void device_functions(results *r) {
    const uint32_t t = threadIdx.x, lane = t % 32, x = value_of(t), few = x % 5;
    const uint64_t wide = uint64_t(x) << 32 | t;
    __shared__ uint32_t counter, words[THREADS];
    __shared__ unsigned long long wide_counter;
    int k = 0;
    auto put = [&](uint32_t result) { r->at[k++][t] = result; };
    put(__shfl_sync(all_lanes, x, int(lane * 7 + 3)));
    put(__shfl_up_sync(all_lanes, x, 5));
    put(__shfl_down_sync(all_lanes, x, 9));
    put(__shfl_xor_sync(all_lanes, x, 21));
    put(__shfl_sync(all_lanes, x, 3, 8));
    put(__shfl_up_sync(all_lanes, x, 3, 16));
    put(uint32_t(__shfl_sync(all_lanes, wide, 31 - int(lane)) >> 16));
    put(__ballot_sync(all_lanes, x & 1));
    put(uint32_t(__any_sync(all_lanes, x % 64 == 1)));
    put(uint32_t(__all_sync(all_lanes, x % 64 != 1)));
    /* halves of a warp on their own */
    if (lane < 16)
        put(__ballot_sync(0x0000ffffu, x & 2));
    else
        put(__ballot_sync(0xffff0000u, x & 2));
    __syncwarp();
    put(uint32_t(__popc(x)));
    put(uint32_t(__clz(int(x >> lane))));
    put(uint32_t(__ffs(int(x << lane))));
    put(__brev(x));
    put(__byte_perm(x, ~x, 0x7531));
    put(__byte_perm(x, ~x, 0x8bc6));
    put(__funnelshift_r(x, ~x, lane));
    put(__funnelshift_l(x, ~x, lane));
    put(__umulhi(x, 0xdeadbeefu));
    put(uint32_t(__popcll(wide) + __clzll((long long)(wide >> lane)) + __ffsll((long long)(wide << lane))));
    put(min(few, 3u));
    put(uint32_t(max(int(few) - 2, 0)));
    put(__float_as_uint(__fadd_rn(float(few), 0.1f)));
    put(uint32_t(__syncthreads_count(x & 1)));
    put(uint32_t(__syncthreads_or(x == value_of(50))));
    put(uint32_t(__syncthreads_and(x != value_of(50))));
    if (t == 0) {
        counter = 0;
        wide_counter = 0;
    }
    words[t] = 0;
    __syncthreads();
    atomicAdd(&counter, few);
    atomicAdd(&wide_counter, (unsigned long long)x << 8);
    atomicMax(&words[0], x);
    atomicOr(&words[1], 1u << (x % 32));
    atomicAdd(&words[2 + few], 1u);
    __syncthreads();
    put(counter);
    put(uint32_t(wide_counter >> 8));
    put(words[0]);
    put(words[1]);
    put(words[2 + few]);
    __syncthreads();
    atomicExch(&words[t], x);
    put(atomicCAS(&words[t], x, 7u) == x && words[t] == 7);
#if __CUDA_ARCH__ >= 800
    put(__match_any_sync(all_lanes, few));
    put(__reduce_add_sync(all_lanes, x));
    put(__reduce_max_sync(all_lanes, x));
    put(__reduce_or_sync(all_lanes, x & 0x11111111u));
#else
    uint32_t same = 0;
    for (uint32_t v = 0; v < 5; v++) {
        uint32_t lanes = __ballot_sync(all_lanes, few == v);
        same = few == v ? lanes : same;
    }
    uint32_t sum = 0, largest = 0, bits = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t y = __shfl_sync(all_lanes, x, i);
        sum += y;
        largest = max(largest, y);
        bits |= y & 0x11111111u;
    }
    put(same);
    put(sum);
    put(largest);
    put(bits);
#endif
}

/* ---- the same by loops ------------------------------------------------------------------------------------------- */

static uint32_t byte_of(uint64_t bytes, uint32_t selector) { return uint32_t(bytes >> (selector & 7) * 8) & 255; }

static uint32_t permuted(uint32_t x, const uint32_t selectors[4]) {
    uint32_t y = 0;
    for (int i = 0; i < 4; i++)
        y |= byte_of(uint64_t(~x) << 32 | x, selectors[i]) << 8 * i;
    return y;
}

/* How often `holds` is true, of one warp's threads or of all. */
template <class Holds> static uint32_t count(uint32_t first, uint32_t end, Holds holds) {
    uint32_t n = 0;
    for (uint32_t i = first; i < end; i++)
        n += holds(value_of(i)) ? 1 : 0;
    return n;
}

template <class Holds> static uint32_t lanes(uint32_t first, Holds holds) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 32; i++)
        bits |= uint32_t(holds(value_of(first + i)) ? 1 : 0) << i;
    return bits;
}

static int leading_zeros(uint64_t x, int bits) {
    int n = 0;
    while (n < bits && !(x >> (bits - 1 - n) & 1))
        n++;
    return n;
}

static int first_set(uint64_t x) {
    for (int i = 0; i < 64; i++)
        if (x >> i & 1)
            return i + 1;
    return 0;
}

static uint32_t ones(uint64_t x) {
    uint32_t n = 0;
    for (; x; x >>= 1)
        n += uint32_t(x & 1);
    return n;
}

static int expected(uint32_t t, uint32_t *want) {
    const uint32_t lane = t % 32, warp = t - lane, x = value_of(t), few = x % 5;
    const uint64_t wide = uint64_t(x) << 32 | t, pair = uint64_t(~x) << 32 | x;
    static const uint32_t odd[4] = {1, 3, 5, 7}, mixed[4] = {6, 12, 11, 8};
    int k = 0;
    auto put = [&](uint32_t result) { want[k++] = result; };
    put(value_of(warp + (lane * 7 + 3) % 32));
    put(lane >= 5 ? value_of(t - 5) : x);
    put(lane + 9 < 32 ? value_of(t + 9) : x);
    put(value_of(warp + (lane ^ 21)));
    put(value_of(warp + lane / 8 * 8 + 3));
    put(lane % 16 >= 3 ? value_of(t - 3) : x);
    put(uint32_t((uint64_t(value_of(warp + 31 - lane)) << 32 | (warp + 31 - lane)) >> 16));
    put(lanes(warp, [](uint32_t y) { return y & 1; }));
    put(count(warp, warp + 32, [](uint32_t y) { return y % 64 == 1; }) > 0);
    put(count(warp, warp + 32, [](uint32_t y) { return y % 64 == 1; }) == 0);
    put(lanes(warp, [](uint32_t y) { return y & 2; }) & (lane < 16 ? 0x0000ffffu : 0xffff0000u));
    put(ones(x));
    put(uint32_t(leading_zeros(x >> lane, 32)));
    put(uint32_t(first_set(uint32_t(x << lane))));
    uint32_t reversed = 0;
    for (int i = 0; i < 32; i++)
        reversed |= (x >> i & 1) << (31 - i);
    put(reversed);
    put(permuted(x, odd));
    put(permuted(x, mixed));
    put(uint32_t(pair >> lane));
    put(uint32_t((pair << lane) >> 32));
    put(uint32_t(uint64_t(x) * 0xdeadbeefu >> 32));
    put(ones(wide) + uint32_t(leading_zeros(wide >> lane, 64) + first_set(wide << lane)));
    put(few < 3 ? few : 3);
    put(few > 2 ? few - 2 : 0);
    float f = float(few) + 0.1f;
    uint32_t f_bits;
    memcpy(&f_bits, &f, 4);
    put(f_bits);
    put(count(0, THREADS, [](uint32_t y) { return y & 1; }));
    put(1);
    put(0);
    uint32_t sum = 0, largest = 0, bits = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        sum += value_of(i) % 5;
        largest = value_of(i) > largest ? value_of(i) : largest;
        bits |= 1u << value_of(i) % 32;
    }
    uint64_t wide_sum = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        wide_sum += uint64_t(value_of(i)) << 8;
    put(sum);
    put(uint32_t(wide_sum >> 8));
    put(largest);
    put(bits);
    put(count(0, THREADS, [=](uint32_t y) { return y % 5 == few; }));
    put(1);
    put(lanes(warp, [=](uint32_t y) { return y % 5 == few; }));
    sum = largest = bits = 0;
    for (uint32_t i = warp; i < warp + 32; i++) {
        sum += value_of(i);
        largest = value_of(i) > largest ? value_of(i) : largest;
        bits |= value_of(i) & 0x11111111u;
    }
    put(sum);
    put(largest);
    put(bits);
    return k;
}

static void device_functions_as_loops(void **state) {
    (void)state;
    gpu_need();
    results *d, got;
    uint32_t want[RESULTS];
    cuda_ok(cudaMalloc((void **)&d, sizeof *d));
    cuda_ok(cudaMemset(d, 0, sizeof *d));
    void *arguments[] = {&d};
    cuda_ok(cudaLaunchKernel(scan_cuda::address(device_functions), dim3(1), dim3(THREADS), arguments, 0, 0));
    cuda_ok(cudaMemcpy(&got, d, sizeof got, cudaMemcpyDeviceToHost));
    cuda_ok(cudaFree(d));
    for (uint32_t t = 0; t < THREADS; t++) {
        const int n = expected(t, want);
        for (int k = 0; k < n; k++)
            if (got.at[k][t] != want[k])
                fail_msg("result %d of thread %u is %08x, not %08x", k, t, got.at[k][t], want[k]);
    }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {GPU_TEST(GPU_MATRIX | GPU_SMALL, device_functions_as_loops)};
    return gpu_main("gpu_device", tests, sizeof tests / sizeof tests[0], argc, argv);
}
