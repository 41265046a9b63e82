/* SPDX-License-Identifier: MIT
 *
 * Rounds: the first rows of every source are put one behind the other and read as a part of the input, with their keys;
 * merge_cut says which of them may be written; the part is sorted, and those are its first ones. While one is sorted,
 * the one before is written, and what comes next of the sources is read. A source of which all was written gives more
 * to the next round, one that waits for others gives less, so that sources whose rows come one after another are not
 * sorted again and again. The row of a round that comes last stays, before those of the next, so that --unique and
 * --verify see the border between them.
 */
#include "row_merge.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/background.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "order_merge.h"
#include "row_check.h"
#include "row_parts.h"
#include "row_sort.h"

enum {
    MAX_WAYS = 512,
    MIN_WAYS = 16,
    MIN_WAYS_OF_LONG = 4, /* of long rows */
    ROWS_OF_ROUND = 4,
    ROOM_BYTES = 256 << 10,
    MIN_TAKE = 4 << 10,
    ROUNDS = 2
};

typedef struct merge_round {
    row_batch b;
    order o;
    size_t old, n;        /* of the sorted rows n are written; `old` of them, 0 or 1, were written before */
    uint64_t *places;     /* by the numbers of the rows; NULL without --argsort */
    unsigned char *bytes; /* memory for the rows, which rounds use again: new memory costs as much as a copy */
    size_t room;
} merge_round;

typedef struct merge {
    row_kind *kind;
    sort_job *j;
    row_cost cost;
    size_t cost_share; /* of the memory, for what a round sorts of one source */
    row_source *sources;
    unsigned char *memory; /* of sources in spools */
    merge_range *ranges;
    size_t *bytes; /* of each source, in a round */
    size_t count;
    merge_round rounds[ROUNDS];
    unsigned char *last; /* the row that comes last of those before the next round */
    size_t last_bytes;
    row_target *to;
    background *reading; /* NULL for files, which are parsed as they are read: that takes all threads */
    uint64_t hash, done, total;
} merge;

/* A quarter of the memory is for what sources have waiting, and the rest for rounds. */
size_t row_merge_room(const sort_job *j, size_t count) { return j->memory / 4 / count; }

/* If each source has one row of a round, about one row of all can be written, and the others are parsed again; with
 * four of each of N sources it is some N^(3/4) rows. */
size_t row_merge_ways(const sort_job *j, uint64_t row_bytes) {
    const uint64_t room = ROWS_OF_ROUND * row_bytes;
    const size_t min = room > ROOM_BYTES ? MIN_WAYS_OF_LONG : MIN_WAYS;
    const size_t ways = room > j->memory ? 0 : row_merge_room(j, room > ROOM_BYTES ? (size_t)room : ROOM_BYTES);
    return ways < min ? min : ways > MAX_WAYS ? MAX_WAYS : ways;
}

