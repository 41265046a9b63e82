/* SPDX-License-Identifier: MIT
 *
 * Columns of a table: which one a user means, and its fields as numbers.
 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "die.h"
#include "table_field.h"

#ifndef TABLE_PART_ROWS /* fuzz_table.c has short ones */
#define TABLE_PART_ROWS (1 << 14)
#endif
enum { PART_ROWS = TABLE_PART_ROWS };

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *table_label(const table *t, size_t index, char to[TABLE_LABEL_BYTES]) {
    int length = snprintf(to, TABLE_LABEL_BYTES, "%zu", index + 1);
    char *name = t->has_names ? table_name(t, index) : NULL;
    if (name && name[0]) {
        char quoted[NUMBER_QUOTE_BYTES];
        snprintf(to + length, TABLE_LABEL_BYTES - (size_t)length, " (%s)", number_quote(quoted, name, strlen(name)));
    }
    free(name);
    return to;
}

/* Lists the first few names. */
static const char *list_names(const table *t, char *to, size_t bytes) {
    int length = 0;
    size_t shown = t->columns < 4 ? t->columns : 3;
    for (size_t i = 0; i < shown; i++) {
        char quoted[NUMBER_QUOTE_BYTES], *name = table_name(t, i);
        length += snprintf(to + length, bytes - (size_t)length, "%s%s", i ? ", " : "",
                           number_quote(quoted, name, strlen(name)));
        free(name);
    }
    if (shown < t->columns)
        snprintf(to + length, bytes - (size_t)length, " and %zu more", t->columns - shown);
    return to;
}

size_t table_find(const table *t, const char *key) {
    if (t->columns == 0)
        return 0;
    size_t found = table_find_name(t, key, 0), again = table_find_name(t, key, found + 1);
    if (again < t->columns)
        die(EXIT_USAGE, "%s: columns %zu and %zu are both named \"%s\": name it by its number", t->name, found + 1,
            again + 1, key);
    if (found < t->columns)
        return found;
    char *end = NULL;
    unsigned long long number = *key >= '0' && *key <= '9' ? strtoull(key, &end, 10) : 0;
    if (end && *end == 0) {
        if (number >= 1 && number <= t->columns)
            return (size_t)number - 1;
        die(EXIT_USAGE, "%s: there is no column %s: columns are 1 to %zu", t->name, key, t->columns);
    }
    if (!t->has_names)
        die(EXIT_USAGE, "%s: there is no header with column \"%s\": name it by its number", t->name, key);
    char names[5 * NUMBER_QUOTE_BYTES];
    die(EXIT_USAGE, "%s: the header has no column \"%s\", it has %s", t->name, key, list_names(t, names, sizeof names));
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static field find_field(const table *t, size_t row, size_t index) {
    const unsigned char *p = t->bytes + t->starts[row], *end = t->bytes + t->starts[row + 1];
    field f = read_field(p, end, (unsigned char)t->delimiter);
    while (index-- > 0)
        f = read_field(f.next + 1, end, (unsigned char)t->delimiter);
    return f;
}

typedef struct reading {
    const table *t;
    size_t index;
    column_part *parts;
} reading;

static void read_part(void *arg, size_t i) {
    reading *r = arg;
    column_part part = r->parts[i];
    size_t row = i * PART_ROWS, end = r->t->n - row > PART_ROWS ? row + PART_ROWS : r->t->n;
    for (; row < end; row++) {
        field f = find_field(r->t, row, r->index);
        number x;
        number_status status = number_parse((const char *)f.begin, (size_t)(f.end - f.begin), &x, &part.where);
        if (status == NUMBER_EMPTY) {
            column_part_add_missing(&part);
        } else if (status == NUMBER_OK) {
            column_part_add(&part, &x);
        } else {
            part.fault = status;
            break;
        }
    }
    r->parts[i] = part;
}

void table_numbers(const table *t, size_t index, column *c, unsigned threads) {
    size_t part_count = t->n / PART_ROWS + (t->n % PART_ROWS != 0);
    reading r = {t, index, must_alloc(part_count + 1, sizeof(column_part))};
    *c = (column){.data = must_alloc(t->n + 1, sizeof(uint64_t))};
    for (size_t i = 0; i < part_count; i++)
        column_part_begin(&r.parts[i], c->u64 + i * PART_ROWS, false);
    parallel_for(threads, part_count, read_part, &r);
    column_fault fault;
    bool good = column_finish(c, r.parts, part_count, read_part, &r, threads, &fault);
    free(r.parts);
    if (!good) {
        field f = find_field(t, fault.row, index);
        char quoted[NUMBER_QUOTE_BYTES], label[TABLE_LABEL_BYTES];
        die(EXIT_USAGE, "%s: line %zu, column %s: %s %s", t->name, table_line_at(t, f.begin),
            table_label(t, index, label), number_quote(quoted, (const char *)f.begin, (size_t)(f.end - f.begin)),
            fault.complaint);
    }
}
