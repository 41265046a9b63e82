/* SPDX-License-Identifier: MIT
 *
 * Barriers of a CTA's warps, in shared memory from sm_80 on, and asynchronous copies to shared memory, which arrive at
 * them. ptx.cuh has the rest of what is written in PTX.
 */
#ifndef SCAN_CUDA_DEVICE_BARRIERS_CUH
#define SCAN_CUDA_DEVICE_BARRIERS_CUH

namespace scan_cuda {

/* A barrier of some warps of the CTA, `threads` threads in all; id 1 ... 15. */
__device__ inline void named_barrier_sync(int id, int threads) {
    asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/* ---- mbarriers, sm_80 -------------------------------------------------------------------------------------------- */

__device__ inline void barrier_init(uint64_t *barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ inline void barrier_arrive(uint64_t *barrier) {
    asm volatile("{\n"
                 ".reg .b64 state;\n"
                 "mbarrier.arrive.shared.b64 state, [%0];\n"
                 "}" ::"r"(shared_address(barrier))
                 : "memory");
}

/* From sm_90 on a thread that waits sleeps a while at each try. */
__device__ inline void barrier_wait(uint64_t *barrier, uint32_t parity) {
#if __CUDA_ARCH__ >= 900
#define SCAN_BARRIER_TRY "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
#else
#define SCAN_BARRIER_TRY "mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
#endif
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again%=:\n" SCAN_BARRIER_TRY "@!done bra again%=;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
#undef SCAN_BARRIER_TRY
}

/* Starts copying 16 bytes from global to shared memory, both aligned, through the generic proxy. Those who wait for a
 * barrier see them if this thread has called async_copies_arrive() for it since. */
__device__ inline void async_copy(void *to_shared, const void *from_global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to_shared)), "l"(from_global)
                 : "memory");
}

/* One arrival at the barrier, once all copies are done that this thread has started. It says nothing of the thread's
 * other accesses. */
__device__ inline void async_copies_arrive(uint64_t *barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* ---- bulk copies, sm_90 ------------------------------------------------------------------------------------------ */

__device__ inline void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void barrier_arrive_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/* Orders ordinary accesses to shared memory before bulk copies: accesses of this thread, and of others that a barrier
 * orders before the fence; copies that this thread starts later, or another one after a barrier with this one. */
__device__ inline void bulk_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Both addresses and the size are multiples of 16. */
__device__ inline void bulk_load(void *to_shared, const void *from_global, uint32_t bytes, uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to_shared)),
                 "l"(from_global), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

/* Prefetches global memory to L2; addresses as for bulk_load(). No register or shared memory receives data, so it is
 * allowed before grid_dependency_wait(). */
__device__ inline void bulk_prefetch(const void *from_global, uint32_t bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from_global), "r"(bytes) : "memory");
}

/* A barrier of some warps of the CTA, of `threads` threads in all, which is used with the parities 0, 1, 0, ... It is
 * an mbarrier, which compute-sanitizer's racecheck can follow, and on older GPUs the named barrier `id`, 1 ... 15. */
template <int id, int threads> struct named_barrier {
    uint64_t barrier;

    /* By one thread, before a barrier of the CTA. */
    __device__ void open() { barrier_init(&barrier, threads); }
    __device__ void sync(uint32_t parity) {
        barrier_arrive(&barrier);
        barrier_wait(&barrier, parity);
    }
};

/* A barrier of two groups of warps at different places of the code: after it each sees what the other has stored. No
 * thread arrives with a parity before all have left the barrier with the other one. */
template <int id, int first_threads, int second_threads> struct named_barrier_pair {
    uint64_t first, second;

    __device__ void open() {
        barrier_init(&first, first_threads);
        barrier_init(&second, second_threads);
    }
    __device__ void first_sync(uint32_t parity) {
        barrier_wait(&second, parity);
        barrier_arrive(&first);
    }
    __device__ void second_sync(uint32_t parity) {
        barrier_arrive(&second);
        barrier_wait(&first, parity);
    }
};
#else
/* There are no bulk copies: nothing to order, to start or to prefetch. */
__device__ inline void barrier_init_fence() {}
__device__ inline void barrier_arrive_expect(uint64_t *, uint32_t) {}
__device__ inline void bulk_fence() {}
__device__ inline void bulk_load(void *, const void *, uint32_t, uint64_t *) {}
__device__ inline void bulk_prefetch(const void *, uint32_t) {}

template <int id, int threads> struct named_barrier {
    __device__ void open() {}
    __device__ void sync(uint32_t) { named_barrier_sync(id, threads); }
};

template <int id, int first_threads, int second_threads> struct named_barrier_pair {
    __device__ void open() {}
    __device__ void first_sync(uint32_t) { named_barrier_sync(id, first_threads + second_threads); }
    __device__ void second_sync(uint32_t) { named_barrier_sync(id, first_threads + second_threads); }
};
#endif

} /* namespace scan_cuda */

#endif
