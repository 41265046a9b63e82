/* SPDX-License-Identifier: MIT
 *
 * Regular expressions, Perl's, over bytes: PCRE2. A build without it refuses every pattern.
 */
#ifndef APPS_COMPACT_PATTERN_H
#define APPS_COMPACT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "apps/support/strings.h"

typedef struct pattern pattern;

/* Returns a pattern; or NULL, with the reason if the text is none, and with an empty one if there is no memory. */
pattern *pattern_open(const string *text, char *reason, size_t reason_bytes);
void pattern_close(pattern *p);

/* What one thread needs to match; NULL if there is no memory. */
typedef struct pattern_room pattern_room;
pattern_room *pattern_room_open(const pattern *p);
void pattern_room_close(pattern_room *room);

/* Returns 1 if the pattern matches somewhere in the text, 0 if not, PATTERN_NO_MEMORY, or another negative number, for
 * pattern_fault, if that takes more steps or memory than PCRE2 allows. */
enum { PATTERN_NO_MEMORY = -1000000 };
int pattern_find(const pattern *p, pattern_room *room, const string *text);

/* "match limit exceeded" */
void pattern_fault(int code, char *reason, size_t reason_bytes);

#endif
