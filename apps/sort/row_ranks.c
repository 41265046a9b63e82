/* SPDX-License-Identifier: MIT
 *
 * sort on lines and rows of several ranks, by all kinds of keys:
 *
 *     1. each rank reads a share of the rows; some of each go to all, who find the same splitters among them;
 *     2. each sorts its share together with the splitters, which are before equal rows because they come first: where
 *        they end up the sorted share is cut, and part r goes to rank r;
 *     3. each sorts what it got, in the order of the ranks it came from, and writes it when lower ranks have.
 *
 * Rows with equal keys come to one rank, in their order.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_parts.h"
#include "row_share.h"
#include "row_sort.h"

enum { SAMPLES = 256 }; /* of each rank */

typedef struct row_buffer {
    unsigned char *bytes;
    size_t n, room;
} row_buffer;

static void add_row(row_buffer *to, const unsigned char *row, size_t bytes) {
    if (to->room - to->n < bytes + 1) {
        to->room = 2 * to->room + bytes + 1;
        to->bytes = must_realloc(to->bytes, to->room, 1);
    }
    memcpy(to->bytes + to->n, row, bytes);
    to->n += bytes;
    if (bytes && row[bytes - 1] != '\n') /* the last row of a file */
        to->bytes[to->n++] = '\n';
}

static order order_of(const row_batch *b, const sort_job *j) {
    return (order){.keys = b->keys, .key_count = b->key_count, .n = b->n, .method = j->method};
}

static void sort_batch(row_batch *b, const row_kind *kind, order *o) {
    sort_job *j = kind->j;
    row_batch_rank(b, j);
    row_batch_index(b, kind);
    *o = order_of(b, j);
    order_sort(o, &j->session, j->in.name, j->threads);
}

/* ---- splitters --------------------------------------------------------------------------------------------------- */

static row_buffer sample_share(const row_share *s, const row_kind *kind) {
    table shape;
    const table *t = row_shape(kind, &shape);
    const unsigned char *begin = s->bytes, *end = s->bytes + s->n_bytes;
    row_buffer samples = {0};
    for (size_t k = 0; k < SAMPLES && begin < end; k++) {
        const unsigned char *at = s->bytes + s->n_bytes / SAMPLES * k;
        if (at < begin)
            continue;
        begin = row_last_end(t, begin, at);
        const unsigned char *next = row_first_end(t, begin, end);
        add_row(&samples, begin, (size_t)(next - begin));
        begin = next;
    }
    return samples;
}

typedef struct reading {
    row_batch b;
    row_kind *kind;
    row_buffer samples;
} reading;

static void read_samples(void *arg) {
    reading *a = arg;
    row_share_batch(&a->b, a->kind, a->samples.bytes, a->samples.n, NULL, 0, 0);
}

/* One row fewer than ranks; or none, where there are no rows, or some cannot be read: then the rank that has them says
 * so. Returns how many. */
