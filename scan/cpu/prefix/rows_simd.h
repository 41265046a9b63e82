/* SPDX-License-Identifier: MIT
 *
 * Rows of float add and mul in terms of the vectors of vec.h, in the order that scan.h fixes (order.c).
 *
 * The order's "vector" of 16 bytes is a lane of a register here: E elements. E registers together hold a part of the
 * row, LANES * E lanes; transposed inside the lanes, register j holds element j of each, so the serial fold inside the
 * order's vectors is E - 1 operations on registers. Their totals then stand in one register, that of lane q of
 * register r at place E * q + r. So the total before, seen in row order (number LANES * r + q), is in the lane below,
 * or from the lowest lane in the highest at place r - 1: the steps of Kogge-Stone are moves of whole lanes and of
 * places in a lane, and no transpose is undone before the end.
 */
#ifndef SCAN_CPU_PREFIX_ROWS_SIMD_H
#define SCAN_CPU_PREFIX_ROWS_SIMD_H

#include "vec.h"

enum { ROW_LANES = sizeof(vec) / SCAN_CPU_VECTOR_BYTES, ROW_MAX_PARTS = 8, ROW_MAX_E = 4, ROW_BUFFER_BYTES = 4096 };

#define ROW_UNROLL _Pragma("GCC unroll 16")

/* The totals moved up by d places; the lowest come from the part before. */
SCAN_INLINE vec row_up(size_t size, vec x, vec previous, size_t d) {
    return d < ROW_LANES ? vec_shift(x, vec_align(x, previous, 16 - size), 16 * d)
                         : vec_align(x, previous, 16 - size * (d / ROW_LANES));
}

/* The totals moved down by one place; the highest comes from the part behind. */
SCAN_INLINE vec row_down(size_t size, vec x, vec next) { return vec_lane_down(x, vec_align(next, x, size)); }

/* Transposes E registers inside their lanes; its own inverse. */
SCAN_INLINE void row_transpose(size_t size, vec *x) {
    if (size == 8) {
        vec low = vec_unpack_low(8, x[0], x[1]), high = vec_unpack_high(8, x[0], x[1]);
        x[0] = low, x[1] = high;
        return;
    }
    vec ab_low = vec_unpack_low(4, x[0], x[1]), ab_high = vec_unpack_high(4, x[0], x[1]);
    vec cd_low = vec_unpack_low(4, x[2], x[3]), cd_high = vec_unpack_high(4, x[2], x[3]);
    x[0] = vec_unpack_low(8, ab_low, cd_low), x[1] = vec_unpack_high(8, ab_low, cd_low);
    x[2] = vec_unpack_low(8, ab_high, cd_high), x[3] = vec_unpack_high(8, ab_high, cd_high);
}

/* Loads one register, whose first element in scan order is element p of the piece. */
SCAN_INLINE vec row_load(scan_type in_type, scan_type type, const scan_cpu_piece *piece, bool reverse, size_t p) {
    const size_t in_size = scan_assoc_size(in_type), size = scan_assoc_size(type), count = sizeof(vec) / size;
    const char *at = piece->in;
    at = reverse ? at - (p + count - 1) * in_size : at + p * in_size;
    vec x = in_type == type ? vec_load(at) : vec_widen(in_type, type, at);
    return reverse ? vec_reverse(size, x) : x;
}

SCAN_INLINE void row_store(scan_type type, const scan_cpu_piece *piece, bool reverse, bool stream, size_t p, vec x) {
    const size_t size = scan_assoc_size(type), count = sizeof(vec) / size;
    char *at = piece->out;
    at = reverse ? at - (p + count - 1) * size : at + p * size;
    x = reverse ? vec_reverse(size, x) : x;
    if (stream)
        vec_stream(at, x);
    else
        vec_store(at, x);
}

/* Loads a part and folds inside the order's vectors: x[j] becomes the fold of elements 0 ... j. */
SCAN_INLINE void row_fold_part(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse,
                               size_t p, vec *x) {
    const size_t size = scan_assoc_size(type), count = sizeof(vec) / size, e = 16 / size;
    ROW_UNROLL
    for (size_t j = 0; j < e; j++)
        x[j] = row_load(in_type, type, piece, reverse, p + j * count);
    row_transpose(size, x);
    ROW_UNROLL
    for (size_t j = 1; j < e; j++)
        x[j] = vec_float_op(type, op, x[j - 1], x[j]);
}

/* One step of Kogge-Stone over the totals of a row, which are in `parts` registers: by d places, and by d parts. */
SCAN_INLINE void row_step_places(scan_type type, scan_op op, vec none, size_t parts, vec *z, size_t d) {
    const size_t size = scan_assoc_size(type);
    ROW_UNROLL
    for (size_t part = parts; part-- > 0;)
        z[part] = vec_float_op(type, op, row_up(size, z[part], part ? z[part - 1] : none, d), z[part]);
}

