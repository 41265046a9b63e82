/* SPDX-License-Identifier: MIT
 *
 * Arrays larger than the memory they may have. Parts that fit are sorted one after another into a spool, each while the
 * one before is written and the next is read, and merged from there, at once or, if they are many, in several levels:
 * always neighbours, so that equal elements keep their order.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/memory.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "array_merge.h"
#include "row_check.h"
#include "row_sort.h"

enum { PARTS = 2, IN_MEMORY = PARTS + 1 }; /* one is read, one is sorted, one is written */

/* The elements that fit, `copies` times: themselves, --argsort their places, the workspace of the sort, as scan.h
 * bounds it; and what --unique and the library's small needs take. */
static size_t fitting(const sort_job *j, scan_type type, double copies) {
    double bytes = (double)scan_type_size(type) + (j->argsort ? sizeof(uint64_t) : 0);
    return (size_t)((double)j->memory / (j->check ? bytes : (copies + 1.15) * bytes + (j->unique ? 1 : 0)));
}

static size_t part_elements(const sort_job *j, scan_type type) {
    const size_t fits = fitting(j, type, IN_MEMORY), most = fits < j->device_elements ? fits : j->device_elements;
    return most > ALLOC_BLOCK_BYTES ? most - most % ALLOC_BLOCK_BYTES : most; /* parts begin with blocks of the spool */
}

size_t sort_part_elements(const sort_job *j, scan_type type) { return fitting(j, type, 1); }

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Sorts the elements of a part with their places; returns how many remain. */
static size_t sort_pairs(sort_job *j, order_key *key, uint64_t *places, size_t n) {
    const uint64_t hash = array_hash(j, key->type, key->data, places, n);
    const order o = {.keys = key, .key_count = 1, .n = n};
    order_sort_pairs(key, places, n, j->method, &j->session, j->in.name);
    if (j->verify && (hash != array_hash(j, key->type, key->data, places, n) ||
                      order_first_disorder(&o, false, j->threads) != ORDER_NONE))
        sort_fail_verification(j, "a part is not in order, or does not have the input's elements");
    return j->unique ? array_keep_first(j, key, places, n) : n;
}

typedef struct part {
    order_key key;
    uint64_t *places; /* NULL without --argsort */
    size_t n, room;
    uint64_t first; /* the place of its first element in the input */
} part;

typedef struct parts {
    sort_job *j;
    array_reader *reader;
    part slots[PARTS];
    void *spare; /* memory of keys, of spare_room elements, which may still be being written */
    size_t spare_room;
    size_t most;    /* elements of a part */
    uint64_t total; /* elements read */
    array_spool *spool;
} parts;

/* Takes n elements that have been read. */
static void begin_part(parts *p, part *to, size_t n) {
    sort_refuse_nan(p->j, p->reader, &to->key, n, p->total);
    to->n = n;
    to->first = p->total;
    p->total += n;
    if (array_can_seek(p->reader))
        input_expect(&p->j->in, p->most * p->reader->size);
}

/* A device leaves memory that has room for what it sorted. */
static bool read_part(void *arg, size_t slot) {
    parts *p = arg;
    part *to = &p->slots[slot];
    if (to->room < p->most) {
        free(to->key.data);
        to->key.data = must_alloc_blocks(p->most * p->reader->size);
        to->room = p->most;
    }
    if (p->j->argsort && !to->places)
        to->places = must_alloc(p->most, sizeof *to->places);
    const size_t n = array_read(p->reader, to->key.data, p->most);
    if (n > 0)
        begin_part(p, to, n);
    return n > 0;
}

static void sort_part(void *arg, size_t slot, unsigned worker) {
    parts *p = arg;
    part *of = &p->slots[slot];
    (void)worker;
    for (size_t i = 0; of->places && i < of->n; i++)
        of->places[i] = of->first + i;
    of->n = of->places ? sort_pairs(p->j, &of->key, of->places, of->n) : sort_keys(p->j, &of->key, of->n);
    of->room = p->j->session.on_host || of->places ? of->room : of->n;
    p->spool->hash += array_hash(p->j, of->key.type, of->key.data, of->places, of->n);
}

