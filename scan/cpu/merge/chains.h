/* SPDX-License-Identifier: MIT
 *
 * A share of a merge, for every kernel: see merge.h. A step, which is what kernels differ in, makes the next `width`
 * outputs of a chain. An output is known by its index, which is the sum of those of the next elements of a and b.
 */
#ifndef SCAN_CPU_MERGE_CHAINS_H
#define SCAN_CPU_MERGE_CHAINS_H

#include "merge.h"

enum { SCAN_MERGE_CHAINS = 4 };

/* Makes outputs [out, out + width) from a[i], ... and b[out - i], ... of which `width` each can be read. Returns how
 * many came from a. */
typedef size_t scan_merge_step(const scan_merge_job *job, size_t i, size_t out, scan_sort_kind kind);

/* The next elements and outputs of a part that is merged. */
typedef struct scan_merge_chain {
    size_t a, out, end;
} scan_merge_chain;

SCAN_INLINE size_t scan_merge_least(size_t x, size_t y) { return x < y ? x : y; }

/* Outputs that can be made whatever the keys are: no array ends before. */
SCAN_INLINE size_t scan_merge_safe(const scan_merge_job *job, const scan_merge_chain *c) {
    const size_t b = c->out - c->a;
    return scan_merge_least(c->end - c->out, scan_merge_least(job->a.n - c->a, job->b.n - b));
}

SCAN_INLINE void scan_merge_copy(const scan_merge_job *job, const scan_merge_in *from, size_t i, size_t out, size_t n,
                                 scan_sort_kind kind) {
    memcpy((char *)job->keys_out + out * kind.key_bytes, (const char *)from->keys + i * kind.key_bytes,
           n * kind.key_bytes);
    if (kind.value_bytes)
        memcpy((char *)job->values_out + out * kind.value_bytes, (const char *)from->values + i * kind.value_bytes,
               n * kind.value_bytes);
}

/* How many of `n` keys from `i` on come before `code`: those less than it and, if `equal`, those equal to it. In steps
 * that double, then by halves. */
SCAN_INLINE size_t scan_merge_before(const scan_merge_job *job, const void *keys, size_t i, size_t n, uint64_t code,
                                     bool equal, scan_sort_kind kind) {
    size_t low = 0, high = n;
    for (size_t step = 1; low < high; step *= 2) {
        const size_t at = low + step <= high ? low + step - 1 : low + (high - low) / 2;
        const uint64_t other = scan_sort_code(scan_sort_load(keys, i + at, kind.key_bytes), job->order, kind);
        if (other < code || (equal && other == code)) {
            low = at + 1;
        } else {
            high = at;
            break;
        }
    }
    while (low < high) {
        const size_t at = low + (high - low) / 2;
        const uint64_t other = scan_sort_code(scan_sort_load(keys, i + at, kind.key_bytes), job->order, kind);
        if (other < code || (equal && other == code))
            low = at + 1;
        else
            high = at;
    }
    return low;
}

/* Takes the next element of the shorter rest, and what comes before it. */
SCAN_INLINE void scan_merge_skip(const scan_merge_job *job, scan_merge_chain *c, scan_sort_kind kind) {
    const size_t b = c->out - c->a, left = c->end - c->out, a_left = job->a.n - c->a, b_left = job->b.n - b;
    const bool a_shorter = a_left <= b_left;
    const scan_merge_in *shorter = a_shorter ? &job->a : &job->b, *longer = a_shorter ? &job->b : &job->a;
    const size_t next = a_shorter ? c->a : b, from = a_shorter ? b : c->a;
    size_t n = scan_merge_least(left, a_shorter ? b_left : a_left);
    const bool takes = (a_shorter ? a_left : b_left) > 0;
    if (takes) {
        const uint64_t code = scan_sort_code(scan_sort_load(shorter->keys, next, kind.key_bytes), job->order, kind);
        n = scan_merge_before(job, longer->keys, from, n, code, !a_shorter, kind);
    }
    scan_merge_copy(job, longer, from, c->out, n, kind);
    const bool takes_now = takes && n < left;
    if (takes_now)
        scan_merge_copy(job, shorter, next, c->out + n, 1, kind);
    c->out += n + takes_now;
    c->a += a_shorter ? takes_now : n;
}

