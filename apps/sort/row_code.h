/* SPDX-License-Identifier: MIT
 *
 * Codes: 64-bit integers whose order is the order of keys.
 *
 * A number has one code. A string has one for every seven bytes: these bytes, the most significant first, and in the
 * lowest byte how many of them there are, and whether more follow. So codes compare strings exactly: "a" (one byte)
 * comes before "a\0" (two), and a string before those that it begins with. Where two codes are equal and say that more
 * follows, the next seven bytes decide.
 *
 *     "Boston Harbor"  'B' 'o' 's' 't' 'o' 'n' ' '  9     seven bytes, and more
 *                      'H' 'a' 'r' 'b' 'o' 'r'  0   7     six bytes: 1 + 6
 *
 * Descending keys have the complement. 0 and UINT64_MAX are no codes of strings or floats, in either direction: missing
 * strings and NaN have them, first or last.
 */
#ifndef APPS_SORT_ROW_CODE_H
#define APPS_SORT_ROW_CODE_H

#include <string.h>

#include "row_order.h"

enum { CODE_BYTES = 7, CODE_COMPLETE = 1 /* plus the number of bytes */, CODE_MORE = 9 };

/* The code of a key that is a number. */
uint64_t row_number_code(const order_key *key, size_t row);

static inline uint64_t row_string_code(const order_key *key, size_t row, size_t depth) {
    const string *s = &key->strings->at[row];
    if (!s->begin)
        return key->nan_first ? 0 : UINT64_MAX;
    size_t left = s->bytes - depth;
    unsigned bytes = left < CODE_BYTES ? (unsigned)left : CODE_BYTES;
    uint64_t word;
    memcpy(&word, s->begin + depth, sizeof word); /* STRING_SLACK: the bytes can be read */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    uint64_t code = (word & ~(UINT64_MAX >> 8 * bytes)) | (left > CODE_BYTES ? CODE_MORE : CODE_COMPLETE + bytes);
    return key->descending ? ~code : code;
}

/* The code of a row's key, for a string from byte `depth` on, at most its length. */
static inline uint64_t row_code(const order_key *key, size_t row, size_t depth) {
    return order_key_is_string(key) ? row_string_code(key, row, depth) : row_number_code(key, row);
}

/* Returns true if rows with this code are still to be compared by the bytes after it. */
static inline bool row_code_continues(const order_key *key, uint64_t code) {
    return order_key_is_string(key) && ((key->descending ? ~code : code) & 0xff) == CODE_MORE;
}

#endif
