/* SPDX-License-Identifier: MIT
 *
 * Does the emulator see what it is there for? Kernels with one defect each: those that it detects must end the process
 * with the right words, those that are races must give a wrong result in some order. And kernels without defects that
 * use what is hard to get right: clusters, asynchronous copies, graphs. (Warp and CTA functions:
 * gpu/test_gpu_device.cu, on a real device too.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

#include "scan/cuda/device/kernel.cuh"
#include "scan/cuda/device/ptx.cuh"

using scan_cuda::address;
using scan_cuda::dynamic_shared;

#define cuda_ok(call) assert_int_equal(call, cudaSuccess)

static cudaError_t start(const void *kernel, unsigned blocks, unsigned threads, void **arguments,
                         size_t shared_bytes = 0) {
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, shared_bytes, nullptr);
}

/* ---- defects that end the process -------------------------------------------------------------------------------- */

static __global__ void some_skip_a_barrier(uint32_t *) {
    if (threadIdx.x < 32)
        __syncthreads();
}

static __global__ void lanes_of_one_mask_part(uint32_t *out) {
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_sync(~0u, threadIdx.x, 3);
    else
        __syncthreads();
}

static __global__ void lanes_do_different_things(uint32_t *out) {
    if (threadIdx.x < 16)
        out[threadIdx.x] = __ballot_sync(~0u, 1);
    else
        out[threadIdx.x] = __shfl_sync(~0u, 1u, 0);
}

static __global__ void a_lane_outside_its_mask(uint32_t *) { __syncwarp(0xffff); }

static __global__ void a_vector_store_off_its_alignment(uint32_t *out) {
    __stcs(reinterpret_cast<uint4 *>(reinterpret_cast<char *>(out) + threadIdx.x * 16 + 4), make_uint4(1, 2, 3, 4));
}

static __global__ void a_barrier_never_initialised(uint32_t *) {
    __shared__ uint64_t barrier;
    scan_cuda::barrier_wait(&barrier, 0);
}

static __global__ void a_copy_nobody_waits_for(uint32_t *out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        scan_cuda::barrier_init(&barrier, 1);
        scan_cuda::barrier_arrive_expect(&barrier, 64 * 16);
    }
    __syncthreads();
    scan_cuda::bulk_load(dynamic_shared<uint4>() + threadIdx.x, out + threadIdx.x * 4, 16, &barrier);
}

static __global__ void two_copies_to_one_place_at_once(uint32_t *out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        scan_cuda::barrier_init(&barrier, 1);
        scan_cuda::barrier_arrive_expect(&barrier, 2048);
        scan_cuda::bulk_load(dynamic_shared<char>(), out, 1024, &barrier);
        scan_cuda::bulk_load(dynamic_shared<char>() + 512, out, 1024, &barrier);
    }
}

enum fence_place { no_fence, before_wait, after_wait };

/* One thread copies twice to one place, which all threads have read in between. */
template <fence_place fence> static __global__ void copied_twice(uint32_t *out) {
    __shared__ __align__(16) uint32_t slot[64];
    __shared__ uint64_t loaded, consumed;
    if (threadIdx.x == 0) {
        scan_cuda::barrier_init(&loaded, 1);
        scan_cuda::barrier_init(&consumed, 64);
    }
    __syncthreads();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            if (fence == before_wait)
                scan_cuda::bulk_fence();
            if (i > 0)
                scan_cuda::barrier_wait(&consumed, i - 1);
            if (fence == after_wait)
                scan_cuda::bulk_fence();
            scan_cuda::barrier_arrive_expect(&loaded, sizeof slot);
            scan_cuda::bulk_load(slot, out + i * 64, sizeof slot, &loaded);
        }
        scan_cuda::barrier_wait(&loaded, i);
        sum += slot[threadIdx.x];
        scan_cuda::barrier_arrive(&consumed);
    }
    out[(4 + blockIdx.x) * 64 + threadIdx.x] = sum;
}

/* Each thread copies 16 bytes for others, and arrives when they are there or, which is too early, at once. */
template <bool when_done> static __global__ void copied_by_each(uint32_t *out) {
    __shared__ __align__(16) uint32_t slot[256];
    __shared__ uint64_t loaded;
    if (threadIdx.x == 0)
        scan_cuda::barrier_init(&loaded, 64);
    __syncthreads();
    scan_cuda::async_copy(slot + threadIdx.x * 4, out + threadIdx.x * 4);
    if (when_done)
        scan_cuda::async_copies_arrive(&loaded);
    else
        scan_cuda::barrier_arrive(&loaded);
    scan_cuda::barrier_wait(&loaded, 0);
    const uint32_t x = slot[255 - threadIdx.x];
    out[(4 + blockIdx.x) * 64 + threadIdx.x + x / 2] = x; /* 0 or 1, or rubbish */
}

