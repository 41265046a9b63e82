/* SPDX-License-Identifier: MIT
 *
 * CUDA C++ as plain C++, for the emulator: qualifiers, built-in variables and intrinsics. Force-included before every
 * .cu, as nvcc does. A new intrinsic is one line beside its kin.
 *
 * Static shared memory is thread-local memory of the OS thread that a CTA runs on, filled with rubbish before each CTA.
 */
#ifndef TESTS_EMULATOR_CUDA_RUNTIME_H
#define TESTS_EMULATOR_CUDA_RUNTIME_H

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "emulator.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __CUDA_ARCH__ 900

#define threadIdx (emulator::current->thread)
#define blockIdx (emulator::current->where->block_index)
#define blockDim emulated_block_size()
#define gridDim emulated_grid_size()
#define warpSize 32

/* At -O1 gcc leaves small functions where they are. */
#define EMULATED_INLINE inline __attribute__((always_inline))

EMULATED_INLINE const dim3 &emulated_block_size() { return emulator::current->where->block_size; }
EMULATED_INLINE const dim3 &emulated_grid_size() { return emulator::current->where->grid_size; }

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

#define EMULATED_VECTORS(X)                                                                                            \
    X(char, signed char, 1)                                                                                            \
    X(uchar, unsigned char, 1)                                                                                         \
    X(short, short, 2)                                                                                                 \
    X(ushort, unsigned short, 2)                                                                                       \
    X(int, int, 4)                                                                                                     \
    X(uint, unsigned, 4)                                                                                               \
    X(float, float, 4) X(longlong, long long, 8) X(ulonglong, unsigned long long, 8) X(double, double, 8)
#define EMULATED_VECTOR(name, type, size)                                                                              \
    struct alignas(2 * size) name##2 {                                                                                 \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    struct alignas(4 * size > 16 ? 16 : 4 * size) name##4 {                                                            \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                                   \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
EMULATED_VECTORS(EMULATED_VECTOR)
#undef EMULATED_VECTOR
#undef EMULATED_VECTORS

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

#define EMULATED_MIN_MAX(T)                                                                                            \
    inline T min(T a, T b) { return b < a ? b : a; }                                                                   \
    inline T max(T a, T b) { return a < b ? b : a; }
EMULATED_MIN_MAX(int)
EMULATED_MIN_MAX(unsigned)
EMULATED_MIN_MAX(long)
EMULATED_MIN_MAX(unsigned long)
EMULATED_MIN_MAX(long long)
EMULATED_MIN_MAX(unsigned long long)
#undef EMULATED_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

template <class To, class From> To emulated_bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
inline int __float_as_int(float x) { return emulated_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return emulated_bits<unsigned>(x); }
inline float __int_as_float(int x) { return emulated_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return emulated_bits<float>(x); }
inline long long __double_as_longlong(double x) { return emulated_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emulated_bits<double>(x); }
inline int __double2hiint(double x) { return int(emulated_bits<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return int(emulated_bits<unsigned long long>(x)); }

/* One rounding each: the sources are compiled without contraction. */
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline int __float2int_rn(float x) { return int(rintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline unsigned __float2uint_rn(float x) { return unsigned(rintf(x)); }
inline unsigned __double2uint_rz(double x) { return !(x > 0) ? 0 : x < 0x1p32 ? unsigned(x) : ~0u; }
inline unsigned __float2uint_rz(float x) { return __double2uint_rz(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1) << (31 - i);
    return y;
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    if (offset == 0)
        return mask >> base & 1 ? base : ~0u;
    for (int i = int(base); i >= 0 && i < 32; i += step)
        if (mask >> i & 1 && --left == 0)
            return unsigned(i);
    return ~0u;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned y = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = selector >> (4 * i) & 7;
        y |= (unsigned(bytes >> (8 * s)) & 255) << (8 * i);
    }
    return y;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++)
        c += int((signed char)(a >> 8 * i)) * int((signed char)(b >> 8 * i));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++)
        c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
    return c;
}

/* Four bytes or two halves at once; f(a, b) on each. */
template <int bits, class F> unsigned emulated_parts(unsigned a, unsigned b, F f) {
    const unsigned mask = bits == 8 ? 255u : 65535u;
    unsigned y = 0;
    for (int i = 0; i < 32; i += bits)
        y |= (unsigned(f(a >> i & mask, b >> i & mask)) & mask) << i;
    return y;
}
#define EMULATED_PARTS(name, expression)                                                                               \
    inline unsigned name##4(unsigned a, unsigned b) {                                                                  \
        return emulated_parts<8>(a, b, [](unsigned x, unsigned y) { return expression; });                             \
    }                                                                                                                  \
    inline unsigned name##2(unsigned a, unsigned b) {                                                                  \
        return emulated_parts<16>(a, b, [](unsigned x, unsigned y) { return expression; });                            \
    }