SCAN_INLINE void row_step_parts(scan_type type, scan_op op, size_t parts, vec *z, size_t d) {
    ROW_UNROLL
    for (size_t part = parts; part-- > d;)
        z[part] = vec_float_op(type, op, z[part - d], z[part]);
}

SCAN_INLINE void row_scan_totals(scan_type type, scan_op op, vec none, vec *z) {
    const size_t in_part = sizeof(vec) / scan_assoc_size(type), parts = SCAN_CPU_ROW_VECTORS / in_part;
    ROW_UNROLL
    for (size_t d = 1; d < in_part; d *= 2)
        row_step_places(type, op, none, parts, z, d);
    ROW_UNROLL
    for (size_t d = 1; d < parts; d *= 2)
        row_step_parts(type, op, parts, z, d);
}

typedef struct row_folds {
    vec tile, chunk, chunks, rows, none; /* chunk: before the chunk */
} row_folds;

SCAN_INLINE void row_advance(scan_type type, scan_op op, row_folds *f, size_t row, vec total) {
    f->rows = vec_float_op(type, op, f->rows, total);
    if (row % SCAN_CPU_CHUNK_ROWS == SCAN_CPU_CHUNK_ROWS - 1) {
        f->chunks = vec_float_op(type, op, f->chunks, f->rows);
        f->chunk = vec_float_op(type, op, f->tile, f->chunks);
        f->rows = f->none;
    }
}

/* Scans one row, at element p. */
SCAN_INLINE void row_scan(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse,
                          bool exclusive, bool stream, size_t p, size_t row, row_folds *f) {
    const size_t size = scan_assoc_size(type), count = sizeof(vec) / size, e = 16 / size;
    const size_t parts = SCAN_CPU_ROW_VECTORS / count;
    vec x[ROW_MAX_PARTS][ROW_MAX_E], z[ROW_MAX_PARTS], before[ROW_MAX_PARTS + 1];
    ROW_UNROLL
    for (size_t part = 0; part < parts; part++) {
        row_fold_part(in_type, type, op, piece, reverse, p + part * e * count, x[part]);
        z[part] = x[part][e - 1];
    }
    row_scan_totals(type, op, f->none, z);

    vec before_row = vec_float_op(type, op, f->chunk, f->rows);
    ROW_UNROLL
    for (size_t part = 0; part < parts; part++)
        before[part] = vec_float_op(type, op, before_row, row_up(size, z[part], part ? z[part - 1] : f->none, 1));
    row_advance(type, op, f, row, vec_last(size, z[parts - 1]));
    before[parts] = vec_float_op(type, op, f->chunk, f->rows);

    ROW_UNROLL
    for (size_t part = 0; part < parts; part++) {
        vec y[ROW_MAX_E];
        ROW_UNROLL
        for (size_t j = 0; j + 1 < e; j++)
            y[exclusive ? j + 1 : j] = vec_float_op(type, op, before[part], x[part][j]);
        y[exclusive ? 0 : e - 1] = exclusive ? before[part] : row_down(size, before[part], before[part + 1]);
        row_transpose(size, y);
        ROW_UNROLL
        for (size_t j = 0; j < e; j++)
            row_store(type, piece, reverse, stream, p + (part * e + j) * count, y[j]);
    }
}

SCAN_INLINE void rows_scan_as(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse,
                              bool exclusive, bool stream, size_t first_row, row_folds *f) {
    const size_t row_elements = SCAN_CPU_ROW_BYTES / scan_assoc_size(type);
    for (size_t i = 0; i < piece->n / row_elements; i++) {
        vec_prefetch(piece, reverse, i * row_elements, row_elements, scan_assoc_size(in_type));
        row_scan(in_type, type, op, piece, reverse, exclusive, stream, i * row_elements, first_row + i, f);
    }
}

SCAN_INLINE vec row_identity(scan_type type, scan_op op) {
    const float f32 = scan_f32_identity(op);
    const double f64 = scan_f64_identity(op);
    uint64_t word = 0;
    memcpy(&word, type == SCAN_F32 ? (const void *)&f32 : (const void *)&f64, scan_assoc_size(type));
    return vec_fill(scan_assoc_size(type), word);
}

SCAN_INLINE vec row_load_fold(size_t size, const void *folds, size_t i) {
    return vec_fill(size, size == 4 ? ((const scan_alias_u32 *)folds)[i] : ((const scan_alias_u64 *)folds)[i]);
}

SCAN_INLINE void row_store_fold(size_t size, void *folds, size_t i, vec x) {
    uint64_t word = vec_first(x);
    memcpy((char *)folds + i * size, &word, size);
}

/* Copies past the caches, to any alignment: with ordinary stores before the first and after the last whole vector. */
SCAN_INLINE void rows_stream(char *to, const char *from, size_t bytes) {
    size_t head = -(uintptr_t)to % sizeof(vec), i = head;
    memcpy(to, from, head);
    for (; i + sizeof(vec) <= bytes; i += sizeof(vec))
        vec_stream(to + i, vec_load(from + i));
    memcpy(to + i, from + i, bytes - i);
}

