/* SPDX-License-Identifier: MIT
 *
 * The parts of the prefix verb on the CPU, and their interfaces.
 *
 *   prefix.c      the verb: carry, blocks and threads
 *   assoc.h       associative operators (all on integers; min, max on floats), one element at a time; their kernels are
 *                 in assoc_portable.c, and in assoc_simd.h for assoc_avx2.c and assoc_avx512.c
 *   ordered.h     float add and mul, whose order of operations scan.h fixes
 *   order.*       the state of that order, one element at a time; the kernels for its rows and tiles are in
 *                 rows_portable.*, and in rows_simd.h for rows_avx2.c and rows_avx512.c
 *   vec.h         the vector primitives of both kinds of SIMD kernels, defined in vec_avx2.h and vec_avx512.h
 *
 * To add an operator: its enum, its row in lists.h, its function and identity in assoc.h, and vec_OP, in vec.h if it is
 * an operator of C, else in vec_avx2.h and vec_avx512.h; if it is ORDERED also its macros in ordered.h and
 * vec_float_OP. What is missing does not compile.
 *
 * Everywhere `in` and `out` point to the first element in scan order: element p is at [p], and in a reverse scan,
 * where scan order runs down, at [-p].
 */
#ifndef SCAN_CPU_PREFIX_PREFIX_H
#define SCAN_CPU_PREFIX_PREFIX_H

#include "../cpu.h"

#define SCAN_INLINE static inline __attribute__((always_inline))

typedef struct scan_cpu_piece {
    const void *in;
    void *out;
    size_t n;
    bool exclusive;
    bool reverse;
    bool stream;          /* write past the caches */
    bool from_memory;     /* `in` is hardly in a cache */
    const void *prefetch; /* prefetch this meanwhile, as many bytes as `in` has, upward; may be NULL */
} scan_cpu_piece;

/* A kernel of an associative operator. `fold`, of the accumulator's type, is the fold of everything before the piece;
 * the kernel adds the piece to it. */
typedef struct scan_cpu_assoc_kernel {
    void (*reduce)(const scan_cpu_piece *piece, void *fold);
    void (*scan)(const scan_cpu_piece *piece, void *fold);
} scan_cpu_assoc_kernel;

/* Indexed by [element][accumulator][operator], by way of assoc_of (prefix.c); empty for float add and mul. */
typedef const scan_cpu_assoc_kernel scan_cpu_assoc_table[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1][SCAN_OP_COUNT];
extern scan_cpu_assoc_table scan_cpu_assoc_portable, scan_cpu_assoc_avx2, scan_cpu_assoc_avx512;

/* Expands to KERNEL(element enum, name, accumulator enum, name, operator enum, name) for every cell of such a table
 * that has kernels of its own: an operator that compares nothing does the same with the bits of signed integers as with
 * those of unsigned ones (prefix.c, assoc_of). */
