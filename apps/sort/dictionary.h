/* SPDX-License-Identifier: MIT
 *
 * Columns of few distinct strings, as numbers.
 */
#ifndef APPS_SORT_DICTIONARY_H
#define APPS_SORT_DICTIONARY_H

#include "row_order.h"

/* Where a sample of key->strings shows few distinct ones, makes key->data their ranks, of type u32, a new allocation:
 * rows compare by them as by their strings, and missing ones are where key->nan_first, with key->descending, puts them.
 * Leaves the key as it is where strings are few, or many of them distinct. */
void dictionary_rank(order_key *key, unsigned threads);

#endif
