/* SPDX-License-Identifier: MIT
 *
 * Lines and rows larger than the memory they may have. Parts that fit are sorted one after another into a spool, each
 * while the one before is written and the next is read, and merged from there.
 */
#include "row_parts.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/memory.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_merge.h"
#include "row_sort.h"

bool row_fits(const row_kind *kind) {
    const input *in = &kind->j->in;
    const row_cost cost = row_cost_of(kind);
    return in->extent.sized && ((double)cost.a_row + cost.quoted) * (double)in->extent.size < (double)kind->j->memory;
}

bool row_parts_read(row_parts *p, row_piece *piece) {
    const row_kind *kind = p->kind;
    const size_t head = kind->first_row_bytes, before = head + p->last_bytes;
    const size_t lines_before = p->reader.lines - kind->first_row_lines;
    unsigned char *bytes;
    size_t n;
    if (!row_reader_next(&p->reader, before, &bytes, &n))
        return false;
    if (head)
        memcpy(bytes, kind->first_row, head);
    if (p->last_bytes)
        memcpy(bytes + head, p->last, p->last_bytes);
    input_of_memory(&piece->in, p->reader.in->name, bytes, n,
                    kind->started ? lines_before - input_count_bytes(bytes + head, bytes + before, '\n') : 0);
    piece->lines_before = lines_before;
    piece->last = p->reader.ended;
    return true;
}

void row_parts_parse(row_kind *kind, row_piece *piece, row_batch *b) {
    row_batch_read(b, kind, &piece->in);
    if (format_is_table(kind->format) && kind->columns == 0 && !piece->last)
        die(EXIT_IO, "%s: begins with comments that do not fit the memory of -S: -S SIZE gives more", piece->in.name);
}

