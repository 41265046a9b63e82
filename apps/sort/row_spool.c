/* SPDX-License-Identifier: MIT
 *
 * Sorted parts of rows in spools, and what they are merged into: parts of another spool, or the output.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/report.h"
#include "row_merge.h"

void row_spool_open(row_spool *s, const sort_job *j) {
    *s = (row_spool){.places.fd = -1};
    part_file_open(&s->rows);
    if (j->argsort)
        part_file_open(&s->places);
}

void row_spool_close(row_spool *s) {
    part_file_close(&s->rows);
    part_file_close(&s->places);
    free(s->ends);
}

static void end_writing(row_spool *s) {
    part_file_end(&s->rows);
    if (s->places.out)
        part_file_end(&s->places);
}

void row_spool_end_part(row_spool *s, uint64_t n) {
    if (s->count == s->room) {
        s->room = 2 * s->room + 16;
        s->ends = must_realloc(s->ends, s->room, sizeof *s->ends);
    }
    const uint64_t before = s->count ? s->ends[s->count - 1].places : 0;
    s->ends[s->count++] = (struct row_spool_end){output_bytes(s->rows.out), before + n};
}

static row_source *sources_of(row_spool *s, size_t first, size_t count) {
    row_source *sources = must_alloc(count, sizeof *sources);
    for (size_t i = 0; i < count; i++) {
        size_t part = first + i;
        sources[i] = (row_source){.spool = s, .end = s->ends[part].bytes};
        if (part > 0) {
            sources[i].at = s->ends[part - 1].bytes;
            sources[i].place = s->ends[part - 1].places;
        }
        sources[i].ended = sources[i].at == sources[i].end;
    }
    return sources;
}

void row_merge_into(row_kind *kind, row_source *sources, size_t count, row_spool *to, uint64_t *hash) {
    row_target t = {.rows = to->rows.out, .places = to->places.out};
    row_merge(kind, sources, count, &t, hash);
    to->hash += t.hash;
    row_spool_end_part(to, t.n);
}

/* Merges neighbouring parts, up to `ways` of them into one, in a new spool. */
static void merge_level(row_kind *kind, row_spool *s, size_t ways) {
    row_spool merged;
    uint64_t hash = 0;
    row_spool_open(&merged, kind->j);
    end_writing(s);
    for (size_t first = 0; first < s->count; first += ways) {
        size_t count = s->count - first < ways ? s->count - first : ways;
        row_source *sources = sources_of(s, first, count);
        row_merge_into(kind, sources, count, &merged, &hash);
        free(sources);
    }
    if (hash != s->hash)
        sort_fail_verification(kind->j, "a merge does not have the rows of its parts");
    row_spool_close(s);
    *s = merged;
}

uint64_t row_merge_parts(row_kind *kind, row_spool *s, const unsigned char *head, size_t head_bytes) {
    sort_job *j = kind->j;
    const struct row_spool_end *all = s->count ? &s->ends[s->count - 1] : NULL;
    const size_t ways = row_merge_ways(j, all ? all->bytes / (all->places + 1) : 1);
    uint64_t hash = 0;
    while (s->count > ways)
        merge_level(kind, s, ways);
    end_writing(s);
    row_source *sources = sources_of(s, 0, s->count);
    row_target to = {.rows = j->argsort ? NULL : j->out, .numbers = j->argsort ? j->out : NULL};
    if (!j->argsort)
        output_write(j->out, head, head_bytes);
    row_merge(kind, sources, s->count, &to, &hash);
    if (hash != s->hash)
        sort_fail_verification(j, "the result does not have the input's lines");
    free(sources);
    return to.n;
}
