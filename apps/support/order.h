/* SPDX-License-Identifier: MIT
 *
 * Orders of rows by one or more columns of numbers: making them, through the library, and checking them, without it.
 *
 * Several keys are sorted as on a card sorter: by the last key first, each pass stable.
 */
#ifndef APPS_SUPPORT_ORDER_H
#define APPS_SUPPORT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

typedef struct order_key {
    scan_type type;
    bool descending;
    bool nan_first;
    void *data; /* one element a row, on the host */
} order_key;

/* An order: row index[0] first. index has type SCAN_U32, or SCAN_U64 from 2^32 rows on. */
typedef struct order {
    const order_key *keys;
    size_t key_count;
    size_t n;
    scan_type type;
    session_buffer index; /* NULL host: the rows as they are */
} order;

#define ORDER_NONE SIZE_MAX

/* Sorts stably into o->index, a new buffer; keys, key_count and n are set. */
void order_sort(order *o, session *s, const char *subject, unsigned threads);

/* Host data as context memory: itself on the CPU, else a copy. */
session_buffer order_lend(session *s, void *host, size_t bytes);
void order_take_back(session *s, session_buffer *buffer);

/* Keeps the first row of each run of equal keys; o->n becomes their number. */
void order_unique(order *o, session *s, const char *subject, unsigned threads);

/* ---- checks, none of which uses the library -------------------------------------------------------------------- */

/* The row at place i. */
static inline size_t order_at(const order *o, size_t i) {
    if (!o->index.host)
        return i;
    return o->type == SCAN_U64 ? (size_t)((const uint64_t *)o->index.host)[i] : ((const uint32_t *)o->index.host)[i];
}

/* The first place whose row belongs before its predecessor's (strict: or equals it); ORDER_NONE if there is none. */
size_t order_first_disorder(const order *o, bool strict, unsigned threads);

/* How many runs of equal keys there are. */
size_t order_runs(const order *o, unsigned threads);

/* True if every row of 0 ... n - 1 occurs exactly once. */
bool order_is_permutation(const order *o);

/* The first row whose key is NaN; ORDER_NONE if there is none. */
size_t order_first_nan(const order_key *key, size_t n, unsigned threads);

/* A sum over all elements of a hash of each: equal for two arrays that hold the same elements in any order. */
uint64_t order_hash(scan_type type, void *data, size_t n, unsigned threads);

#endif
