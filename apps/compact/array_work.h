/* SPDX-License-Identifier: MIT
 *
 * compact on arrays in pieces: what array.c and array_read.c share.
 */
#ifndef APPS_COMPACT_ARRAY_WORK_H
#define APPS_COMPACT_ARRAY_WORK_H

#include "apps/support/stream.h"
#include "compact.h"

typedef struct compact_slot {
    stream_buffer in; /* one element carried over, then the piece */
    stream_buffer kept, rejected, indices, flags, count;
    size_t n;
    bool carried;   /* in begins with an element */
    uint64_t base;  /* index of the piece's first element */
    uint64_t taken; /* bytes of the input so far */
} compact_slot;

typedef struct compact_work {
    const compact_job *job;
    session *s;
    array_reader *r;
    expression e;
    compact_mask mask;
    size_t size;          /* bytes of an element */
    size_t piece;         /* elements of a full piece */
    scan_type index_type; /* of the indices output */
    array_writer kept, rejected, indices;
    compact_slot slots[STREAM_SLOTS];
    size_t slot_count;
    uint64_t have;         /* elements read */
    bool ended;            /* no more follow */
    unsigned char last[8]; /* the last one */
    uint64_t kept_total;
    compact_runs runs; /* of --counts */
} compact_work;

static inline compact_slot *compact_slot_of(compact_work *w, size_t piece) { return &w->slots[piece % w->slot_count]; }

static inline unsigned char *compact_piece_host(const compact_work *w, const compact_slot *x) {
    return (unsigned char *)x->in.host + w->size;
}

static inline bool compact_by_runs(const compact_work *w) { return w->job->selector == SELECT_UNIQUE; }

/* The stage that reads (stream.h). arg: the compact_work. */
bool compact_read_piece(void *arg, size_t piece);

#endif