/* Lanes wait by themselves and come to a barrier of the CTA. Each finds its word at the second attempt. */
template <bool together> static __global__ void lanes_wait_for_words(uint32_t *out) {
    uint64_t *word = reinterpret_cast<uint64_t *>(out) + blockIdx.x * 64 + threadIdx.x;
    uint32_t x;
    while (!scan_cuda::try_load(word, 77, x))
        scan_cuda::publish(word, 77, 1u);
    if (together)
        __syncwarp();
    __syncthreads();
    out[(4 + blockIdx.x) * 64 + threadIdx.x] = x;
}

template <bool together> static __global__ void lanes_wait_at_an_mbarrier(uint32_t *out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        scan_cuda::barrier_init(&barrier, 64);
    __syncthreads();
    scan_cuda::barrier_arrive(&barrier);
    scan_cuda::barrier_wait(&barrier, 0);
    if (together)
        __syncwarp();
    scan_cuda::named_barrier_sync(1, 64);
    out[(4 + blockIdx.x) * 64 + threadIdx.x] = 1;
}

static __global__ void one_element_too_far(uint32_t *out) { out[1024 + blockIdx.x] = 1; }

static __global__ void shared_memory_too_far(uint32_t *) { dynamic_shared<uint32_t>()[1024 + threadIdx.x] = 1; }

static __global__ void two_blocks_wait_for_each_other(uint32_t *out) {
    uint32_t x;
    while (!scan_cuda::try_load(reinterpret_cast<uint64_t *>(out) + (blockIdx.x ^ 1), 77, x))
        ;
    scan_cuda::publish(reinterpret_cast<uint64_t *>(out) + blockIdx.x, 77, x);
}

static const struct {
    const char *name;
    const void *kernel;
    const char *words; /* one of them, parted by | */
} defects[] = {
#define DEFECT(name, words)                                                                                            \
    { #name, address(name), words }
    DEFECT(some_skip_a_barrier, "threads wait at __syncthreads()|of the CTA have ended"),
    DEFECT(lanes_of_one_mask_part, "wait at __shfl_sync() with mask ffffffff for lanes ffff0000"),
    DEFECT(lanes_do_different_things, "while other lanes of mask ffffffff are at"),
    DEFECT(a_lane_outside_its_mask, "leaves out the calling lane"),
    DEFECT(a_vector_store_off_its_alignment, "misaligned"),
    DEFECT(a_barrier_never_initialised, "no mbarrier was initialised"),
    DEFECT(a_copy_nobody_waits_for, "the CTA ends before its bulk_load() is done"),
    DEFECT(two_copies_to_one_place_at_once, "is not done yet|there is no bulk_fence()"),
    DEFECT(copied_twice<no_fence>, "there is no bulk_fence()"),
    DEFECT(copied_twice<before_wait>, "there is no bulk_fence()"),
    DEFECT(copied_by_each<false>, "use-after-poison|SEGV"),
    DEFECT(lanes_wait_for_words<false>, "__syncthreads() by a lane that has waited by itself"),
    DEFECT(lanes_wait_at_an_mbarrier<false>, "named_barrier_sync() by a lane that has waited by itself"),
    DEFECT(one_element_too_far, "past its end|use-after-poison"),
    DEFECT(shared_memory_too_far, "use-after-poison|SEGV"),
    DEFECT(two_blocks_wait_for_each_other, "no progress"),
};

/* In a process of its own. */
static int run_defect(const char *name) {
    for (const auto &d : defects)
        if (!strcmp(d.name, name)) {
            void *memory;
            cudaMalloc(&memory, 4096);
            cudaMemset(memory, 0, 4096);
            void *arguments[] = {&memory};
            start(d.kernel, 2, 64, arguments, 4096);
            cudaFree(memory);
            return 0;
        }
    return 1;
}

static bool contains_one(const char *text, const char *words) {
    char word[128];
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|') {
        snprintf(word, sizeof word, "%.*s", int(strcspn(at, "|")), at);
        if (strstr(text, word))
            return true;
    }
    return false;
}

