/* SPDX-License-Identifier: MIT
 *
 * Rounds: every source fills its region, merge_cut says what of each may be written, and that is copied together,
 * sorted and handed on: while one is sorted, the one before is written and the next is read. The element of a round
 * that comes last stays, before those of the next, so that --unique and --verify see the border between them.
 */
#include "array_merge.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/background.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "order_merge.h"
#include "row_check.h"
#include "row_sort.h"

enum { MAX_WAYS = 512, MIN_WAYS = 16, REGION_BYTES = 256 << 10, ROUNDS = 2 };

/* What is sorted at once: `old` elements, 0 or 1, which were handed on before, and those of one round. */
typedef struct merge_round {
    order_key key;
    unsigned char *memory; /* that the keys are in */
    uint64_t *places;      /* NULL without --argsort */
    merge_range *ranges;   /* of each source */
    size_t old, n;
} merge_round;

typedef struct merge {
    sort_job *j;
    order_key key;     /* data: the regions, one after another */
    size_t size, room; /* of an element; elements of a region, at most */
    size_t stride;     /* elements from one region to the next: those of a spool begin where their block of it does */
    bool in_memory;    /* the regions are parts of a spool's memory, of which rounds see `room` elements each */
    array_source *sources;
    size_t count;
    uint64_t *places; /* of the regions; NULL without --argsort */
    merge_round rounds[ROUNDS];
    unsigned char *spare; /* as a round's memory: a device's result goes there and takes the place of what was sorted */
    unsigned char last[sizeof(uint64_t)];
    bool has_last;
    uint64_t offset; /* of the first element in what is written */
    array_emit *emit;
    void *arg;
    background *reading; /* NULL for memory, and for files, which are checked as they are read, by all threads */
    uint64_t taken, kept, total, hash;
} merge;

/* The elements of all regions, for one byte of keys and places: themselves, two rounds, and the workspace of the sort,
 * as scan.h bounds it. */
static size_t region_elements(const sort_job *j, scan_type type) {
    double bytes = (double)scan_type_size(type) + (j->argsort ? sizeof(uint64_t) : 0);
    const size_t fitting = (size_t)((double)j->memory / (4.2 * bytes + 1));
    return fitting < j->device_elements ? fitting : j->device_elements;
}

size_t array_merge_ways(const sort_job *j, scan_type type) {
    size_t ways = region_elements(j, type) * scan_type_size(type) / REGION_BYTES;
    return ways < MIN_WAYS ? MIN_WAYS : ways > MAX_WAYS ? MAX_WAYS : ways;
}

