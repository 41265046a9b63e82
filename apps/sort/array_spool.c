/* SPDX-License-Identifier: MIT
 *
 * Sorted parts of arrays in spools, and what they are merged into: parts of another spool, or the output.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/report.h"
#include "array_merge.h"

/* ---- the spool --------------------------------------------------------------------------------------------------- */

void array_spool_open(array_spool *s, const sort_job *j) {
    *s = (array_spool){.places.fd = -1};
    part_file_open(&s->keys);
    if (j->argsort)
        part_file_open(&s->places);
}

void array_spool_close(array_spool *s) {
    part_file_close(&s->keys);
    part_file_close(&s->places);
    free(s->ends);
}

static void end_writing(array_spool *s) {
    if (s->keys.out)
        part_file_end(&s->keys);
    if (s->places.out)
        part_file_end(&s->places);
}

void array_spool_add_end(array_spool *s, uint64_t end) {
    if (s->count == s->room) {
        s->room = 2 * s->room + 16;
        s->ends = must_realloc(s->ends, s->room, sizeof *s->ends);
    }
    s->ends[s->count++] = end;
}

void array_spool_end_part(array_spool *s, size_t size) { array_spool_add_end(s, output_bytes(s->keys.out) / size); }

/* ---- the output -------------------------------------------------------------------------------------------------- */

void array_result_begin(array_result *r, const sort_job *j, const array_reader *reader, uint64_t n, bool known) {
    const scan_type type = !j->argsort ? reader->type : n >> 32 ? SCAN_U64 : SCAN_U32;
    r->length_last = j->unique || !known;
    if (r->length_last) {
        r->w = sort_writer(j, reader, type);
        array_reserve_header(&r->w);
    } else {
        r->w = sort_write_header(j, reader, type, n);
    }
}

/* Places become u32 where they are. */
void array_result_emit(void *arg, const void *keys, uint64_t *places, size_t n) {
    const array_result *r = arg;
    if (places && r->w.type == SCAN_U32) {
        for (size_t i = 0; i < n; i++) {
            uint32_t place = (uint32_t)places[i];
            memcpy((unsigned char *)places + i * sizeof place, &place, sizeof place);
        }
    }
    if (!places && r->w.format != FORMAT_TEXT)
        output_lend(r->w.out, keys, n * scan_type_size(r->w.type));
    else
        array_write(&r->w, places ? (const void *)places : keys, n);
}

void array_result_end(array_result *r, uint64_t kept) {
    if (r->length_last)
        array_write_length(&r->w, kept);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

typedef struct spool_target {
    const sort_job *j;
    array_spool *spool;
    scan_type type;
} spool_target;

void array_spool_write(array_spool *s, const void *keys, const uint64_t *places, size_t n, size_t size) {
    output_lend(s->keys.out, keys, n * size);
    if (places)
        output_write(s->places.out, places, n * sizeof *places);
}

static void emit_to_spool(void *arg, const void *keys, uint64_t *places, size_t n) {
    spool_target *t = arg;
    t->spool->hash += array_hash(t->j, t->type, (void *)(uintptr_t)keys, places, n);
    array_spool_write(t->spool, keys, places, n, scan_type_size(t->type));
}

/* The sources that are the parts first ... first + count - 1. */
static array_source *sources_of(array_spool *s, size_t first, size_t count) {
    array_source *sources = must_alloc(count, sizeof *sources);
    for (size_t i = 0; i < count; i++) {
        size_t part = first + i;
        sources[i] = (array_source){.spool = s, .at = part ? s->ends[part - 1] : 0, .end = s->ends[part]};
        sources[i].ended = sources[i].at == sources[i].end;
    }
    return sources;
}

void array_merge_into(sort_job *j, scan_type type, array_source *sources, size_t count, array_spool *to,
                      uint64_t *hash) {
    spool_target t = {.j = j, .spool = to, .type = type};
    array_merge(j, type, sources, count, output_bytes(to->keys.out), emit_to_spool, &t, hash);
    array_spool_end_part(to, scan_type_size(type));
}

/* Merges neighbouring parts, up to `ways` of them into one, in a new spool. */
static void merge_level(sort_job *j, scan_type type, array_spool *s, size_t ways) {
    array_spool merged;
    uint64_t hash = 0;
    array_spool_open(&merged, j);
    end_writing(s);
    for (size_t first = 0; first < s->count; first += ways) {
        size_t count = s->count - first < ways ? s->count - first : ways;
        array_source *sources = sources_of(s, first, count);
        array_merge_into(j, type, sources, count, &merged, &hash);
        free(sources);
    }
    if (hash != s->hash)
        sort_fail_verification(j, "a merge does not have the elements of its parts");
    array_spool_close(s);
    *s = merged;
}

void array_merge_parts(sort_job *j, const array_reader *reader, array_spool *s, uint64_t n) {
    const size_t ways = array_merge_ways(j, reader->type);
    array_result result;
    uint64_t hash = 0;
    while (!s->memory && s->count > ways)
        merge_level(j, reader->type, s, ways);
    end_writing(s);
    array_source *sources = sources_of(s, 0, s->count);
    array_result_begin(&result, j, reader, n, true);
    uint64_t kept =
        array_merge(j, reader->type, sources, s->count, output_bytes(j->out), array_result_emit, &result, &hash);
    if (hash != s->hash)
        sort_fail_verification(j, "the result does not have the input's elements");
    array_result_end(&result, kept);
    report_number("kept", kept);
    free(sources);
}
