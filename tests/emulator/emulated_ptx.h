/* SPDX-License-Identifier: MIT
 *
 * scan/cuda/device/ptx.cuh for the emulator: the same functions, checked where the hardware would fail or go wrong
 * silently.
 */
#ifndef TESTS_EMULATOR_EMULATED_PTX_H
#define TESTS_EMULATOR_EMULATED_PTX_H

#include "emulator.h"

namespace scan_cuda {

#ifdef SCAN_PERTURB
void perturb();
#else
inline void perturb() { emulator::maybe_switch(); }
#endif

inline void grid_dependency_wait() { emulator::wait_for_previous(); }
inline void grid_dependents_launch() {}
inline uint32_t opaque(uint32_t x) { return x; }
template <class T> T *opaque_shared(T *p) { return p; }
template <class T> T *opaque_global(T *p) { return p; }
inline uint32_t canonical_bits(uint32_t bits, float sign) {
    const float x = (__uint_as_float(bits) + 0.0f) * sign;
    return x != x ? 0x7fffffffu : __float_as_uint(x);
}
inline void shared_add(uint32_t *base, uint32_t offset_bytes, uint32_t x) { atomicAdd(base + offset_bytes / 4, x); }
inline void named_barrier_sync(int id, int threads) {
    emulator::cta_barrier(id, threads, false, "named_barrier_sync()");
}

template <class T> void publish(uint64_t *word, uint32_t epoch, T value) {
    emulated_aligned(reinterpret_cast<const uint64_t(*)[tagged_words<T>]>(word), "publish()");
    uint64_t tag = uint64_t(epoch) << 32, bits = 0;
    memcpy(&bits, &value, sizeof value);
    __atomic_store_n(word, tag | uint32_t(bits), __ATOMIC_RELAXED);
    emulator::maybe_switch(); /* the two halves of an 8-byte value are not one access */
    if (sizeof(T) == 8)
        __atomic_store_n(word + 1, tag | (bits >> 32), __ATOMIC_RELAXED);
}

template <class T> bool try_load(const uint64_t *word, uint32_t epoch, T &value) {
    emulated_aligned(reinterpret_cast<const uint64_t(*)[tagged_words<T>]>(word), "try_load()");
    uint64_t low = __atomic_load_n(word, __ATOMIC_RELAXED), bits = uint32_t(low);
    bool there = uint32_t(low >> 32) == epoch;
    emulator::maybe_switch();
    if (sizeof(T) == 8) {
        uint64_t high = __atomic_load_n(word + 1, __ATOMIC_RELAXED);
        bits |= high << 32;
        there = there && uint32_t(high >> 32) == epoch;
    }
    memcpy(&value, &bits, sizeof value);
    if (!there) {
        emulator::poll("try_load()");
        emulator::lane_waited();
    }
    return there;
}

inline bool try_load_acquire(const uint64_t *word, uint32_t epoch, uint32_t &value) {
    const bool there = try_load(word, epoch, value);
    __threadfence();
    return there;
}

inline void gpu_fence() { __threadfence(); }

inline void add_release(uint32_t *count, uint32_t x) {
    __threadfence();
    atomicAdd(count, x);
}
inline void wait_for(const uint32_t *count, uint32_t all) {
    while (__atomic_load_n(count, __ATOMIC_ACQUIRE) != all) {
        emulator::poll("wait_for()");
        emulator::lane_waited();
    }
}

template <class T> void copy_to_shared(T *to_shared, const T *from_global) {
    emulated_aligned(from_global, "copy_to_shared()");
    emulator::copy_later(to_shared, from_global, sizeof(T), nullptr, "copy_to_shared()");
}
inline void copies_arrive() { emulator::copies_wait(); }

inline unsigned lanes_with_byte(uint32_t x) { return __match_any_sync(all_lanes, x & 255); }

inline void barrier_init(uint64_t *barrier, uint32_t arrivals) { emulator::mbarrier_init(barrier, arrivals); }
inline void barrier_init_fence() {}
inline void bulk_fence() { emulator::bulk_fence(); }
inline void barrier_arrive(uint64_t *barrier) { emulator::mbarrier_update(barrier, 1, 0, "barrier_arrive()"); }
inline void barrier_arrive_expect(uint64_t *barrier, uint32_t bytes) {
    emulator::mbarrier_update(barrier, 1, bytes, "barrier_arrive_expect()");
}
inline void barrier_wait(uint64_t *barrier, uint32_t parity) { emulator::mbarrier_wait(barrier, parity); }

inline void async_copy(void *to_shared, const void *from_global) {
    if (uintptr_t(to_shared) % 16 || uintptr_t(from_global) % 16)
        emulator::die("async_copy() from %p to %p: not multiples of 16", from_global, to_shared);
    emulator::copy_later(to_shared, from_global, 16, nullptr, "async_copy()");
}
inline void async_copies_arrive(uint64_t *barrier) { emulator::copies_signal(barrier, "async_copies_arrive()"); }

/* Of the device that is emulated. */
template <int id, int threads> struct named_barrier {
    uint64_t barrier;

    void open() { barrier_init(&barrier, threads); }
    void sync(uint32_t parity) {
        if (!emulator::has_mbarriers())
            return named_barrier_sync(id, threads);
        barrier_arrive(&barrier);
        barrier_wait(&barrier, parity);
    }
};

template <int id, int first_threads, int second_threads> struct named_barrier_pair {
    uint64_t first, second;

    void open() {
        barrier_init(&first, first_threads);
        barrier_init(&second, second_threads);
    }
    void first_sync(uint32_t parity) {
        if (!emulator::has_mbarriers())
            return named_barrier_sync(id, first_threads + second_threads);
        barrier_wait(&second, parity);
        barrier_arrive(&first);
    }
    void second_sync(uint32_t parity) {
        if (!emulator::has_mbarriers())
            return named_barrier_sync(id, first_threads + second_threads);
        barrier_arrive(&second);
        barrier_wait(&first, parity);
    }
};

inline int device_capability() { return emulator::capability_number(); }

inline void bulk_load(void *to_shared, const void *from_global, uint32_t bytes, uint64_t *barrier) {
    if (uintptr_t(to_shared) % 16 || uintptr_t(from_global) % 16 || bytes % 16)
        emulator::die("bulk_load() of %u bytes from %p to %p: not multiples of 16", bytes, from_global, to_shared);
    emulator::copy_later(to_shared, from_global, bytes, barrier, "bulk_load()");
}

inline void bulk_prefetch(const void *from_global, uint32_t bytes) {
    if (uintptr_t(from_global) % 16 || bytes % 16)
        emulator::die("bulk_prefetch() of %u bytes from %p: not multiples of 16", bytes, from_global);
    if (bytes) { /* AddressSanitizer looks at them */
        const volatile char *from = static_cast<const char *>(from_global);
        (void)from[0];
        (void)from[bytes - 1];
    }
}

inline unsigned cluster_rank() { return emulator::cluster_rank(); }
inline unsigned cluster_size() { return emulator::cluster_size(); }
inline void cluster_arrive_relaxed() { emulator::cluster_arrive(false); }
inline void cluster_arrive() { emulator::cluster_arrive(true); }
template <class T> T *cluster_at(T *here, unsigned rank) { return static_cast<T *>(emulator::cluster_map(here, rank)); }
template <class T> void cluster_store(T *here, unsigned rank, T x) {
    emulator::cluster_store(cluster_at(here, rank), &x, sizeof x);
}
inline void cluster_wait() {
    if (emulator::cluster_size() == 1)
        __syncthreads();
    else
        emulator::cluster_wait();
}

} /* namespace scan_cuda */

#endif
