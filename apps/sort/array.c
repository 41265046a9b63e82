/* SPDX-License-Identifier: MIT
 *
 * sort on .npy and raw arrays: in the memory they were read into, or streaming through a device; along an axis in
 * lanes.c.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/output.h"
#include "apps/support/report.h"
#include "device_stream.h"
#include "row_check.h"
#include "sort.h"

array_writer sort_writer(const sort_job *j, const array_reader *reader, scan_type type) {
    return (array_writer){.out = j->out,
                          .format = j->out_format,
                          .type = type,
                          .is_bool = reader->header.is_bool && !j->argsort,
                          .threads = j->threads};
}

/* In the input's shape, unless --unique has changed the count. */
static array_writer write_header(sort_job *j, const array_reader *reader, scan_type type, size_t n) {
    const array_writer w = sort_writer(j, reader, type);
    uint64_t count = n;
    if (reader->npy && !j->unique)
        array_write_header(&w, reader->header.dimensions, reader->header.shape);
    else
        array_write_header(&w, 1, &count);
    return w;
}

void sort_refuse_nan(const sort_job *j, const array_reader *reader, const order_key *key, size_t n) {
    size_t nan = sort_refused_nan(j, key, n, NULL);
    char place[AXIS_PLACE_BYTES];
    if (nan != ORDER_NONE)
        die(EXIT_USAGE, "%s: %s is NaN", j->in.name, axis_place(reader, nan, place));
}

/* Through a device, overlapped with reading and writing. */
static void stream_array(sort_job *j, array_reader *reader, const order_key *key) {
    sort_stream w = {.s = &j->session,
                     .reader = reader,
                     .key = *key,
                     .method = j->method,
                     .argsort = j->argsort,
                     .unique = j->unique};
    sort_stream_read(&w);
    report_number("elements", w.n);
    sort_refuse_nan(j, reader, &w.key, w.n);
    sort_stream_sort(&w);
    const array_writer out = write_header(j, reader, w.type, w.kept);
    sort_stream_write(&w, &out);
    report_number("kept", w.kept);
}

void sort_array(sort_job *j, data_format format) {
    array_reader reader;
    lanes shape;
    size_t n;
    array_open(&reader, &j->in, format, j->dtype);
    report_text("type", scan_type_name(reader.type));
    if (axis_lanes(&j->axis, &reader, "sorts", &shape)) {
        sort_lanes(j, &reader, &shape);
        return;
    }
    order_key key = sort_key(j, reader.type, NULL, NULL);
    bool known = array_can_seek(&reader);
    if (known)
        sort_choose_device(j, reader.header.count * reader.size);
    if (known && !j->check && !j->session.on_host && !j->verify && !(j->argsort && j->unique)) {
        stream_array(j, &reader, &key);
        return;
    }
    key.data = array_read_all(&reader, &n);
    report_number("elements", n);
    sort_choose_device(j, n * reader.size);
    sort_refuse_nan(j, &reader, &key, n);
    order o = {.keys = &key, .key_count = 1, .n = n, .method = j->method};
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        char text[AXIS_PLACE_BYTES];
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: %s is out of order", j->in.name, axis_place(&reader, place, text));
    } else if (j->argsort) {
        sort_rows(j, &o);
        const array_writer w = write_header(j, &reader, o.type, o.n);
        array_write(&w, o.index, o.n);
        free(o.index);
    } else {
        o.n = sort_keys(j, &key, n);
        const array_writer w = write_header(j, &reader, key.type, o.n);
        array_write(&w, key.data, o.n);
    }
    report_number("kept", o.n);
    free(key.data);
}
