/* SPDX-License-Identifier: MIT
 *
 * The names of the library's enums as lists.
 */
#include <stdio.h>

#include "names.h"
#include "scan/scan.h"

enum { MAX_NAMES = 32 };

#define DEFINE_NAMES(NAME, ENUM, first)                                                                                \
    const char *const *NAME(void) {                                                                                    \
        static const char *names[MAX_NAMES + 1];                                                                       \
        for (int i = 0; i < MAX_NAMES && ENUM##_name((ENUM)(i + first)); i++)                                          \
            names[i] = ENUM##_name((ENUM)(i + first));                                                                 \
        return names;                                                                                                  \
    }

DEFINE_NAMES(op_names, scan_op, 0)
DEFINE_NAMES(grid_names, scan_grid, 0)
DEFINE_NAMES(block_names, scan_block, 0)
DEFINE_NAMES(sort_method_names, scan_sort_method, 0)
DEFINE_NAMES(like_names, scan_like, 0)
DEFINE_NAMES(type_names, scan_type, 1)

char *names_join(char *text, size_t bytes, const char *const *names, const char *between, const char *last) {
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; names[i] && length < bytes; i++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s",
                                   i == 0         ? ""
                                   : names[i + 1] ? between
                                                  : last,
                                   names[i]);
    return text;
}