static void defects_are_reported(void **) {
    for (const auto &d : defects) {
        static char text[1 << 16];
        size_t length = 0;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], 2);
            close(ends[0]);
            close(ends[1]);
            setenv("SCAN_EMULATED_PATIENCE", "1", 1);
            execl("/proc/self/exe", "test_emulator", d.name, nullptr);
            _exit(127);
        }
        close(ends[1]);
        for (ssize_t got;
             length < sizeof text - 1 && (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
            length += size_t(got);
        text[length] = 0;
        close(ends[0]);
        int status;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
            snprintf(text, sizeof text, "SIGSEGV");
        if (status == 0 || !contains_one(text, d.words))
            fail_msg("%s: status %d, and it said: %s", d.name, status, text);
    }
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

/* Each writes 1 to every element if nothing goes wrong. */
static __global__ void no_barrier_between_write_and_read(uint32_t *out) {
    __shared__ uint32_t x[128];
    x[threadIdx.x] = 1;
    out[threadIdx.x] = x[blockDim.x - 1 - threadIdx.x];
}

static __global__ void no_barrier_before_the_next_write(uint32_t *out) {
    __shared__ uint32_t x;
    uint32_t right = 1;
    for (uint32_t i = 0; i < 8; i++) {
        if (threadIdx.x == 0)
            x = i;
        __syncthreads();
        right &= x == i;
    }
    out[threadIdx.x] = right;
}

static __global__ void no_syncwarp(uint32_t *out) {
    __shared__ uint32_t x[128];
    x[threadIdx.x] = 1;
    out[threadIdx.x] = x[threadIdx.x ^ 1];
}

static __global__ void shared_memory_taken_for_zero(uint32_t *out) {
    __shared__ uint32_t x[128];
    if (threadIdx.x % 2)
        x[threadIdx.x] = 0;
    __syncthreads();
    out[threadIdx.x] = x[threadIdx.x] == 0;
}

static __global__ void a_counter_without_an_atomic(uint32_t *out) {
    __shared__ uint32_t sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    uint32_t before = sum;
    __syncwarp();
    sum = before + 1;
    __syncthreads();
    out[threadIdx.x] = sum == blockDim.x;
}

/* As if blocks began in the order of their indices. */
static __global__ void blocks_in_order(uint32_t *out, uint32_t *next) {
    if (threadIdx.x == 0)
        out[blockIdx.x] = atomicAdd(next, 1u) == blockIdx.x;
}

static bool goes_wrong(const void *kernel, unsigned blocks, unsigned threads) {
    uint32_t *out, *next, got[128];
    cuda_ok(cudaMalloc(reinterpret_cast<void **>(&out), sizeof got));
    cuda_ok(cudaMalloc(reinterpret_cast<void **>(&next), sizeof *next));
    bool wrong = false;
    for (int round = 0; round < 20; round++) {
        cuda_ok(cudaMemset(next, 0, sizeof *next));
        void *arguments[] = {&out, &next};
        cuda_ok(start(kernel, blocks, threads, arguments));
        cuda_ok(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < blocks * threads && i < 128; i++)
            wrong |= got[i] != 1 && (threads > 1 || i < blocks);
    }
    cuda_ok(cudaFree(out));
    cuda_ok(cudaFree(next));
    return wrong;
}

static void races_show(void **) {
    assert_true(goes_wrong(address(no_barrier_between_write_and_read), 1, 128));
    assert_true(goes_wrong(address(no_barrier_before_the_next_write), 1, 128));
    assert_true(goes_wrong(address(no_syncwarp), 1, 128));
    assert_true(goes_wrong(address(shared_memory_taken_for_zero), 1, 128));
    assert_true(goes_wrong(address(a_counter_without_an_atomic), 1, 128));
    assert_true(goes_wrong(address(blocks_in_order), 100, 1));
}

/* ---- what must work ---------------------------------------------------------------------------------------------- */

/* Every CTA sums what the others of its cluster have in dynamic and static shared memory. */
static __global__ void cluster_sums(uint32_t *out) {
    __shared__ uint32_t fixed[32];
    uint32_t *dynamic = dynamic_shared<uint32_t>();
    fixed[threadIdx.x] = blockIdx.x;
    dynamic[threadIdx.x] = 1000 * threadIdx.x;
    emulator::cluster_arrive(true);
    emulator::cluster_wait();
    uint32_t sum = 0;
    for (unsigned i = 0; i < emulator::cluster_size(); i++)
        sum += static_cast<uint32_t *>(emulator::cluster_map(fixed, i))[threadIdx.x] +
               static_cast<uint32_t *>(emulator::cluster_map(dynamic, i))[threadIdx.x];
    out[blockIdx.x * 32 + threadIdx.x] = sum * 100 + emulator::cluster_rank();
    emulator::cluster_arrive(true);
    emulator::cluster_wait();
}

static void clusters(void **) {
    enum { SIZE = 8, CLUSTERS = 5 };
    uint32_t *out, got[SIZE * CLUSTERS * 32];
    cuda_ok(cudaMalloc(reinterpret_cast<void **>(&out), sizeof got));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {SIZE, 1, 1};
    cudaLaunchConfig_t config = {dim3(SIZE * CLUSTERS), dim3(32), 128, nullptr, &attribute, 1};
    void *arguments[] = {&out};
    cuda_ok(cudaLaunchKernelExC(&config, address(cluster_sums), arguments));
    cuda_ok(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < SIZE * CLUSTERS * 32; i++) {
        uint32_t block = i / 32, first = block / SIZE * SIZE, sum = 0;
        for (uint32_t b = first; b < first + SIZE; b++)
            sum += b + 1000 * (i % 32);
        assert_int_equal(got[i], sum * 100 + block % SIZE);
    }
    attribute.val.clusterDim.x = 16;
    config.gridDim = dim3(16);
    assert_int_equal(cudaLaunchKernelExC(&config, address(cluster_sums), arguments), cudaErrorInvalidConfiguration);
    cuda_ok(cudaFree(out));
}

/* Those kernels without the defect. Each writes to 64 elements a block, from element 256 on. */
static void fences_and_whole_warps(void **) {
    const struct {
        const void *kernel;
        uint32_t want;
    } runs[] = {{address(copied_twice<after_wait>), 2},
                {address(copied_by_each<true>), 1},
                {address(lanes_wait_for_words<true>), 1},
                {address(lanes_wait_at_an_mbarrier<true>), 1}};
    for (const auto &run : runs) {
        uint32_t *memory, host[384];
        for (uint32_t &x : host)
            x = 1;
        cuda_ok(cudaMalloc(reinterpret_cast<void **>(&memory), sizeof host));
        cuda_ok(cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice));
        void *arguments[] = {&memory};
        cuda_ok(start(run.kernel, 2, 64, arguments));
        cuda_ok(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 256; i < 384; i++)
            assert_int_equal(host[i], run.want);
        cuda_ok(cudaFree(memory));
    }
}

