/* SPDX-License-Identifier: MIT
 *
 * Splitters: codes that cut keys into bins of about the same size whatever their distribution, where bits would not.
 * They are chosen from a sample; a value that is frequent in it has a bin of its own.
 */
#include "sort.h"

enum { BINS = 16 }; /* of equal shares of the sample; each may add a splitter for a frequent value */

/* Shell's sort: a sample is small. */
void scan_cpu_sort_sort_codes(uint64_t *codes, size_t n) {
    for (size_t gap = 1 << 10; gap > 0; gap = gap == 4 ? 1 : gap / 4)
        for (size_t i = gap; i < n; i++) {
            const uint64_t code = codes[i];
            size_t at = i;
            for (; at >= gap && codes[at - gap] > code; at -= gap)
                codes[at] = codes[at - gap];
            codes[at] = code;
        }
}

static void add(scan_sort_splitters *s, uint64_t code) {
    if (s->n == 0 || s->codes[s->n - 1] < code)
        s->codes[s->n++] = code;
}

void scan_cpu_sort_choose_splitters(const uint64_t *sample, size_t n, scan_sort_splitters *s) {
    s->n = 0;
    for (size_t bin = 1; bin < BINS; bin++) {
        const size_t at = bin * n / BINS;
        const uint64_t code = sample[at];
        const bool frequent = sample[at - 1] == code || (at + 1 < n && sample[at + 1] == code);
        if (frequent && code > 0)
            add(s, code - 1);
        add(s, code);
    }
}

bool scan_cpu_sort_choose_values(const uint64_t *sample, size_t n, scan_sort_splitters *s) {
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && sample[i] == sample[i - 1])
            continue;
        if (s->n + 2 > SCAN_SORT_MAX_SPLITTERS)
            return false;
        if (sample[i] > 0)
            add(s, sample[i] - 1);
        add(s, sample[i]);
    }
    return true;
}
