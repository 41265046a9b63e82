/* SPDX-License-Identifier: MIT
 *
 * A column of numbers read from text in parts that are parsed in parallel, and the one type that all of it gets:
 *
 *     i64  if every number is an integer that fits
 *     u64  else, if every number is an integer that fits
 *     f64  else, if any has a point or an exponent, or is nan, inf or missing; an integer beyond 2^53 is then an error
 *
 * Every part parses optimistically as integers and turns to floats at its first float; at the end the parts that did
 * not are converted. So text is parsed once, for any type.
 */
#ifndef APPS_SUPPORT_COLUMN_H
#define APPS_SUPPORT_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "number.h"
#include "parallel.h"

/* A missing field is this quiet NaN, which text cannot give. */
#define COLUMN_MISSING_BITS UINT64_C(0x7ff80000000007a2)

typedef struct column {
    scan_type type; /* SCAN_I64, SCAN_U64 or SCAN_F64 */
    size_t n;
    size_t missing;       /* count of missing fields among them */
    bool any_negative;    /* of integers, as the next two, which are rows or COLUMN_NOWHERE */
    size_t above, beyond; /* the first above INT64_MAX, and the first beyond 2^53 */
    union {               /* n values of 8 bytes */
        void *data;
        int64_t *i64;
        uint64_t *u64;
        double *f64;
    };
} column;

/* What one part has read so far. Integers are kept as their 64 bits until the part turns to floats. */
typedef struct column_part {
    uint64_t *values;
    size_t n;
    size_t missing;
    int64_t low, high; /* of the i64 integers */
    bool is_float;
    bool minus_zero;     /* an integer "-0" was seen while not is_float */
    size_t above;        /* first row with an integer above INT64_MAX, or COLUMN_NOWHERE */
    size_t beyond;       /* once is_float: first row with an integer beyond 2^53, or COLUMN_NOWHERE */
    number_status fault; /* not NUMBER_OK: row n could not be read */
    size_t where;        /* the offset that number_parse gave for it */
} column_part;

#define COLUMN_NOWHERE SIZE_MAX

/* Complaints of column_finish about integers that do not go with other numbers. */
#define COLUMN_BEYOND "is beyond 2^53 and stands among floats"
#define COLUMN_ABOVE "does not fit i64, and a negative number does not fit u64"

/* is_float: read everything as floats from the start. */
void column_part_begin(column_part *part, uint64_t *values, bool is_float);

/* The usual case: an i64 in a part that is not is_float. */
static inline void column_part_add_i64(column_part *part, int64_t value) {
    part->low = value < part->low ? value : part->low;
    part->high = value > part->high ? value : part->high;
    part->values[part->n++] = (uint64_t)value;
}

void column_part_add(column_part *part, const number *x);
void column_part_add_missing(column_part *part);

/* What is wrong with a column. */
typedef struct column_fault {
    size_t row;
    size_t where; /* offset of the first byte that does not fit, 0 if the whole number is meant */
    bool empty;   /* there is nothing to quote */
    bool not_a_number;
    const char *complaint; /* the end of a message that begins with the quoted text */
} column_fault;

/* Gives c its type and makes all parts agree. Parts lie one after another in c->data. `again` parses part i anew as
 * floats: needed where an integer column's "-0" turns out to stand among floats. False: *fault says what is wrong. */
bool column_finish(column *c, column_part *parts, size_t part_count, parallel_task *again, void *arg, unsigned threads,
                   column_fault *fault);

#endif
