/* SPDX-License-Identifier: MIT */
#include "index_list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/support/alloc.h"
#include "apps/support/spool.h"

enum { ROOM = 1 << 17 };

void index_list_add(index_list *list, const uint64_t *indices, size_t n) {
    if (!list->last)
        list->last = must_alloc(ROOM, sizeof *list->last);
    for (size_t done = 0; done < n;) {
        if (list->used == ROOM) {
            list->spool = list->spooled ? list->spool : spool_open();
            spool_write(list->spool, list->last, ROOM * sizeof *list->last, list->spooled * sizeof *list->last);
            list->spooled += ROOM;
            list->used = 0;
        }
        size_t part = n - done < ROOM - list->used ? n - done : ROOM - list->used;
        memcpy(list->last + list->used, indices + done, part * sizeof *indices);
        list->used += part;
        done += part;
    }
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
    array_write_header(&w, 1, &(uint64_t){list->spooled + list->used});
    uint64_t *piece = must_alloc(list->spooled ? ROOM : 0, sizeof *piece);
    for (uint64_t done = 0; done < list->spooled; done += ROOM) {
        spool_read(list->spool, piece, ROOM * sizeof *piece, done * sizeof *piece);
        write_some(&w, piece, ROOM);
    }
    free(piece);
    write_some(&w, list->last, list->used);
}

void index_list_free(index_list *list) {
    if (list->spooled)
        close(list->spool);
    free(list->last);
    *list = (index_list){0};
}
