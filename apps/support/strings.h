/* SPDX-License-Identifier: MIT
 *
 * Strings: the fields of a table's column, or lines, as the bytes that they are compared by. Most of them lie in the
 * input; those that had to be written anew (doubled quotes, natural order) lie in memory of their own.
 */
#ifndef APPS_SUPPORT_STRINGS_H
#define APPS_SUPPORT_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "table.h"
#include "text.h"

/* Any bytes, not terminated. At least STRING_SLACK bytes after them can be read. */
typedef struct string {
    const unsigned char *begin; /* NULL: missing */
    size_t bytes;
} string;

enum { STRING_SLACK = 16 };

typedef struct strings {
    string *at;
    size_t n;
    size_t missing;        /* count of missing ones among them */
    unsigned char *memory; /* of those that were written anew */
} strings;

/* How strings are compared: byte by byte, or with runs of digits as numbers (natural.h). */
typedef enum string_order { STRING_BYTES, STRING_NATURAL } string_order;

/* Column `index` of a table. A field's quotes are removed and doubled quotes made single; a field that is empty and has
 * no quotes is missing. */
void strings_of_column(strings *s, const table *t, size_t index, string_order order, unsigned threads);

/* The lines of a text that is indexed (text_index), without their newlines. None is missing. */
void strings_of_lines(strings *s, const text *t, unsigned threads);

void strings_free(strings *s);

/* Below 0, 0 or above 0, as memcmp: a string comes after those that it begins with. Neither is missing. */
static inline int string_compare(const string *a, const string *b) {
    int result = memcmp(a->begin, b->begin, a->bytes < b->bytes ? a->bytes : b->bytes);
    return result ? result : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

#endif
