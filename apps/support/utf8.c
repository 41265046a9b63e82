/* SPDX-License-Identifier: MIT
 *
 * Text from outside, as UTF-8.
 */
#include <stdbool.h>
#include <string.h>

#include "utf8.h"

size_t utf8_bytes(const char *text) {
    static const unsigned min_code[] = {0, 0, 0x80, 0x800, 0x10000}; /* a longer form than needed is refused */
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
    if (n < 2)
        return n;
    unsigned code = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < min_code[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

void utf8_make_showable(char *text) {
    char *to = text;
    for (size_t n; *text; text += n ? n : 1) {
        const unsigned char *p = (const unsigned char *)text;
        n = utf8_bytes(text);
        bool control = p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
        if (n == 0 || control) {
            *to++ = '?';
        } else {
            memmove(to, text, n);
            to += n;
        }
    }
    *to = 0;
}
