/* SPDX-License-Identifier: MIT
 *
 * Splitters: codes that cut keys into bins of about the same size whatever their distribution, where bits would not.
 * They are chosen from a sample; a value that is frequent in it has a bin of its own. And where a partition takes them.
 */
#include "job.h"

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

/* A bin for each value, if the sample has few. */
static bool choose_values(const uint64_t *sample, size_t n, scan_sort_splitters *s) {
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

/* Pairs of a sorted sample that agree in all but the lowest `shift` bits and are not equal. */
static size_t count_agreeing(const uint64_t *sample, size_t n, unsigned shift) {
    size_t pairs = 0;
    for (size_t begin = 0, end, equal; begin < n; begin = end)
        for (end = begin + 1, equal = 1; end < n && sample[end] >> shift == sample[begin] >> shift; end++) {
            equal = sample[end] == sample[end - 1] ? equal + 1 : 1;
            pairs += end - begin + 1 - equal;
        }
    return pairs;
}

/* Pairs of a sorted sample that are equal. */
static size_t count_equal(const uint64_t *sample, size_t n) {
    size_t pairs = 0;
    for (size_t i = 1, run = 0; i < n; i++)
        pairs += run = sample[i] == sample[i - 1] ? run + 1 : 0;
    return pairs;
}

uint64_t scan_cpu_sort_choose_digit(const scan_sort_job *j, scan_sort_part *part, size_t begin, size_t n,
                                    scan_sort_splitters *splitters) {
    enum { SAMPLES = 256 };
    uint64_t sample[SAMPLES], varying = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        sample[i] = j->plan.kernels->code(part->from.keys, begin + scan_sort_anywhere(i, n), j->order);
    for (size_t i = 0; i < SAMPLES; i++)
        varying |= sample[i] ^ part->first;
    scan_cpu_sort_sort_codes(sample, SAMPLES);
    const unsigned top = scan_sort_top_bit(varying | 1) + 1, bits = scan_cpu_sort_digit_bits(n, j->plan.bin_n);
    const bool quick = scan_sort_is_quick(&j->plan) && !scan_sort_is_wide(&j->plan); /* large bins cost it little */
    /* How many times as large as bins of equal size a key's bin is on average, keys that are equal to it left out, from
     * which on splitters are quicker: measured. Vectors hold fewer keys of 8 bytes; leaves of argsort are smaller. */
    const size_t vectors = j->plan.key_bytes == 8 ? 64 : j->drop_keys ? 16 : 8, larger = quick ? vectors : 32;
    /* A scatter waits for the store of the key before if both are equal, which a split in vectors does not. */
    const bool repeats = j->plan.split != j->plan.kernels->scatter && j->plan.value_bytes > 0 && !j->drop_keys &&
                         count_equal(sample, SAMPLES) > SAMPLES * SAMPLES / 2 / 14;
    if (repeats && choose_values(sample, SAMPLES, splitters)) {
        part->splitters = splitters;
    } else if (repeats ||
               (top > bits && count_agreeing(sample, SAMPLES, top - bits) << bits > larger * SAMPLES * SAMPLES / 2)) {
        scan_cpu_sort_choose_splitters(sample, SAMPLES, splitters);
        part->splitters = splitters;
    }
    return varying;
}
