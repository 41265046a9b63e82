/* SPDX-License-Identifier: MIT
 *
 * ISO 8601 and Unix seconds to nanoseconds.
 */
#include "timestamp.h"

#include <stdbool.h>

enum { NS_DIGITS = 9 };
static const int64_t NS = 1000000000;

/* What is left to read. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool at_digit(const cursor *c) { return c->at < c->end && is_digit(*c->at); }

static bool take(cursor *c, char symbol) {
    bool there = c->at < c->end && *c->at == symbol;
    c->at += there;
    return there;
}

/* Exactly `digits` digits. */
static bool take_number(cursor *c, int digits, int *value) {
    if (c->end - c->at < digits)
        return false;
    *value = 0;
    for (int i = 0; i < digits; i++, c->at++) {
        if (!is_digit(*c->at))
            return false;
        *value = *value * 10 + (*c->at - '0');
    }
    return true;
}

/* One digit or more, as nanoseconds. */
static bool take_fraction(cursor *c, int64_t *ns) {
    int digits = 0;
    *ns = 0;
    if (!at_digit(c))
        return false;
    for (; at_digit(c); c->at++)
        if (digits < NS_DIGITS) {
            *ns = *ns * 10 + (*c->at - '0');
            digits++;
        }
    for (; digits < NS_DIGITS; digits++)
        *ns *= 10;
    return true;
}

/* ns is at most a second, in either direction. */
static timestamp_status join(int64_t seconds, int64_t ns, int64_t *to) {
    __int128 total = (__int128)seconds * NS + ns;
    *to = (int64_t)total;
    return total >= INT64_MIN && total <= INT64_MAX ? TIMESTAMP_OK : TIMESTAMP_RANGE;
}

/* ---- Unix seconds ------------------------------------------------------------------------------------------------ */

static timestamp_status read_seconds(cursor *c, int64_t *to) {
    const int64_t far = INT64_C(1) << 40; /* beyond 64-bit nanoseconds */
    bool negative = take(c, '-');
    if (!negative)
        take(c, '+');
    if (!at_digit(c))
        return TIMESTAMP_SYNTAX;
    int64_t seconds = 0, ns = 0;
    for (; at_digit(c); c->at++)
        seconds = seconds < far ? seconds * 10 + (*c->at - '0') : far;
    if (take(c, '.') && !take_fraction(c, &ns))
        return TIMESTAMP_SYNTAX;
    if (c->at < c->end)
        return TIMESTAMP_SYNTAX;
    const timestamp_status status = negative ? join(-seconds, -ns, to) : join(seconds, ns, to);
    return status == TIMESTAMP_RANGE ? TIMESTAMP_SECONDS : status;
}

/* ---- ISO 8601 ---------------------------------------------------------------------------------------------------- */

static int days_of_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (leap && month == 2);
}

/* Days from 1970-01-01. Years are counted from March on, so that a leap day is the last of its year; 400 years have
 * 146,097 days (Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2014). */
static int64_t days_from_epoch(int year, int month, int day) {
    int y = year - (month <= 2) + 400; /* not negative */
    int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int day_of_era = y % 400 * 365 + y % 400 / 4 - y % 400 / 100 + day_of_year;
    return (int64_t)(y / 400) * 146097 + day_of_era - 719468 - 146097;
}

/* Seconds that the zone is ahead of UTC. */
static timestamp_status read_zone(cursor *c, int64_t *ahead) {
    *ahead = 0;
    if (c->at == c->end || take(c, 'Z') || take(c, 'z'))
        return TIMESTAMP_OK;
    bool negative = take(c, '-');
    int hours, minutes = 0;
    if ((!negative && !take(c, '+')) || !take_number(c, 2, &hours))
        return TIMESTAMP_SYNTAX;
    bool colon = take(c, ':');
    if ((colon || c->at < c->end) && !take_number(c, 2, &minutes))
        return TIMESTAMP_SYNTAX;
    *ahead = (negative ? -1 : 1) * (hours * 3600 + minutes * 60);
    return hours < 24 && minutes < 60 ? TIMESTAMP_OK : TIMESTAMP_CALENDAR;
}

/* The time of a day and its zone: seconds from midnight UTC, and nanoseconds. */
static timestamp_status read_time_of_day(cursor *c, int64_t *seconds, int64_t *ns) {
    int hour, minute, second = 0;
    int64_t ahead;
    if (!take_number(c, 2, &hour) || !take(c, ':') || !take_number(c, 2, &minute))
        return TIMESTAMP_SYNTAX;
    if (take(c, ':')) {
        if (!take_number(c, 2, &second) || ((take(c, '.') || take(c, ',')) && !take_fraction(c, ns)))
            return TIMESTAMP_SYNTAX;
    }
    timestamp_status zone = read_zone(c, &ahead);
    *seconds = hour * 3600 + minute * 60 + second - ahead;
    const bool day_ends = hour == 24 && minute == 0 && second == 0 && *ns == 0;
    return zone == TIMESTAMP_OK && ((hour > 23 && !day_ends) || minute > 59 || second > 59) ? TIMESTAMP_CALENDAR : zone;
}

static timestamp_status read_iso(cursor *c, int64_t *to) {
    int year, month, day;
    int64_t seconds = 0, ns = 0;
    timestamp_status time = TIMESTAMP_OK;
    if (!take_number(c, 4, &year) || !take(c, '-') || !take_number(c, 2, &month) || !take(c, '-') ||
        !take_number(c, 2, &day))
        return TIMESTAMP_SYNTAX;
    if (c->at < c->end) {
        if (!take(c, 'T') && !take(c, 't') && !take(c, ' '))
            return TIMESTAMP_SYNTAX;
        time = read_time_of_day(c, &seconds, &ns);
    }
    if (time == TIMESTAMP_SYNTAX || c->at < c->end)
        return TIMESTAMP_SYNTAX;
    if (time != TIMESTAMP_OK || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return TIMESTAMP_CALENDAR;
    return join(days_from_epoch(year, month, day) * 86400 + seconds, ns, to);
}

timestamp_status timestamp_parse(const char *text, size_t bytes, int64_t *ns) {
    cursor c = {text, text + bytes};
    if (c.end > c.at && c.end[-1] == '\r')
        c.end--;
    while (c.end > c.at && is_blank(c.end[-1]))
        c.end--;
    while (c.at < c.end && is_blank(*c.at))
        c.at++;
    if (c.at == c.end)
        return TIMESTAMP_EMPTY;
    return c.end - c.at > 4 && is_digit(c.at[0]) && c.at[4] == '-' ? read_iso(&c, ns) : read_seconds(&c, ns);
}

const char *timestamp_complaint(timestamp_status status) {
    switch (status) {
    case TIMESTAMP_OK: return "is a time";
    case TIMESTAMP_EMPTY: return "is empty, a time is needed";
    case TIMESTAMP_SYNTAX: break;
    case TIMESTAMP_CALENDAR: return "is no time of the calendar or the clock";
    case TIMESTAMP_RANGE: return "is outside 1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z";
    case TIMESTAMP_SECONDS:
        return "is outside 1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z: digits alone are seconds "
               "since 1970";
    }
    return "is not a time: those are like 2018-02-06T15:50:42.4Z, or seconds since 1970";
}
