/* SPDX-License-Identifier: MIT
 *
 * compact on arrays in pieces: reading them, one after another or in turns with other ranks.
 */
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "array_work.h"

/* Several ranks take the pieces in turns, as many each: the last ones may be empty. An element is read together with
 * the one before it, which another rank has. */
static bool read_turn(compact_work *w, compact_slot *x, size_t piece) {
    const uint64_t n = w->r->header.count, base = (piece * ranks_count() + ranks_own()) * w->piece;
    const uint64_t round = (uint64_t)piece * ranks_count() * w->piece;
    if (round >= n)
        return false;
    x->base = base < n ? base : n;
    x->n = n - x->base < w->piece ? (size_t)(n - x->base) : w->piece;
    x->carried = compact_by_runs(w) && x->base > 0 && x->n > 0;
    x->taken = (round + x->n) * w->size;
    if (x->n > 0)
        array_read_at(w->r, compact_piece_host(w, x) - (x->carried ? w->size : 0), x->n + x->carried,
                      x->base - x->carried);
    if (w->job->selector == SELECT_MASK)
        compact_mask_read_at(&w->mask, x->flags.host, x->n, x->base);
    w->have = round + ranks_count() * w->piece < n ? round + ranks_count() * w->piece : n;
    return true;
}

bool compact_read_piece(void *arg, size_t piece) {
    compact_work *w = arg;
    compact_slot *x = compact_slot_of(w, piece);
    if (ranks_several())
        return read_turn(w, x, piece);
    if (w->ended)
        return false;
    memcpy(x->in.host, w->last, w->size);
    x->n = array_read(w->r, compact_piece_host(w, x), w->piece);
    x->base = w->have;
    x->carried = compact_by_runs(w) && piece;
    x->taken = w->r->in->taken;
    if (w->index_type == SCAN_U32 && x->base + x->n > UINT32_MAX)
        die(EXIT_USAGE, "%s: has 2^32 elements or more; --indices needs it as a file to know that from the start",
            w->r->in->name);
    if (w->job->selector == SELECT_MASK)
        compact_mask_read(&w->mask, x->flags.host, x->n);
    memcpy(w->last, (char *)x->in.host + x->n * w->size, w->size);
    w->have += x->n;
    w->ended = x->n < w->piece;
    return x->n > 0;
}
