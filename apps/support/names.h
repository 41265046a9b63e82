/* SPDX-License-Identifier: MIT
 *
 * The names of the library's enums as lists, for options (cli_choice) and for help texts. A value that the library
 * gains is in its list.
 */
#ifndef APPS_SUPPORT_NAMES_H
#define APPS_SUPPORT_NAMES_H

#include <stddef.h>

/* Element i is the name of value i; NULL ends the list. */
const char *const *op_names(void);
const char *const *grid_names(void);
const char *const *block_names(void);
const char *const *sort_method_names(void);
const char *const *like_names(void);

/* The same, but element i is the name of value i + 1: there is no type 0. */
const char *const *type_names(void);

/* Writes the list as "a, b, c", with `between` before each name but the first and the last, and `last` before the last.
 * Returns text. */
char *names_join(char *text, size_t bytes, const char *const *names, const char *between, const char *last);

#endif
