/* SPDX-License-Identifier: MIT
 *
 * sort --merge of lines and tables. Files are read in parts, as one that is checked, each row beside the one before it.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/memory.h"
#include "apps/support/output.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_merge.h"
#include "row_parts.h"

typedef struct row_file {
    row_kind kind;
    input in;
    row_parts parts;
    unsigned char *head; /* what comes before its rows */
    size_t head_bytes;
} row_file;

/* ---- rows of a file ---------------------------------------------------------------------------------------------- */

static void append(row_source *s, const unsigned char *bytes, size_t n) {
    if (s->n + n > s->room || !s->bytes) {
        s->room = s->n + n > s->room ? s->n + n : s->room;
        s->bytes = must_realloc(s->bytes, s->room, 1);
    }
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
}

/* Refuses disorder in a part, which begins with the last row before it unless it is the first, and adds its rows. */
static void take_part(row_source *s, row_batch *b) {
    row_file *f = s->file;
    const size_t old = f->parts.last_bytes > 0;
    const order o = {.keys = b->keys, .key_count = b->key_count, .n = b->n};
    const size_t place = order_first_disorder(&o, false, f->kind.j->threads);
    if (place != ORDER_NONE)
        row_batch_refuse(b, &f->kind, EXIT_USAGE, place,
                         "is out of order: --merge takes files that are sorted, by the same options");
    row_batch_index(b, &f->kind);
    append(s, b->bytes + b->starts[old], b->n_bytes - (size_t)b->starts[old]);
    row_parts_keep_last(&f->parts, b);
}

void row_file_fill(row_source *s) {
    row_file *f = s->file;
    row_batch b;
    while (!s->ended && (s->n == 0 || s->n < s->room / 2)) {
        if (row_parts_next(&f->parts, &b)) {
            if (!f->head)
                f->head = memcpy(must_alloc(b.head_bytes, 1), b.bytes, f->head_bytes = b.head_bytes);
            take_part(s, &b);
            row_batch_free(&b);
        }
        s->ended = row_parts_ended(&f->parts);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct merging {
    sort_job *j;
    data_format format;
    key_type types[MAX_KEYS];
    row_kind kind;    /* of the first file that is not empty */
    const char *name; /* of that */
    unsigned char *head;
    size_t head_bytes;
} merging;

static data_format format_of(const sort_job *j, input *in) {
    return j->text ? FORMAT_TEXT : data_format_of(in, j->dtype, j->dialect.csv, j->dialect.tsv);
}

/* Returns true if two first rows are the same but for their line ends. */
static bool same_row(const row_kind *a, const row_kind *b) {
    size_t n = a->first_row_bytes, m = b->first_row_bytes;
    while (n > 0 && (a->first_row[n - 1] == '\n' || a->first_row[n - 1] == '\r'))
        n--;
    while (m > 0 && (b->first_row[m - 1] == '\n' || b->first_row[m - 1] == '\r'))
        m--;
    return n == m && memcmp(a->first_row, b->first_row, n) == 0;
}

/* Takes what all files have in common from the first one that has rows, and refuses others that have not. */
static void compare_kind(merging *m, const row_file *f) {
    const row_kind *kind = &f->kind;
    const bool is_table = format_is_table(m->format);
    if (!kind->started || (is_table && kind->columns == 0))
        return;
    if (!m->name) {
        m->kind = *kind;
        m->kind.types = NULL;
        m->name = f->in.name;
        if (is_table)
            m->kind.first_row = memcpy(must_alloc(kind->first_row_bytes, 1), kind->first_row, kind->first_row_bytes);
        m->head = memcpy(must_alloc(f->head_bytes, 1), f->head, f->head_bytes);
        m->head_bytes = f->head_bytes;
    } else if (is_table && kind->columns != m->kind.columns) {
        die(EXIT_USAGE, "%s: has %zu columns, %s has %zu: --merge takes tables with one header", f->in.name,
            kind->columns, m->name, m->kind.columns);
    } else if (is_table && m->j->dialect.header && !same_row(kind, &m->kind)) {
        die(EXIT_USAGE, "%s: has another header than %s: --merge takes tables with one header", f->in.name, m->name);
    }
}

/* Opens a file as a source among `count`, and reads its first rows. */
static void open_source(merging *m, row_source *s, row_file *f, size_t number, size_t count) {
    sort_job *j = m->j;
    *f = (row_file){.kind = {.j = j, .format = m->format, .types = m->types}, .in = j->in};
    if (number > 0) {
        input_open(&f->in, j->inputs[number]);
        input_decompress(&f->in);
        if (format_of(j, &f->in) != m->format)
            die(EXIT_USAGE, "%s: is not of the same kind as %s: --merge takes files of one kind", f->in.name,
                j->in.name);
        output_refuse_input(f->in.fd, f->in.name);
    }
    *s = (row_source){.file = f, .room = row_merge_room(j, count)};
    f->parts =
        (row_parts){.kind = &f->kind,
                    .reader = {.in = &f->in, .kind = &f->kind, .cost = row_cost_of(&f->kind), .budget = s->room / 2}};
    row_file_fill(s);
    compare_kind(m, f);
}

static void close_file(row_file *f, size_t number) {
    row_reader_close(&f->parts.reader);
    row_kind_free(&f->kind);
    free(f->parts.last);
    free(f->head);
    if (number > 0)
        input_close(&f->in);
}

/* Opens neighbouring files and merges them, into a part of the spool or, if that is NULL, into the output. */
static void merge_files(merging *m, size_t first, size_t count, row_spool *spool) {
    sort_job *j = m->j;
    row_file *files = must_alloc(count, sizeof *files);
    row_source *sources = must_alloc(count, sizeof *sources);
    row_target to = {.rows = j->out};
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        open_source(m, &sources[i], &files[i], first + i, count);
    if (!m->name)
        m->kind = (row_kind){.j = j, .format = m->format}; /* there are no rows */
    if (spool) {
        row_merge_into(&m->kind, sources, count, spool, &hash);
    } else {
        output_write(j->out, m->head, m->head_bytes);
        row_merge(&m->kind, sources, count, &to, &hash);
        report_number("kept", to.n);
    }
    for (size_t i = 0; i < count; i++)
        close_file(&files[i], first + i);
    free(sources);
    free(files);
}

void sort_merge_rows(sort_job *j, data_format format) {
    merging m = {.j = j, .format = format};
    row_spool spool;
    const size_t ways = row_merge_ways(j, 1);
    sort_choose_device(j, 0);
    memory_keep_none();
    if (j->input_count <= ways) {
        merge_files(&m, 0, j->input_count, NULL);
    } else {
        row_spool_open(&spool, j);
        for (size_t first = 0; first < j->input_count; first += ways)
            merge_files(&m, first, j->input_count - first < ways ? j->input_count - first : ways, &spool);
        report_number("kept", row_merge_parts(&m.kind, &spool, m.head, m.head_bytes));
        row_spool_close(&spool);
    }
    row_kind_free(&m.kind);
    row_types_free(m.types);
    free(m.head);
}