/* The next part of the slot is read into the memory of the part that was written before this one. */
static void write_part(void *arg, size_t slot) {
    parts *p = arg;
    part *from = &p->slots[slot];
    array_spool_write(p->spool, from->key.data, from->places, from->n, p->reader->size);
    array_spool_end_part(p->spool, p->reader->size);
    report_progress(from->first * p->reader->size, p->reader->counted ? p->reader->header.count * p->reader->size : 0);
    void *lent = from->key.data;
    const size_t room = from->room;
    from->key.data = p->spare;
    from->room = p->spare_room;
    p->spare = lent;
    p->spare_room = room;
}

/* Ends the writing of the last part. */
static void free_spare(parts *p) {
    array_spool_write(p->spool, NULL, NULL, 0, p->reader->size);
    free(p->spare);
    p->spare = NULL;
    p->spare_room = 0;
}

/* What was read before it was known that it is a part: it has the memory alone. */
static void write_first(parts *p, order_key *key, size_t n) {
    part *first = &p->slots[0];
    first->key.data = key->data;
    first->places = p->j->argsort ? must_alloc(n, sizeof *first->places) : NULL;
    begin_part(p, first, n);
    sort_part(p, 0, 0);
    write_part(p, 0);
    free_spare(p);
    free(first->places);
    first->places = NULL;
}

/* The first n elements are in key->data. Returns the number of all elements. */
static uint64_t write_parts(sort_job *j, array_reader *reader, order_key *key, size_t n, array_spool *s) {
    parts p = {.j = j, .reader = reader, .most = part_elements(j, reader->type), .spool = s};
    for (size_t i = 0; i < PARTS; i++)
        p.slots[i].key = sort_key(j, reader->type, NULL, NULL);
    report_stage("sorting parts ");
    if (n > 0)
        write_first(&p, key, n);
    pipeline_run(&(pipeline){read_part, sort_part, write_part, &p, .slots = PARTS, .serial = true});
    free_spare(&p);
    for (size_t i = 0; i < PARTS; i++) {
        free(p.slots[i].key.data);
        free(p.slots[i].places);
    }
    return p.total;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* --check: each part stands behind the last element of the one before. */
static void check_parts(sort_job *j, array_reader *reader, order_key *key, size_t n) {
    const size_t most = n, size = reader->size;
    unsigned char *data = key->data = must_realloc(key->data, most + 1, size);
    uint64_t total = 0;
    for (size_t old = 0; n > 0; old = 1) {
        const order o = {.keys = key, .key_count = 1, .n = old + n};
        order_key fresh = *key;
        char text[AXIS_PLACE_BYTES];
        fresh.data = data + old * size;
        sort_refuse_nan(j, reader, &fresh, n, total);
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: %s is out of order", j->in.name, axis_place(reader, total - old + place, text));
        total += n;
        report_progress(total * size, reader->counted ? reader->header.count * size : 0);
        memmove(data, data + (old + n - 1) * size, size);
        n = array_read(reader, data + size, most);
    }
    report_number("elements", total);
    free(data);
}

void sort_array_parts(sort_job *j, array_reader *reader, order_key *key, size_t n) {
    array_spool spool;
    if (j->check) {
        check_parts(j, reader, key, n);
        return;
    }
    const uint64_t bytes = reader->counted ? reader->header.count * (reader->size + (j->argsort ? 8 : 0)) : 0;
    const size_t most = part_elements(j, reader->type);
    if (bytes)
        part_file_need_room(bytes, j->out_path, bytes,
                            reader->header.count / most >= array_merge_ways(j, reader->type));
    sort_choose_device(j, most * reader->size);
    j->in_parts = true;
    memory_keep_none();
    output_pass_cache(j->out);
    array_spool_open(&spool, j);
    const uint64_t total = write_parts(j, reader, key, n, &spool);
    report_number("elements", total);
    report_number("parts", spool.count);
    array_merge_parts(j, reader, &spool, total);
    array_spool_close(&spool);
}
