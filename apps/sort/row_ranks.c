/* SPDX-License-Identifier: MIT
 *
 * sort on lines and rows of several ranks, by all kinds of keys:
 *
 *     1. each rank reads a share of the rows; some of each go to all, who find the same splitters among them;
 *     2. each sorts its share together with the splitters, which are before equal rows because they come first: where
 *        they end up the sorted share is cut, and part r goes to rank r;
 *     3. each sorts what it got, in the order of the ranks it came from, and writes it when lower ranks have.
 *
 * Of rows with equal keys those that come before the splitter in the file go to lower ranks: so parts are alike for any
 * keys. For --unique they go to one rank, but of each share only the first of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_parts.h"
#include "row_share.h"
#include "row_sort.h"

enum {
    SAMPLES = 256, /* of each rank */
    COPIES = 6     /* of the rows: a batch, cut, received, sorted, on the way out */
};

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

/* Rows, and where each begins in the file. */
typedef struct row_samples {
    row_buffer rows;
    uint64_t places[SAMPLES];
    size_t count;
} row_samples;

static row_samples sample_share(const row_share *s, const row_kind *kind) {
    table shape;
    const table *t = row_shape(kind, &shape);
    const unsigned char *begin = s->bytes, *end = s->bytes + s->n_bytes;
    row_samples samples = {.count = 0};
    for (size_t k = 0; k < SAMPLES && begin < end; k++) {
        const unsigned char *at = s->bytes + s->n_bytes / SAMPLES * k;
        if (at < begin)
            continue;
        begin = row_last_end(t, begin, at);
        while (begin < end && t && t->dialect->comment && *begin == (unsigned char)t->dialect->comment)
            begin = row_first_end(t, begin, end);
        if (begin == end)
            break;
        const unsigned char *next = row_first_end(t, begin, end);
        samples.places[samples.count++] = s->first + (uint64_t)(begin - s->bytes);
        add_row(&samples.rows, begin, (size_t)(next - begin));
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

/* Rows in order, and from which place in the file on equal rows are behind them. */
typedef struct splitters {
    row_buffer rows;
    uint64_t *places;
    size_t count;
} splitters;

/* Takes splitters from the samples of all ranks. If one is no row, as an empty line, nobody knows which is which, and
 * rows that are equal stay together. */
static void choose_splitters(splitters *to, const row_batch *b, const row_kind *kind, const uint64_t *places,
                             size_t place_count) {
    const bool divides = !kind->j->unique && place_count == b->n;
    const size_t ranks = ranks_count();
    order o;
    to->count = ranks - 1;
    sort_batch((row_batch *)(uintptr_t)b, kind, &o);
    for (size_t k = 0; k < to->count; k++) {
        const size_t row = order_at(&o, b->n * (k + 1) / ranks);
        add_row(&to->rows, b->bytes + b->starts[row], (size_t)(b->starts[row + 1] - b->starts[row]));
        to->places[k] = divides ? places[row] : 0;
    }
    free(o.index);
}

/* One row fewer than ranks; or none, where there are no rows, or some cannot be read: then the rank that has them says
 * so. */
static splitters find_splitters(const row_share *s, const row_kind *kind) {
    row_kind without = *kind;
    fatal_error error;
    splitters found = {.places = must_alloc(ranks_count(), sizeof *found.places)};
    const row_samples mine = sample_share(s, kind);
    size_t place_bytes;
    uint64_t *places = ranks_collect(mine.places, mine.count * sizeof *places, &place_bytes);
    reading a = {.kind = &without};
    a.samples.bytes = ranks_collect(mine.rows.bytes, mine.rows.n, &a.samples.n);
    without.types = NULL;
    free(mine.rows.bytes);
    const bool good = die_catch(&error, read_samples, &a);
    report_enter(PHASE_OTHER);
    if (good && a.b.n > 0)
        choose_splitters(&found, &a.b, kind, places, place_bytes / sizeof *places);
    if (good)
        row_batch_free(&a.b);
    free(a.samples.bytes);
    free(places);
    return found;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* A share in sorted order: rows one behind another, cut for the ranks. */
typedef struct parts {
    unsigned char *bytes;
    uint64_t *places; /* NULL, or for --argsort where each row is in the input */
    size_t *sizes, *counts;
} parts;

/* The rows of a share in sorted order. Splitters are the first rows of the batch. */
typedef struct cutting {
    const row_batch *b;
    const order *o;
    const splitters *at;
    uint64_t first; /* where the share begins in the file */
    size_t reached; /* splitters so far */
    size_t part;    /* of the last row */
} cutting;

static bool is_behind(const cutting *c, size_t row, size_t splitter) {
    const uint64_t place = c->first + (c->b->starts[row] - c->b->starts[c->at->count]);
    return place >= c->at->places[splitter] || order_compare(c->o, splitter, row) != 0;
}

/* Of the next row. */
static size_t part_of(cutting *c, size_t row) {
    while (c->part < c->reached && is_behind(c, row, c->part))
        c->part++;
    return c->part;
}

/* For --verify, without the library: whether a row lies between the splitters of its part. */
static bool is_cut_well(const cutting *c, size_t row, size_t part) {
    const int below = part > 0 ? order_compare(c->o, part - 1, row) : -1;
    const int above = part < c->at->count ? order_compare(c->o, row, part) : -1;
    return (below < 0 || (below == 0 && is_behind(c, row, part - 1))) &&
           (above < 0 || (above == 0 && !is_behind(c, row, part)));
}

/* `before`: rows of lower ranks. */
static parts cut_share(const sort_job *j, cutting *c, uint64_t before) {
    const row_batch *b = c->b;
    const size_t count = c->at->count, none = SIZE_MAX;
    parts p = {.bytes = must_alloc(b->n ? (size_t)(b->starts[b->n] - b->starts[0]) : 0, 1),
               .places = j->argsort ? must_alloc(b->n, sizeof *p.places) : NULL,
               .sizes = must_alloc(ranks_count(), sizeof *p.sizes),
               .counts = must_alloc(ranks_count(), sizeof *p.counts)};
    size_t at = 0, rows = 0, last = none;
    memset(p.sizes, 0, ranks_count() * sizeof *p.sizes);
    memset(p.counts, 0, ranks_count() * sizeof *p.counts);
    for (size_t i = 0; i < b->n; i++) {
        const size_t row = order_at(c->o, i), bytes = (size_t)(b->starts[row + 1] - b->starts[row]);
        if (row < count) {
            c->reached += row == c->reached;
            continue;
        }
        const size_t part = part_of(c, row);
        if (j->verify && !is_cut_well(c, row, part))
            sort_fail_verification(j, "rows are not where they belong");
        if (j->unique && last != none && order_compare(c->o, last, row) == 0)
            continue;
        last = row;
        memcpy(p.bytes + at, b->bytes + b->starts[row], bytes);
        if (j->argsort)
            p.places[rows] = before + row - count;
        at += bytes;
        rows++;
        p.sizes[part] += bytes;
        p.counts[part] += sizeof(uint64_t);
    }
    return p;
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
    row_batch b;
    order o;
    uint64_t before = 0, after = 0;
    const splitters at = find_splitters(s, kind);
    const size_t count = at.count;
    row_share_batch(&b, kind, at.rows.bytes, at.rows.n, s->bytes, s->n_bytes, s->lines_before);
    row_share_agree(kind);
    const ranks_sum rows_of = ranks_add(b.n - count);
    report_number(format_is_table(kind->format) ? "rows" : "lines", rows_of.total);
    sort_batch(&b, kind, &o);
    if (hashes)
        before = rows_line_hash(b.bytes + b.starts[count], b.n_bytes - b.starts[count], j->threads);
    parts p = cut_share(j, &(cutting){.b = &b, .o = &o, .at = &at, .first = s->first}, rows_of.before);
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
    free(at.rows.bytes);
    free(at.places);
    free(p.bytes);
    free(p.places);
    free(p.sizes);
    free(p.counts);
    free(places);
}

void sort_row_ranks(row_kind *kind) {
    sort_job *j = kind->j;
    row_share s = {0};
    struct stat st;
    if (fstat(j->in.fd, &st) == 0 && !S_ISREG(st.st_mode))
        ranks_refuse("%s is read by each of them: give it as a file", j->in.name);
    row_share_read(&s, kind);
    const row_cost cost = row_cost_of(kind);
    const size_t lines = input_count_bytes(s.bytes, s.bytes + s.n_bytes, '\n');
    sort_refuse_share(j, (COPIES + cost.quoted) * (double)s.n_bytes + (double)cost.a_row * (double)lines);
    if (j->check) {
        row_share_check(&s, kind);
    } else {
        sort_choose_device(j, s.total / ranks_count());
        session_ready(&j->session);
        sort_share(kind, &s);
    }
    row_share_free(&s);
}
