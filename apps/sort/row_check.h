/* SPDX-License-Identifier: MIT
 *
 * Checks of orders of rows. None of them uses the library.
 */
#ifndef APPS_SORT_ROW_CHECK_H
#define APPS_SORT_ROW_CHECK_H

#include "row_order.h"

/* No place, no row. */
#define ORDER_NONE SIZE_MAX

/* Below 0, 0 or above 0: row a comes before row b, is equal, or comes after it. */
int order_compare(const order *o, size_t a, size_t b);

/* The first place whose row belongs before its predecessor's (strict: or equals it); ORDER_NONE if there is none. */
size_t order_first_disorder(const order *o, bool strict, unsigned threads);

/* The number of runs of equal keys. Unless it is NULL, starts[i] becomes 1 where a run begins, else 0. */
size_t order_find_runs(const order *o, uint8_t *starts, unsigned threads);

/* True if every row of 0 ... n - 1 occurs exactly once. */
bool order_is_permutation(const order *o);

/* The first row whose key is NaN, or a missing string; ORDER_NONE if there is none. */
size_t order_first_nan(const order_key *key, size_t n, unsigned threads);

/* A sum over all elements of a hash of each: equal for two arrays that hold the same elements in any order. */
uint64_t order_hash(scan_type type, void *data, size_t n, unsigned threads);

#endif
