/* SPDX-License-Identifier: MIT
 *
 * A scan of a column whose values, of 8 bytes, come in any number at a time, with the bits of one call. Sums of floats
 * are cut at whole groups (scan.h): the values of the group that is not complete are kept, and scanned again together
 * with the next ones.
 */
#ifndef APPS_PREFIX_VALUE_STREAM_H
#define APPS_PREFIX_VALUE_STREAM_H

#include "prefix.h"

typedef struct value_stream {
    const prefix_job *job;
    session *s;
    const char *name; /* the input's */
    scan_prefix_desc desc;
    prefix_value init, fold; /* fold: of all complete groups */
    bool folded;             /* there are some */
    uint64_t *values;        /* `open` of the last group, then room for new ones */
    uint64_t *results;
    size_t open, room;
    uint64_t n; /* values that were scanned */
    prefix_check check;
} value_stream;

enum { VALUE_GROUP = (1 << 20) / 8 };

/* For values of this type. Exits 2 if the job is not for them. */
void value_stream_open(value_stream *v, const prefix_job *job, session *s, const char *name, scan_type type);

/* Where the next n values go; then their results, good until the next call. */
uint64_t *value_stream_room(value_stream *v, size_t n);
uint64_t *value_stream_scan(value_stream *v, size_t n);

/* For --reverse: the results of n values that come before those so far, whole groups but for the last call. `first` is
 * the index of the first of them. */
void value_stream_scan_before(value_stream *v, const uint64_t *values, uint64_t *results, size_t n, uint64_t first);

void value_stream_close(value_stream *v);

#endif
