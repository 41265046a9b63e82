/* SPDX-License-Identifier: MIT
 *
 * The output is cut into blocks of records, which all threads fill and the main thread writes in order (pipeline.h).
 * The slower of gathering and writing sets the pace.
 */
#include "rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"
#include "number.h"
#include "parallel.h"
#include "pipeline.h"

enum {
    RING_BYTES = 256 << 20,       /* of all buffers, if blocks are large */
    GROUP_RECORDS = 256,          /* measured together, never cut */
    BLOCK_BYTES = 512 << 10,      /* of groups in a block, if one group alone is not larger */
    LARGE_BLOCK_BYTES = 32 << 20, /* not gathered: written record by record */
    BLOCK_NUMBERS = 1 << 15,
    AHEAD = 16,
    HASH_PIECE_BYTES = 1 << 20
};

/* ---- hashes of lines --------------------------------------------------------------------------------------------- */

static uint64_t hash_lines(const unsigned char *p, const unsigned char *end) {
    uint64_t sum = 0;
    while (p < end) {
        const unsigned char *newline = memchr(p, '\n', (size_t)(end - p));
        const unsigned char *next = newline ? newline + 1 : end;
        sum += hash_bytes(p, (size_t)(next - p));
        p = next;
    }
    return sum;
}

typedef struct hashing {
    const unsigned char *bytes;
    size_t n_bytes;
    uint64_t *sums;
} hashing;

/* The first line that begins at `place` or later. */
static const unsigned char *line_from(const hashing *h, size_t place) {
    if (place == 0 || place >= h->n_bytes)
        return h->bytes + (place < h->n_bytes ? place : h->n_bytes);
    const unsigned char *newline = memchr(h->bytes + place - 1, '\n', h->n_bytes - place + 1);
    return newline ? newline + 1 : h->bytes + h->n_bytes;
}

static void hash_piece(void *arg, size_t i) {
    const hashing *h = arg;
    h->sums[i] = hash_lines(line_from(h, i * HASH_PIECE_BYTES), line_from(h, (i + 1) * HASH_PIECE_BYTES));
}

