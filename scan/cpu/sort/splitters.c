/* SPDX-License-Identifier: MIT
 *
 * Splitters: codes that cut keys into bins of about the same size whatever their distribution, where bits would not.
 * They are chosen from a sample; a value that is frequent in it has a bin of its own. And where a partition takes them.
 */
#include "job.h"

enum {
    /* One pair of keys in so many is equal: then splitters are quicker than bits ... */
    REPEATS = 40,
    HALVES_REPEATS = 2048,    /* ... where they may divide in halves, ... */
    WIDE_HALVES_REPEATS = 64, /* ... of wide pairs. */
    NARROW_REPEATS = 12,      /* With as many equal ones they are quicker than few bits. */
    LEAST_HALF = 16,          /* one key in so many, at least, is in the smaller half */
    HALVES_VALUES = 8,        /* so many values are sooner divided by pieces */
    BINS = 32,                /* of equal shares of the sample; each may add a splitter for a frequent value */
    FLAT_SHARE = 25           /* a value that less than one in so many keys have is divided off with others */
};

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

/* A bin for each value, if the sample has no more than `most`. */
static bool choose_values(const uint64_t *sample, size_t n, size_t most, scan_sort_splitters *s) {
    size_t values = 0;
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && sample[i] == sample[i - 1])
            continue;
        if (++values > most)
            return false;
        if (sample[i] > 0)
            add(s, sample[i] - 1);
        add(s, sample[i]);
    }
    return true;
}

/* Bins of one key that many of the sample have, if hardly any key is in none: those must be compared with all. Of
 * floats not those of ties that can be told apart. */
static void choose_flat(const scan_sort_job *j, const uint64_t *sample, size_t n, scan_sort_splitters *s) {
    const uint64_t zero = 0, tie = j->is_float ? j->plan.kernels->code(&zero, 0, j->order) : 0;
    const uint64_t pure = scan_cpu_sort_pure_bins(s);
    size_t bin = 0, covered = 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        const uint64_t code = sample[begin];
        for (end = begin + 1; end < n && sample[end] == code;)
            end++;
        while (bin < s->n && s->codes[bin] < code)
            bin++;
        if (end - begin < n / FLAT_SHARE || !scan_sort_is_final(pure, bin) || s->flat_n == SCAN_SORT_MAX_FLAT ||
            (j->is_float && (code == tie || code == j->order.nan)))
            continue;
        covered += end - begin;
        s->flat_bins[s->flat_n] = (uint8_t)bin;
        s->flat_keys[s->flat_n++] = scan_sort_key_of(code, j->order, (unsigned)j->plan.key_bytes, j->is_float);
    }
    if (covered < n / 16 * 15)
        s->flat_n = 0;
}

/* One splitter: the code beside which the halves of the sample are most alike. False if nearly all are equal: such keys
 * are sooner divided by pieces. */
static bool choose_half(const uint64_t *sample, size_t n, scan_sort_splitters *s) {
    size_t begin = n / 2, end = n / 2;
    while (begin > 0 && sample[begin - 1] == sample[n / 2])
        begin--;
    while (end < n && sample[end] == sample[n / 2])
        end++;
    if (begin < n / LEAST_HALF && n - end < n / LEAST_HALF)
        return false;
    s->n = 1;
    s->codes[0] = n - end < begin ? sample[n / 2] - 1 : sample[n / 2];
    return true;
}

/* The tree of the bins from `bin` to `last`, from `node` on: less[d] is the weight of the bins before bin d. */
static void plant(scan_sort_splitters *s, const uint32_t *less, unsigned bin, unsigned last, unsigned node) {
    if (bin == last)
        return;
    unsigned middle = bin;
    while (middle + 1 < last && less[middle + 2] + less[middle + 1] <= less[bin] + less[last + 1])
        middle++;
    s->middles[node] = (uint8_t)middle;
    plant(s, less, bin, middle, node + 1);
    plant(s, less, middle + 1, last, node + 1 + (middle - bin));
}

/* A tree that takes few comparisons to the bins that are frequent in the sample. */
static void plant_tree(const uint64_t *sample, size_t n, scan_sort_splitters *s) {
    uint32_t less[SCAN_SORT_SPLITTER_BINS + 1] = {0};
    for (size_t d = 0, i = 0, flat = 0; d <= s->n; d++) {
        size_t begin = i;
        while (i < n && (d == s->n || sample[i] <= s->codes[d]))
            i++;
        const bool is_flat = flat < s->flat_n && s->flat_bins[flat] == d;
        flat += is_flat;
        /* one that is not in the sample may be in the range */
        less[d + 1] = less[d] + 1 + (is_flat ? 0 : 2 * (uint32_t)(i - begin));
    }
    plant(s, less, 0, s->n, 0);
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

/* Whether keys of pairs repeat so much that bins by splitters are quicker: a scatter waits for the store of the key
 * before if both are equal. */
static bool do_repeat(const scan_sort_job *j, const uint64_t *sample, size_t n, bool halves) {
    const size_t share = !halves ? REPEATS : scan_sort_is_wide(&j->plan) ? WIDE_HALVES_REPEATS : HALVES_REPEATS;
    return j->plan.split && j->plan.value_bytes > 0 && !j->drop_keys && count_equal(sample, n) > n * n / 2 / share;
}

/* Whether pairs are divided by all bits that vary, the lowest `top`, at once. */
static bool are_narrow(const scan_sort_job *j, const uint64_t *sample, size_t n, unsigned top) {
    return j->plan.by_narrow && top <= j->plan.digit_bits && count_equal(sample, n) <= n * n / 2 / NARROW_REPEATS;
}

uint64_t scan_cpu_sort_choose_digit(const scan_sort_job *j, scan_sort_part *part, size_t begin, size_t n,
                                    uint64_t varying, scan_sort_splitters *splitters) {
    enum { SAMPLES = 256, NEIGHBOURS = 16 /* keys of a place that show which bits vary */ };
    uint64_t sample[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t at = begin + scan_sort_anywhere(i, n),
                     end = begin + n - at < NEIGHBOURS ? begin + n : at + NEIGHBOURS;
        sample[i] = j->plan.kernels->code(part->from.keys, at, j->order);
        for (size_t k = at; k < end; k++)
            varying |= j->plan.kernels->code(part->from.keys, k, j->order) ^ part->first;
    }
    scan_cpu_sort_sort_codes(sample, SAMPLES);
    const unsigned top = scan_sort_top_bit(varying | 1) + 1, bits = scan_cpu_sort_digit_bits(n, j->plan.bin_n);
    const bool halves = n <= j->plan.halves_n, narrow = are_narrow(j, sample, SAMPLES, top),
               repeats = !narrow && do_repeat(j, sample, SAMPLES, halves);
    const bool uneven = !repeats && !narrow && top > bits &&
                        count_agreeing(sample, SAMPLES, top - bits) << bits >= j->plan.skew * SAMPLES * SAMPLES / 2;
    splitters->flat_n = 0;
    if (!repeats && !uneven)
        return varying;
    part->splitters = splitters;
    if (!repeats || !choose_values(sample, SAMPLES, halves ? HALVES_VALUES : SCAN_SORT_MAX_SPLITTERS / 2, splitters)) {
        part->halves = halves && choose_half(sample, SAMPLES, splitters);
        if (!part->halves)
            scan_cpu_sort_choose_splitters(sample, SAMPLES, splitters);
    }
    if (!part->halves && j->plan.value_bytes > 0)
        choose_flat(j, sample, SAMPLES, splitters);
    plant_tree(sample, SAMPLES, splitters);
    return varying;
}
