/* SPDX-License-Identifier: MIT
 *
 * Tests of text, in pieces of rows on all threads.
 */
#include "text_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "column_test.h"
#include "pattern.h"

enum { PIECE_ROWS = 1 << 14 };

typedef struct testing {
    const text_test *test;
    const strings *texts;
    uint8_t *flags;
    atomic_size_t bad;    /* the first row that could not be matched, or SIZE_MAX */
    _Atomic int bad_code; /* of any such row */
} testing;

static bool begins_with(const string *s, const string *item) {
    return s->bytes >= item->bytes && memcmp(s->begin, item->begin, item->bytes) == 0;
}

static bool ends_with(const string *s, const string *item) {
    return s->bytes >= item->bytes && memcmp(s->begin + s->bytes - item->bytes, item->begin, item->bytes) == 0;
}

static bool equals(const string *s, const string *item) { return s->bytes == item->bytes && begins_with(s, item); }

static int compare_items(const void *a, const void *b) { return string_compare(a, b); }

/* All but MATCHES. */
static bool holds(const text_test *test, const string *s) {
    if (!s->begin)
        return test->op == TEXT_MISSING;
    switch (test->op) {
    case TEXT_LT: return string_compare(s, test->items) < 0;
    case TEXT_LE: return string_compare(s, test->items) <= 0;
    case TEXT_GT: return string_compare(s, test->items) > 0;
    case TEXT_GE: return string_compare(s, test->items) >= 0;
    case TEXT_EQ: return equals(s, test->items);
    case TEXT_NE: return !equals(s, test->items);
    case TEXT_CONTAINS: return memmem(s->begin, s->bytes, test->items->begin, test->items->bytes) != NULL;
    case TEXT_STARTS: return begins_with(s, test->items);
    case TEXT_ENDS: return ends_with(s, test->items);
    case TEXT_IN: return bsearch(s, test->items, test->item_count, sizeof *s, compare_items) != NULL;
    case TEXT_MATCHES:
    case TEXT_MISSING: break;
    }
    return false;
}

static void fail_row(testing *a, size_t row, int code) {
    size_t before = atomic_load(&a->bad);
    atomic_store(&a->bad_code, code);
    while (row < before && !atomic_compare_exchange_weak(&a->bad, &before, row))
        ;
}

static void match_piece(testing *a, size_t row, size_t end) {
    pattern_room *room = pattern_room_open(a->test->pattern);
    if (!room)
        fail_row(a, row, PATTERN_NO_MEMORY);
    for (; row < end && room; row++) {
        const string *s = &a->texts->at[row];
        int found = s->begin ? pattern_find(a->test->pattern, room, s) : 0;
        a->flags[row] = found > 0;
        if (found < 0) {
            fail_row(a, row, found);
            break;
        }
    }
    pattern_room_close(room);
}

static void test_piece(void *arg, size_t piece) {
    testing *a = arg;
    size_t row = piece * PIECE_ROWS, n = a->texts->n, end = n - row > PIECE_ROWS ? row + PIECE_ROWS : n;
    if (a->test->op == TEXT_MATCHES)
        match_piece(a, row, end);
    else
        for (; row < end; row++)
            a->flags[row] = holds(a->test, &a->texts->at[row]);
}

void text_tests_prepare(const compact_job *job, expression *e) {
    char reason[256];
    for (uint32_t i = 0; i < e->test_count; i++) {
        text_test *test = &e->tests[i];
        if (test->op != TEXT_MATCHES)
            continue;
        test->pattern = pattern_open(test->items, reason, sizeof reason);
        if (!test->pattern && !reason[0])
            die(EXIT_IO, "no memory for a pattern");
        if (!test->pattern)
            die_usage("--where '%s': matches: %s", job->where, reason);
    }
}

void text_tests_release(expression *e) {
    for (uint32_t i = 0; i < e->test_count; i++)
        pattern_close(e->tests[i].pattern);
}

