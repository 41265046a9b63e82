/* SPDX-License-Identifier: MIT
 *
 * sort --check of lines and rows that several ranks have in shares: each looks at its own, and at the last row before
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "row_check.h"
#include "row_share.h"

static size_t first_disorder(const row_batch *b, const sort_job *j) {
    const order o = {.keys = (order_key *)(uintptr_t)b->keys, .key_count = b->key_count, .n = b->n};
    return order_first_disorder(&o, j->unique, j->threads);
}

/* A copy of the last row of lower ranks, to be freed; of no bytes if there is none. Collective. */
static unsigned char *row_before(const row_batch *b, size_t *bytes) {
    const unsigned char *last = b->n ? b->bytes + b->starts[b->n - 1] : NULL;
    const size_t mine = b->n ? (size_t)(b->starts[b->n] - b->starts[b->n - 1]) : 0;
    size_t *sizes = must_alloc(ranks_count(), sizeof *sizes), total, at = 0;
    ranks_gather(&mine, sizeof mine, sizes);
    unsigned char *all = ranks_collect(last, mine, &total);
    *bytes = 0;
    for (unsigned r = 0; r < ranks_own(); at += sizes[r++])
        if (sizes[r]) {
            memmove(all, all + at, sizes[r]);
            *bytes = sizes[r];
        }
    free(sizes);
    return all;
}

/* Whether the first row of this rank follows the last one before it. */
static bool follows(const row_batch *b, const row_kind *kind, const unsigned char *before, size_t bytes) {
    row_kind again = *kind;
    row_batch two;
    if (bytes == 0 || b->n == 0)
        return true;
    again.types = NULL;
    row_share_batch(&two, &again, before, bytes, b->bytes + b->starts[0], (size_t)(b->starts[1] - b->starts[0]), 0);
    const bool good = first_disorder(&two, kind->j) == ORDER_NONE;
    row_batch_free(&two);
    return good;
}

void row_share_check(const row_share *s, row_kind *kind) {
    row_batch b;
    size_t bytes;
    row_share_batch(&b, kind, NULL, 0, s->bytes, s->n_bytes, s->lines_before);
    row_share_agree(kind);
    row_batch_index(&b, kind);
    const ranks_sum rows = ranks_add(b.n);
    report_number(format_is_table(kind->format) ? "rows" : "lines", rows.total);
    unsigned char *before = row_before(&b, &bytes);
    const size_t place = follows(&b, kind, before, bytes) ? first_disorder(&b, kind->j) : 0;
    if (ranks_has_first(place == ORDER_NONE ? UINT64_MAX : rows.before + place))
        row_batch_refuse(&b, kind, EXIT_NEGATIVE, place, "is out of order");
    report_number("kept", rows.total);
    free(before);
    row_batch_free(&b);
}
