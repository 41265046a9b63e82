/* SPDX-License-Identifier: MIT */
#include "index_list.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/ranks.h"

enum { PIECE = 1 << 15 };

void index_list_add(index_list *list, const uint64_t *indices, size_t n) {
    spool_write(&list->indices, indices, n * sizeof *indices, list->indices.bytes);
}

/* Makes u32 of them in place, if that is their type. */
static void write_some(const array_writer *w, uint64_t *indices, size_t n) {
    for (size_t i = 0; w->type == SCAN_U32 && i < n; i++) {
        uint32_t narrow = (uint32_t)indices[i];
        memcpy((char *)indices + i * sizeof narrow, &narrow, sizeof narrow);
    }
    array_write(w, indices, n);
}

void index_list_write(const index_list *list, const compact_job *job, uint64_t rows) {
    const scan_type type = rows <= UINT32_MAX ? SCAN_U32 : SCAN_U64;
    const array_writer w = compact_index_writer(job, job->indices_out, job->indices, type);
    const uint64_t all_bytes = ranks_add(list->indices.bytes).total; /* one rank has them */
    array_write_header(&w, 1, &(uint64_t){all_bytes / sizeof(uint64_t)});
    uint64_t *piece = must_alloc(PIECE, sizeof *piece);
    for (uint64_t done = 0; done < all_bytes; done += PIECE * sizeof *piece) {
        size_t bytes = spool_read(&list->indices, piece, PIECE * sizeof *piece, done);
        write_some(&w, piece, bytes / sizeof *piece);
    }
    free(piece);
}

void index_list_free(index_list *list) { spool_clear(&list->indices); }