/* Returns false if a row could not be matched. */
static bool run_test(testing *a, unsigned threads, text_fault *fault) {
    atomic_init(&a->bad, SIZE_MAX);
    atomic_init(&a->bad_code, 0);
    parallel_for(threads, a->texts->n / PIECE_ROWS + (a->texts->n % PIECE_ROWS != 0), test_piece, a);
    fault->row = atomic_load(&a->bad);
    int code = atomic_load(&a->bad_code);
    if (fault->row != SIZE_MAX && code == PATTERN_NO_MEMORY)
        die(EXIT_IO, "no memory to match a pattern");
    if (fault->row != SIZE_MAX)
        pattern_fault(code, fault->reason, sizeof fault->reason);
    return fault->row == SIZE_MAX;
}

bool text_tests_run(const compact_job *job, source *from, unsigned threads, text_fault *fault) {
    expression *e = &from->e;
    from->first_test = from->column_count + 1;
    if (e->test_count > SCAN_MAX_COLUMNS - from->column_count)
        die_usage("--where '%s': too many columns", job->where);
    for (uint32_t i = 0; i < e->test_count; i++) {
        const text_test *test = &e->tests[i];
        testing a = {.test = test, .flags = must_alloc(from->n + 1, 1)};
        if (!test->numbers)
            a.texts = &from->texts[test->column];
        from->columns[++from->column_count] = (scan_column){.type = SCAN_U8, .data = a.flags};
        if (test->numbers)
            column_test_run(from, test, a.flags, threads);
        else if (!run_test(&a, threads, fault))
            return false;
    }
    for (uint32_t t = 0; t < e->term_count; t++)
        if (e->terms[t].column >= EXPRESSION_TEST && e->terms[t].column != SCAN_COLUMN_INDEX)
            e->terms[t].column += from->first_test - EXPRESSION_TEST;
    return true;
}

/* ---- --verify ---------------------------------------------------------------------------------------------------- */

/* True if item stands at byte `place` of s. */
static bool stands_at(const string *s, const string *item, size_t place) {
    for (size_t i = 0; i < item->bytes; i++)
        if (place + i >= s->bytes || s->begin[place + i] != item->begin[i])
            return false;
    return true;
}

/* Below 0, 0 or above 0, byte by byte. */
static int order_of(const string *a, const string *b) {
    for (size_t i = 0; i < a->bytes && i < b->bytes; i++)
        if (a->begin[i] != b->begin[i])
            return a->begin[i] < b->begin[i] ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* A pattern is not matched again: PCRE2 is the only judge of what it means. */
static bool check_one(const text_test *test, const string *s, bool flag) {
    bool any = false;
    if (!s->begin || test->op == TEXT_MISSING)
        return flag == (!s->begin && test->op == TEXT_MISSING);
    for (size_t k = 0; k < test->item_count; k++) {
        const string *item = &test->items[k];
        int result = order_of(s, item);
        switch (test->op) {
        case TEXT_LT: any |= result < 0; break;
        case TEXT_LE: any |= result <= 0; break;
        case TEXT_GT: any |= result > 0; break;
        case TEXT_GE: any |= result >= 0; break;
        case TEXT_EQ:
        case TEXT_IN: any |= result == 0; break;
        case TEXT_NE: any |= result != 0; break;
        case TEXT_STARTS: any |= stands_at(s, item, 0); break;
        case TEXT_ENDS: any |= s->bytes >= item->bytes && stands_at(s, item, s->bytes - item->bytes); break;
        case TEXT_CONTAINS:
            for (size_t place = 0; place + item->bytes <= s->bytes && !any; place++)
                any = stands_at(s, item, place);
            break;
        case TEXT_MATCHES: any = flag; break;
        case TEXT_MISSING: break;
        }
    }
    return any == flag;
}

bool text_tests_check(const source *from, size_t row) {
    bool good = true;
    for (uint32_t i = 0; i < from->e.test_count && good; i++) {
        const text_test *test = &from->e.tests[i];
        const uint8_t *flags = from->columns[from->first_test + i].data;
        good = test->numbers ? column_test_check(from, test, row) == flags[row]
                             : check_one(test, &from->texts[test->column].at[row], flags[row]);
    }
    return good;
}
