/* SPDX-License-Identifier: MIT
 *
 * Lines and rows larger than the memory they may have. Parts that fit are sorted one after another into a spool and
 * merged from there.
 */
#include "row_parts.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/report.h"
#include "memory.h"
#include "row_check.h"
#include "row_merge.h"
#include "row_sort.h"

bool row_fits(const row_kind *kind) {
    const input *in = &kind->j->in;
    const row_cost cost = row_cost_of(kind);
    return in->extent.sized && ((double)cost.a_row + cost.quoted) * (double)in->extent.size < (double)kind->j->memory;
}

bool row_parts_next(row_parts *p, row_batch *b) {
    const row_kind *kind = p->kind;
    const size_t head = kind->first_row_bytes, before = head + p->last_bytes;
    const size_t lines_before = p->reader.lines - kind->first_row_lines;
    const char *name = p->reader.in->name;
    unsigned char *bytes;
    size_t n;
    input in;
    if (!row_reader_next(&p->reader, before, &bytes, &n))
        return false;
    if (head)
        memcpy(bytes, kind->first_row, head);
    if (p->last_bytes)
        memcpy(bytes + head, p->last, p->last_bytes);
    input_of_memory(&in, name, bytes, n,
                    kind->started ? lines_before - input_count_bytes(bytes + head, bytes + before, '\n') : 0);
    const bool first = !kind->started;
    row_batch_read(b, p->kind, &in);
    if (format_is_table(kind->format) && b->n == 0 && b->table.gap_count == 0 && !p->reader.ended &&
        !(first && kind->columns))
        die(EXIT_IO,
            "%s: line %zu: begins comments or empty lines that do not fit the memory of -S: -S SIZE gives more", name,
            lines_before + 1);
    return true;
}

void row_parts_keep_last(row_parts *p, row_batch *b) {
    row_batch_index(b, p->kind);
    if (b->n == 0)
        return;
    const uint64_t begin = b->starts[b->n - 1];
    p->last_bytes = (size_t)(b->starts[b->n] - begin);
    p->last = must_realloc(p->last, p->last_bytes, 1);
    memcpy(p->last, b->bytes + begin, p->last_bytes);
}

bool row_parts_ended(const row_parts *p) { return p->reader.ended && p->reader.rest_bytes == 0; }

static uint64_t check_parts(row_parts *p, row_batch *b) {
    const sort_job *j = p->kind->j;
    uint64_t total = 0;
    do {
        const order o = {.keys = b->keys, .key_count = b->key_count, .n = b->n};
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            row_batch_refuse(b, p->kind, EXIT_NEGATIVE, place, "is out of order");
        total += b->n - (p->last_bytes > 0);
        row_parts_keep_last(p, b);
        row_batch_free(b);
        report_progress(j->in.fetched, j->in.extent.size);
    } while (row_parts_next(p, b));
    free(p->last);
    return total;
}

/* Sorts a part into the spool. first: the place of its first row in the input. */
static void write_part(sort_job *j, row_kind *kind, row_batch *b, row_spool *s, uint64_t first) {
    order o = {.keys = b->keys, .key_count = b->key_count, .n = b->n, .method = j->method};
    uint64_t hash = 0;
    row_batch_rank(b, j);
    row_batch_index(b, kind);
    sort_rows(j, &o);
    output *out = part_file_begin(&s->rows);
    rows_write_within(PARTS_RING_BYTES, out, &(rows){b->bytes, b->starts, j->verify ? &hash : NULL}, o.index, o.type,
                      o.n, j->threads);
    part_file_end(&s->rows, out);
    if (j->verify && !j->unique)
        sort_verify_lines(j, b->bytes + b->head_bytes, b->n_bytes - b->head_bytes, hash);
    if (j->argsort) {
        uint64_t *places = must_alloc(o.n, sizeof *places);
        for (size_t i = 0; i < o.n; i++)
            places[i] = first + order_at(&o, i);
        s->hash += row_places_hash(j, places, o.n);
        out = part_file_begin(&s->places);
        output_write(out, places, o.n * sizeof *places);
        part_file_end(&s->places, out);
        free(places);
    }
    s->hash += hash;
    row_spool_end_part(s, o.n);
    free(o.index);
}

static void sort_parts(row_parts *p, row_batch *b) {
    row_kind *kind = p->kind;
    sort_job *j = kind->j;
    row_spool spool;
    uint64_t total = 0;
    const size_t head_bytes = b->head_bytes;
    unsigned char *head = memcpy(must_alloc(head_bytes, 1), b->bytes, head_bytes);
    if (j->in.extent.sized)
        part_file_need_room(j->in.extent.size, j->out_path, j->in.extent.size);
    sort_choose_device(j, (b->key_count ? b->key_count : 1) * b->n * sizeof(uint64_t));
    j->in_parts = true;
    memory_keep_none();
    row_spool_open(&spool, j);
    report_stage("sorting parts ");
    do {
        report_progress(j->in.fetched, j->in.extent.size);
        input_expect(&j->in, b->n_bytes);
        write_part(j, kind, b, &spool, total);
        total += b->n;
        row_batch_free(b);
    } while (row_parts_next(p, b));
    report_number(format_is_table(kind->format) ? "rows" : "lines", total);
    report_number("parts", spool.count);
    row_kind merging = *kind;
    merging.types = NULL;
    report_number("kept", row_merge_parts(&merging, &spool, head, head_bytes));
    row_spool_close(&spool);
    free(head);
}

void sort_row_parts(row_kind *kind) {
    sort_job *j = kind->j;
    row_parts p = {.kind = kind,
                   .reader = {.in = &j->in, .kind = kind, .cost = row_cost_of(kind), .budget = j->memory}};
    row_batch b;
    if (!row_parts_next(&p, &b)) { /* an empty input */
        input none;
        input_of_memory(&none, j->in.name, must_alloc(INPUT_TAIL_BYTES, 1), 0, 0);
        row_batch_read(&b, kind, &none);
    }
    if (row_parts_ended(&p)) {
        sort_whole_rows(kind, &b);
        row_batch_free(&b);
    } else if (j->check) {
        const uint64_t total = check_parts(&p, &b);
        report_number(format_is_table(kind->format) ? "rows" : "lines", total);
        report_number("kept", total);
    } else {
        sort_parts(&p, &b);
    }
    row_reader_close(&p.reader);
}
