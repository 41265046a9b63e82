/* SPDX-License-Identifier: MIT
 *
 * Times as text: ISO 8601, and seconds since 1970 (Unix time).
 *
 *     date        YYYY-MM-DD, of the Gregorian calendar
 *     time        date, T or t or one blank, hh:mm or hh:mm:ss, and after seconds a fraction: '.' or ',' and digits
 *     zone        after a time: Z or z, or + or - and hh:mm, hhmm or hh. None is UTC
 *     seconds     + or - or none, digits, and a fraction: '.' and digits
 *
 * Digits of a fraction after the ninth are left out. Blanks and one CR may stand around all of it. 24:00 is the
 * end of a day, midnight of the next. There is no second 60: Unix time has no place for a leap second.
 */
#ifndef APPS_SUPPORT_TIMESTAMP_H
#define APPS_SUPPORT_TIMESTAMP_H

#include <stddef.h>
#include <stdint.h>

typedef enum timestamp_status {
    TIMESTAMP_OK,
    TIMESTAMP_EMPTY,    /* blanks only */
    TIMESTAMP_SYNTAX,   /* not a time */
    TIMESTAMP_CALENDAR, /* a month, day, hour, minute, second or zone that there is not */
    TIMESTAMP_RANGE,    /* outside 64-bit nanoseconds */
    TIMESTAMP_SECONDS   /* likewise, of Unix seconds */
} timestamp_status;

/* Reads text[0 ... bytes-1] as nanoseconds since 1970-01-01T00:00:00Z. */
timestamp_status timestamp_parse(const char *text, size_t bytes, int64_t *ns);

/* "is not a time, ...": the end of a message that begins with the quoted text. Static storage. */
const char *timestamp_complaint(timestamp_status status);

#endif
