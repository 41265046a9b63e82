/* SPDX-License-Identifier: MIT
 *
 * Associative prefix kernels in plain C: one running value, so each element takes the latency of one operation.
 */
#include "assoc.h"

#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    static void reduce_##in##_##name##_##op(const scan_cpu_piece *piece, void *fold) {                                 \
        uint64_t word = scan_assoc_load(SCAN_##ENUM, SCAN_##ENUM, SCAN_##OP, fold);                                    \
        word = scan_assoc_reduce_elements(SCAN_##IN, SCAN_##ENUM, SCAN_##OP, piece, 0, piece->n, word);                \
        scan_assoc_store(SCAN_##ENUM, fold, word);                                                                     \
    }                                                                                                                  \
    static void scan_##in##_##name##_##op(const scan_cpu_piece *piece, void *fold) {                                   \
        uint64_t word = scan_assoc_load(SCAN_##ENUM, SCAN_##ENUM, SCAN_##OP, fold);                                    \
        word = scan_assoc_scan_elements(SCAN_##IN, SCAN_##ENUM, SCAN_##OP, piece, 0, piece->n, word);                  \
        scan_assoc_store(SCAN_##ENUM, fold, word);                                                                     \
    }

SCAN_CPU_ASSOC_KERNELS

#undef KERNEL
#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    [SCAN_##IN][SCAN_##ENUM][SCAN_##OP] = {reduce_##in##_##name##_##op, scan_##in##_##name##_##op},

scan_cpu_assoc_table scan_cpu_assoc_portable = {SCAN_CPU_ASSOC_KERNELS};
