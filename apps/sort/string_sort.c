/* SPDX-License-Identifier: MIT
 *
 * A radix sort whose digits are codes (row_code.h), the most significant first. Rows that agree in all codes so far are
 * a group; at first all rows are one.
 *
 *     skip    the bytes in which all strings of the group agree: "https://www." costs one look and no sort
 *     sort    one code of every row, and the rows with them, by the library
 *     divide  rows of equal codes are groups, to be sorted by the next seven bytes or by the next key; rows that are
 *             alone, or equal in the last code of the last key, are in their place
 *
 * Large groups go through the library, one after another. Small ones are sorted by a thread each: very small ones by
 * insertion, the others by merging their codes. A code is fetched from wherever its string lies, which costs more than
 * sorting it; so a string is touched once for each code that tells it from others, and not for every seven bytes.
 *
 * After McIlroy, Bostic and McIlroy, "Engineering Radix Sort", 1993, and Kaerkkaeinen and Rantala, "Engineering Radix
 * Sort for Strings", 2008, who cache the next bytes of strings in words.
 */
#include "string_sort.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/parallel.h"
#include "apps/support/report.h"
#include "row_code.h"

#ifndef STRING_SORT_SMALL /* test_strings.c has a small one */
#define STRING_SORT_SMALL 2048
#endif
enum { SMALL_ROWS = STRING_SORT_SMALL, INSERTION_ROWS = 12, AHEAD = 16 };

/* Rows at places begin ... end - 1 that agree in the keys before `key`, and in the first `depth` bytes of that. */
typedef struct group {
    size_t begin, end, key, depth;
} group;

typedef struct sorting {
    order *o;
    session *s;
    const char *subject;
    unsigned threads;
    uint64_t *codes; /* of the rows at each place, while a large group is divided */
    group now;       /* the large group */
    atomic_size_t common;
    group *large; /* still to be sorted */
    atomic_size_t large_count;
} sorting;

static void set_row(order *o, size_t place, size_t row) {
    if (o->type == SCAN_U64)
        ((uint64_t *)o->index)[place] = row;
    else
        ((uint32_t *)o->index)[place] = (uint32_t)row;
}

/* ---- skipping ---------------------------------------------------------------------------------------------------- */

/* The first byte from `depth` on in which two strings differ, but no more than `limit`; SIZE_MAX if they are equal. */
static size_t first_difference(const string *a, const string *b, size_t depth, size_t limit) {
    if (!a->begin || !b->begin)
        return a->begin == b->begin ? SIZE_MAX : depth;
    size_t shorter = a->bytes < b->bytes ? a->bytes : b->bytes;
    size_t stop = shorter < limit ? shorter : limit, i = depth;
    for (uint64_t x, y; i + sizeof x <= stop; i += sizeof x) {
        memcpy(&x, a->begin + i, sizeof x);
        memcpy(&y, b->begin + i, sizeof y);
        if (x != y)
            break;
    }
    while (i < stop && a->begin[i] == b->begin[i])
        i++;
    return i < shorter || a->bytes != b->bytes ? i : SIZE_MAX;
}

/* The first byte in which a row at begin ... end - 1 differs from the group's first row; `common` if none does before.
 */
static size_t common_bytes(const order *o, const group *g, size_t begin, size_t end, size_t common) {
    const string *at = o->keys[g->key].strings->at, *first = &at[order_at(o, g->begin)];
    for (size_t i = begin; i < end && common > g->depth; i++) {
        size_t difference = first_difference(first, &at[order_at(o, i)], g->depth, common);
        common = difference < common ? difference : common;
    }
    return common;
}

/* Moves g on to the byte, or the key, in which its rows differ, given the common bytes. Returns true if it has come to
 * a key that is still to be looked at. */
static bool move_on(group *g, size_t common) {
    if (common != SIZE_MAX) {
        g->depth = common;
        return false;
    }
    g->key++;
    g->depth = 0;
    return true;
}

/* Skips what a small group agrees in. Returns false if its rows are equal in all keys. */
static bool skip_common(const order *o, group *g) {
    while (g->key < o->key_count && order_key_is_string(&o->keys[g->key]))
        if (!move_on(g, common_bytes(o, g, g->begin + 1, g->end, SIZE_MAX)))
            return true;
    return g->key < o->key_count;
}

/* ---- small groups ------------------------------------------------------------------------------------------------ */

typedef struct entry {
    uint64_t code;
    size_t row;
} entry;

