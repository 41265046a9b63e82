/* SPDX-License-Identifier: MIT
 *
 * What the parts of the program `sort` share: the job as the command line gives it, and the steps of every format.
 */
#ifndef APPS_SORT_SORT_H
#define APPS_SORT_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/axis.h"
#include "apps/support/cli.h"
#include "apps/support/dialect.h"
#include "apps/support/rows.h"
#include "apps/support/session.h"
#include "row_order.h"

/* Where NaN is sorted to. */
typedef enum nan_place { NAN_LAST, NAN_FIRST, NAN_ERROR, NAN_DEFAULT } nan_place;

enum { MAX_KEYS = 64 };

/* What a table's key is read as. */
typedef enum key_kind { KEY_NUMBER, KEY_TEXT, KEY_TIME, KEY_NATURAL } key_kind;

typedef struct key_option {
    char *name;
    key_kind kind;
    bool descending;
    nan_place nan; /* DEFAULT: as --nan says */
} key_option;

/* One run: what the command line asks for, and what all formats need. */
typedef struct sort_job {
    key_option keys[MAX_KEYS];
    size_t key_count;
    bool reverse, unique, check, argsort, text, verify;
    bool merge; /* several inputs, which are sorted */
    char **inputs;
    size_t input_count;
    size_t memory;          /* -S, or what a run without it may use */
    bool memory_given;      /* -S */
    size_t device_memory;   /* --device-memory, or SIZE_MAX */
    size_t device_elements; /* of an array that can be sorted there at once, as far as that is known; or SIZE_MAX */
    bool in_parts;          /* what is sorted is a part of the input */
    dialect dialect;        /* of tables */
    nan_place nan;
    scan_sort_method method;
    scan_type dtype;
    axis_option axis;
    unsigned threads;
    input in;
    output *out;            /* NULL for --check */
    const char *out_path;   /* NULL: stdout */
    data_format out_format; /* of arrays */
    session session;
} sort_job;

/* Reads the command line into *j. In options.c. */
void sort_read_options(sort_job *j, cli *c, int argc, char **argv);

/* For --merge: takes the operands as inputs. Returns the first, NULL for stdin. In options.c. */
const char *sort_inputs(sort_job *j, const cli *c);

/* One more key, from NAME[:text|:time|:natural][:asc|:desc][:nan=first|last|error]. In options.c. */
void sort_add_key(sort_job *j, const char *text);

/* .npy and raw: array.c. Lines and tables: lines.c. */
void sort_array(sort_job *j, data_format format);
void sort_lines_or_rows(sort_job *j, data_format format);

/* array.c, for an array as a whole, along an axis (lanes.c) and larger than memory (array_parts.c). Exit 2 if a NaN is
 * an error and there is one among n elements, the first of which is element `first`; output_expect for n elements of
 * this size; the writer of a result of this type, and the same behind a header. */
void sort_refuse_nan(const sort_job *j, const array_reader *reader, const order_key *key, size_t n, uint64_t first);
void sort_expect_output(const sort_job *j, uint64_t n, size_t size);
array_writer sort_writer(const sort_job *j, const array_reader *reader, scan_type type);
array_writer sort_write_header(const sort_job *j, const array_reader *reader, scan_type type, size_t n);
void sort_lanes(sort_job *j, array_reader *reader, const lanes *shape);

/* array_ranks.c: an array, with other ranks, of which each has its share in memory: exit 2 if it takes so many bytes,
 * about, and -S says less. */
void sort_array_ranks(sort_job *j, array_reader *reader);
void sort_refuse_share(const sort_job *j, double bytes);

/* An array of which key->data, to be freed, has the first n elements, as many as sort_part_elements says; or nothing
 * has been read of it. */
void sort_array_parts(sort_job *j, array_reader *reader, order_key *key, size_t n);

/* How many elements can be sorted in the memory at once. */
size_t sort_part_elements(const sort_job *j, scan_type type);

/* device_parts.c. Opens the device and sets device_elements for arrays of n elements, if --device-memory is given or
 * they are many. Sorts one that host memory holds and the device does not; returns false if it is no such array. */
void sort_limit_device(sort_job *j, scan_type type, uint64_t n);
bool sort_device_parts(sort_job *j, array_reader *reader);

/* Sorted arrays, j->inputs, into one: array_files.c. j->in is the first. */
void sort_merge_arrays(sort_job *j, data_format format);

/* Sorted lines, or tables with one header: row_files.c. */
void sort_merge_rows(sort_job *j, data_format format);

/* ---- steps.c ----------------------------------------------------------------------------------------------------- */

/* The key over `data` that an option, or for NULL the options of the whole run, describe. */
order_key sort_key(const sort_job *j, scan_type type, void *data, const key_option *option);

/* Returns true if NaN and missing fields are an error for this key. */
bool sort_refuses_nan(const sort_job *j, const key_option *option);

/* The first of n rows whose key is NaN, or a missing string, if that is an error for this key; else ORDER_NONE. */
size_t sort_refused_nan(const sort_job *j, const order_key *key, size_t n, const key_option *option);

/* Decides by the bytes of the keys where the job runs. */
void sort_choose_device(sort_job *j, uint64_t bytes);

/* Sorts keys into an order, which it verifies with --verify; with --unique only the first of equal ones stays. */
void sort_rows(sort_job *j, order *o);

/* The same for n keys alone, which are sorted themselves. Returns how many remain. */
size_t sort_keys(sort_job *j, order_key *key, size_t n);

/* For --verify of what was merged: exit 1 unless the order is sorted, and unless `strict` a permutation; strict:
 * nothing is there twice. */
void sort_verify_order(const sort_job *j, const order *o, bool strict);

/* For --verify: exit 1. */
__attribute__((noreturn)) void sort_fail_verification(const sort_job *j, const char *what);

/* Sorts lines or rows into an order and writes them behind the first head_bytes of the n_bytes of the input; or writes
 * the order, for --argsort. */
void sort_and_write(sort_job *j, order *o, const rows *all, size_t head_bytes, size_t n_bytes);

/* Exit 1 unless the lines written, of which `written` is the rows_line_hash, are those of the input. */
void sort_verify_lines(const sort_job *j, const unsigned char *bytes, size_t n_bytes, uint64_t written);

#endif
