/* SPDX-License-Identifier: MIT
 *
 * Making orders of rows, through the library.
 *
 * Several keys are sorted as on a card sorter: by the last key first, each pass stable. With strings among them the
 * first key comes first (string_sort.h).
 */
#ifndef APPS_SORT_ROW_SORT_H
#define APPS_SORT_ROW_SORT_H

#include "apps/support/session.h"
#include "row_order.h"

/* Sorts stably into o->index, a new allocation; keys, key_count, n and method are set. */
void order_sort(order *o, session *s, const char *subject, unsigned threads);

/* Sorts n keys where they are or, after a device did it, into a new key->data; with `unique` only the first of equal
 * ones stays. Returns how many remain. */
size_t order_sort_keys(order_key *key, size_t n, bool unique, scan_sort_method method, session *s, const char *subject);

/* Sorts n keys into other memory, `to`, with all of them. key->data stays as it is. */
void order_sort_into(const order_key *key, void *to, size_t n, scan_sort_method method, session *s,
                     const char *subject);

/* Returns true if a device has the memory to sort n keys, `pairs`: with values of 8 bytes, and that is no more than
 * max_bytes; or if the session is the CPU's. The session is ready. */
bool order_fits_device(const order_key *key, size_t n, bool pairs, scan_sort_method method, session *s,
                       size_t max_bytes);

/* Sorts n keys, and with them as many values of 8 bytes, where they are. */
void order_sort_pairs(const order_key *key, uint64_t *values, size_t n, scan_sort_method method, session *s,
                      const char *subject);

/* The descriptor of a sort by a key. A method that only a device has is replaced by auto once the CPU has taken over.
 */
scan_sort_desc order_describe(const order_key *key, scan_sort_method method, const session *s);

/* Keeps the first row of each run of equal keys; o->n becomes their number. */
void order_unique(order *o, session *s, const char *subject, unsigned threads);

#endif
