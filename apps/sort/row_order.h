/* SPDX-License-Identifier: MIT
 *
 * Orders of rows by one or more columns of numbers: making them, through the library, and checking them, without it.
 *
 * Several keys are sorted as on a card sorter: by the last key first, each pass stable.
 */
#ifndef APPS_SORT_ROW_ORDER_H
#define APPS_SORT_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/session.h"

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
    scan_sort_method method; /* of the sorts */
    scan_type type;
    void *index; /* NULL: the rows as they are */
} order;

#define ORDER_NONE SIZE_MAX

/* Sorts stably into o->index, a new allocation; keys, key_count, n and method are set. */
void order_sort(order *o, session *s, const char *subject, unsigned threads);

/* Sorts n keys where they are or, after a device did it, into a new key->data; with `unique` only the first of equal
 * ones stays. Answers how many there are then. */
size_t order_sort_keys(order_key *key, size_t n, bool unique, scan_sort_method method, session *s, const char *subject);

/* How to sort by a key. A method that the device alone has is not for the CPU that goes on for it. */
scan_sort_desc order_describe(const order_key *key, scan_sort_method method, const session *s);

/* Keeps the first row of each run of equal keys; o->n becomes their number. */
void order_unique(order *o, session *s, const char *subject, unsigned threads);

/* ---- checks, none of which uses the library -------------------------------------------------------------------- */

/* The row at place i. */
static inline size_t order_at(const order *o, size_t i) {
    if (!o->index)
        return i;
    return o->type == SCAN_U64 ? (size_t)((const uint64_t *)o->index)[i] : ((const uint32_t *)o->index)[i];
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