static int compare_rows(const order *o, const group *g, size_t a, size_t b) {
    size_t depth = g->depth;
    for (size_t k = g->key; k < o->key_count; k++, depth = 0) {
        const order_key *key = &o->keys[k];
        for (bool more = true; more; depth += CODE_BYTES) {
            uint64_t x = row_code(key, a, depth), y = row_code(key, b, depth);
            if (x != y)
                return x < y ? -1 : 1;
            more = row_code_continues(key, x);
        }
    }
    return 0;
}

static void insert_rows(order *o, const group *g) {
    for (size_t i = g->begin + 1; i < g->end; i++) {
        size_t row = order_at(o, i), j = i;
        for (; j > g->begin && compare_rows(o, g, order_at(o, j - 1), row) > 0; j--)
            set_row(o, j, order_at(o, j - 1));
        set_row(o, j, row);
    }
}

static void insert_entries(entry *e, size_t n) {
    for (size_t i = 1; i < n; i++) {
        entry x = e[i];
        size_t j = i;
        for (; j > 0 && e[j - 1].code > x.code; j--)
            e[j] = e[j - 1];
        e[j] = x;
    }
}

/* Sorts stably: runs made by insertion are merged in pairs. */
static void sort_entries(entry *e, entry *other, size_t n) {
    for (size_t i = 0; i < n; i += INSERTION_ROWS)
        insert_entries(e + i, n - i < INSERTION_ROWS ? n - i : INSERTION_ROWS);
    entry *from = e, *to = other;
    for (size_t width = INSERTION_ROWS; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t a = i, middle = n - i < width ? n : i + width, b = middle,
                   end = n - i < 2 * width ? n : i + 2 * width;
            for (size_t k = i; k < end; k++)
                to[k] = b == end || (a < middle && from[a].code <= from[b].code) ? from[a++] : from[b++];
        }
        entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != e)
        memcpy(e, from, n * sizeof *e);
}

/* The group that rows of equal codes make. Returns false if they are equal in all keys. */
static bool subgroup(const order *o, const group *g, uint64_t code, size_t begin, size_t end, group *next) {
    bool more = row_code_continues(&o->keys[g->key], code);
    *next = (group){begin, end, more ? g->key : g->key + 1, more ? g->depth + CODE_BYTES : 0};
    return next->key < o->key_count;
}

/* e and other have room for the group's rows. Groups inside this one use their own part of that, which this one has
 * read. */
static void sort_small(order *o, group g, entry *e, entry *other) {
    size_t n = g.end - g.begin;
    if (n <= INSERTION_ROWS) {
        insert_rows(o, &g);
        return;
    }
    if (!skip_common(o, &g))
        return;
    for (size_t i = 0; i < n; i++) {
        size_t row = order_at(o, g.begin + i);
        e[i] = (entry){row_code(&o->keys[g.key], row, g.depth), row};
    }
    sort_entries(e, other, n);
    for (size_t i = 0; i < n; i++)
        set_row(o, g.begin + i, e[i].row);
    for (size_t i = 0, j; i < n; i = j) {
        uint64_t code = e[i].code;
        group next;
        for (j = i + 1; j < n && e[j].code == code;)
            j++;
        if (j - i > 1 && subgroup(o, &g, code, g.begin + i, g.begin + j, &next))
            sort_small(o, next, e + i, other + i);
    }
}

/* ---- large groups ------------------------------------------------------------------------------------------------ */

static size_t piece_begin(const group *g, size_t piece) { return g->begin + piece * ORDER_PIECE_ROWS; }

static size_t piece_end(const group *g, size_t piece) { return g->begin + order_piece_end(g->end - g->begin, piece); }

