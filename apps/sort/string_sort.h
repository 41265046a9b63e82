/* SPDX-License-Identifier: MIT
 *
 * Orders of rows whose keys are strings, or strings and numbers.
 */
#ifndef APPS_SORT_STRING_SORT_H
#define APPS_SORT_STRING_SORT_H

#include "apps/support/session.h"
#include "row_order.h"

/* Sorts stably into o->index, which is allocated; o is otherwise as for order_sort (row_sort.h). */
void string_sort(order *o, session *s, const char *subject, unsigned threads);

#endif