uint64_t rows_line_hash(const unsigned char *bytes, size_t n_bytes, unsigned threads) {
    size_t pieces = n_bytes / HASH_PIECE_BYTES + (n_bytes % HASH_PIECE_BYTES != 0);
    hashing h = {bytes, n_bytes, must_alloc(pieces + 1, sizeof(uint64_t))};
    uint64_t sum = 0;
    parallel_for(threads, pieces, hash_piece, &h);
    for (size_t i = 0; i < pieces; i++)
        sum += h.sums[i];
    free(h.sums);
    return sum;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

typedef struct slot {
    size_t block, bytes;
    uint64_t hash;
    unsigned char *buffer;
} slot;

typedef struct ring {
    rows_fill *fill;
    void *arg;
    size_t blocks, next;
    slot *slots;
    output *out;
    uint64_t *line_hash;
} ring;

static bool take_block(void *arg, size_t i) {
    ring *r = arg;
    r->slots[i].block = r->next;
    return r->next++ < r->blocks;
}

static void fill_block(void *arg, size_t i, unsigned worker) {
    const ring *r = arg;
    slot *s = &r->slots[i];
    (void)worker;
    s->bytes = r->fill(r->arg, s->block, s->buffer);
    s->hash = r->line_hash ? hash_lines(s->buffer, s->buffer + s->bytes) : 0;
}

static void write_block(void *arg, size_t i) {
    const ring *r = arg;
    if (r->line_hash)
        *r->line_hash += r->slots[i].hash;
    output_write(r->out, r->slots[i].buffer, r->slots[i].bytes);
}

/* rows_stream with buffers of ring_bytes in all, but of two blocks at least. */
static void stream_within(size_t ring_bytes, output *out, size_t blocks, size_t block_bytes, rows_fill *fill, void *arg,
                          unsigned threads, uint64_t *line_hash) {
    if (blocks == 0)
        return;
    size_t most = blocks < PIPELINE_MAX_THREADS ? blocks : PIPELINE_MAX_THREADS;
    threads = threads < most ? threads : (unsigned)most;
    size_t slots = PIPELINE_SLOTS_A_THREAD * (threads ? threads : 1);
    slots = slots < blocks ? slots : blocks;
    if (block_bytes > ring_bytes / slots)
        slots = block_bytes > ring_bytes / 2 ? 2 : ring_bytes / block_bytes;
    ring r = {.fill = fill, .arg = arg, .blocks = blocks, .out = out, .line_hash = line_hash};
    r.slots = must_alloc(slots, sizeof *r.slots);
    for (size_t i = 0; i < slots; i++)
        r.slots[i] = (slot){.buffer = must_alloc(block_bytes ? block_bytes : 1, 1)};
    pipeline_run(&(pipeline){take_block, fill_block, write_block, &r, slots, .threads = threads});
    for (size_t i = 0; i < slots; i++)
        free(r.slots[i].buffer);
    free(r.slots);
}

void rows_stream(output *out, size_t blocks, size_t block_bytes, rows_fill *fill, void *arg, unsigned threads,
                 uint64_t *line_hash) {
    stream_within(RING_BYTES, out, blocks, block_bytes, fill, arg, threads, line_hash);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

typedef struct gather {
    const rows *from;
    const void *order;
    bool wide; /* order has u64 indices */
    size_t n;
    size_t groups;
    uint64_t *group_bytes;
    size_t blocks;
    size_t *first_group; /* of each block, and the end */
    size_t largest;      /* bytes of the largest block */
} gather;

static inline uint64_t index_at(const gather *g, size_t i) {
    return g->wide ? ((const uint64_t *)g->order)[i] : ((const uint32_t *)g->order)[i];
}

static size_t group_end(const gather *g, size_t group) {
    return group + 1 < g->groups ? (group + 1) * GROUP_RECORDS : g->n;
}

static void measure_group(void *arg, size_t group) {
    gather *g = arg;
    const uint64_t *starts = g->from->starts;
    size_t end = group_end(g, group);
    uint64_t bytes = 0;
    for (size_t i = group * GROUP_RECORDS; i < end; i++) {
        __builtin_prefetch(&starts[index_at(g, i + 2 * AHEAD < g->n ? i + 2 * AHEAD : i)]);
        uint64_t record = index_at(g, i);
        bytes += starts[record + 1] - starts[record];
    }
    g->group_bytes[group] = bytes;
}

/* Joins groups to blocks. */
static void cut_blocks(gather *g) {
    uint64_t bytes = 0;
    g->first_group[0] = 0;
    for (size_t i = 0; i < g->groups; i++) {
        if (bytes > 0 && bytes + g->group_bytes[i] > BLOCK_BYTES) {
            g->first_group[++g->blocks] = i;
            bytes = 0;
        }
        bytes += g->group_bytes[i];
        g->largest = bytes > g->largest ? bytes : g->largest;
    }
    g->first_group[++g->blocks] = g->groups;
}

/* A record's place and its bytes are both random accesses: the place is prefetched 2 * AHEAD records early, the bytes
 * AHEAD records early. */
static size_t gather_block(void *arg, size_t block, unsigned char *buffer) {
    const gather *g = arg;
    const uint64_t *starts = g->from->starts;
    const unsigned char *bytes = g->from->bytes;
    size_t end = group_end(g, g->first_group[block + 1] - 1);
    unsigned char *to = buffer;
    for (size_t i = g->first_group[block] * GROUP_RECORDS; i < end; i++) {
        if (i + 2 * AHEAD < end) {
            __builtin_prefetch(&starts[index_at(g, i + 2 * AHEAD)]);
            __builtin_prefetch(&bytes[starts[index_at(g, i + AHEAD)]]);
        }
        uint64_t record = index_at(g, i);
        size_t length = starts[record + 1] - starts[record];
        memcpy(to, bytes + starts[record], length);
        to += length;
    }
    return (size_t)(to - buffer);
}

static void write_one_by_one(output *out, const gather *g) {
    for (size_t i = 0; i < g->n; i++) {
        const uint64_t *start = &g->from->starts[index_at(g, i)];
        const unsigned char *begin = g->from->bytes + start[0], *end = g->from->bytes + start[1];
        output_write(out, begin, (size_t)(end - begin));
        if (g->from->line_hash)
            *g->from->line_hash += hash_lines(begin, end);
    }
}

void rows_write_within(size_t ring_bytes, output *out, const rows *from, const void *order, scan_type index_type,
                       size_t n, unsigned threads) {
    if (n == 0)
        return;
    gather g = {.from = from, .order = order, .wide = index_type == SCAN_U64, .n = n};
    g.groups = n / GROUP_RECORDS + (n % GROUP_RECORDS != 0);
    g.group_bytes = must_alloc(g.groups, sizeof *g.group_bytes);
    g.first_group = must_alloc(g.groups + 1, sizeof *g.first_group);
    parallel_for(threads, g.groups, measure_group, &g);
    cut_blocks(&g);
    if (g.largest <= LARGE_BLOCK_BYTES && g.largest <= ring_bytes / 2)
        stream_within(ring_bytes, out, g.blocks, g.largest, gather_block, &g, threads, from->line_hash);
    else
        write_one_by_one(out, &g);
    free(g.first_group);
    free(g.group_bytes);
}

void rows_write(output *out, const rows *from, const void *order, scan_type index_type, size_t n, unsigned threads) {
    rows_write_within(RING_BYTES, out, from, order, index_type, n, threads);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

typedef struct formatting {
    scan_type type;
    size_t size;
    const unsigned char *values;
    size_t n;
} formatting;

static size_t format_block(void *arg, size_t block, unsigned char *buffer) {
    const formatting *f = arg;
    size_t begin = block * BLOCK_NUMBERS, end = f->n - begin > BLOCK_NUMBERS ? begin + BLOCK_NUMBERS : f->n;
    char *to = (char *)buffer;
    for (size_t i = begin; i < end; i++) {
        to += number_format(to, f->type, f->values + i * f->size);
        *to++ = '\n';
    }
    return (size_t)(to - (char *)buffer);
}

void rows_write_numbers(output *out, scan_type type, const void *values, size_t n, unsigned threads,
                        uint64_t *line_hash) {
    formatting f = {.type = type, .size = scan_type_size(type), .values = values, .n = n};
    size_t blocks = n / BLOCK_NUMBERS + (n % BLOCK_NUMBERS != 0);
    rows_stream(out, blocks, (size_t)BLOCK_NUMBERS * (NUMBER_FORMAT_BYTES + 1), format_block, &f, threads, line_hash);
}