uint64_t array_hash(const sort_job *j, scan_type type, void *keys, uint64_t *places, size_t n) {
    if (!j->verify)
        return 0;
    return order_hash(type, keys, n, j->threads) + (places ? 3 * order_hash(SCAN_U64, places, n, j->threads) : 0);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static unsigned char *element(const merge *m, size_t i) { return (unsigned char *)m->key.data + i * m->size; }

/* Moves what is left of a region to its front, and reads more of the spool. */
static void fill_from_spool(const merge *m, size_t i) {
    array_source *s = &m->sources[i];
    const size_t region = i * m->stride, kept = s->n * m->size, room = m->room - s->n;
    const uint64_t at = s->at * m->size, left = s->end - s->at;
    const size_t front = part_file_begin(kept, at), begin = region + front / m->size;
    memmove(element(m, begin), element(m, s->begin), kept);
    const size_t got = part_file_append(&s->spool->keys, element(m, region), front + kept, m->stride * m->size, at,
                                        (s->at + (left < room ? left : room)) * m->size) /
                       m->size;
    if (m->places) {
        memmove(m->places + begin, m->places + s->begin, s->n * sizeof *m->places);
        part_file_read(&s->spool->places, m->places + begin + s->n, got * sizeof *m->places, s->at * sizeof *m->places);
    }
    s->begin = begin;
    s->n += got;
    s->at += got;
    s->ended = s->at == s->end;
}

/* Reads n elements of a file, or as many as there are; returns how many. The element before `to` is the one that was
 * read before. */
static size_t read_file(const merge *m, array_source *s, size_t to, size_t n) {
    const bool first = s->reader->done == 0;
    size_t got = array_read(s->reader, element(m, to), n), before = first ? 0 : 1;
    order_key key = m->key;
    const order o = {.keys = &key, .key_count = 1, .n = got + before};
    s->ended = got < n;
    key.data = element(m, to);
    sort_refuse_nan(m->j, s->reader, &key, got, s->reader->done - got);
    key.data = element(m, to - before);
    size_t place = order_first_disorder(&o, false, m->j->threads);
    char text[AXIS_PLACE_BYTES];
    if (place != ORDER_NONE)
        die(EXIT_USAGE, "%s: %s is out of order: --merge takes files that are sorted, by the same options",
            s->reader->in->name, axis_place(s->reader, (size_t)(s->reader->done - got) + place - before, text));
    return got;
}

static void look_at_memory(const merge *m, array_source *s) {
    const size_t left = (size_t)s->end - s->begin;
    s->n = left < m->room ? left : m->room;
    s->ended = s->n == left;
}

/* Moves what is left of a region to its front, behind the element before it, and reads more of the file. */
static void fill_from_file(const merge *m, size_t i) {
    array_source *s = &m->sources[i];
    const size_t region = i * m->stride, before = s->begin > region;
    const size_t kept = s->n + before, from = s->begin - before, to = region + 1 - before;
    memmove(element(m, to), element(m, from), kept * m->size);
    s->begin = region + 1;
    s->n += read_file(m, s, s->begin + s->n, m->room - s->n);
}

/* What a region has too little of is read while a round is sorted. */
static void refill(void *arg) {
    const merge *m = arg;
    for (size_t i = 0; i < m->count && !m->in_memory; i++)
        if (!m->sources[i].ended && m->sources[i].n <= m->room / 2)
            (m->sources[i].spool ? fill_from_spool : fill_from_file)(m, i);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

size_t array_keep_first(const sort_job *j, const order_key *key, uint64_t *places, size_t n) {
    const order o = {.keys = key, .key_count = 1, .n = n};
    const size_t size = scan_type_size(key->type);
    uint8_t *starts = must_alloc(n, 1);
    unsigned char *data = key->data;
    size_t kept = 0;
    order_find_runs(&o, starts, j->threads);
    for (size_t i = 0; i < n; i++)
        if (starts[i]) {
            memcpy(data + kept * size, data + i * size, size);
            if (places)
                places[kept] = places[i];
            kept++;
        }
    free(starts);
    return kept;
}

static void verify(const sort_job *j, const order_key *key, size_t n, bool strict) {
    const order o = {.keys = key, .key_count = 1, .n = n};
    sort_verify_order(j, &o, strict);
}

typedef struct gathering {
    const merge *m;
    const merge_round *r;
    size_t *to; /* of each source */
} gathering;

static void gather_source(void *arg, size_t i) {
    const gathering *g = arg;
    const merge *m = g->m;
    const size_t begin = g->r->ranges[i].begin, count = g->r->ranges[i].cut - begin;
    memcpy((unsigned char *)g->r->key.data + g->to[i] * m->size, element(m, begin), count * m->size);
    if (g->r->places)
        memcpy(g->r->places + g->to[i], m->places + begin, count * sizeof *m->places);
}

/* Copies what the cuts say out of all regions. */
static void gather(const merge *m, merge_round *r) {
    gathering g = {m, r, must_alloc(m->count, sizeof *g.to)};
    r->n = r->old;
    for (size_t i = 0; i < m->count; i++) {
        g.to[i] = r->n;
        r->n += r->ranges[i].cut - r->ranges[i].begin;
    }
    parallel_for(m->j->threads, m->count, gather_source, &g);
    free(g.to);
}

/* Cuts what the sources have for a round, and takes it from them. Returns how many elements that are. */
static size_t cut(merge *m, const merge_round *r) {
    const order regions = {.keys = &m->key, .key_count = 1};
    size_t total = 0;
    for (size_t i = 0; i < m->count; i++) {
        array_source *s = &m->sources[i];
        if (m->in_memory)
            look_at_memory(m, s);
        r->ranges[i] = (merge_range){.begin = s->begin, .end = s->begin + s->n, .more = !s->ended};
    }
    merge_cut(&regions, r->ranges, m->count);
    for (size_t i = 0; i < m->count; i++) {
        const size_t n = r->ranges[i].cut - r->ranges[i].begin;
        m->sources[i].begin += n;
        m->sources[i].n -= n;
        total += n;
    }
    return total;
}

static size_t round_room(const merge *m) { return m->count * m->room + 1; }

static unsigned char *make_memory(const merge *m) {
    return must_alloc_blocks(round_room(m) * m->size + ALLOC_BLOCK_BYTES);
}

/* Without --unique the place in the output of what comes next is known. */
static void make_room(const merge *m, merge_round *r) {
    if (!r->memory)
        r->memory = make_memory(m);
    if (m->places && !r->places)
        r->places = must_alloc(round_room(m), sizeof *r->places);
    const size_t shift = (size_t)(m->offset + (m->taken - r->old) * m->size) % ALLOC_BLOCK_BYTES;
    r->key.data = r->memory + shift / m->size * m->size;
}

static void sort_elements(merge *m, merge_round *r) {
    sort_job *j = m->j;
    if (r->places) {
        order_sort_pairs(&r->key, r->places, r->n, j->method, &j->session, j->in.name);
    } else if (j->session.on_host) {
        order_sort_keys(&r->key, r->n, false, j->method, &j->session, j->in.name);
    } else {
        unsigned char *memory = m->spare ? m->spare : make_memory(m);
        unsigned char *sorted = memory + ((unsigned char *)r->key.data - r->memory);
        order_sort_into(&r->key, sorted, r->n, j->method, &j->session, j->in.name);
        m->spare = r->memory;
        r->memory = memory;
        r->key.data = sorted;
    }
}

static bool read_round(void *arg, size_t slot) {
    merge *m = arg;
    merge_round *r = &m->rounds[slot];
    const order regions = {.keys = &m->key, .key_count = 1};
    background_wait(m->reading);
    const size_t total = cut(m, r);
    if (total == 0)
        return false;
    r->old = m->has_last;
    m->emit(m->arg, NULL, NULL, 0); /* what was in the round's memory is written */
    make_room(m, r);
    memcpy(r->key.data, m->last, r->old * m->size);
    if (r->places)
        r->places[0] = 0;
    if (m->j->unique || m->j->verify) {
        memcpy(m->last, element(m, merge_last(&regions, r->ranges, m->count)), m->size);
        m->has_last = true;
    }
    m->taken += total;
    if (!m->in_memory)
        gather(m, r);
    background_start(m->reading, refill, m);
    return true;
}

/* Regions that are refilled while a round is sorted are gathered before; memory stays, and this thread gathers from it
 * while the other writes. */
static void sort_round(void *arg, size_t slot, unsigned worker) {
    merge *m = arg;
    sort_job *j = m->j;
    merge_round *r = &m->rounds[slot];
    (void)worker;
    if (m->in_memory)
        gather(m, r);
    m->hash += array_hash(j, r->key.type, (unsigned char *)r->key.data + r->old * m->size,
                          r->places ? r->places + r->old : NULL, r->n - r->old);
    sort_elements(m, r);
    if (j->verify)
        verify(j, &r->key, r->n, false);
    if (j->unique)
        r->n = array_keep_first(j, &r->key, r->places, r->n);
    if (j->verify && j->unique)
        verify(j, &r->key, r->n, true);
}

static void write_round(void *arg, size_t slot) {
    merge *m = arg;
    const merge_round *r = &m->rounds[slot];
    m->emit(m->arg, (unsigned char *)r->key.data + r->old * m->size, r->places ? r->places + r->old : NULL,
            r->n - r->old);
    m->kept += r->n - r->old;
    report_progress(m->taken * m->size, m->total * m->size);
}

uint64_t array_merge(sort_job *j, scan_type type, array_source *sources, size_t count, uint64_t offset,
                     array_emit *emit, void *arg, uint64_t *hash) {
    merge m = {.j = j, .key = sort_key(j, type, NULL, NULL), .size = scan_type_size(type), .emit = emit, .arg = arg};
    m.offset = offset;
    m.sources = sources;
    m.count = count;
    m.in_memory = count > 0 && sources[0].spool && sources[0].spool->memory;
    m.reading = count > 0 && sources[0].spool && !m.in_memory ? background_open() : NULL;
    if (m.in_memory) {
        const size_t round = sources[0].spool->round;
        m.room = (round < j->device_elements ? round : j->device_elements) / count + 1;
        m.key.data = sources[0].spool->memory;
    } else {
        m.room = region_elements(j, type) / count + 1;
        m.stride = part_file_room(m.room * m.size) / m.size;
        m.key.data = must_alloc_blocks(count * m.stride * m.size);
        m.places = j->argsort ? must_alloc(count * m.stride, sizeof *m.places) : NULL;
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        m.rounds[i].key = sort_key(j, type, NULL, NULL);
        m.rounds[i].ranges = must_alloc(count, sizeof *m.rounds[i].ranges);
    }
    for (size_t i = 0; i < count; i++) {
        sources[i].begin = m.in_memory ? (size_t)sources[i].at : i * m.stride;
        sources[i].n = 0;
        m.total += sources[i].end - sources[i].at;
    }
    report_stage("merging ");
    background_start(m.reading, refill, &m);
    pipeline_run(&(pipeline){read_round, sort_round, write_round, &m, .slots = ROUNDS, .serial = true});
    background_close(m.reading);
    emit(arg, NULL, NULL, 0);
    *hash += m.hash;
    for (size_t i = 0; i < ROUNDS; i++) {
        free(m.rounds[i].memory);
        free(m.rounds[i].places);
        free(m.rounds[i].ranges);
    }
    free(m.spare);
    free(m.places);
    if (!m.in_memory)
        free(m.key.data);
    return m.kept;
}
