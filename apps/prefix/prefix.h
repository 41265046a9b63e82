/* SPDX-License-Identifier: MIT
 *
 * What the parts of the program `prefix` share: the job as the command line gives it, and the check of its result.
 */
#ifndef APPS_PREFIX_PREFIX_H
#define APPS_PREFIX_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/support/axis.h"
#include "apps/support/cli.h"
#include "apps/support/dialect.h"
#include "apps/support/parallel.h"
#include "apps/support/session.h"

typedef struct prefix_job {
    const cli_common *common;
    scan_op op;
    scan_kind kind;
    bool reverse;
    const char *init;           /* text of the number, or NULL */
    scan_type dtype, out_dtype; /* as given, or NONE */
    scan_algorithm algorithm;
    dialect dialect; /* of tables */
    const char *key; /* tables: the column */
    axis_option axis;
    data_format format;
    output *out;
    data_format out_format; /* of arrays */
} prefix_job;

/* .npy and raw: array.c; along an axis: lanes.c, and with other ranks: array_ranks.c, which return what they did. Text
 * and tables: lines.c, and what is held as a whole: whole.c. */
void prefix_array(const prefix_job *job, array_reader *reader, session *s);
scan_prefix_desc prefix_lanes(const prefix_job *job, array_reader *reader, session *s, const lanes *shape);
scan_prefix_desc prefix_array_ranks(const prefix_job *job, array_reader *reader, session *s);
void prefix_text(const prefix_job *job, input *in, session *s);
void prefix_table(const prefix_job *job, input *in, session *s);
void prefix_text_whole(const prefix_job *job, input *in, session *s);
void prefix_table_whole(const prefix_job *job, input *in, session *s);

/* Reports the types and, by this name, n. */
void prefix_report_types(const scan_prefix_desc *desc, const char *what, size_t n);

/* ---- shared by them: describe.c ---------------------------------------------------------------------------------- */

static inline bool prefix_is_float(scan_type type) { return scan_type_class(type) == SCAN_FLOAT; }

/* One value of any type, as its bytes. */
typedef union prefix_value {
    uint64_t bits;
    unsigned char bytes[8];
} prefix_value;

/* The descriptor for input of this type, without carries; out_type is set. *init is where its init is kept. Exits 2 if
 * the operator does not take the type, or if --init is not a value of the output type. `name` is the input's. */
scan_prefix_desc prefix_describe(const prefix_job *job, const char *name, scan_type type, prefix_value *init);

/* The same for an array. Of bool, sums and products are those of integers, i64 unless --out-dtype says otherwise; what
 * else is asked for gives bool: *is_bool. */
scan_prefix_desc prefix_describe_array(const prefix_job *job, const array_reader *reader, prefix_value *init,
                                       bool *is_bool);

/* Where the result of an array goes. */
array_writer prefix_writer(const prefix_job *job, const scan_prefix_desc *desc, bool is_bool);

/* Gives n results their final bytes. Every NaN becomes the quiet NaN that min and max give (scan.h): processors differ
 * in the NaN that an addition or a multiplication gives, and all devices must give the same file. Of bool, identities
 * such as 255 become 1. */
void prefix_normalize(const scan_prefix_desc *desc, bool is_bool, void *result, size_t n);

/* True for algorithms that scan only whole arrays: they have no carry. */
bool prefix_is_whole(const prefix_job *job);

/* One call of the scan. carry: room of SCAN_CARRY_BYTES for the fold of all, or NULL. In whole.c. */
void prefix_scan(const prefix_job *job, session *s, const char *name, const scan_prefix_desc *desc, const void *values,
                 void *results, size_t n, void *carry);

/* Scans n values in one call; with --verify the result is checked. Returns a new allocation. In whole.c. */
void *prefix_whole(const prefix_job *job, session *s, const char *name, const scan_prefix_desc *desc,
                   const void *values, size_t n);

/* Decides where the scan runs: by its algorithm, or by the bytes of its elements (0 elements: not known). */
void prefix_choose(const prefix_job *job, session *s, const scan_prefix_desc *desc, uint64_t elements);

/* The algorithm for a call. Once the host has taken over from a device, it is one that the host has. */
scan_algorithm prefix_algorithm(const prefix_job *job, const session *s, bool on_host);

/* ---- --verify: check.c ------------------------------------------------------------------------------------------- */

/* A second, serial scan, one element after another in the order that scan.h gives for floats. A copy of the state
 * continues at the same element. */
typedef struct prefix_check {
    scan_type type, out_type;
    scan_op op;
    scan_kind kind;
    bool writes_plus_zero; /* exclusive add of floats without init: +0 where the identity is -0 */
    uint64_t n;            /* elements so far */
    uint64_t integer;      /* the fold of integers */
    double extreme;        /* of float min and max */
    double groups;         /* of float add and mul: the fold of whole groups, and inside the open one of */
    double tiles[32];      /* whole tiles, */
    double chunks, rows;   /* whole chunks of the tile and whole rows of the chunk, */
    double vectors[32];    /* vectors of the row, */
    double before_vector;  /* everything before the vector, */
    double elements;       /* and the elements of the vector */
} prefix_check;

/* The float that leaves the other operand as it is, for an operator that takes floats. */
double prefix_float_identity(scan_op op);

/* Exit 2 for an operator that the check does not know. */
void prefix_check_begin(prefix_check *c, const scan_prefix_desc *desc);

/* Takes the next element. Returns whether `result` is right for it; with result NULL, true. */
bool prefix_check_next(prefix_check *c, const void *element, const void *result);

/* What n elements, in the direction of the scan, are folded to; of floats whole groups, from the first on. A check that
 * has taken whole groups goes on behind those elements. */
typedef struct prefix_total {
    uint64_t n, integer;
    double extreme, groups;
} prefix_total;

prefix_total prefix_check_total(const scan_prefix_desc *desc, const void *in, size_t n, bool reverse);
void prefix_check_add(prefix_check *c, const prefix_total *total);

/* Takes n elements, from the first to the last or in reverse. Returns the index of the first wrong result, or n. */
size_t prefix_check_run(prefix_check *c, const void *in, const void *out, size_t n, bool reverse);

/* The same in the job's direction: exit 1 if a result is wrong. first: the place of the first element in the input. */
void prefix_check_result(prefix_check *c, const prefix_job *job, const char *name, const void *values,
                         const void *results, size_t n, uint64_t first);

#endif
