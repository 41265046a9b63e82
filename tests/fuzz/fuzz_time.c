/* SPDX-License-Identifier: MIT
 *
 * Times in text: no crash; an accepted time is at most a zone away from its date, which the C library's calendar
 * counts, and reads the same when that calendar writes it again, and as Unix seconds.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apps/support/timestamp.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "2018-02-06",
    "2018-02-06T15:50:42.4Z",
    " 2020-02-29 23:59+14:00\r",
    "1999-12-31t00:00:00,123456789123-0930",
    "1677-09-21T00:12:43.145224192z",
    "2262-04-11T23:47:16.854775807+00",
    "1517932242.4",
    "-9223372036.854775808",
    "+0",
    "2016-12-31T23:59:60Z",
    NULL,
};

static const int64_t NS = 1000000000, DAY = 86400;

static void check_same(const char *text, int64_t ns) {
    int64_t again;
    FUZZ_CHECK(timestamp_parse(text, strlen(text), &again) == TIMESTAMP_OK && again == ns);
}

static void check(const char *text, int64_t ns) {
    char written[64];
    struct tm date = {0}, parts;
    int64_t fraction = ns % NS, seconds = ns / NS;
    snprintf(written, sizeof written, "%s%lld.%09lld", ns < 0 ? "-" : "", seconds < 0 ? -(long long)seconds : seconds,
             fraction < 0 ? -(long long)fraction : fraction);
    check_same(written, ns);
    seconds -= fraction < 0;
    fraction += fraction < 0 ? NS : 0;
    time_t t = (time_t)seconds;
    FUZZ_CHECK(gmtime_r(&t, &parts));
    size_t length = strftime(written, sizeof written, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(written + length, sizeof written - length, ".%09lldZ", (long long)fraction);
    check_same(written, ns);
    int64_t unused;
    text += strspn(text, " \t");
    if (strlen(text) > 4 && text[4] == '-' && sscanf(text, "%4d-%2d-%2d", &date.tm_year, &date.tm_mon, &date.tm_mday)) {
        date.tm_year -= 1900;
        date.tm_mon -= 1;
        const int64_t midnight = (int64_t)timegm(&date);
        FUZZ_CHECK(seconds > midnight - DAY && seconds < midnight + 2 * DAY);
        FUZZ_CHECK(date.tm_mday >= 1 && (strlen(text) > 11 || seconds == midnight));
        FUZZ_CHECK(timestamp_parse(text, 9, &unused) != TIMESTAMP_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char text[512];
    int64_t ns = 0;
    if (bytes >= sizeof text)
        return 0;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    uint8_t *exact = malloc(bytes ? bytes : 1); /* its end is the allocation's */
    FUZZ_CHECK(exact);
    memcpy(exact, data, bytes);
    timestamp_status status = timestamp_parse((const char *)exact, bytes, &ns);
    if (status == TIMESTAMP_OK)
        check(text, ns);
    else
        FUZZ_CHECK(timestamp_complaint(status)[0]);
    free(exact);
    return 0;
}
