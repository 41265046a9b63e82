/* SPDX-License-Identifier: MIT
 *
 * What the parts of the program `compact` share: the job as the command line gives it, and the check of its result.
 */
#ifndef APPS_COMPACT_COMPACT_H
#define APPS_COMPACT_COMPACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/axis.h"
#include "apps/support/cli.h"
#include "apps/support/dialect.h"
#include "apps/support/session.h"
#include "expression.h"

typedef enum selector { SELECT_NONE, SELECT_WHERE, SELECT_UNIQUE, SELECT_NONZERO, SELECT_FINITE, SELECT_MASK } selector;

typedef struct compact_job {
    const cli_common *common;
    selector selector;
    const char *where;    /* SELECT_WHERE: the expression */
    const char *mask;     /* SELECT_MASK: the file */
    const char *indices;  /* file, or NULL */
    const char *rejected; /* file, or NULL */
    const char *counts;   /* SELECT_UNIQUE: file, or NULL */
    bool invert;
    bool count_only; /* the output is the number of what is kept, as text */
    scan_type dtype; /* as given, or NONE */
    bool text;
    dialect dialect; /* of tables */
    scan_grid grid;
    axis_option axis;

    data_format format;
    output *kept_out;
    output *indices_out;  /* or NULL */
    output *rejected_out; /* or NULL */
    output *counts_out;   /* or NULL */
} compact_job;

/* .npy and raw: array.c. Text: lines.c. Tables: table.c. */
void compact_array(const compact_job *job, array_reader *reader, session *s);

/* --unique of whole rows. Returns false, with nothing done, if the array is taken by elements. In array_rows.c. */
bool compact_array_rows(const compact_job *job, array_reader *reader, session *s);

void compact_text(const compact_job *job, input *in, session *s);
void compact_table(const compact_job *job, input *in, session *s);

/* ---- shared by them: select.c ------------------------------------------------------------------------------------ */

/* Where the arrays that are selected and rejected go. */
array_writer compact_writer(const compact_job *job, const array_reader *reader, output *out, const char *path);

/* Where indices and lengths of runs go: by the name of the file, .npy, and for an array what else -o knows. */
data_format compact_index_format(const compact_job *job, const char *path);
array_writer compact_index_writer(const compact_job *job, output *out, const char *path, scan_type type);

/* The terms of --nonzero and --finite over column 0, and of --where with the names x (column 0) and i. */
void compact_terms(const compact_job *job, expression *e);

/* Decides where the compaction runs: by its algorithm, or by the bytes of the input (0: not known). */
void compact_choose(const compact_job *job, session *s, uint64_t bytes);

/* The algorithm for a call. Once the host has taken over from a device, it is the host's. */
scan_grid compact_grid(const compact_job *job, const session *s, bool on_host);

typedef struct compact_mask {
    input in;
    array_reader reader;
} compact_mask;

/* --mask: an .npy array of bool or u8, read along with the input. in: NULL for lines. */
void compact_mask_open(compact_mask *mask, const char *path, const array_reader *in);

/* The next n flags; exit 2 if the mask has fewer. Or, for several ranks, n flags from any place on. */
void compact_mask_read(compact_mask *mask, uint8_t *to, size_t n);
void compact_mask_read_at(compact_mask *mask, uint8_t *to, size_t n, uint64_t first);

/* Exit 2 if the mask has more than the n elements of the input. */
void compact_mask_end(compact_mask *mask, uint64_t n);

/* For --count, in place of what is kept. */
void compact_write_count(const compact_job *job, uint64_t count);

/* ---- --counts: counts.c ------------------------------------------------------------------------------------------ */

/* The runs so far: how many, and the index at which the last one begins. */
typedef struct compact_runs {
    array_writer lengths;
    uint64_t count, start;
} compact_runs;

compact_runs compact_counts_begin(const compact_job *job);

/* Takes the indices at which the next n runs begin. Of several ranks each has some of them, in their order; collective.
 */
void compact_counts_add(compact_runs *runs, scan_type type, const void *starts, size_t n);
void compact_counts_end(const compact_runs *runs, uint64_t elements);

/* ---- --verify: check.c ------------------------------------------------------------------------------------------- */

/* The value of the expression for one row, term by term in long double, without the library. Column 0 is columns[0].
 */
bool compact_check_terms(const expression *e, const scan_column *columns, size_t row, uint64_t index);

/* True if --unique takes the two elements for equal. */
bool compact_check_equal(scan_type type, const void *a, const void *b);

/* Exit 1: "FILE: verification failed: ...". */
__attribute__((noreturn, format(printf, 2, 3))) void compact_check_failed(const char *name, const char *format, ...);

#endif