EMULATED_PARTS(__vadd, x + y)
EMULATED_PARTS(__vsub, x - y)
EMULATED_PARTS(__vmaxu, x > y ? x : y)
EMULATED_PARTS(__vminu, x < y ? x : y)
EMULATED_PARTS(__vcmpeq, x == y ? ~0u : 0u)
EMULATED_PARTS(__vcmpne, x != y ? ~0u : 0u)
EMULATED_PARTS(__vcmpgtu, x > y ? ~0u : 0u)
EMULATED_PARTS(__vcmpltu, x < y ? ~0u : 0u)
EMULATED_PARTS(__vcmpgeu, x >= y ? ~0u : 0u)
EMULATED_PARTS(__vcmpleu, x <= y ? ~0u : 0u)
EMULATED_PARTS(__vseteq, x == y)
EMULATED_PARTS(__vsetne, x != y)
#undef EMULATED_PARTS

/* ---- memory ------------------------------------------------------------------------------------------------------ */

template <class T> EMULATED_INLINE void emulated_aligned(const T *p, const char *what) {
    if (reinterpret_cast<uintptr_t>(p) % sizeof(T))
        emulator::die("%s of %zu bytes at %p: misaligned", what, sizeof(T), (const void *)p);
}
#define EMULATED_LOAD(name)                                                                                            \
    template <class T> T name(const T *p) {                                                                            \
        emulated_aligned(p, #name);                                                                                    \
        return *p;                                                                                                     \
    }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldcs)
