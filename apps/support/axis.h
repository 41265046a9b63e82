/* SPDX-License-Identifier: MIT
 *
 * Arrays of several dimensions: --axis N and --flat, and the lanes of an array along an axis. A lane is what the array
 * has at one place of all other axes: along axis 1 of a matrix its rows, along axis 0 its columns.
 */
#ifndef APPS_SUPPORT_AXIS_H
#define APPS_SUPPORT_AXIS_H

#include "array.h"
#include "session.h"

/* What the command line says. */
typedef struct axis_option {
    const char *text; /* of --axis; NULL: not given */
    int axis;         /* negative: from the last axis, -1 */
    bool flat;
} axis_option;

/* Takes the value of --axis. */
void axis_take(axis_option *option, const char *text);

/* Exit 2 if --axis or --flat is given: the input, in->name, is no array. */
void axis_refuse(const axis_option *option, const char *name);

/* An array as its lanes: outer x length x inner elements, in which a lane's lie `inner` apart. */
typedef struct lanes {
    size_t outer, length, inner;
} lanes;

static inline size_t lanes_elements(const lanes *l) { return l->outer * l->length * l->inner; }

/* Returns true if the array is to be worked on along an axis, with its lanes; false if as a whole, as its elements lie
 * in C order. Exit 2 if the option does not fit the array, or if the array has several dimensions and there is none;
 * `verb` is for the message: "sorts". */
bool axis_lanes(const axis_option *option, const array_reader *reader, const char *verb, lanes *l);

/* Where in the array element `i` is, as "element 5" or "element (1, 2)". */
enum { AXIS_PLACE_BYTES = NPY_MAX_DIMENSIONS * 22 + 16 };
const char *axis_place(const array_reader *reader, size_t i, char text[AXIS_PLACE_BYTES]);

/* Of several ranks (ranks.h) each has a part of the lanes: an array of the same length, as it is in memory. */
typedef struct lanes_share {
    lanes whole, shape; /* of the array, and of the part */
    size_t first;       /* element of the array that the part begins with; or its first column */
    bool by_columns;
} lanes_share;

lanes_share lanes_share_of(const lanes *whole);

/* Which element of the array element i of the part is. */
size_t lanes_share_place(const lanes_share *s, size_t i);

/* Reads the part, into memory to be freed; writes its results, behind those of lower ranks. Collective. */
void *lanes_share_read(const lanes_share *s, array_reader *r);
void lanes_share_write(const lanes_share *s, const array_writer *to, const void *results);

/* ---- work on lanes ----------------------------------------------------------------------------------------------- */

/* Along another axis than the last a thread moves so many lanes at least to memory beside the array, which has as much
 * for their results: a cache line of 4-byte elements. */
enum { LANES_MOVED = 16 };

/* A job on all lanes of an array. in: the array in C order. Neither `call` nor `finish` may depend on another lane. */
typedef struct lanes_job {
    lanes shape;
    void *in; /* malloc memory; without `apart` and `checks` a result of elements of the same size may take its place */
    size_t in_size, out_size;
    unsigned threads;
    const lanes_share *share; /* of several ranks, whose shape the job has; NULL: the array is this process's alone */
    bool apart;               /* call needs its output beside its input */
    bool checks;              /* finish needs the lane as it was, and may die */
    /* One lane through the library; in and out are memory of the context. */
    scan_status (*call)(void *arg, scan_ctx *ctx, bool on_host, const void *in, void *out, size_t n);
    /* One lane on the host; may be NULL. out: its result. first: element 0 of the lane is this one of the array. */
    void (*finish)(void *arg, const void *in, void *out, size_t n, size_t first);
    void *arg;
} lanes_job;

/* Runs a job where the session is, and writes the result, behind a header with the shape of `header`: on the CPU
 * several lanes at once, each by one thread, unless there are only a few long ones; on a device one after another.
 * header: NULL if it has been written, for a job on the next part of an array. */
void lanes_write(const lanes_job *job, session *s, const char *subject, const array_writer *to,
                 const npy_header *header);

/* Calls finish alone for each lane, from the first to the last; out is NULL. */
void lanes_check(const lanes_job *job, const char *subject);

#endif
