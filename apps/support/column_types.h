/* SPDX-License-Identifier: MIT
 *
 * The type of a column that is parsed in chunks: each chunk has a type of its own (column.h), and what is wrong with
 * their numbers together is known at the end.
 */
#ifndef APPS_SUPPORT_COLUMN_TYPES_H
#define APPS_SUPPORT_COLUMN_TYPES_H

#include "column.h"
#include "die.h"

/* What the chunks so far say. {0} at first. */
typedef struct column_types {
    bool any_float, any_negative, any_beyond, any_above;
    fatal_error beyond, above; /* about the first integer beyond 2^53, and the first above 2^63 - 1 */
} column_types;

/* Takes the next chunk's column. refuse(arg, fault) dies of a fault in it. */
typedef void column_refuse(const void *arg, const column_fault *fault);
void column_types_add(column_types *types, const column *c, column_refuse *refuse, const void *arg);

/* The type that fits the chunks so far, if one does. */
scan_type column_types_result(const column_types *types);

/* For the end: exit 2 for an integer that does not go with others. Of several ranks (ranks.h) each has had some of the
 * chunks; collective. */
void column_types_check(column_types *types);

#endif
