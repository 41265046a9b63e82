/* SPDX-License-Identifier: MIT
 *
 * The names of the library's enums as lists, for options (cli_choice) and for help texts. A new value of the library is
 * in its list by itself.
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

/* The names of the operators that take integers only. */
const char *const *integer_op_names(void);

/* As above, but element i is the name of type i + 1: there is no type 0. */
const char *const *type_names(void);

/* Writes the list with `between` between the names: "a, b, c". Returns text. */
char *names_join(char *text, size_t bytes, const char *const *names, const char *between);

/* Copies a help text and replaces what stands for names in it: @ by the program's name, {ops}, {op|op}, {integer ops}
 * and {types} by the library's lists. Returns text. */
char *names_expand(char *text, size_t bytes, const char *help);

#endif
