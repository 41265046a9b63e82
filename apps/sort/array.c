/* SPDX-License-Identifier: MIT
 *
 * sort on .npy and raw arrays: in the memory they were read into, or streaming through a device; along an axis in
 * lanes.c.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/output.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "device_stream.h"
#include "row_check.h"
#include "sort.h"

enum { FIRST_ELEMENTS = 1 << 21 }; /* memory for the first elements of a pipe */

array_writer sort_writer(const sort_job *j, const array_reader *reader, scan_type type) {
    return (array_writer){.out = j->out,
                          .format = j->out_format,
                          .type = type,
                          .is_bool = reader->header.is_bool && !j->argsort,
                          .threads = j->threads};
}

/* Where a device sorts, the host has no workspace whose memory the output could use later. */
void sort_expect_output(const sort_job *j, uint64_t n, size_t size) {
    if (!j->unique && format_is_binary(j->out_format))
        output_expect(j->out, n * size);
}

/* In the input's shape, unless --unique has changed the count. */
array_writer sort_write_header(const sort_job *j, const array_reader *reader, scan_type type, size_t n) {
    const array_writer w = sort_writer(j, reader, type);
    uint64_t count = n;
    if (reader->npy && !j->unique)
        array_write_header(&w, reader->header.dimensions, reader->header.shape);
    else
        array_write_header(&w, 1, &count);
    return w;
}

void sort_refuse_nan(const sort_job *j, const array_reader *reader, const order_key *key, size_t n, uint64_t first) {
    size_t nan = sort_refused_nan(j, key, n, NULL);
    char place[AXIS_PLACE_BYTES];
    if (nan != ORDER_NONE)
        die(EXIT_USAGE, "%s: %s is NaN", reader->in->name, axis_place(reader, (size_t)first + nan, place));
}

/* Through a device, overlapped with reading and writing. */
static void stream_array(sort_job *j, array_reader *reader, const order_key *key) {
    sort_stream w = {.s = &j->session,
                     .reader = reader,
                     .key = *key,
                     .method = j->method,
                     .argsort = j->argsort,
                     .unique = j->unique};
    const uint64_t n = reader->header.count;
    sort_expect_output(j, n, !j->argsort ? reader->size : n >> 32 ? sizeof(uint64_t) : sizeof(uint32_t));
    sort_stream_read(&w);
    report_number("elements", w.n);
    sort_refuse_nan(j, reader, &w.key, w.n, 0);
    sort_stream_sort(&w);
    const array_writer out = sort_write_header(j, reader, w.type, w.kept);
    sort_stream_write(&w, &out);
    report_number("kept", w.kept);
}

/* Everything is in memory: key->data, n elements. */
static void sort_whole(sort_job *j, array_reader *reader, order_key *key, size_t n) {
    report_number("elements", n);
    sort_choose_device(j, n * reader->size);
    sort_refuse_nan(j, reader, key, n, 0);
    order o = {.keys = key, .key_count = 1, .n = n, .method = j->method};
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        char text[AXIS_PLACE_BYTES];
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: %s is out of order", j->in.name, axis_place(reader, place, text));
    } else if (j->argsort) {
        sort_rows(j, &o);
        const array_writer w = sort_write_header(j, reader, o.type, o.n);
        array_write(&w, o.index, o.n);
        free(o.index);
    } else {
        o.n = sort_keys(j, key, n);
        const array_writer w = sort_write_header(j, reader, key->type, o.n);
        array_write(&w, key->data, o.n);
    }
    report_number("kept", o.n);
    free(key->data);
}

/* Reads `most` elements, or as many as there are; memory grows with the data that come. */
static void *read_most(array_reader *reader, size_t most, size_t *n) {
    size_t capacity = most < FIRST_ELEMENTS || array_can_seek(reader) ? most : FIRST_ELEMENTS;
    char *data = must_alloc(capacity, reader->size);
    for (*n = 0;;) {
        *n += array_read(reader, data + *n * reader->size, capacity - *n);
        if (*n < capacity || capacity == most)
            return data;
        capacity = capacity > most / 2 ? most : capacity * 2;
        data = must_realloc(data, capacity, reader->size);
    }
}

/* What cannot be sorted in parts is sorted in memory, unless that would be more than -S says. */
static void refuse_parts(const sort_job *j, const array_reader *reader, const char *what) {
    if (j->memory_given && (!reader->counted || reader->header.count > sort_part_elements(j, reader->type)))
        die_usage("%s: does not fit -S, and %s is sorted in memory only: give -S more", j->in.name, what);
}

void sort_array(sort_job *j, data_format format) {
    array_reader reader;
    lanes shape;
    size_t n;
    array_open(&reader, &j->in, format, j->dtype);
    report_text("type", scan_type_name(reader.type));
    if (axis_lanes(&j->axis, &reader, "sorts", &shape)) {
        if (j->device_memory != SIZE_MAX)
            die_usage("--device-memory and --axis exclude each other");
        sort_lanes(j, &reader, &shape);
        return;
    }
    if (ranks_several()) {
        sort_array_ranks(j, &reader);
        return;
    }
    order_key key = sort_key(j, reader.type, NULL, NULL);
    const bool known = array_can_seek(&reader);
    size_t most = sort_part_elements(j, reader.type);
    if (reader.header.fortran)
        refuse_parts(j, &reader, "an array in Fortran order");
    if (known) {
        sort_choose_device(j, reader.header.count * reader.size);
        sort_limit_device(j, reader.type, reader.header.count);
    } else if (j->device_memory != SIZE_MAX) {
        sort_choose_device(j, most * reader.size);
        sort_limit_device(j, reader.type, most);
        most = most < j->device_elements ? most : j->device_elements;
    }
    const bool on_device = !known || j->session.on_host || reader.header.count <= j->device_elements;
    if (!on_device && sort_device_parts(j, &reader))
        return;
    const bool streams =
        known && on_device && !j->check && !j->session.on_host && !j->verify && !(j->argsort && j->unique);
    const uint64_t fitting = streams ? j->memory / reader.size : most; /* the workspace is the device's */
    const bool fits = known ? on_device && reader.header.count <= fitting : reader.header.fortran;
    if (fits && streams) {
        stream_array(j, &reader, &key);
        return;
    }
    if (known && !fits && !j->check) {
        sort_array_parts(j, &reader, &key, 0);
        return;
    }
    key.data = fits ? array_read_all(&reader, &n) : read_most(&reader, most, &n);
    if (fits || n < most)
        sort_whole(j, &reader, &key, n);
    else
        sort_array_parts(j, &reader, &key, n);
}
