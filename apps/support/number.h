/* SPDX-License-Identifier: MIT
 *
 * Numbers as text: reading and writing. The only C++ of the programs stands behind this header: std::from_chars and
 * std::to_chars read and write floats exactly, fast and in any locale.
 *
 * A number is: blanks (space, tab), a sign + or -, decimal digits with a fraction and an exponent, or nan, inf,
 * infinity in any case, blanks, at most one CR. Hexadecimal, separators, NUL and nan(...) are refused.
 */
#ifndef APPS_SUPPORT_NUMBER_H
#define APPS_SUPPORT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum number_status {
    NUMBER_OK = 0,
    NUMBER_EMPTY = 1,         /* blanks only */
    NUMBER_SYNTAX = 2,        /* not a number */
    NUMBER_INTEGER_RANGE = 3, /* an integer outside 64 bits */
    NUMBER_FLOAT_RANGE = 4    /* a float beyond the largest double; one below the smallest is 0 */
} number_status;

/* type is SCAN_I64 for an integer that fits, SCAN_U64 for one above INT64_MAX, SCAN_F64 for what has a point or an
 * exponent or is nan or inf. */
typedef struct number {
    scan_type type;
    bool minus_zero;  /* the integer "-0": 0 as an integer, -0.0 among floats */
    scan_value value; /* member i, u or f, as type says */
} number;

/* Reads text[0 ... bytes-1] as one number. On failure *where is the offset of the first byte that does not fit (syntax)
 * or of the number (range). */
number_status number_parse(const char *text, size_t bytes, number *out, size_t *where);

/* "is not a number", "does not fit a 64-bit integer", ...: the end of a message that begins with the quoted text.
 * Static storage. */
const char *number_complaint(number_status status);

/* text in quotes for a message: at most 40 bytes of it, control and non-ASCII bytes escaped. Returns `to`. */
enum { NUMBER_QUOTE_BYTES = 176 };
const char *number_quote(char to[NUMBER_QUOTE_BYTES], const char *text, size_t bytes);

/* Writes one element as text, not terminated, and returns its length, at most NUMBER_FORMAT_BYTES. Integers in decimal;
 * floats as the shortest text that reads back the same, never as a bare integer beyond 2^53; every NaN as "nan". */
enum { NUMBER_FORMAT_BYTES = 32 };
size_t number_format(char *to, scan_type type, const void *element);

#ifdef __cplusplus
}
#endif

#endif