#define SCAN_CPU_ASSOC_KERNELS SCAN_TYPES(SCAN_CPU_ASSOC_SAME) SCAN_WIDENINGS(SCAN_CPU_ASSOC_WIDER)
#define SCAN_CPU_ASSOC_SAME(ENUM, name, ctype, CLASS) SCAN_OPS(SCAN_CPU_ASSOC_##CLASS, ENUM, name, ENUM, name)
#define SCAN_CPU_ASSOC_WIDER(IN, in, ctype, ENUM, name, wide_ctype, CLASS)                                             \
    SCAN_OPS(SCAN_CPU_ASSOC_WIDER_##CLASS, IN, in, ENUM, name)
#define SCAN_CPU_ASSOC_UNSIGNED(OP, op, FLOATS, ...) KERNEL(__VA_ARGS__, OP, op)
#define SCAN_CPU_ASSOC_SIGNED(OP, op, FLOATS, ...) SCAN_CPU_ASSOC_IF_##FLOATS(OP, op, __VA_ARGS__)
#define SCAN_CPU_ASSOC_WIDER_UNSIGNED(OP, op, FLOATS, ...) KERNEL(__VA_ARGS__, OP, op)
#define SCAN_CPU_ASSOC_WIDER_SIGNED(OP, op, FLOATS, ...) KERNEL(__VA_ARGS__, OP, op)
#define SCAN_CPU_ASSOC_WIDER_FLOAT SCAN_CPU_ASSOC_FLOAT
#define SCAN_CPU_ASSOC_FLOAT(OP, op, FLOATS, ...) SCAN_CPU_ASSOC_IF_##FLOATS(OP, op, __VA_ARGS__)
#define SCAN_CPU_ASSOC_IF_ORDERED(...)
#define SCAN_CPU_ASSOC_IF_COMPARED(OP, op, ...) KERNEL(__VA_ARGS__, OP, op)
#define SCAN_CPU_ASSOC_IF_NONE(...)

/* ---- float add and mul: the order of operations fixed in scan.h -------------------------------------------------- */

enum {
    SCAN_CPU_VECTOR_BYTES = 16,
    SCAN_CPU_ROW_VECTORS = 32,
    SCAN_CPU_CHUNK_ROWS = 8,
    SCAN_CPU_TILE_CHUNKS = 8,
    SCAN_CPU_GROUP_TILES = 32,
    SCAN_CPU_ROW_BYTES = SCAN_CPU_VECTOR_BYTES * SCAN_CPU_ROW_VECTORS,
    SCAN_CPU_TILE_ROWS = SCAN_CPU_CHUNK_ROWS * SCAN_CPU_TILE_CHUNKS,
    SCAN_CPU_TILE_BYTES = SCAN_CPU_ROW_BYTES * SCAN_CPU_TILE_ROWS,
    SCAN_CPU_FOLD_LEVELS = 5 /* of a Kogge-Stone fold over 32 */
};

/* Rows and tiles, where nearly all the time goes; one set for each level of SIMD. */
typedef struct scan_cpu_rows_kernel {
    /* Scans whole rows of one tile, from its row first_row on. folds, accumulators: before the tile, of the tile's
     * chunks so far, of the chunk's rows so far. The kernel updates the last two; after the tile's last row folds[1] is
     * the tile's total. A fold of nothing is the identity. The kernel cannot know the last inclusive value of a tile;
     * it may write anything there. */
    void (*scan)(const scan_cpu_piece *piece, size_t first_row, void *folds);
    /* Writes the total of each tile of the piece. */
    void (*totals)(const scan_cpu_piece *piece, void *totals);
} scan_cpu_rows_kernel;

/* Indexed by [element][accumulator][operator]; empty but for float add and mul. */
typedef const scan_cpu_rows_kernel scan_cpu_rows_table[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1][SCAN_OP_COUNT];
extern scan_cpu_rows_table scan_cpu_rows_portable, scan_cpu_rows_avx2, scan_cpu_rows_avx512;

/* Expands to KERNEL(...) for every cell of such a table, as SCAN_CPU_ASSOC_KERNELS does. */
#define SCAN_CPU_ROWS_KERNELS SCAN_TYPES(SCAN_CPU_ROWS_SAME) SCAN_WIDENINGS(SCAN_CPU_ROWS_WIDER)
#define SCAN_CPU_ROWS_SAME(ENUM, name, ctype, CLASS) SCAN_CPU_ROWS_##CLASS(ENUM, name, ENUM, name)
#define SCAN_CPU_ROWS_WIDER(IN, in, ctype, ENUM, name, wide_ctype, CLASS) SCAN_CPU_ROWS_##CLASS(IN, in, ENUM, name)
#define SCAN_CPU_ROWS_UNSIGNED(...)
#define SCAN_CPU_ROWS_SIGNED(...)
#define SCAN_CPU_ROWS_FLOAT(...) SCAN_OPS(SCAN_CPU_ROWS_OP, __VA_ARGS__)
#define SCAN_CPU_ROWS_OP(OP, op, FLOATS, ...) SCAN_CPU_ROWS_##FLOATS(OP, op, __VA_ARGS__)
#define SCAN_CPU_ROWS_ORDERED(OP, op, ...) KERNEL(__VA_ARGS__, OP, op)
#define SCAN_CPU_ROWS_COMPARED(...)
#define SCAN_CPU_ROWS_NONE(...)

/* The state of a scan. The arrays hold, for each level k of a Kogge-Stone fold, z[l] before step d = 2^k; only
 * l < the current tile of the group or vector of the row counts. A fold of nothing is the identity. */
#define SCAN_CPU_ORDER(T)                                                                                              \
    struct {                                                                                                           \
        uint64_t position;                                                                                             \
        scan_op op;                                                                                                    \
        T next;    /* what an exclusive scan writes next: before(position), +0 for an empty sum */                     \
        T start;   /* P of the group */                                                                                \
        T tile;    /* before the tile */                                                                               \
        T chunks;  /* of the tile, so far */                                                                           \
        T rows;    /* of the chunk, so far */                                                                          \
        T vector;  /* the last value of the scan over the vectors of the row so far */                                 \
        T element; /* of the elements of the vector, so far */                                                         \
        T tiles[SCAN_CPU_FOLD_LEVELS][SCAN_CPU_GROUP_TILES];                                                           \
        T vectors[SCAN_CPU_FOLD_LEVELS][SCAN_CPU_ROW_VECTORS];                                                         \
    }
typedef SCAN_CPU_ORDER(float) scan_cpu_order_f32;
typedef SCAN_CPU_ORDER(double) scan_cpu_order_f64;
typedef union scan_cpu_order {
    scan_cpu_order_f32 f32;
    scan_cpu_order_f64 f64;
} scan_cpu_order;

/* carry_in and carry_out. Associative operators use only the first three fields. */
typedef struct scan_cpu_carry {
    unsigned char fold[8];
    uint64_t position;
    uint64_t call; /* type, out_type, op, kind, reverse: must be equal in both calls */
    uint64_t reserved;
    unsigned char folds[SCAN_CARRY_BYTES - 32]; /* start, chunks, rows, element, tile totals, vector totals */
} scan_cpu_carry;
SCAN_ASSERT(sizeof(scan_cpu_carry) == SCAN_CARRY_BYTES, "the public size");

typedef struct scan_cpu_order_engine {
    /* From a carry, or from the beginning with init, which may be NULL. */
    void (*begin)(scan_cpu_order *order, scan_op op, const scan_cpu_carry *carry, const void *init);
    /* Scans a piece on this thread. */
    void (*run)(scan_cpu_order *order, const scan_cpu_piece *piece, const scan_cpu_rows_kernel *rows);
    /* At the beginning of a tile: advances by whole tiles whose totals are given, and writes the fold before each of
     * them and after the last. */
    void (*pass)(scan_cpu_order *order, const void *totals, size_t tiles, void *before);
    /* Scans whole tiles, with the folds that pass() wrote. */
    void (*tiles)(scan_op op, const scan_cpu_piece *piece, const void *before, const scan_cpu_rows_kernel *rows);
    void (*next)(const scan_cpu_order *order, void *value); /* what an exclusive scan writes next */
    uint64_t (*position)(const scan_cpu_order *order);
    void (*finish)(const scan_cpu_order *order, scan_cpu_carry *carry);
} scan_cpu_order_engine;

/* Indexed by [element][accumulator]. */
extern const scan_cpu_order_engine scan_cpu_order_engines[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1];

#endif
