/* SPDX-License-Identifier: MIT
 *
 * Strings of columns and lines. A column is gone through once in parts; each part finds its fields and counts the bytes
 * of those that must be written anew. An exclusive scan of the counts gives each part its place in one allocation, and
 * the parts that need it write them there.
 */
#include "strings.h"

#include <stdlib.h>

#include "alloc.h"
#include "natural.h"
#include "parallel.h"
#include "table_field.h"

enum { PART_ROWS = 1 << 14 };

typedef struct part {
    size_t missing;
    size_t bytes; /* that its strings written anew take at most; after the scan: those of the parts before */
    bool rewrites;
} part;

typedef struct finding {
    const table *t;
    size_t index;
    string_order order;
    strings *s;
    part *parts;
} finding;

static size_t part_end(size_t n, size_t i) { return n - i * PART_ROWS > PART_ROWS ? (i + 1) * PART_ROWS : n; }

static bool has_doubled_quotes(const field *f) {
    return field_is_quoted(f) && memchr(f->begin, '"', (size_t)(f->end - f->begin)) != NULL;
}

/* The most bytes that a field takes when it is written anew; 0 if it need not be. */
static size_t rewritten_bytes(const finding *r, const field *f) {
    size_t bytes = (size_t)(f->end - f->begin);
    return (has_doubled_quotes(f) ? bytes : 0) + (r->order == STRING_NATURAL ? natural_max_bytes(bytes) : 0);
}

static void find_part(void *arg, size_t i) {
    finding *r = arg;
    part own = {0};
    for (size_t row = i * PART_ROWS, end = part_end(r->s->n, i); row < end; row++) {
        field f = table_field_of(r->t, row, r->index);
        if (field_is_missing(r->t, &f)) {
            r->s->at[row] = (string){0};
            own.missing++;
        } else {
            r->s->at[row] = (string){f.begin, (size_t)(f.end - f.begin)};
            own.bytes += rewritten_bytes(r, &f);
        }
    }
    own.rewrites = own.bytes > 0;
    r->parts[i] = own;
}

/* Copies with doubled quotes made single; returns the number of bytes. */
static size_t undouble(unsigned char *to, const string *s) {
    size_t length = 0;
    for (size_t i = 0; i < s->bytes; i++) {
        to[length++] = s->begin[i];
        i += s->begin[i] == '"';
    }
    return length;
}

static void rewrite_part(void *arg, size_t i) {
    finding *r = arg;
    if (!r->parts[i].rewrites)
        return;
    unsigned char *to = r->s->memory + r->parts[i].bytes;
    for (size_t row = i * PART_ROWS, end = part_end(r->s->n, i); row < end; row++) {
        string *s = &r->s->at[row];
        field f = table_field_of(r->t, row, r->index);
        if (s->begin && has_doubled_quotes(&f)) {
            s->bytes = undouble(to, s);
            s->begin = to;
            to += s->bytes;
        }
        if (s->begin && r->order == STRING_NATURAL) {
            s->bytes = natural_translate(to, s->begin, s->bytes);
            s->begin = to;
            to += s->bytes;
        }
    }
}

void strings_of_column(strings *s, const table *t, size_t index, string_order order, unsigned threads) {
    size_t part_count = t->n / PART_ROWS + (t->n % PART_ROWS != 0), bytes = 0;
    *s = (strings){.at = must_alloc(t->n + 1, sizeof *s->at), .n = t->n};
    finding r = {t, index, order, s, must_alloc(part_count + 1, sizeof(part))};
    parallel_for(threads, part_count, find_part, &r);
    for (size_t i = 0; i < part_count; i++) {
        size_t own = r.parts[i].bytes;
        s->missing += r.parts[i].missing;
        r.parts[i].bytes = bytes;
        bytes += own;
    }
    if (bytes > 0) {
        s->memory = must_alloc(bytes + STRING_SLACK, 1);
        memset(s->memory + bytes, 0, STRING_SLACK);
        parallel_for(threads, part_count, rewrite_part, &r);
    }
    free(r.parts);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct lining {
    const text *t;
    strings *s;
} lining;

static void line_part(void *arg, size_t i) {
    const lining *l = arg;
    const uint64_t *starts = l->t->starts;
    for (size_t row = i * PART_ROWS, end = part_end(l->s->n, i); row < end; row++)
        l->s->at[row] = (string){l->t->bytes + starts[row], (size_t)(starts[row + 1] - starts[row]) - 1};
}

void strings_of_lines(strings *s, const text *t, unsigned threads) {
    *s = (strings){.at = must_alloc(t->n + 1, sizeof *s->at), .n = t->n};
    parallel_for(threads, t->n / PART_ROWS + (t->n % PART_ROWS != 0), line_part, &(lining){t, s});
}

void strings_free(strings *s) {
    free(s->at);
    free(s->memory);
    *s = (strings){0};
}