bool row_parts_next(row_parts *p, row_batch *b) {
    row_piece piece;
    if (!row_parts_read(p, &piece))
        return false;
    row_parts_parse(p->kind, &piece, b);
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

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

enum { PARTS = 2 }; /* in memory: one is sorted, one is written and then read anew */

typedef struct part {
    row_piece piece;
    unsigned char *memory; /* of the part that was here before, for the next one; and its size */
    size_t room;           /* 0: of the first part, which had the memory alone */
    row_batch b;
    order o;
    uint64_t first; /* the place of its first row in the input */
} part;

typedef struct sorted_parts {
    row_parts *from;
    part slots[PARTS];
    uint64_t total; /* rows read */
    row_spool spool;
} sorted_parts;

static bool read_part(void *arg, size_t slot) {
    sorted_parts *p = arg;
    part *to = &p->slots[slot];
    const input *in = p->from->reader.in;
    row_reader_reuse(&p->from->reader, to->memory, to->room);
    to->memory = NULL;
    if (!row_parts_read(p->from, &to->piece))
        return false;
    to->room = p->from->reader.room;
    input_expect(in, to->piece.in.given_bytes);
    report_progress(in->fetched, in->extent.size);
    return true;
}

/* Sorts a part that has been parsed. */
static void sort_batch(sorted_parts *p, part *of) {
    sort_job *j = p->from->kind->j;
    of->o = (order){.keys = of->b.keys, .key_count = of->b.key_count, .n = of->b.n, .method = j->method};
    of->first = p->total;
    p->total += of->b.n;
    row_batch_rank(&of->b, j);
    row_batch_index(&of->b, p->from->kind);
    sort_rows(j, &of->o);
}

static void sort_part(void *arg, size_t slot, unsigned worker) {
    sorted_parts *p = arg;
    part *of = &p->slots[slot];
    (void)worker;
    row_parts_parse(p->from->kind, &of->piece, &of->b);
    sort_batch(p, of);
}

static void write_places(const sort_job *j, const part *from, row_spool *s) {
    const size_t n = from->o.n;
    uint64_t *places = must_alloc(n, sizeof *places);
    for (size_t i = 0; i < n; i++)
        places[i] = from->first + order_at(&from->o, i);
    s->hash += row_places_hash(j, places, n);
    output_write(s->places.out, places, n * sizeof *places);
    free(places);
}

static void write_part(void *arg, size_t slot) {
    sorted_parts *p = arg;
    part *from = &p->slots[slot];
    const row_batch *b = &from->b;
    const sort_job *j = p->from->kind->j;
    uint64_t hash = 0;
    rows_write_within(PARTS_RING_BYTES, p->spool.rows.out, &(rows){b->bytes, b->starts, j->verify ? &hash : NULL},
                      from->o.index, from->o.type, from->o.n, j->threads);
    if (j->verify && !j->unique)
        sort_verify_lines(j, b->bytes + b->head_bytes, b->n_bytes - b->head_bytes, hash);
    if (j->argsort)
        write_places(j, from, &p->spool);
    p->spool.hash += hash;
    row_spool_end_part(&p->spool, from->o.n);
    free(from->o.index);
    if (from->room)
        from->memory = row_batch_take_bytes(&from->b);
    row_batch_free(&from->b);
}

/* The first part was read before it was known that it is one: it has the memory alone. */
static void write_parts(sorted_parts *p) {
    report_stage("sorting parts ");
    sort_batch(p, &p->slots[0]);
    write_part(p, 0);
    p->from->reader.budget /= PARTS;
    p->from->reader.usual /= PARTS;
    pipeline_run(&(pipeline){read_part, sort_part, write_part, p, .slots = PARTS, .serial = true});
    for (size_t i = 0; i < PARTS; i++)
        free(p->slots[i].memory);
    row_reader_reuse(&p->from->reader, NULL, 0);
    memory_give_back();
}

/* slots[0] has been read. */
static void sort_parts(sorted_parts *p) {
    row_kind *kind = p->from->kind;
    sort_job *j = kind->j;
    const row_batch *first = &p->slots[0].b;
    const size_t head_bytes = first->head_bytes;
    unsigned char *head = memcpy(must_alloc(head_bytes, 1), first->bytes, head_bytes);
    if (j->in.extent.sized)
        part_file_need_room(j->in.extent.size, j->out_path, j->in.extent.size,
                            j->in.extent.size / (first->n_bytes / PARTS + 1) >=
                                row_merge_ways(j, first->n_bytes / (first->n + 1)));
    sort_choose_device(j, (first->key_count ? first->key_count : 1) * first->n * sizeof(uint64_t));
    j->in_parts = true;
    memory_keep_none();
    output_pass_cache(j->out);
    row_spool_open(&p->spool, j);
    write_parts(p);
    report_number(format_is_table(kind->format) ? "rows" : "lines", p->total);
    report_number("parts", p->spool.count);
    row_kind merging = *kind;
    merging.types = NULL;
    report_number("kept", row_merge_parts(&merging, &p->spool, head, head_bytes));
    row_spool_close(&p->spool);
    free(head);
}

void sort_row_parts(row_kind *kind) {
    sort_job *j = kind->j;
    row_parts from = {.kind = kind,
                      .reader = {.in = &j->in, .kind = kind, .cost = row_cost_of(kind), .budget = j->memory}};
    sorted_parts p = {.from = &from};
    row_batch *first = &p.slots[0].b;
    if (!row_parts_next(&from, first)) { /* an empty input */
        input none;
        input_of_memory(&none, j->in.name, must_alloc(INPUT_TAIL_BYTES, 1), 0, 0);
        row_batch_read(first, kind, &none);
    }
    if (row_parts_ended(&from)) {
        sort_whole_rows(kind, first);
        row_batch_free(first);
    } else if (j->check) {
        const uint64_t total = check_parts(&from, first);
        report_number(format_is_table(kind->format) ? "rows" : "lines", total);
        report_number("kept", total);
    } else {
        sort_parts(&p);
    }
    row_reader_close(&from.reader);
}
