/* SPDX-License-Identifier: MIT
 *
 * Natural order as an order of bytes.
 */
#include "natural.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static unsigned char *write_count(unsigned char *to, size_t digits) {
    if (digits < 255) {
        *to++ = (unsigned char)digits;
        return to;
    }
    *to++ = 255;
    for (int shift = 56; shift >= 0; shift -= 8)
        *to++ = (unsigned char)((unsigned long long)digits >> shift);
    return to;
}

/* One digit becomes at most three bytes, a second byte of a run one more, so a translation has at most twice the bytes
 * plus one: runs of single digits are apart by a byte that stays one. The nine bytes of a long run's count are fewer
 * than its digits. */
size_t natural_translate(unsigned char *to, const unsigned char *from, size_t bytes) {
    unsigned char *begin = to;
    const unsigned char *end = from + bytes;
    while (from < end) {
        if (!is_digit(*from)) {
            *to++ = *from++;
            continue;
        }
        while (from < end && *from == '0')
            from++;
        const unsigned char *digits = from;
        while (from < end && is_digit(*from))
            from++;
        *to++ = '0';
        to = write_count(to, (size_t)(from - digits));
        memcpy(to, digits, (size_t)(from - digits));
        to += from - digits;
    }
    return (size_t)(to - begin);
}