/* Makes the rest of a part. */
SCAN_INLINE void scan_merge_rest(const scan_merge_job *job, scan_merge_chain c, scan_sort_kind kind,
                                 scan_merge_step *step, size_t width, scan_merge_step *single) {
    enum { SHORT = 16 };
    while (c.out < c.end) {
        const size_t safe = scan_merge_safe(job, &c), steps = safe / width;
        for (size_t k = 0; k < steps; k++, c.out += width)
            c.a += step(job, c.a, c.out, kind);
        if (steps)
            continue;
        if (safe < SHORT && safe < c.end - c.out) {
            scan_merge_skip(job, &c, kind);
            continue;
        }
        for (size_t k = 0; k < safe; k++, c.out++)
            c.a += single(job, c.a, c.out, kind);
    }
}

/* Merges outputs [first, end) by steps of `width`; `single` is a step of one. Chains begin at lines of 64 bytes. */
SCAN_INLINE void scan_merge_share(const scan_merge_job *job, size_t first, size_t end, scan_sort_kind kind,
                                  scan_merge_step *step, size_t width, scan_merge_step *single) {
    enum { CHAINS = SCAN_MERGE_CHAINS, FEW = 512 };
    scan_merge_chain c[CHAINS];
    const size_t line = scan_merge_line(job, first, end, kind.key_bytes), quarter = (end - line) / CHAINS;
    scan_merge_rest(job, (scan_merge_chain){scan_merge_split(job, first), first, line}, kind, single, 1, single);
    if (quarter < FEW) {
        scan_merge_rest(job, (scan_merge_chain){scan_merge_split(job, line), line, end}, kind, step, width, single);
        return;
    }
    for (size_t k = 0; k < CHAINS; k++) {
        c[k].out = scan_merge_line(job, line + k * quarter, end, kind.key_bytes);
        c[k].a = scan_merge_split(job, c[k].out);
        c[k].end = end;
        if (k > 0)
            c[k - 1].end = c[k].out;
    }
    const scan_merge_job here = *job; /* which no store changes, as far as the compiler can tell */
    for (;;) {
        size_t steps = SIZE_MAX;
        for (size_t k = 0; k < CHAINS; k++)
            steps = scan_merge_least(steps, scan_merge_safe(job, &c[k]) / width);
        if (steps < FEW / 16)
            break;
        size_t a[CHAINS], out[CHAINS];
        for (size_t k = 0; k < CHAINS; k++)
            a[k] = c[k].a, out[k] = c[k].out;
        for (size_t i = 0; i < steps * width; i += width)
            for (size_t k = 0; k < CHAINS; k++)
                a[k] += step(&here, a[k], out[k] + i, kind);
        for (size_t k = 0; k < CHAINS; k++)
            c[k].a = a[k], c[k].out += steps * width;
    }
    for (size_t k = 0; k < CHAINS; k++)
        scan_merge_rest(job, c[k], kind, step, width, single);
}

/* One output, without a branch on the keys. */
SCAN_INLINE size_t scan_merge_single(const scan_merge_job *job, size_t i, size_t out, scan_sort_kind kind) {
    const size_t j = out - i;
    const uint64_t a = scan_sort_load(job->a.keys, i, kind.key_bytes),
                   b = scan_sort_load(job->b.keys, j, kind.key_bytes);
    const size_t from_a = scan_sort_code(a, job->order, kind) <= scan_sort_code(b, job->order, kind);
    scan_sort_store(job->keys_out, out, b ^ ((a ^ b) & -(uint64_t)from_a), kind.key_bytes);
    if (kind.value_bytes) {
        const uint64_t x = scan_sort_load(job->a.values, i, kind.value_bytes),
                       y = scan_sort_load(job->b.values, j, kind.value_bytes);
        scan_sort_store(job->values_out, out, y ^ ((x ^ y) & -(uint64_t)from_a), kind.value_bytes);
    }
    return from_a;
}

#endif
