/* SPDX-License-Identifier: MIT
 *
 * Natural order: runs of digits inside text compare as numbers, so that "file9" comes before "file10". All other bytes
 * compare as they are, and a number stands where its first digit would. Leading zeros do not count: "a01" equals "a1".
 *
 * A string is translated to one whose order by bytes is the natural order of the original. A run of digits becomes the
 * byte '0', the number of its digits without leading zeros, and these digits: a number with more digits is larger, and
 * of two with as many the digits decide. The number of digits is one byte, or for 255 and more the byte 255 and eight
 * bytes, the most significant first.
 */
#ifndef APPS_SUPPORT_NATURAL_H
#define APPS_SUPPORT_NATURAL_H

#include <stddef.h>

/* The most bytes that a translation of `bytes` bytes can have. */
static inline size_t natural_max_bytes(size_t bytes) { return 2 * bytes + 1; }

/* Translates; returns the number of bytes written. `to` may not overlap `from`. */
size_t natural_translate(unsigned char *to, const unsigned char *from, size_t bytes);

#endif