/* A ring of two slots, filled by one thread and read by a warp. */
static __global__ void copied(const uint32_t *in, uint32_t *out, int rounds) {
    __shared__ __align__(16) uint32_t slot[2][32];
    __shared__ uint64_t full[2], empty[2];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            scan_cuda::barrier_init(&full[i], 1);
            scan_cuda::barrier_init(&empty[i], 32);
        }
    __syncthreads();
    for (int i = 0; i < rounds; i++)
        if (threadIdx.x == 32) {
            if (i >= 2)
                scan_cuda::barrier_wait(&empty[i % 2], uint32_t(i / 2 - 1) & 1);
            scan_cuda::bulk_fence();
            scan_cuda::barrier_arrive_expect(&full[i % 2], 128);
            scan_cuda::bulk_load(slot[i % 2], in + i * 32, 128, &full[i % 2]);
        } else if (threadIdx.x < 32) {
            scan_cuda::barrier_wait(&full[i % 2], uint32_t(i / 2) & 1);
            out[i * 32 + int(threadIdx.x)] = slot[i % 2][threadIdx.x];
            scan_cuda::barrier_arrive(&empty[i % 2]);
        }
}

static void copies_in_a_graph(void **) {
    enum { ROUNDS = 50, N = ROUNDS * 32 };
    uint32_t *in, *out, want[N], got[N];
    for (uint32_t i = 0; i < N; i++)
        want[i] = i * 2654435761u;
    cuda_ok(cudaMalloc(reinterpret_cast<void **>(&in), sizeof want));
    cuda_ok(cudaMalloc(reinterpret_cast<void **>(&out), sizeof want));
    cuda_ok(cudaMemcpy(in, want, sizeof want, cudaMemcpyHostToDevice));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cuda_ok(cudaStreamCreate(&stream));
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cuda_ok(cudaMemsetAsync(out, 0, sizeof want, stream));
    {
        int rounds = ROUNDS; /* gone when the graph runs */
        void *arguments[] = {&in, &out, &rounds};
        cuda_ok(cudaLaunchKernel(address(copied), dim3(1), dim3(64), arguments, 0, stream));
        rounds = 0;
    }
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&exec, graph));
    for (int launch = 0; launch < 3; launch++) {
        memset(got, 0, sizeof got);
        cuda_ok(cudaGraphLaunch(exec, stream));
        cuda_ok(cudaMemcpyAsync(got, out, sizeof got, cudaMemcpyDeviceToHost, stream));
        cuda_ok(cudaStreamSynchronize(stream));
        assert_memory_equal(got, want, sizeof want);
    }
    void *none;
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(cudaMalloc(&none, 16), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t invalid;
    assert_int_equal(cudaStreamEndCapture(stream, &invalid), cudaErrorStreamCaptureInvalidated);
    cuda_ok(cudaGraphExecDestroy(exec));
    cuda_ok(cudaGraphDestroy(graph));
    cuda_ok(cudaStreamDestroy(stream));
    cuda_ok(cudaFree(in));
    cuda_ok(cudaFree(out));
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "small"))
        return run_defect(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defects_are_reported),   cmocka_unit_test(races_show),
        cmocka_unit_test(fences_and_whole_warps), cmocka_unit_test(clusters),
        cmocka_unit_test(copies_in_a_graph),
    };
    return cmocka_run_group_tests_name("emulator", tests, nullptr, nullptr);
}
