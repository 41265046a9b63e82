/* SPDX-License-Identifier: MIT
 *
 * A name of a town, a category, a day: a column often repeats some hundred strings. Then sorting the distinct ones and
 * giving each row the rank of its string leaves numbers that vary in few bits, for a sort that no longer sees strings.
 *
 *     sample  some thousand rows; the column is worth it if at most half of them are distinct
 *     number  each part numbers its strings in the order in which they come, by a hash table of its own
 *     merge   the parts' distinct strings are numbered once more, and sorted
 *     rank    each row's number becomes the rank
 *
 * A table that fills up, or in which strings collide, ends the attempt.
 */
#include "dictionary.h"

#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/hash.h"
#include "apps/support/parallel.h"

#ifndef DICTIONARY_PART_ROWS /* test_strings.c has smaller ones */
#define DICTIONARY_PART_ROWS (1 << 17)
#define DICTIONARY_MIN_ROWS (1 << 14)
#define DICTIONARY_SAMPLE_ROWS (1 << 12)
#define DICTIONARY_MAX_STRINGS (1 << 14)
#endif
enum {
    PART_ROWS = DICTIONARY_PART_ROWS,
    MIN_ROWS = DICTIONARY_MIN_ROWS,
    SAMPLE_ROWS = DICTIONARY_SAMPLE_ROWS,
    MAX_STRINGS = DICTIONARY_MAX_STRINGS,
    SLOTS = 4 * MAX_STRINGS,
    MAX_PROBES = 32
};

static const uint32_t MISSING = UINT32_MAX, FULL = UINT32_MAX - 1;

/* ---- a hash table ------------------------------------------------------------------------------------------------ */

/* Open addressing, linear probing. */
typedef struct table_slot {
    uint32_t hash;
    uint32_t number; /* of a string, from 1; 0: free */
} table_slot;

typedef struct string_table {
    table_slot *slots;
    string *strings; /* by their number, from 0 */
    uint32_t count;
} string_table;

static bool open_table(string_table *t) {
    *t = (string_table){.slots = calloc(SLOTS, sizeof(table_slot)), .strings = malloc(MAX_STRINGS * sizeof(string))};
    return t->slots && t->strings;
}

static void close_table(string_table *t) {
    free(t->slots);
    free(t->strings);
}

/* A string of up to SHORT_BYTES bytes, and zeros after them. Branches on lengths, which change from row to row, would
 * be mispredicted: a mask is all that depends on the length. */
enum { SHORT_BYTES = 16 };
_Static_assert((int)SHORT_BYTES <= (int)STRING_SLACK, "the bytes after a short string are read");
typedef struct short_string {
    uint64_t word[SHORT_BYTES / 8];
} short_string;

static inline uint64_t word_of(const unsigned char *p, size_t bytes) {
    uint64_t word, beyond = bytes >= 8 ? 0 : UINT64_MAX;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return word & ~(beyond << (8 * bytes & 63));
#else
    return word & ~(beyond >> (8 * bytes & 63));
#endif
}

static inline short_string short_of(const string *s) {
    const size_t after = s->bytes > 8 ? s->bytes - 8 : 0;
    return (short_string){{word_of(s->begin, s->bytes), word_of(s->begin + 8, after)}};
}

static inline uint32_t hash_string(const string *s) {
    if (s->bytes > SHORT_BYTES)
        return (uint32_t)(hash_bytes(s->begin, s->bytes) >> 32);
    const short_string x = short_of(s);
    uint64_t hash = (x.word[0] ^ s->bytes) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ x.word[1]) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(hash >> 32);
}

static inline bool equal(const string *a, const string *b) {
    if (a->bytes != b->bytes)
        return false;
    if (a->bytes > SHORT_BYTES)
        return memcmp(a->begin, b->begin, a->bytes) == 0;
    const short_string x = short_of(a), y = short_of(b);
    return ((x.word[0] ^ y.word[0]) | (x.word[1] ^ y.word[1])) == 0;
}

/* Returns the string's number, which is new if no equal string has one; MISSING; or FULL. The upper bits of a hash,
 * which depend on every byte, choose the slot. */
static uint32_t number_string(string_table *t, const string *s) {
    if (!s->begin)
        return MISSING;
    uint32_t hash = hash_string(s);
    uint32_t first = (uint32_t)((uint64_t)hash * SLOTS >> 32);
    for (uint32_t probe = 0; probe < MAX_PROBES; probe++) {
        table_slot *slot = &t->slots[(first + probe) % SLOTS];
        if (slot->number == 0) {
            if (t->count == MAX_STRINGS)
                return FULL;
            t->strings[t->count++] = *s;
            *slot = (table_slot){hash, t->count};
            return t->count - 1;
        }
        if (slot->hash == hash && equal(&t->strings[slot->number - 1], s))
            return slot->number - 1;
    }
    return FULL;
}

