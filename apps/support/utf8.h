/* SPDX-License-Identifier: MIT
 *
 * Text from outside, as UTF-8.
 */
#ifndef APPS_SUPPORT_UTF8_H
#define APPS_SUPPORT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length in bytes of the character that text begins with; 0 if the bytes there are not UTF-8. */
size_t utf8_bytes(const char *text);

/* The same, and *code is the character. */
size_t utf8_decode(const char *text, unsigned *code);

/* False for control characters and for invisible ones, such as those that turn the direction of writing around. */
bool utf8_is_showable(unsigned code);

/* Replaces characters that are not showable, and what is not UTF-8, by '?', in place: names and data are shown on a
 * terminal. */
void utf8_make_showable(char *text);

#endif
