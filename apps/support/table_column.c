/* SPDX-License-Identifier: MIT
 *
 * Columns of a table: which one a user means, and its fields as numbers or times.
 */
#include "table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "die.h"
#include "table_field.h"
#include "timestamp.h"

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

/* Returns true for a number and for a letter or '_' followed by letters, digits and '_': the names that --where takes
 * without backticks. */
static bool is_plain_name(const char *name) {
    const char *word = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    bool digit = *name >= '0' && *name <= '9';
    return name[strspn(name, digit ? "0123456789" : word)] == 0;
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

/* Exit 2 for NAME:SUFFIX where NAME is a column. */
static void refuse_suffix(const table *t, const char *key) {
    size_t bytes = strlen(key), before = strcspn(key, ":");
    if (before == bytes)
        return;
    char *name = must_alloc(bytes + 1, 1);
    memcpy(name, key, before);
    name[before] = 0;
    if (table_find_name(t, name, 0) < t->columns)
        die(EXIT_USAGE, "%s: the header has no column \"%s\", and %s is no suffix for \"%s\"", t->name, key,
            key + before, name);
    free(name);
}

/* The name inside the backticks of a key, in memory to be freed; NULL if there are none. */
static char *unticked(const char *key) {
    const size_t bytes = strlen(key);
    if (bytes <= 2 || key[0] != '`' || key[bytes - 1] != '`')
        return NULL;
    char *name = must_alloc(bytes, 1);
    memcpy(name, key + 1, bytes - 1);
    name[bytes - 2] = 0;
    return name;
}

/* Returns true if a key is a number, from 1 or not. */
static bool is_number(const char *key, unsigned long long *number) {
    char *end = NULL;
    *number = *key >= '0' && *key <= '9' ? strtoull(key, &end, 10) : 0;
    return end && *end == 0;
}

size_t table_seek(const table *t, const char *key) {
    size_t found = table_find_name(t, key, 0);
    unsigned long long number;
    char *name = found < t->columns ? NULL : unticked(key);
    if (name)
        found = table_seek(t, name);
    else if (found == t->columns && is_number(key, &number) && number >= 1 && number <= t->columns)
        found = (size_t)number - 1;
    free(name);
    return found;
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
    char *name = unticked(key);
    if (name) {
        found = table_find(t, name);
        free(name);
        return found;
    }
    unsigned long long number;
    if (is_number(key, &number)) {
        if (number >= 1 && number <= t->columns)
            return (size_t)number - 1;
        die(EXIT_USAGE, "%s: there is no column %s: columns are 1 to %zu", t->name, key, t->columns);
    }
    if (!t->has_names)
        die(EXIT_USAGE, "%s: there is no header with column \"%s\": name it by its number", t->name, key);
    refuse_suffix(t, key);
    char names[5 * NUMBER_QUOTE_BYTES];
    char *nearest = table_nearest_name(t, key);
    if (nearest)
        die(EXIT_USAGE, "%s: the header has no column \"%s\": did you mean \"%s\"?", t->name, key, nearest);
    die(EXIT_USAGE, "%s: the header has no column \"%s\", it has %s%s", t->name, key,
        list_names(t, names, sizeof names), table_advise_delimiter(t));
}

void table_warn_of_header(const table *t, size_t index, bool times) {
    if (!t->has_names)
        return;
    char *name = table_name(t, index), quoted[NUMBER_QUOTE_BYTES];
    size_t bytes = strlen(name), where;
    int64_t ns;
    number x;
    if (times ? timestamp_parse(name, bytes, &ns) == TIMESTAMP_OK
              : dialect_parse_number(t->dialect, name, bytes, &x, &where) == NUMBER_OK &&
                    name[strcspn(name, "0123456789")]) /* "inf" may well be a name */
        warn("%s: the name of column %zu is a %s, %s: if the first row is data, say --no-header", t->name, index + 1,
             times ? "time" : "number", number_quote(quoted, name, bytes));
    free(name);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static size_t part_count_of(const table *t) { return t->n / PART_ROWS + (t->n % PART_ROWS != 0); }

typedef struct reading {
    const table *t;
    size_t index;
    column_part *parts;
} reading;

static void read_part(void *arg, size_t i) {
    reading *r = arg;
    column_part part = r->parts[i];
    const bool plain = dialect_is_plain(r->t->dialect);
    size_t row = i * PART_ROWS, end = r->t->n - row > PART_ROWS ? row + PART_ROWS : r->t->n;
    for (; row < end; row++) {
        field f = table_field_of(r->t, row, r->index);
        number x;
        number_status status = plain ? number_parse((const char *)f.begin, (size_t)(f.end - f.begin), &x, &part.where)
                               : field_is_missing(r->t, &f)
                                   ? NUMBER_EMPTY
                                   : dialect_parse_number(r->t->dialect, (const char *)f.begin,
                                                          (size_t)(f.end - f.begin), &x, &part.where);
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

/* Returns the options with which the field would be a number, or missing; NULL if there are none. */
static const char *better_dialect(const table *t, const field *f) {
    static const struct {
        char decimal, thousands;
        const char *options;
    } dialects[] = {
        {'.', ',', "--thousands ,"},   {',', 0, "--decimal ,"},          {',', '.', "--decimal , --thousands ."},
        {'.', ' ', "--thousands ' '"}, {'.', '\'', "--thousands \"'\""}, {'.', '_', "--thousands _"}};
    static const char missing[] = "--missing ";
    static const char *const words[] = {"--missing NA",   "--missing N/A",  "--missing n/a", "--missing null",
                                        "--missing NULL", "--missing None", "--missing -",   "--missing ."};
    size_t bytes = (size_t)(f->end - f->begin), where;
    number x;
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        dialect d = {.decimal = dialects[i].decimal, .thousands = dialects[i].thousands};
        if (d.decimal != t->delimiter &&
            dialect_parse_number(&d, (const char *)f->begin, bytes, &x, &where) == NUMBER_OK)
            return dialects[i].options;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i] + sizeof missing - 1) == bytes &&
            memcmp(words[i] + sizeof missing - 1, f->begin, bytes) == 0 && !field_is_quoted(f))
            return words[i];
    return NULL;
}

/* What to say for a field that is not a number: "; with --decimal , it is one", or, if there is a key of sort,
 * "; -k NAME:text sorts by text", or time where the field is one. Names that are not plain go in backticks. */
static const char *advise(char *to, size_t bytes, const table *t, const field *f, const char *key) {
    int64_t ns;
    bool time = timestamp_parse((const char *)f->begin, (size_t)(f->end - f->begin), &ns) == TIMESTAMP_OK;
    const char *options = time ? NULL : better_dialect(t, f), *tick = key && is_plain_name(key) ? "" : "`";
    if (options)
        snprintf(to, bytes, "; with %s it is %s", options, strncmp(options, "--missing", 9) ? "one" : "missing");
    else if (key)
        snprintf(to, bytes, "; -k %s%s%s:%s sorts by %s", tick, key, tick, time ? "time" : "text",
                 time ? "time" : "text");
    return to;
}

void table_refuse_number(const table *t, size_t index, const column_fault *fault, const char *key) {
    field f = table_field_of(t, fault->row, index);
    char quoted[NUMBER_QUOTE_BYTES], label[TABLE_LABEL_BYTES], advice[TABLE_LABEL_BYTES] = "";
    if (fault->not_a_number)
        advise(advice, sizeof advice, t, &f, key);
    die(EXIT_USAGE, "%s: line %zu, column %s: %s %s%s", t->name, table_line_at(t, f.begin),
        table_label(t, index, label), number_quote(quoted, (const char *)f.begin, (size_t)(f.end - f.begin)),
        fault->complaint, advice);
}

static void read_column(const table *t, size_t index, bool is_float, column *c, const char *key, unsigned threads) {
    size_t part_count = part_count_of(t);
    reading r = {t, index, must_alloc(part_count + 1, sizeof(column_part))};
    *c = (column){.data = must_alloc(t->n + 1, sizeof(uint64_t))};
    for (size_t i = 0; i < part_count; i++)
        column_part_begin(&r.parts[i], c->u64 + i * PART_ROWS, is_float);
    parallel_for(threads, part_count, read_part, &r);
    column_fault fault;
    bool good = column_finish(c, r.parts, part_count, read_part, &r, threads, &fault);
    free(r.parts);
    if (!good)
        table_refuse_number(t, index, &fault, key);
}

void table_numbers(const table *t, size_t index, column *c, const char *key, unsigned threads) {
    read_column(t, index, false, c, key, threads);
}

void table_floats(const table *t, size_t index, column *c, unsigned threads) {
    read_column(t, index, true, c, NULL, threads);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

typedef struct time_part {
    size_t missing;
    timestamp_status fault;
    size_t row; /* of the fault */
} time_part;

typedef struct timing {
    const table *t;
    size_t index;
    int64_t *values;
    uint8_t *missing;
    time_part *parts;
} timing;

static void read_times(void *arg, size_t i) {
    timing *r = arg;
    time_part part = {0};
    size_t row = i * PART_ROWS, end = r->t->n - row > PART_ROWS ? row + PART_ROWS : r->t->n;
    for (; row < end && part.fault == TIMESTAMP_OK; row++) {
        field f = table_field_of(r->t, row, r->index);
        int64_t ns = 0;
        timestamp_status status = field_is_missing(r->t, &f)
                                      ? TIMESTAMP_EMPTY
                                      : timestamp_parse((const char *)f.begin, (size_t)(f.end - f.begin), &ns);
        r->missing[row] = status == TIMESTAMP_EMPTY;
        part.missing += r->missing[row];
        r->values[row] = ns;
        if (status != TIMESTAMP_OK && status != TIMESTAMP_EMPTY)
            part = (time_part){.fault = status, .row = row};
    }
    r->parts[i] = part;
}

void table_times(const table *t, size_t index, column *c, uint8_t **missing, unsigned threads) {
    size_t part_count = part_count_of(t);
    *c = (column){.type = SCAN_I64, .n = t->n, .data = must_alloc(t->n + 1, sizeof(int64_t))};
    *missing = must_alloc(t->n + 1, 1);
    timing r = {t, index, c->i64, *missing, must_alloc(part_count + 1, sizeof(time_part))};
    parallel_for(threads, part_count, read_times, &r);
    for (size_t i = 0; i < part_count; i++) {
        if (r.parts[i].fault != TIMESTAMP_OK) {
            field f = table_field_of(t, r.parts[i].row, index);
            char quoted[NUMBER_QUOTE_BYTES], label[TABLE_LABEL_BYTES];
            die(EXIT_USAGE, "%s: line %zu, column %s: %s %s", t->name, table_line_at(t, f.begin),
                table_label(t, index, label), number_quote(quoted, (const char *)f.begin, (size_t)(f.end - f.begin)),
                timestamp_complaint(r.parts[i].fault));
        }
        c->missing += r.parts[i].missing;
    }
    free(r.parts);
    if (c->missing == 0) {
        free(*missing);
        *missing = NULL;
    }
}
