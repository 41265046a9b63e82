/* SPDX-License-Identifier: MIT
 *
 * sort on .npy and raw arrays: in the memory they were read into, or streaming through a device.
 */
#include <stdlib.h>

#include "apps/support/die.h"
#include "apps/support/output.h"
#include "apps/support/report.h"
#include "device_stream.h"
#include "row_check.h"
#include "sort.h"

/* In the input's shape, unless --unique has changed the count. */
static void write_header(sort_job *j, const array_reader *reader, scan_type type, size_t n) {
    uint64_t count = n;
    if (reader->npy && j->unique)
        array_write_header(j->out, type, 1, &count);
    else if (reader->npy)
        array_write_header(j->out, type, reader->header.dimensions, reader->header.shape);
}

static void refuse_nan(const sort_job *j, const order_key *key, size_t n) {
    size_t nan = sort_refused_nan(j, key, n, NULL);
    if (nan != ORDER_NONE)
        die(EXIT_USAGE, "%s: element %zu is NaN", j->in.name, nan);
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
    refuse_nan(j, &w.key, w.n);
    sort_stream_sort(&w);
    write_header(j, reader, w.type, w.kept);
    sort_stream_write(&w, j->out);
    report_number("kept", w.kept);
}

void sort_array(sort_job *j, data_format format) {
    array_reader reader;
    size_t n;
    array_open(&reader, &j->in, format, j->dtype);
    report_text("type", scan_type_name(reader.type));
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
    refuse_nan(j, &key, n);
    order o = {.keys = &key, .key_count = 1, .n = n, .method = j->method};
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: element %zu is out of order", j->in.name, place);
    } else if (j->argsort) {
        sort_rows(j, &o);
        write_header(j, &reader, o.type, o.n);
        output_write(j->out, o.index, o.n * scan_type_size(o.type));
        free(o.index);
    } else {
        o.n = sort_keys(j, &key, n);
        write_header(j, &reader, key.type, o.n);
        output_write(j->out, key.data, o.n * reader.size);
    }
    report_number("kept", o.n);
    free(key.data);
}
