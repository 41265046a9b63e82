/* SPDX-License-Identifier: MIT
 *
 * The kernels of one class of prefix scans (an input type, an operator over an accumulator type), as the host launches
 * them: prefix.cu knows no types. A class is a row here and an instance in a prefix_*.cu.
 */
#ifndef SCAN_CUDA_PREFIX_KERNELS_H
#define SCAN_CUDA_PREFIX_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace scan_cuda {

/* Blocks in the order of enum scan_block, after AUTO. */
enum { BLOCK_ROWS = 3 };

constexpr int max_chunks_per_cta = 16; /* of a cluster scan */

/* All but wave serve every input type of their operator and are the same in all its classes. */
struct prefix_kernels {
    size_t in_size, out_size;
    int tile, chunk; /* elements */
    const void *wave, *look_back, *cluster;
    int wave_threads, wave_shared_bytes, look_back_threads, cluster_threads_per_chunk;
    const void *carry;
    struct {
        const void *section; /* hierarchical.cuh: kernels 1 and 2 */
        int elements_per_thread, max_section;
    } blocks[BLOCK_ROWS];
    const void *add; /* kernel 3 */
    void (*host_scan_sums)(void *sums, size_t n);
};

/* X(name, input type, accumulator type); max classes serve min and max of every type of that size. */
#define SCAN_CUDA_SAME(X)                                                                                              \
    X(u8, uint8_t, uint8_t) X(u16, uint16_t, uint16_t) X(u32, uint32_t, uint32_t) X(u64, uint64_t, uint64_t)
#define SCAN_CUDA_SAME_FLOAT(X) X(f32, float, float) X(f64, double, double)
#define SCAN_CUDA_WIDER(X)                                                                                             \
    X(u8_u32, uint8_t, uint32_t)                                                                                       \
    X(u8_u64, uint8_t, uint64_t) X(u16_u64, uint16_t, uint64_t) X(u32_u64, uint32_t, uint64_t)
#define SCAN_CUDA_WIDER_FLOAT(X) X(f32_f64, float, double)

#define SCAN_CUDA_DECLARE(name, I, T) extern const prefix_kernels add_##name, mul_##name;
SCAN_CUDA_SAME(SCAN_CUDA_DECLARE)
SCAN_CUDA_SAME_FLOAT(SCAN_CUDA_DECLARE)
SCAN_CUDA_WIDER(SCAN_CUDA_DECLARE)
SCAN_CUDA_WIDER_FLOAT(SCAN_CUDA_DECLARE)
#undef SCAN_CUDA_DECLARE
#define SCAN_CUDA_DECLARE(name, I, T) extern const prefix_kernels max_##name;
SCAN_CUDA_SAME(SCAN_CUDA_DECLARE)
SCAN_CUDA_WIDER(SCAN_CUDA_DECLARE)
#undef SCAN_CUDA_DECLARE

} /* namespace scan_cuda */

#endif
