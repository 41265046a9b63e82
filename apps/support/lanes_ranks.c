/* SPDX-License-Identifier: MIT
 *
 * The lanes of an array among several ranks. Where there are as many places on the axes before as ranks, each rank has
 * some of those: its part lies together in the file. Else, along another axis than the last, it has some neighbours of
 * every lane: each reads rows that follow one another, ranks exchange what the others have lanes of, and results go
 * back in the same way.
 *
 *     in the file   rank 0 | a b c d |   lanes   rank 0 | a b |   rank 1 | c d |
 *                   rank 1 | e f g h |                  | e f |          | g h |
 *
 * Traffic: with p ranks (p - 1) / p of the elements and of the results are moved once.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "axis.h"
#include "ranks.h"

lanes_share lanes_share_of(const lanes *whole) {
    lanes_share s = {.whole = *whole, .shape = *whole};
    s.by_columns = whole->outer < ranks_count() && whole->inner > 1;
    const ranks_part part = ranks_part_of(s.by_columns ? whole->inner : whole->outer);
    if (s.by_columns) {
        s.shape.inner = (size_t)part.count;
        s.first = (size_t)part.first;
    } else {
        s.shape.outer = (size_t)part.count;
        s.first = (size_t)part.first * whole->length * whole->inner;
    }
    return s;
}

size_t lanes_share_place(const lanes_share *s, size_t i) {
    return s->by_columns ? i / s->shape.inner * s->whole.inner + s->first + i % s->shape.inner : s->first + i;
}

/* Rows of all columns, in the file. */
static size_t rows_of(const lanes_share *s) { return s->whole.outer * s->whole.length; }

/* Copies columns between rows that have all of them and rows that have these alone. */
static void move_columns(char *rows, size_t row_bytes, ranks_part columns, char *alone, size_t n, size_t size,
                         bool back) {
    const size_t bytes = (size_t)columns.count * size;
    for (size_t i = 0; i < n; i++) {
        char *in_row = rows + i * row_bytes + (size_t)columns.first * size, *own = alone + i * bytes;
        memcpy(back ? in_row : own, back ? own : in_row, bytes);
    }
}

/* Rows of this rank as one block of columns for each rank, or from such blocks. */
static void move_blocks(const lanes_share *s, char *rows, char *blocks, size_t *sizes, size_t size, bool back) {
    const size_t n = (size_t)ranks_part_of(rows_of(s)).count;
    for (unsigned r = 0; r < ranks_count(); blocks += sizes[r++]) {
        const ranks_part columns = ranks_part_at(s->whole.inner, r);
        sizes[r] = n * (size_t)columns.count * size;
        move_columns(rows, s->whole.inner * size, columns, blocks, n, size, back);
    }
}

void *lanes_share_read(const lanes_share *s, array_reader *r) {
    const ranks_part rows = ranks_part_of(rows_of(s));
    const size_t n = s->by_columns ? (size_t)rows.count * s->whole.inner : lanes_elements(&s->shape);
    const uint64_t first = s->by_columns ? rows.first * s->whole.inner : s->first;
    char *elements = must_alloc(n, r->size);
    array_read_at(r, elements, n, first);
    if (!s->by_columns)
        return elements;
    char *blocks = must_alloc(n, r->size);
    size_t *sizes = must_alloc(ranks_count(), sizeof *sizes), received;
    move_blocks(s, elements, blocks, sizes, r->size, false);
    free(elements);
    void *columns = ranks_exchange(blocks, sizes, &received);
    free(blocks);
    free(sizes);
    return columns;
}

void lanes_share_write(const lanes_share *s, const array_writer *to, const void *results) {
    if (!s->by_columns) {
        array_write(to, results, lanes_elements(&s->shape));
        return;
    }
    const size_t size = scan_type_size(to->type), n = (size_t)ranks_part_of(rows_of(s)).count;
    size_t *sizes = must_alloc(ranks_count(), sizeof *sizes), received;
    for (unsigned r = 0; r < ranks_count(); r++)
        sizes[r] = (size_t)ranks_part_at(rows_of(s), r).count * s->shape.inner * size;
    char *blocks = ranks_exchange(results, sizes, &received), *rows = must_alloc(n * s->whole.inner, size);
    move_blocks(s, rows, blocks, sizes, size, true);
    array_write(to, rows, n * s->whole.inner);
    free(rows);
    free(blocks);
    free(sizes);
}
