/* SPDX-License-Identifier: MIT
 *
 * The kernels of one class of prefix scans (an input type, an operator over an accumulator type), as the host launches
 * them: the host knows no types. A class is a row of the list below and an instance in its operator's .cu file.
 */
#ifndef SCAN_CUDA_PREFIX_KERNELS_H
#define SCAN_CUDA_PREFIX_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace scan_cuda {

/* Blocks in the order of enum scan_block, after AUTO. */
enum { BLOCK_ROWS = 3 };

/* Kernels that take the operator at run time, and are the same in all classes of an accumulator type. */
struct shared_kernels {
    const void *carry_begin, *carry_end;
    int carry_threads;
    struct {
        const void *section; /* hierarchical.cuh: kernels 1 and 2 */
        int elements_per_thread, max_section;
    } blocks[BLOCK_ROWS];
};

/* What a launch of the wave takes. */
struct wave_launch {
    int threads;
    size_t shared_bytes, static_bytes; /* of shared memory: dynamic, and beside it */
};

/* All but wave serve every input type of an accumulator type. */
struct prefix_kernels : shared_kernels {
    size_t in_size, out_size;
    int tile, chunk; /* elements */
    const void *wave, *look_back, *cluster;
    const void *add; /* hierarchical.cuh: kernel 3 */
    wave_launch (*wave_launch_on)(int capability);
    int look_back_threads, cluster_threads_per_chunk;
    void (*host_scan_sums)(void *sums, size_t n);
};

/* X(operator of element.cuh, name, input type, accumulator type) for every class of an operator. */
#define SCAN_CUDA_INTEGERS(X, op)                                                                                      \
    X(op, u8, uint8_t, uint8_t)                                                                                        \
    X(op, u16, uint16_t, uint16_t)                                                                                     \
    X(op, u32, uint32_t, uint32_t)                                                                                     \
    X(op, u64, uint64_t, uint64_t)                                                                                     \
    X(op, u8_u32, uint8_t, uint32_t)                                                                                   \
    X(op, u8_u64, uint8_t, uint64_t)                                                                                   \
    X(op, u16_u64, uint16_t, uint64_t)                                                                                 \
    X(op, u32_u64, uint32_t, uint64_t)
#define SCAN_CUDA_NUMBERS(X, op)                                                                                       \
    SCAN_CUDA_INTEGERS(X, op)                                                                                          \
    X(op, f32, float, float)                                                                                           \
    X(op, f64, double, double)                                                                                         \
    X(op, f32_f64, float, double)

/* X(operator of element.cuh, its classes, more ...); what follows X in the call is appended to each row. The classes of
 * maximum serve min and max, of floats too, as sortable bits; those of bit_or serve or and and. */
#define SCAN_CUDA_OPERATORS(X, ...)                                                                                    \
    X(add, NUMBERS, __VA_ARGS__)                                                                                       \
    X(mul, NUMBERS, __VA_ARGS__)                                                                                       \
    X(maximum, INTEGERS, __VA_ARGS__)                                                                                  \
    X(bit_xor, INTEGERS, __VA_ARGS__)                                                                                  \
    X(bit_or, INTEGERS, __VA_ARGS__)

#define SCAN_CUDA_CLASSES_OF(op, CLASSES, X) SCAN_CUDA_##CLASSES(X, op)
#define SCAN_CUDA_CLASSES(X) SCAN_CUDA_OPERATORS(SCAN_CUDA_CLASSES_OF, X)

enum class operation : uint8_t {
#define SCAN_CUDA_ROW(op, ...) op,
    SCAN_CUDA_OPERATORS(SCAN_CUDA_ROW, )
#undef SCAN_CUDA_ROW
};

#define SCAN_CUDA_ROW(op, name, I, T) extern const prefix_kernels op##_##name;
SCAN_CUDA_CLASSES(SCAN_CUDA_ROW)
#undef SCAN_CUDA_ROW

} /* namespace scan_cuda */

#endif
