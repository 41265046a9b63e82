/* SPDX-License-Identifier: MIT
 *
 * The few instructions that CUDA C++ has no short name for. Memory order: PTX ISA, "Memory Consistency Model".
 * Every function here has a counterpart in tests/emulator/emulated_ptx.h.
 */
#ifndef SCAN_CUDA_DEVICE_PTX_CUH
#define SCAN_CUDA_DEVICE_PTX_CUH

#include <cstdint>

namespace scan_cuda {

constexpr unsigned all_lanes = 0xffffffffu;

/* A value tagged with the epoch of its launch, so that no word ever needs clearing: {epoch, 4 bytes} in 8 bytes, or two
 * such halves for 8-byte values, accepted when both tags match. One aligned access of at most 8 bytes is never torn,
 * and nothing else is read on the strength of it: relaxed order is enough. */
template <class T> constexpr int tagged_words = sizeof(T) == 8 ? 2 : 1;

} /* namespace scan_cuda */

#ifdef SCAN_EMULATED
#include <emulated_ptx.h>
#else

namespace scan_cuda {

__device__ inline uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

/* Called where the order of events could matter. Tests define SCAN_PERTURB and a perturb() of their own that delays. */
#ifdef SCAN_PERTURB
__device__ void perturb();
#else
__device__ inline void perturb() {}
#endif

/* The bits of a float, -0 taken for 0, times `sign`, which is 1 or -1; of any NaN 0x7fffffff: that is what arithmetic
 * of 4 bytes makes of it (CUDA C++ Programming Guide, "Floating-Point Standard"). */
__device__ inline uint32_t canonical_bits(uint32_t bits, float sign) {
    return __float_as_uint(__fmul_rn(__fadd_rn(__uint_as_float(bits), 0.0f), sign));
}

/* Adds to a word of shared memory; base and offset come apart, so that the base is converted once. */
__device__ inline void shared_add(uint32_t *base, uint32_t offset_bytes, uint32_t x) {
    asm volatile("red.relaxed.cta.shared::cta.add.u32 [%0], %1;" ::"r"(shared_address(base) + offset_bytes), "r"(x));
}

/* Returns x, kept in a register: the compiler cannot see how it was computed, and so does not compute it again at every
 * use. */
__device__ inline uint32_t opaque(uint32_t x) {
    asm volatile("" : "+r"(x));
    return x;
}

/* The same for a pointer to shared memory: what is added to it later is added to a register. */
template <class T> __device__ T *opaque_shared(T *p) {
    return static_cast<T *>(__cvta_shared_to_generic(opaque(shared_address(p))));
}

/* The same for a pointer to global memory. */
template <class T> __device__ T *opaque_global(T *p) {
    size_t address = __cvta_generic_to_global(p);
    asm volatile("" : "+l"(address));
    return static_cast<T *>(__cvta_global_to_generic(address));
}

/* Waits until the launches before this one have ended and what they wrote is visible. In a kernel launched by
 * launch_pdl() every thread calls it before it reads or writes global memory, but in one that begins beside the launch
 * before it (grid_dependents_launch()), which calls it before it ends. A thread with nothing to do calls it too,
 * or the launch after this one could begin while those before it still run. */
__device__ inline void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets the launch after this one begin, if it was launched by launch_pdl(), as soon as all CTAs have called this or
 * have ended. It then runs beside this launch up to its grid_dependency_wait(), and sees of it only what is handed
 * over. */
__device__ inline void grid_dependents_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* ---- words that CTAs hand to each other -------------------------------------------------------------------------- */

/* Stores a value with its epoch. */
template <class T> __device__ void publish(uint64_t *word, uint32_t epoch, T value) {
    uint64_t tag = uint64_t(epoch) << 32, bits = 0;
    memcpy(&bits, &value, sizeof value);
    if constexpr (sizeof(T) == 8)
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(word), "l"(tag | uint32_t(bits)),
                     "l"(tag | (bits >> 32))
                     : "memory");
    else
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(tag | bits) : "memory");
}

/* Returns whether the word carries the epoch; if so, `value` is what was published. */
template <class T> __device__ bool try_load(const uint64_t *word, uint32_t epoch, T &value) {
    uint64_t low, high, bits;
    bool there;
    if constexpr (sizeof(T) == 8) {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(word) : "memory");
        bits = uint32_t(low) | (high << 32);
        there = uint32_t(low >> 32) == epoch && uint32_t(high >> 32) == epoch;
    } else {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(low) : "l"(word) : "memory");
        bits = uint32_t(low);
        there = uint32_t(low >> 32) == epoch;
    }
    memcpy(&value, &bits, sizeof value);
    return there;
}

/* try_load() of 4 bytes that also acquires: what the publisher had seen or written before is then seen by this thread,
 * and by those behind its next barrier. */