static void common_of_piece(void *arg, size_t piece) {
    sorting *a = arg;
    size_t before = atomic_load_explicit(&a->common, memory_order_relaxed);
    size_t own = common_bytes(a->o, &a->now, piece_begin(&a->now, piece), piece_end(&a->now, piece), before);
    while (own < before &&
           !atomic_compare_exchange_weak_explicit(&a->common, &before, own, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* As skip_common, for the large group. */
static bool skip_common_of_large(sorting *a) {
    const order *o = a->o;
    group *g = &a->now;
    while (g->key < o->key_count && order_key_is_string(&o->keys[g->key])) {
        atomic_init(&a->common, SIZE_MAX);
        parallel_for(a->threads, order_pieces(g->end - g->begin), common_of_piece, a);
        if (!move_on(g, atomic_load_explicit(&a->common, memory_order_relaxed)))
            return true;
    }
    return g->key < o->key_count;
}

/* Strings lie anywhere: where one is, and its bytes, are prefetched. */
static void code_piece(void *arg, size_t piece) {
    const sorting *a = arg;
    const order *o = a->o;
    const order_key *key = &o->keys[a->now.key];
    size_t depth = a->now.depth, end = piece_end(&a->now, piece);
    bool prefetch = order_key_is_string(key);
    for (size_t i = piece_begin(&a->now, piece); i < end; i++) {
        if (prefetch && i + 2 * AHEAD < end) {
            __builtin_prefetch(&key->strings->at[order_at(o, i + 2 * AHEAD)]);
            __builtin_prefetch(key->strings->at[order_at(o, i + AHEAD)].begin + depth);
        }
        a->codes[i] = row_code(key, order_at(o, i), depth);
    }
}

static scan_status sort_codes(void *arg, session *s) {
    const sorting *a = arg;
    const order *o = a->o;
    size_t n = a->now.end - a->now.begin, size = scan_type_size(o->type);
    uint64_t *codes = a->codes + a->now.begin;
    unsigned char *index = (unsigned char *)o->index + a->now.begin * size;
    scan_sort_desc desc = {.struct_size = sizeof desc,
                           .type = SCAN_U64,
                           .value_bytes = (uint32_t)size,
                           .method = s->fell_back ? SCAN_SORT_AUTO : o->method};
    void *keys, *values, *sorted_codes, *sorted_index;
    SESSION_TRY(session_upload(s, codes, n * sizeof *codes, &keys));
    SESSION_TRY(session_upload(s, index, n * size, &values));
    SESSION_TRY(scan_sort(s->ctx, &desc, keys, keys, values, values, n));
    SESSION_TRY(session_wait(s));
    if (s->on_host)
        return SCAN_OK;
    /* both stay as they are until all of the result has arrived */
    SESSION_TRY(session_alloc(s, MEMORY_HOST, n * sizeof *codes, &sorted_codes));
    SESSION_TRY(session_alloc(s, MEMORY_HOST, n * size, &sorted_index));
    SESSION_TRY(session_download(s, sorted_codes, keys, n * sizeof *codes));
    SESSION_TRY(session_download(s, sorted_index, values, n * size));
    memcpy(codes, sorted_codes, n * sizeof *codes);
    memcpy(index, sorted_index, n * size);
    return SCAN_OK;
}

/* Goes through the runs of equal codes that begin in a piece. No thread writes codes, and only the thread that has a
 * run touches the rows of it. */
static void divide_piece(void *arg, size_t piece) {
    sorting *a = arg;
    const group *g = &a->now;
    const uint64_t *codes = a->codes;
    entry e[SMALL_ROWS], other[SMALL_ROWS];
    size_t i = piece_begin(g, piece), j, end = piece_end(g, piece);
    while (i > g->begin && i < end && codes[i] == codes[i - 1])
        i++;
    for (; i < end; i = j) {
        group next;
        for (j = i + 1; j < g->end && codes[j] == codes[i];)
            j++;
        if (j - i == 1 || !subgroup(a->o, g, codes[i], i, j, &next))
            continue;
        if (j - i <= SMALL_ROWS)
            sort_small(a->o, next, e, other);
        else
            a->large[atomic_fetch_add_explicit(&a->large_count, 1, memory_order_relaxed)] = next;
    }
}

static void number_piece(void *arg, size_t piece) {
    order *o = arg;
    for (size_t i = piece * ORDER_PIECE_ROWS, end = order_piece_end(o->n, piece); i < end; i++)
        set_row(o, i, i);
}

void string_sort(order *o, session *s, const char *subject, unsigned threads) {
    session_ready(s);
    report_phase before = report_enter(PHASE_COMPUTE);
    sorting a = {.o = o, .s = s, .subject = subject, .threads = threads};
    a.codes = must_alloc(o->n, sizeof *a.codes);
    a.large = must_alloc(o->n / SMALL_ROWS + 1, sizeof *a.large);
    a.large[0] = (group){.end = o->n};
    atomic_init(&a.large_count, o->n > 0);
    parallel_for(threads, order_pieces(o->n), number_piece, o);
    for (size_t count; (count = atomic_load_explicit(&a.large_count, memory_order_relaxed)) > 0;) {
        a.now = a.large[count - 1];
        atomic_store_explicit(&a.large_count, count - 1, memory_order_relaxed);
        if (!skip_common_of_large(&a))
            continue;
        size_t n = a.now.end - a.now.begin, pieces = order_pieces(n);
        parallel_for(threads, pieces, code_piece, &a);
        session_try(s, subject, sort_codes, &a);
        report_moved(PHASE_COMPUTE, 2 * n * (sizeof *a.codes + scan_type_size(o->type)));
        parallel_for(threads, pieces, divide_piece, &a);
    }
    free(a.large);
    free(a.codes);
    report_enter(before);
}