static size_t find_splitters(const row_share *s, const row_kind *kind, row_buffer *splitters) {
    row_kind without = *kind;
    fatal_error error;
    order o;
    const row_buffer mine = sample_share(s, kind);
    reading a = {.kind = &without};
    a.samples.bytes = ranks_collect(mine.bytes, mine.n, &a.samples.n);
    const size_t ranks = ranks_count();
    without.types = NULL;
    free(mine.bytes);
    const bool good = die_catch(&error, read_samples, &a);
    report_enter(PHASE_OTHER);
    const size_t count = good && a.b.n > 0 ? ranks - 1 : 0;
    if (count > 0) {
        sort_batch(&a.b, kind, &o);
        for (size_t k = 1; k <= count; k++) {
            const size_t row = order_at(&o, a.b.n * k / ranks);
            add_row(splitters, a.b.bytes + a.b.starts[row], (size_t)(a.b.starts[row + 1] - a.b.starts[row]));
        }
        free(o.index);
    }
    if (good)
        row_batch_free(&a.b);
    free(a.samples.bytes);
    return count;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Of numbers in one column or in lines: those of all ranks must go with each other. */
static void agree_on_types(const row_kind *kind) {
    for (size_t k = 0; k < (format_is_table(kind->format) ? kind->j->key_count : 1); k++) {
        const key_type *type = &kind->types[k];
        const bool any_float = ranks_add(type->any_float).total, any_negative = ranks_add(type->any_negative).total;
        const bool above = ranks_add(type->above != NULL).total > 0;
        if (any_float && type->beyond)
            die(EXIT_USAGE, "%s " COLUMN_BEYOND, type->beyond);
        if (any_negative && type->above)
            die(EXIT_USAGE, "%s " COLUMN_ABOVE, type->above);
        if (!format_is_table(kind->format) && !kind->j->text)
            report_text("type", any_float ? "f64" : above ? "u64" : "i64");
    }
}

/* A share in sorted order: rows one behind another, cut for the ranks. */
typedef struct parts {
    unsigned char *bytes;
    uint64_t *places; /* NULL, or for --argsort where each row is in the input */
    size_t *sizes, *counts;
} parts;

/* Splitters are the first `count` rows of the batch. */
static parts cut_share(const row_batch *b, const order *o, size_t count, uint64_t first, bool argsort) {
    parts p = {.bytes = must_alloc(b->n ? (size_t)(b->starts[b->n] - b->starts[0]) : 0, 1),
               .places = argsort ? must_alloc(b->n, sizeof *p.places) : NULL,
               .sizes = must_alloc(ranks_count(), sizeof *p.sizes),
               .counts = must_alloc(ranks_count(), sizeof *p.counts)};
    size_t rank = 0, at = 0, rows = 0;
    memset(p.sizes, 0, ranks_count() * sizeof *p.sizes);
    memset(p.counts, 0, ranks_count() * sizeof *p.counts);
    for (size_t i = 0; i < b->n; i++) {
        const size_t row = order_at(o, i), bytes = (size_t)(b->starts[row + 1] - b->starts[row]);
        if (row < count) {
            rank++;
            continue;
        }
        memcpy(p.bytes + at, b->bytes + b->starts[row], bytes);
        if (argsort)
            p.places[rows] = first + row - count;
        at += bytes;
        rows++;
        p.sizes[rank] += bytes;
        p.counts[rank] += sizeof(uint64_t);
    }
    return p;
}

/* For --verify, without the library: rows lie between the splitters of their part. */
static bool is_cut_well(const order *o, size_t count) {
    size_t rank = 0;
    for (size_t i = 0; i < o->n; i++) {
        const size_t row = order_at(o, i);
        if (row < count && row != rank++)
            return false;
        if (row >= count &&
            ((rank > 0 && order_compare(o, row, rank - 1) < 0) || (rank < count && order_compare(o, row, rank) >= 0)))
            return false;
    }
    return rank == count;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* Sorts this rank's share of the result. Adds the hash of what is written to *hash. Returns the number of rows. */
static uint64_t write_result(row_kind *kind, const row_share *s, unsigned char *rows_received, size_t n_bytes,
                             const uint64_t *places, uint64_t *hash) {
    sort_job *j = kind->j;
    row_batch b;
    row_share_batch(&b, kind, NULL, 0, rows_received, n_bytes, 0);
    free(rows_received);
    row_batch_rank(&b, j);
    row_batch_index(&b, kind);
    order o = order_of(&b, j);
    sort_rows(j, &o);
    if (j->argsort) {
        uint64_t *sorted = must_alloc(o.n, sizeof *sorted);
        for (size_t i = 0; i < o.n; i++)
            sorted[i] = places[order_at(&o, i)];
        rows_write_numbers(j->out, SCAN_U64, sorted, o.n, j->threads, NULL);
        free(sorted);
    } else {
        if (ranks_own() == 0)
            output_write(j->out, s->head, s->head_bytes);
        rows_write(j->out, &(rows){b.bytes, b.starts, hash}, o.index, o.type, o.n, j->threads);
    }
    output_turn(j->out);
    free(o.index);
    row_batch_free(&b);
    return o.n;
}

static void sort_share(row_kind *kind, row_share *s) {
    sort_job *j = kind->j;
    const bool hashes = j->verify && !j->unique && !j->argsort;
    row_buffer splitters = {0};
    row_batch b;
    order o;
    uint64_t before = 0, after = 0;
    const size_t count = find_splitters(s, kind, &splitters);
    row_share_batch(&b, kind, splitters.bytes, splitters.n, s->bytes, s->n_bytes, s->lines_before);
    agree_on_types(kind);
    const ranks_sum rows_of = ranks_add(b.n - count);
    report_number(format_is_table(kind->format) ? "rows" : "lines", rows_of.total);
    sort_batch(&b, kind, &o);
    if (hashes)
        before = rows_line_hash(b.bytes + b.starts[count], b.n_bytes - b.starts[count], j->threads);
    if (j->verify && !is_cut_well(&o, count))
        sort_fail_verification(j, "rows are not where they belong");
    parts p = cut_share(&b, &o, count, rows_of.before, j->argsort);
    free(o.index);
    row_batch_free(&b);
    size_t n_bytes, place_bytes = 0;
    unsigned char *received = ranks_exchange(p.bytes, p.sizes, &n_bytes);
    uint64_t *places = j->argsort ? ranks_exchange(p.places, p.counts, &place_bytes) : NULL;
    row_kind again = *kind;
    again.types = NULL;
    const uint64_t kept = write_result(&again, s, received, n_bytes, places, hashes ? &after : NULL);
    if (hashes && ranks_add(before).total != ranks_add(after).total)
        sort_fail_verification(j, "the result does not have the input's lines");
    report_number("kept", ranks_add(kept).total);
    free(splitters.bytes);
    free(p.bytes);
    free(p.places);
    free(p.sizes);
    free(p.counts);
    free(places);
}

void sort_row_ranks(row_kind *kind) {
    sort_job *j = kind->j;
    const input *in = &j->in;
    row_share s = {0};
    if (!in->extent.sized)
        ranks_refuse("%s is read in parts: give it as a file with something in it, not compressed", in->name);
    if (j->check || j->memory_given)
        ranks_refuse("%s: lines and tables are sorted in memory, and checked by one", j->check ? "--check" : "-S");
    row_share_read(&s, kind);
    sort_choose_device(j, in->extent.size / ranks_count());
    session_ready(&j->session);
    sort_share(kind, &s);
    row_share_free(&s);
}