uint64_t row_places_hash(const sort_job *j, uint64_t *places, size_t n) {
    return j->verify ? 3 * order_hash(SCAN_U64, places, n, j->threads) : 0;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* For a row that is longer than a source's part of the merge's memory. */
static void make_room(row_source *s, size_t room) {
    unsigned char *bytes = must_alloc_blocks(part_file_room(room));
    memcpy(bytes + s->begin, s->bytes + s->begin, s->n);
    if (s->grown)
        free(s->bytes);
    s->grown = true;
    s->bytes = bytes;
    s->room = room;
}

/* Moves what is in memory to the front, and reads more. */
static void fill(row_source *s) {
    if (s->ended)
        return;
    const size_t begin = s->file ? 0 : part_file_begin(s->n, s->at);
    memmove(s->bytes + begin, s->bytes + s->begin, s->n);
    s->begin = begin;
    if (s->file) {
        row_file_fill(s);
        return;
    }
    const size_t got =
        part_file_append(&s->spool->rows, s->bytes, begin + s->n, part_file_room(s->room), s->at, s->end);
    s->at += got;
    s->n += got;
    s->ended = s->at == s->end;
}

/* What a source has too little of is read while a round is sorted. */
static void refill(void *arg) {
    const merge *m = arg;
    for (size_t i = 0; i < m->count; i++)
        if (m->sources[i].n <= m->sources[i].room / 2)
            fill(&m->sources[i]);
}

/* Returns how many bytes, whole rows, the source gives to a round: some `take`, within its share of the memory, but a
 * row at least. */
static size_t bytes_of_round(const merge *m, row_source *s) {
    table shape;
    const table *t = row_shape(m->kind, &shape);
    for (size_t wanted = s->take;;) {
        wanted = wanted < s->n ? wanted : s->n;
        const unsigned char *begin = s->bytes + s->begin;
        const size_t bytes = row_bytes_within(&m->cost, t, begin, begin + wanted, m->cost_share);
        if (bytes > 0 || s->n == 0)
            return bytes;
        if (wanted == s->n) {
            if (s->n > s->room / 2 && !s->file)
                make_room(s, 2 * s->room);
            else if (s->file)
                s->bytes = must_realloc(s->bytes, s->room *= 2, 1);
            fill(s);
        }
        wanted *= 2;
    }
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Puts the rows of a round together, behind the first row of the input and the last one before. */
static void put_together(const merge *m, merge_round *r) {
    const row_kind *kind = m->kind;
    size_t n = kind->first_row_bytes, total = n + m->last_bytes;
    input in;
    for (size_t i = 0; i < m->count; i++)
        total += m->bytes[i];
    if (total + INPUT_TAIL_BYTES > r->room) {
        free(r->bytes);
        r->room = total + total / 16 + INPUT_TAIL_BYTES;
        r->bytes = must_alloc(r->room, 1);
    }
    unsigned char *bytes = r->bytes;
    if (n)
        memcpy(bytes, kind->first_row, n);
    if (m->last_bytes)
        memcpy(bytes + n, m->last, m->last_bytes);
    n += m->last_bytes;
    for (size_t i = 0; i < m->count; i++) {
        if (m->bytes[i])
            memcpy(bytes + n, m->sources[i].bytes + m->sources[i].begin, m->bytes[i]);
        n += m->bytes[i];
    }
    input_of_memory(&in, m->j->in.name, bytes, total, 0);
    row_batch_read(&r->b, m->kind, &in);
    row_batch_index(&r->b, m->kind);
}

/* The row that begins at an offset. */
static size_t row_at(const row_batch *b, uint64_t offset) {
    size_t low = 0, high = b->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->starts[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Cuts the sources; returns how many rows are written, with the last one before them. */
static size_t cut_round(const merge *m, const row_batch *b, const order *o) {
    uint64_t offset = m->kind->first_row_bytes + m->last_bytes;
    size_t rows = m->last_bytes > 0;
    for (size_t i = 0; i < m->count; i++) {
        const row_source *s = &m->sources[i];
        size_t begin = row_at(b, offset);
        offset += m->bytes[i];
        m->ranges[i] = (merge_range){begin, row_at(b, offset), !s->ended || m->bytes[i] < s->n, 0};
    }
    merge_cut(o, m->ranges, m->count);
    for (size_t i = 0; i < m->count; i++)
        rows += m->ranges[i].cut - m->ranges[i].begin;
    return rows;
}

/* The places in the input of the rows that are written. */
static uint64_t *read_places(merge *m, const row_batch *b) {
    uint64_t *of_row = must_alloc(b->n, sizeof *of_row);
    for (size_t i = 0; i < m->count; i++) {
        const merge_range *range = &m->ranges[i];
        part_file_read(&m->sources[i].spool->places, of_row + range->begin,
                       (range->cut - range->begin) * sizeof *of_row, m->sources[i].place * sizeof *of_row);
        m->hash += row_places_hash(m->j, of_row + range->begin, range->cut - range->begin);
    }
    return of_row;
}

static void keep_last(merge *m, const row_batch *b, const order *o) {
    const size_t row = merge_last(o, m->ranges, m->count);
    if (row == ORDER_NONE || !(m->j->unique || m->j->verify))
        return;
    m->last_bytes = (size_t)(b->starts[row + 1] - b->starts[row]);
    m->last = must_realloc(m->last, m->last_bytes, 1);
    memcpy(m->last, b->bytes + b->starts[row], m->last_bytes);
}

/* What is written leaves the sources. */
static void advance(merge *m, const row_batch *b) {
    for (size_t i = 0; i < m->count; i++) {
        row_source *s = &m->sources[i];
        const merge_range *range = &m->ranges[i];
        const uint64_t *starts = b->starts;
        const size_t bytes = (size_t)(starts[range->cut] - starts[range->begin]);
        if (m->j->verify)
            m->hash += rows_line_hash(b->bytes + starts[range->begin], bytes, m->j->threads);
        s->begin += bytes;
        s->n -= bytes;
        s->place += range->cut - range->begin;
        m->done += bytes;
        if (range->cut == range->end)
            s->take = s->take < s->room / 2 ? 2 * s->take : s->room;
        else if (bytes < m->bytes[i] / 2 && s->take > MIN_TAKE)
            s->take /= 2;
    }
}

static bool read_round(void *arg, size_t slot) {
    merge *m = arg;
    merge_round *r = &m->rounds[slot];
    size_t bytes = 0;
    background_wait(m->reading);
    for (size_t i = 0; i < m->count; i++)
        bytes += m->bytes[i] = bytes_of_round(m, &m->sources[i]);
    if (bytes == 0)
        return false;
    put_together(m, r);
    r->o = (order){.keys = r->b.keys, .key_count = r->b.key_count, .n = r->b.n, .method = m->j->method};
    r->old = m->last_bytes > 0;
    r->n = cut_round(m, &r->b, &r->o);
    r->places = m->to->places || m->to->numbers ? read_places(m, &r->b) : NULL;
    keep_last(m, &r->b, &r->o);
    advance(m, &r->b);
    background_start(m->reading, refill, m);
    return true;
}

static void sort_round(void *arg, size_t slot, unsigned worker) {
    merge *m = arg;
    merge_round *r = &m->rounds[slot];
    sort_job *j = m->j;
    order *o = &r->o;
    (void)worker;
    row_batch_rank(&r->b, j);
    order_sort(o, &j->session, j->in.name, j->threads);
    if (j->verify)
        sort_verify_order(j, o, false);
    o->n = r->n;
    if (j->unique)
        order_unique(o, &j->session, j->in.name, j->threads);
    if (j->verify && j->unique)
        sort_verify_order(j, o, true);
}

/* Writes the places of n rows, which are in this order from place `old` on. */
static void write_places(const sort_job *j, row_target *to, const merge_round *r, size_t n) {
    uint64_t *places = must_alloc(n, sizeof *places);
    for (size_t i = 0; i < n; i++)
        places[i] = r->places[order_at(&r->o, r->old + i)];
    to->hash += row_places_hash(j, places, n);
    if (to->places)
        output_write(to->places, places, n * sizeof *places);
    else
        rows_write_numbers(to->numbers, SCAN_U64, places, n, j->threads < PARTS_WRITERS ? j->threads : PARTS_WRITERS,
                           NULL);
    free(places);
}

static void write_round(void *arg, size_t slot) {
    merge *m = arg;
    merge_round *r = &m->rounds[slot];
    row_target *to = m->to;
    const size_t n = r->o.n - r->old;
    const unsigned char *index = (const unsigned char *)r->o.index + r->old * scan_type_size(r->o.type);
    const rows from = {r->b.bytes, r->b.starts, m->j->verify ? &to->hash : NULL};
    if (to->rows)
        rows_write_within(PARTS_RING_BYTES, to->rows, &from, index, r->o.type, n, m->j->threads);
    if (r->places)
        write_places(m->j, to, r, n);
    to->n += n;
    report_progress(m->done, m->total);
    free(r->places);
    free(r->o.index);
    row_batch_take_bytes(&r->b);
    row_batch_free(&r->b);
}

void row_merge(row_kind *kind, row_source *sources, size_t count, row_target *to, uint64_t *hash) {
    sort_job *j = kind->j;
    const size_t take = row_merge_room(j, count) + MIN_TAKE, stride = part_file_room(take);
    merge m = {.kind = kind, .j = j, .cost = row_cost_of(kind), .sources = sources, .count = count, .to = to};
    m.ranges = must_alloc(count, sizeof *m.ranges);
    m.bytes = must_alloc(count, sizeof *m.bytes);
    m.cost_share = j->memory / 4 * 3 / ROUNDS / count;
    if (count > 0 && !sources[0].file) {
        m.memory = must_alloc_blocks(count * stride);
        m.reading = background_open();
    }
    for (size_t i = 0; i < count; i++) {
        row_source *s = &sources[i];
        s->take = take;
        if (s->file) {
            s->room = s->take > s->n ? s->take : s->n;
            s->bytes = must_realloc(s->bytes, s->room, 1);
        } else {
            s->room = take;
            s->bytes = m.memory + i * stride;
        }
        m.total += s->end - s->at;
    }
    report_stage("merging ");
    background_start(m.reading, refill, &m);
    pipeline_run(&(pipeline){read_round, sort_round, write_round, &m, .slots = ROUNDS, .serial = true});
    background_close(m.reading);
    for (size_t i = 0; i < ROUNDS; i++)
        free(m.rounds[i].bytes);
    if (to->rows && !j->unique && to->hash != m.hash)
        sort_fail_verification(j, "what was merged does not have the lines that were read");
    *hash += m.hash;
    for (size_t i = 0; i < count; i++)
        if (sources[i].file || sources[i].grown)
            free(sources[i].bytes);
    free(m.memory);
    free(m.last);
    free(m.bytes);
    free(m.ranges);
}
