/* SPDX-License-Identifier: MIT
 *
 * Orders of rows by one or more columns of numbers or strings. row_sort.h makes them, row_check.h checks them.
 */
#ifndef APPS_SORT_ROW_ORDER_H
#define APPS_SORT_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/strings.h"
#include "scan/scan.h"

typedef struct order_key {
    scan_type type;
    bool descending;
    bool nan_first;         /* strings: missing ones first */
    void *data;             /* one element a row, on the host; strings: their ranks (dictionary.h), or NULL */
    const strings *strings; /* NULL for numbers */
} order_key;

/* Returns true for strings that have no ranks. */
static inline bool order_key_is_string(const order_key *key) { return key->strings && !key->data; }

/* An order: row index[0] first. index has type SCAN_U32, or SCAN_U64 from 2^32 rows on. */
typedef struct order {
    const order_key *keys;
    size_t key_count;
    size_t n;
    scan_sort_method method; /* of the sorts */
    scan_type type;
    void *index; /* NULL: the rows as they are */
} order;

/* The row at place i. */
static inline size_t order_at(const order *o, size_t i) {
    if (!o->index)
        return i;
    return o->type == SCAN_U64 ? (size_t)((const uint64_t *)o->index)[i] : ((const uint32_t *)o->index)[i];
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Rows are worked on in pieces, by all threads. */
#ifndef ORDER_PIECE_ROWS /* test_strings.c has short ones */
#define ORDER_PIECE_ROWS ((size_t)1 << 16)
#endif

static inline size_t order_pieces(size_t n) { return n / ORDER_PIECE_ROWS + (n % ORDER_PIECE_ROWS != 0); }

static inline size_t order_piece_end(size_t n, size_t piece) {
    size_t begin = piece * ORDER_PIECE_ROWS;
    return n - begin > ORDER_PIECE_ROWS ? begin + ORDER_PIECE_ROWS : n;
}

#endif
