/* SPDX-License-Identifier: MIT
 *
 * Columns parsed in parts: what each part has seen, and the type that fits them all.
 */
#include "column.h"

#include <string.h>

static const int64_t EXACT = INT64_C(1) << 53; /* every integer up to here is a double */

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void column_part_begin(column_part *part, uint64_t *values, bool is_float) {
    *part = (column_part){
        .values = values,
        .low = INT64_MAX,
        .high = INT64_MIN,
        .is_float = is_float,
        .above = COLUMN_NOWHERE,
        .beyond = COLUMN_NOWHERE,
    };
}

static bool is_beyond(int64_t value) { return value > EXACT || value < -EXACT; }

/* The first row with an integer beyond 2^53, of a part of integers. */
static size_t find_beyond(const column_part *part) {
    if (part->above == COLUMN_NOWHERE && (part->n == 0 || !(is_beyond(part->low) || is_beyond(part->high))))
        return COLUMN_NOWHERE;
    for (size_t i = 0; i < part->n; i++)
        if (i == part->above || is_beyond((int64_t)part->values[i]))
            return i;
    return COLUMN_NOWHERE;
}

static void turn_to_float(column_part *part) {
    part->beyond = find_beyond(part);
    for (size_t i = 0; i < part->n; i++)
        part->values[i] = bits_of((double)(int64_t)part->values[i]);
    part->is_float = true;
}

static void add_float(column_part *part, uint64_t bits) {
    if (!part->is_float)
        turn_to_float(part);
    part->values[part->n++] = bits;
}

void column_part_add(column_part *part, const number *x) {
    if (x->type == SCAN_F64) {
        add_float(part, bits_of(x->value.f));
    } else if (part->is_float) {
        if ((x->type == SCAN_U64 || is_beyond(x->value.i)) && part->beyond == COLUMN_NOWHERE)
            part->beyond = part->n;
        part->values[part->n++] = bits_of(x->minus_zero ? -0.0 : (double)x->value.i);
    } else if (x->type == SCAN_U64) {
        if (part->above == COLUMN_NOWHERE)
            part->above = part->n;
        part->values[part->n++] = x->value.u;
    } else {
        part->minus_zero |= x->minus_zero;
        column_part_add_i64(part, x->value.i);
    }
}

void column_part_add_missing(column_part *part) {
    add_float(part, COLUMN_MISSING_BITS);
    part->missing++;
}

/* ---- all parts --------------------------------------------------------------------------------------------------- */

typedef struct conversion {
    column_part *parts;
    parallel_task *again;
    void *arg;
} conversion;

static void convert_part(void *arg, size_t i) {
    conversion *c = arg;
    column_part *part = &c->parts[i];
    if (part->minus_zero) { /* among its integers -0 cannot be told from 0 */
        uint64_t *values = part->values;
        column_part_begin(part, values, true);
        c->again(c->arg, i);
    } else if (!part->is_float) {
        turn_to_float(part);
    }
}

static bool fail(column_fault *fault, const column_part *part, const uint64_t *first, size_t row, const char *why) {
    *fault = (column_fault){.row = (size_t)(part->values - first) + row, .complaint = why};
    return false;
}

bool column_finish(column *c, column_part *parts, size_t part_count, parallel_task *again, void *arg, unsigned threads,
                   column_fault *fault) {
    bool any_float = false, any_negative = false;
    const column_part *above = NULL;
    c->n = c->missing = 0;
    for (size_t i = 0; i < part_count; i++) {
        const column_part *part = &parts[i];
        if (part->fault != NUMBER_OK) {
            fail(fault, part, c->u64, part->n, number_complaint(part->fault));
            fault->where = part->where;
            fault->empty = part->fault == NUMBER_EMPTY;
            fault->not_a_number = part->fault == NUMBER_SYNTAX;
            return false;
        }
        c->n += part->n;
        c->missing += part->missing;
        any_float |= part->is_float;
        any_negative |= part->low < 0;
        if (!above && part->above != COLUMN_NOWHERE)
            above = part;
    }
    c->any_negative = any_negative;
    c->above = above ? (size_t)(above->values - c->u64) + above->above : COLUMN_NOWHERE;
    c->beyond = COLUMN_NOWHERE;
    c->type = any_float ? SCAN_F64 : above ? SCAN_U64 : SCAN_I64;
    if (c->type == SCAN_U64 && any_negative)
        return fail(fault, above, c->u64, above->above, COLUMN_ABOVE);
    if (c->type == SCAN_F64) {
        parallel_for(threads, part_count, convert_part, &(conversion){parts, again, arg});
        for (size_t i = 0; i < part_count; i++)
            if (parts[i].beyond != COLUMN_NOWHERE)
                return fail(fault, &parts[i], c->u64, parts[i].beyond, COLUMN_BEYOND);
    }
    for (size_t i = 0; i < part_count && c->type != SCAN_F64 && c->beyond == COLUMN_NOWHERE; i++) {
        size_t row = find_beyond(&parts[i]);
        c->beyond = row != COLUMN_NOWHERE ? (size_t)(parts[i].values - c->u64) + row : row;
    }
    return true;
}