/* Rows may begin inside a cache line. Rows to be streamed to an unaligned address are collected in a buffer first, some
 * at a time. */
SCAN_INLINE void rows_scan(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, size_t first_row,
                           void *folds) {
    const size_t in_size = scan_assoc_size(in_type), size = scan_assoc_size(type);
    row_folds f = {.tile = row_load_fold(size, folds, 0),
                   .chunks = row_load_fold(size, folds, 1),
                   .rows = row_load_fold(size, folds, 2)};
    f.none = row_identity(type, op);
    f.chunk = vec_float_op(type, op, f.tile, f.chunks);

    _Alignas(64) char buffer[ROW_BUFFER_BYTES];
    const bool reverse = piece->reverse;
    const bool aligned = ((uintptr_t)piece->out + (reverse ? size : 0)) % sizeof(vec) == 0;
    const bool buffered = piece->stream && !aligned, stream = piece->stream && aligned;
    const size_t at_once = buffered ? sizeof buffer / size : piece->n;
    scan_cpu_piece part = *piece;
    for (size_t done = 0; done < piece->n; done += part.n) {
        part.n = piece->n - done < at_once ? piece->n - done : at_once;
        const size_t bytes = part.n * size, row = first_row + done * size / SCAN_CPU_ROW_BYTES;
        part.in = (const char *)piece->in + (reverse ? -(ptrdiff_t)(done * in_size) : (ptrdiff_t)(done * in_size));
        if (piece->prefetch)
            part.prefetch = (const char *)piece->prefetch + done * in_size;
        if (buffered)
            part.out = reverse ? buffer + bytes - size : buffer;

        if (reverse)
            rows_scan_as(in_type, type, op, &part, true, part.exclusive, stream, row, &f);
        else if (part.exclusive)
            rows_scan_as(in_type, type, op, &part, false, true, stream, row, &f);
        else
            rows_scan_as(in_type, type, op, &part, false, false, stream, row, &f);
        char *out = piece->out;
        if (buffered)
            rows_stream(reverse ? out + size - done * size - bytes : out + done * size, buffer, bytes);
    }
    if (piece->stream)
        vec_fence();
    row_store_fold(size, folds, 1, f.chunks);
    row_store_fold(size, folds, 2, f.rows);
}

/* Returns z[31] of a row's Kogge-Stone scan, in every place, with only the steps that lead to it. */
SCAN_INLINE vec row_total(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse,
                          size_t p) {
    const size_t size = scan_assoc_size(type), count = sizeof(vec) / size, e = 16 / size;
    const size_t parts = SCAN_CPU_ROW_VECTORS / count;
    vec z[ROW_MAX_PARTS];
    ROW_UNROLL
    for (size_t part = 0; part < parts; part++) {
        vec x[ROW_MAX_E];
        row_fold_part(in_type, type, op, piece, reverse, p + part * e * count, x);
        z[part] = x[e - 1];
        ROW_UNROLL
        for (size_t d = 1; d < count; d *= 2)
            z[part] = vec_float_op(type, op, row_up(size, z[part], z[part], d), z[part]);
    }
    ROW_UNROLL
    for (size_t d = 1; d < parts; d *= 2)
        row_step_parts(type, op, parts, z, d);
    return vec_last(size, z[parts - 1]);
}

SCAN_INLINE void rows_totals(scan_type in_type, scan_type type, scan_op op, const scan_cpu_piece *piece, bool reverse,
                             void *totals) {
    const size_t size = scan_assoc_size(type), row = SCAN_CPU_ROW_BYTES / size, tile = SCAN_CPU_TILE_BYTES / size;
    row_folds f = {.none = row_identity(type, op)};
    for (size_t t = 0; t < piece->n / tile; t++) {
        f.tile = f.chunks = f.rows = f.none;
        for (size_t r = 0; r < SCAN_CPU_TILE_ROWS; r++)
            row_advance(type, op, &f, r, row_total(in_type, type, op, piece, reverse, t * tile + r * row));
        row_store_fold(size, totals, t, f.chunks);
    }
}

#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    static void scan_##in##_##name##_##op(const scan_cpu_piece *piece, size_t first_row, void *folds) {                \
        rows_scan(SCAN_##IN, SCAN_##ENUM, SCAN_##OP, piece, first_row, folds);                                         \
    }                                                                                                                  \
    static void totals_##in##_##name##_##op(const scan_cpu_piece *piece, void *totals) {                               \
        rows_totals(SCAN_##IN, SCAN_##ENUM, SCAN_##OP, piece, piece->reverse, totals);                                 \
    }
SCAN_CPU_ROWS_KERNELS
#undef KERNEL

#define KERNEL(IN, in, ENUM, name, OP, op)                                                                             \
    [SCAN_##IN][SCAN_##ENUM][SCAN_##OP] = {scan_##in##_##name##_##op, totals_##in##_##name##_##op},

#endif