EMULATED_LOAD(__ldcv)
EMULATED_LOAD(__ldlu)
#undef EMULATED_LOAD
#define EMULATED_STORE(name)                                                                                           \
    template <class T> void name(T *p, std::remove_reference_t<T> x) {                                                 \
        emulated_aligned(p, #name);                                                                                    \
        *p = x;                                                                                                        \
    }
EMULATED_STORE(__stcs)
EMULATED_STORE(__stcg)
EMULATED_STORE(__stwb)
EMULATED_STORE(__stwt)
#undef EMULATED_STORE

inline void __threadfence() {
    emulator::maybe_switch();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) { emulator::poll("__nanosleep()"); }
inline long long clock64() { return 0; }
[[noreturn]] inline void __trap() { emulator::die("__trap()"); }

/* ---- atomics ----------------------------------------------------------------------------------------------------- */

template <class T, class F> T emulated_atomic(T *p, const char *what, F f) {
    emulated_aligned(p, what);
    emulator::maybe_switch();
    T old;
    __atomic_load(p, &old, __ATOMIC_SEQ_CST);
    for (T fresh = f(old); !__atomic_compare_exchange(p, &old, &fresh, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);)
        fresh = f(old);
    return old;
}
#define EMULATED_ATOMIC(name, T, expression)                                                                           \
    inline T name(T *p, T x) {                                                                                         \
        return emulated_atomic(p, #name, [=]([[maybe_unused]] T old) { return static_cast<T>(expression); });          \
    }                                                                                                                  \
    inline T name##_block(T *p, T x) { return name(p, x); }                                                            \
    inline T name##_system(T *p, T x) { return name(p, x); }
#define EMULATED_ATOMICS(name, expression)                                                                             \
    EMULATED_ATOMIC(name, int, expression)                                                                             \
    EMULATED_ATOMIC(name, unsigned, expression)                                                                        \
    EMULATED_ATOMIC(name, unsigned long long, expression)
EMULATED_ATOMICS(atomicAdd, old + x)
EMULATED_ATOMIC(atomicAdd, float, old + x)
EMULATED_ATOMIC(atomicAdd, double, old + x)
EMULATED_ATOMIC(atomicSub, int, old - x)
EMULATED_ATOMIC(atomicSub, unsigned, old - x)
EMULATED_ATOMICS(atomicExch, x)
EMULATED_ATOMIC(atomicExch, float, x)
EMULATED_ATOMICS(atomicAnd, old &x)
EMULATED_ATOMICS(atomicOr, old | x)
EMULATED_ATOMICS(atomicXor, old ^ x)
EMULATED_ATOMICS(atomicMin, x < old ? x : old)
EMULATED_ATOMICS(atomicMax, x > old ? x : old)
EMULATED_ATOMIC(atomicMin, long long, x < old ? x : old)
EMULATED_ATOMIC(atomicMax, long long, x > old ? x : old)
EMULATED_ATOMIC(atomicInc, unsigned, old >= x ? 0 : old + 1)
EMULATED_ATOMIC(atomicDec, unsigned, old == 0 || old > x ? x : old - 1)
#undef EMULATED_ATOMICS
#undef EMULATED_ATOMIC
template <class T> T atomicCAS(T *p, std::common_type_t<T> compare, std::common_type_t<T> value) {
    return emulated_atomic(p, "atomicCAS", [=](T old) { return old == compare ? value : old; });
}
template <class T> T atomicCAS_block(T *p, std::common_type_t<T> compare, std::common_type_t<T> value) {
    return atomicCAS(p, compare, value);
}

/* ---- warps ------------------------------------------------------------------------------------------------------- */

template <class T> EMULATED_INLINE uint64_t emulated_lane_bits(T x) {
    static_assert(sizeof x <= sizeof(uint64_t), "");
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return bits;
}

inline void __syncwarp(unsigned mask = ~0u) { emulator::meet(mask, "__syncwarp()"); }
inline unsigned __activemask() { return 1u << emulator::current->lane; }

/* source: a lane of this one's segment, from 0; others leave the own value. */
template <class T> EMULATED_INLINE T emulated_shuffle(unsigned mask, const char *what, T x, int width, int source) {
    const int lane = emulator::current->lane, first = lane & -width;
    const int from = unsigned(source) < unsigned(width) ? first + source : lane;
    const uint64_t bits = emulator::shuffle(mask, what, emulated_lane_bits(x), from);
    memcpy(&x, &bits, sizeof x);
    return x;
}
template <class T> T __shfl_sync(unsigned mask, T x, int source, int width = 32) {
    return emulated_shuffle(mask, "__shfl_sync()", x, width, source & (width - 1));
}
template <class T> T __shfl_up_sync(unsigned mask, T x, unsigned delta, int width = 32) {
    return emulated_shuffle(mask, "__shfl_up_sync()", x, width, (emulator::current->lane & (width - 1)) - int(delta));
}
template <class T> T __shfl_down_sync(unsigned mask, T x, unsigned delta, int width = 32) {
    return emulated_shuffle(mask, "__shfl_down_sync()", x, width, (emulator::current->lane & (width - 1)) + int(delta));
}
template <class T> T __shfl_xor_sync(unsigned mask, T x, int lanes, int width = 32) {
    return emulated_shuffle(mask, "__shfl_xor_sync()", x, width, (emulator::current->lane & (width - 1)) ^ lanes);
}

/* Lanes that bring 0, and others. */
EMULATED_INLINE emulator::lane_sets emulated_vote(unsigned mask, const char *what, int x) {
    return emulator::lanes_with(mask, what, uint64_t(x != 0), 0);
}
inline unsigned __ballot_sync(unsigned mask, int x) {
    const emulator::lane_sets v = emulated_vote(mask, "__ballot_sync()", x);
    return v.came & ~v.with;
}
inline int __any_sync(unsigned mask, int x) {
    const emulator::lane_sets v = emulated_vote(mask, "__any_sync()", x);
    return v.came != v.with;
}
inline int __all_sync(unsigned mask, int x) { return emulated_vote(mask, "__all_sync()", x).with == 0; }
template <class T> unsigned __match_any_sync(unsigned mask, T x) {
    const uint64_t bits = emulated_lane_bits(x);
    return emulator::lanes_with(mask, "__match_any_sync()", bits, bits).with;
}
template <class T> unsigned __match_all_sync(unsigned mask, T x, int *all) {
    const uint64_t bits = emulated_lane_bits(x);
    *all = emulator::lanes_with(mask, "__match_all_sync()", bits, bits).with == mask;
    return *all ? mask : 0;
}

#define EMULATED_REDUCE(name, T, expression)                                                                           \
    inline T name(unsigned mask, T x) {                                                                                \
        return T(emulator::reduce(mask, #name "()", unsigned(x), [](uint64_t first, uint64_t second) -> uint64_t {     \
            const T a = T(first), b = T(second);                                                                       \
            return unsigned(expression);                                                                               \
        }));                                                                                                           \
    }
EMULATED_REDUCE(__reduce_add_sync, unsigned, a + b)
EMULATED_REDUCE(__reduce_min_sync, unsigned, b < a ? b : a)
EMULATED_REDUCE(__reduce_max_sync, unsigned, b > a ? b : a)
EMULATED_REDUCE(__reduce_add_sync, int, unsigned(a) + unsigned(b))
EMULATED_REDUCE(__reduce_min_sync, int, b < a ? b : a)
EMULATED_REDUCE(__reduce_max_sync, int, b > a ? b : a)
EMULATED_REDUCE(__reduce_and_sync, unsigned, a &b)
EMULATED_REDUCE(__reduce_or_sync, unsigned, a | b)
EMULATED_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef EMULATED_REDUCE

/* ---- CTAs -------------------------------------------------------------------------------------------------------- */

inline void __syncthreads() { emulator::cta_barrier(0, 0, false, "__syncthreads()"); }
inline int __syncthreads_count(int x) { return emulator::cta_barrier(0, 0, x, "__syncthreads_count()").count; }
inline int __syncthreads_or(int x) { return emulator::cta_barrier(0, 0, x, "__syncthreads_or()").count != 0; }
inline int __syncthreads_and(int x) {
    emulator::votes v = emulator::cta_barrier(0, 0, x, "__syncthreads_and()");
    return v.count == v.threads;
}

#endif