static bool sample_is_repetitive(const strings *s, string_table *t) {
    for (size_t i = 0; i < SAMPLE_ROWS; i++)
        if (number_string(t, &s->at[s->n / SAMPLE_ROWS * i]) == FULL)
            return false;
    return t->count <= SAMPLE_ROWS / 2;
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

typedef struct numbering {
    const strings *s;
    uint32_t *numbers;   /* of the rows: at first in their part's table */
    string_table *parts; /* without slots once their rows are numbered; count is FULL if they could not be */
    uint32_t **rank;     /* by part, of its strings; before merge_parts ends, their numbers among all */
    uint32_t missing_rank;
} numbering;

static size_t part_end(size_t n, size_t i) { return n - i * PART_ROWS > PART_ROWS ? (i + 1) * PART_ROWS : n; }

static void number_part(void *arg, size_t i) {
    numbering *a = arg;
    string_table own;
    bool full = !open_table(&own);
    for (size_t row = i * PART_ROWS, end = part_end(a->s->n, i); row < end && !full; row++) {
        a->numbers[row] = number_string(&own, &a->s->at[row]);
        full = a->numbers[row] == FULL;
    }
    free(own.slots);
    own.slots = NULL;
    own.count = full ? FULL : own.count;
    a->parts[i] = own;
}

static void rank_part(void *arg, size_t i) {
    const numbering *a = arg;
    for (size_t row = i * PART_ROWS, end = part_end(a->s->n, i); row < end; row++) {
        uint32_t *number = &a->numbers[row];
        *number = *number == MISSING ? a->missing_rank : a->rank[i][*number];
    }
}

typedef struct ranked {
    string s;
    uint32_t number;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    return string_compare(&((const ranked *)a)->s, &((const ranked *)b)->s);
}

/* Makes rank_of[number], from `first` on, for the strings of a table. */
static void rank_strings(const string_table *t, uint32_t first, uint32_t *rank_of) {
    ranked *all = must_alloc(t->count + 1, sizeof *all);
    for (uint32_t i = 0; i < t->count; i++)
        all[i] = (ranked){t->strings[i], i};
    qsort(all, t->count, sizeof *all, compare_ranked);
    for (uint32_t i = 0; i < t->count; i++)
        rank_of[all[i].number] = first + i;
    free(all);
}

/* Numbers the parts' strings as of one table, `all`, and ranks them. Returns false if that is full. */
static bool merge_parts(numbering *a, size_t part_count, string_table *all, bool missing_top) {
    for (size_t i = 0; i < part_count; i++) {
        string_table *own = &a->parts[i];
        if (own->count == FULL)
            return false;
        a->rank[i] = must_alloc(own->count + 1, sizeof **a->rank);
        for (uint32_t k = 0; k < own->count; k++) {
            a->rank[i][k] = number_string(all, &own->strings[k]);
            if (a->rank[i][k] == FULL)
                return false;
        }
    }
    uint32_t *rank_of = must_alloc(all->count + 1, sizeof *rank_of);
    rank_strings(all, missing_top ? 0 : 1, rank_of);
    a->missing_rank = missing_top ? all->count : 0;
    for (size_t i = 0; i < part_count; i++)
        for (uint32_t k = 0; k < a->parts[i].count; k++)
            a->rank[i][k] = rank_of[a->rank[i][k]];
    free(rank_of);
    return true;
}

/* Returns the ranks of all rows, or NULL. */
static uint32_t *rank_rows(const strings *s, string_table *all, bool missing_top, unsigned threads) {
    size_t part_count = s->n / PART_ROWS + (s->n % PART_ROWS != 0);
    numbering a = {.s = s,
                   .numbers = must_alloc(s->n, sizeof *a.numbers),
                   .parts = must_alloc(part_count, sizeof *a.parts),
                   .rank = must_alloc(part_count, sizeof *a.rank)};
    memset(a.rank, 0, part_count * sizeof *a.rank);
    parallel_for(threads, part_count, number_part, &a);
    bool good = merge_parts(&a, part_count, all, missing_top);
    if (good)
        parallel_for(threads, part_count, rank_part, &a);
    for (size_t i = 0; i < part_count; i++) {
        close_table(&a.parts[i]);
        free(a.rank[i]);
    }
    free(a.parts);
    free(a.rank);
    if (good)
        return a.numbers;
    free(a.numbers);
    return NULL;
}

void dictionary_rank(order_key *key, unsigned threads) {
    const strings *s = key->strings;
    if (s->n < MIN_ROWS)
        return;
    string_table all;
    bool open = open_table(&all);
    if (open && sample_is_repetitive(s, &all)) {
        key->data = rank_rows(s, &all, key->nan_first == key->descending, threads);
        key->type = SCAN_U32;
    }
    close_table(&all);
}