__device__ inline bool try_load_acquire(const uint64_t *word, uint32_t epoch, uint32_t &value) {
    uint64_t bits;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(word) : "memory");
    value = uint32_t(bits);
    return uint32_t(bits >> 32) == epoch;
}

/* Release before a relaxed store, acquire after a relaxed load. Lighter than __threadfence(), which is sequentially
 * consistent. */
__device__ inline void gpu_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/* A count of what is done, zero at first: adds to it after all that the CTA wrote before its last barrier, and waits
 * until it is `all`; what the others wrote is then seen by this thread, and by those behind its next barrier. */
__device__ inline void add_release(uint32_t *count, uint32_t x) {
    asm volatile("fence.acq_rel.gpu;\n red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(count), "r"(x) : "memory");
}
__device__ inline void wait_for(const uint32_t *count, uint32_t all) {
    uint32_t now;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    while (now != all);
}

/* Starts copying 4, 8 or 16 aligned bytes from global to shared memory. This thread sees them after copies_arrive(). */
template <class T> __device__ void copy_to_shared(T *to_shared, const T *from_global) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to_shared)), "l"(from_global),
                 "n"(sizeof(T))
                 : "memory");
#else
    *to_shared = *from_global;
#endif
}
__device__ inline void copies_arrive() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* The step of lanes_with_byte for two bits. */
__device__ inline unsigned lanes_agreeing(unsigned lanes, uint32_t x, uint32_t low_bit, uint32_t high_bit) {
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 ".reg .b32 low, high;\n"
                 "and.b32 low, %1, %2;\n"
                 "setp.ne.u32 one, low, 0;\n"
                 "vote.sync.ballot.b32 low, one, 0xffffffff;\n"
                 "@!one not.b32 low, low;\n"
                 "and.b32 high, %1, %3;\n"
                 "setp.ne.u32 one, high, 0;\n"
                 "vote.sync.ballot.b32 high, one, 0xffffffff;\n"
                 "@!one not.b32 high, high;\n"
                 "lop3.b32 %0, %0, low, high, 0x80;\n"
                 "}"
                 : "+r"(lanes)
                 : "r"(x), "r"(low_bit), "r"(high_bit));
    return lanes;
}

/* The lanes of the warp that pass the same low byte, called by all lanes: a ballot for each bit, from which a lane
 * keeps the lanes that agree with it. In this form a bit costs three instructions; C++ with __ballot_sync costs seven.
 */
__device__ inline unsigned lanes_with_byte(uint32_t x) {
    unsigned lanes = all_lanes;
#pragma unroll
    for (int b = 0; b < 8; b += 2)
        lanes = lanes_agreeing(lanes, x, 1u << b, 2u << b);
    return lanes;
}

/* The compute capability of the GPU that the code is compiled for; 90 for 9.0. */
__device__ constexpr int device_capability() {
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__ / 10;
#else
    return 0;
#endif
}

} /* namespace scan_cuda */

#include "barriers.cuh"

namespace scan_cuda {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* ---- clusters, sm_90 --------------------------------------------------------------------------------------------- */

__device__ inline unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ inline unsigned cluster_size() {
    unsigned size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

/* A barrier of all threads of the cluster, in two halves. The relaxed first half says only that its CTA has started: it
 * does not wait for this thread's stores, as the other does. */
__device__ inline void cluster_arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

/* The address, in the shared memory of the cluster's CTA `rank`, of what lies at `here` in this CTA's. */
template <class T> __device__ T *cluster_at(T *here, unsigned rank) {
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(rank));
    return there;
}

/* *cluster_at(here, rank) = x, of 4 or 8 bytes, in fewer instructions. Others see it after a barrier of the cluster. */
template <class T> __device__ void cluster_store(T *here, unsigned rank, T x) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(here)), "r"(rank));
    if constexpr (sizeof(T) == 8)
        asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(there), "l"(x) : "memory");
    else
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(x) : "memory");
}
#else
/* A CTA alone. */
__device__ inline unsigned cluster_rank() { return 0; }
__device__ inline unsigned cluster_size() { return 1; }
__device__ inline void cluster_arrive_relaxed() {}
__device__ inline void cluster_arrive() {}
__device__ inline void cluster_wait() { __syncthreads(); }
template <class T> __device__ T *cluster_at(T *here, unsigned) { return here; }
#endif

} /* namespace scan_cuda */

#endif
namespace scan_cuda {

/* The index of this thread's warp in its CTA; called by whole warps. A shuffle tells the compiler that it is the same
 * in all lanes: branches on it need no code for divergence. */
__device__ inline int warp_of_cta() { return __shfl_sync(all_lanes, int(threadIdx.x / 32), 0); }

} /* namespace scan_cuda */

#endif
