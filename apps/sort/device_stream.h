/* SPDX-License-Identifier: MIT
 *
 * sort: an array through a device, which holds it as a whole. It is uploaded while it is read and written while it is
 * downloaded. The input stays in host memory: if the device fails, the CPU sorts it, and writing continues at the same
 * place.
 */
#ifndef APPS_SORT_DEVICE_STREAM_H
#define APPS_SORT_DEVICE_STREAM_H

#include "apps/support/array.h"
#include "apps/support/stream.h"
#include "row_order.h"

typedef struct sort_stream {
    session *s;
    array_reader *reader;
    order_key key; /* key.data: the input, once it is read */
    scan_sort_method method;
    bool argsort;   /* the result is the indices */
    bool unique;    /* without argsort */
    size_t n;       /* elements of the input */
    size_t kept;    /* and of the result */
    scan_type type; /* of the result */

    /* private */
    size_t piece;                      /* elements */
    uint64_t need_bytes;               /* device memory */
    char detail[320];                  /* why it is not available */
    void *device_keys, *device_result; /* the same but for argsort */
    void *host_result;                 /* after the device failed */
    const array_writer *out;
    stream_buffer slots[STREAM_SLOTS]; /* page-locked, without context */
} sort_stream;

/* Reads the array. Set before: s, reader, key.type and the options. Afterwards the session may be the CPU's. */
void sort_stream_read(sort_stream *w);

/* Sorts; sets kept and type. */
void sort_stream_sort(sort_stream *w);

/* Writes the elements of the result, without a header. */
void sort_stream_write(sort_stream *w, const array_writer *out);

#endif
