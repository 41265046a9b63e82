/* SPDX-License-Identifier: MIT
 *
 * Text from outside, as UTF-8.
 */
#include <string.h>

#include "utf8.h"

size_t utf8_decode(const char *text, unsigned *code) {
    static const unsigned min_code[] = {0, 0, 0x80, 0x800, 0x10000}; /* a longer form than needed is refused */
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
    *code = p[0];
    if (n < 2)
        return n;
    *code &= 0x7fu >> n;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return *code < min_code[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

size_t utf8_bytes(const char *text) {
    unsigned code;
    return utf8_decode(text, &code);
}

bool utf8_is_showable(unsigned code) {
    /* Control characters, and of the format characters (Cf) and separators those that are invisible: they reorder the
     * letters of a line, hide some, or end it. */
    static const struct {
        unsigned first, last;
    } hidden[] = {{0, 0x1f},          {0x7f, 0x9f},       {0xad, 0xad},      {0x61c, 0x61c},   {0x180e, 0x180e},
                  {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},  {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
                  {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

void utf8_make_showable(char *text) {
    char *to = text;
    unsigned code;
    for (size_t n; *text; text += n ? n : 1) {
        n = utf8_decode(text, &code);
        if (n == 0 || !utf8_is_showable(code)) {
            *to++ = '?';
        } else {
            memmove(to, text, n);
            to += n;
        }
    }
    *to = 0;
}
