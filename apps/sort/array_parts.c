/* SPDX-License-Identifier: MIT
 *
 * Arrays larger than the memory they may have. Parts that fit are sorted one after another into a spool and merged from
 * there, at once or, if they are many, in several levels: always neighbours, so that equal elements keep their order.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/report.h"
#include "array_merge.h"
#include "memory.h"
#include "row_check.h"
#include "row_sort.h"

/* Elements themselves, --argsort their places, and the workspace of the sort, as scan.h bounds it; and what --unique
 * and the library's small needs take. */
size_t sort_part_elements(const sort_job *j, scan_type type) {
    double bytes = (double)scan_type_size(type) + (j->argsort ? sizeof(uint64_t) : 0);
    return (size_t)((double)j->memory / (j->check ? bytes : 2.15 * bytes + (j->unique ? 1 : 0)));
}

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

static void write_part(sort_job *j, array_spool *s, order_key *key, size_t n, uint64_t first) {
    const size_t size = scan_type_size(key->type);
    uint64_t *places = j->argsort ? must_alloc(n, sizeof *places) : NULL;
    for (size_t i = 0; places && i < n; i++)
        places[i] = first + i;
    n = places ? sort_pairs(j, key, places, n) : sort_keys(j, key, n);
    s->hash += array_hash(j, key->type, key->data, places, n);
    output *out = part_file_begin(&s->keys);
    output_write(out, key->data, n * size);
    part_file_end(&s->keys, out);
    if (places) {
        out = part_file_begin(&s->places);
        output_write(out, places, n * sizeof *places);
        part_file_end(&s->places, out);
    }
    array_spool_end_part(s, size);
    free(places);
}

/* The first part, of n elements, is in key->data. Returns the number of all elements. */
static uint64_t write_parts(sort_job *j, array_reader *reader, order_key *key, size_t n, array_spool *s) {
    const size_t most = n;
    uint64_t total = 0;
    report_stage("sorting parts ");
    while (n > 0) {
        sort_refuse_nan(j, reader, key, n, total);
        if (array_can_seek(reader))
            input_expect(&j->in, most * reader->size);
        write_part(j, s, key, n, total);
        total += n;
        report_progress(total * reader->size, reader->counted ? reader->header.count * reader->size : 0);
        free(key->data);
        key->data = must_alloc(most, reader->size);
        n = array_read(reader, key->data, most);
    }
    free(key->data);
    return total;
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
    if (bytes)
        part_file_need_room(bytes, j->out_path, bytes);
    sort_choose_device(j, n * reader->size);
    j->in_parts = true;
    memory_keep_none();
    array_spool_open(&spool, j);
    const uint64_t total = write_parts(j, reader, key, n, &spool);
    report_number("elements", total);
    report_number("parts", spool.count);
    array_merge_parts(j, reader, &spool, total);
    array_spool_close(&spool);
}
