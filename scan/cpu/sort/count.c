/* SPDX-License-Identifier: MIT
 *
 * Counting sort of integer keys alone that lie close together, wherever that is in the range of their type: each is
 * read once, and counted; the counts say what the output is.
 *
 *   guess    some hundred keys say how wide the range may be
 *   bounds   one pass says how wide it is
 *   count    another one counts, in the memory that partitions would use: a table for each thread, as far as there is
 *            room
 *   expand   each thread writes its part of the output
 */
#include "job.h"

enum {
    SAMPLES = 512,
    REPEATED = 24,          /* pairs of the sample that are equal, from which on keys repeat */
    MAX_VALUES = 1 << 20,   /* a table of some megabytes */
    TWO_COUNTERS = 1 << 16, /* values up to which each has two: a key waits for the store of one of the same value */
    KEYS_A_VALUE = 4,       /* of a thread, at least, where each has SCAN_SORT_MANY_COUNTERS */
    LAGS = 8,               /* each key of the sample is compared with so many before it */
    OFTEN = 4,              /* equal pairs of the sample that make a value common, */
    MANY_PAIRS = 48,        /* and that are so many that common values are a good part */
    LISTED = 8
};

/* Counters of a table with one for each value, gaps included. */
static size_t table_counters(size_t values) { return scan_sort_counter_of((uint32_t)values - 1) + 1; }

/* How many values a range may have. There must be so many keys of each, on average, that the table does not cost more
 * than it saves; and for keys of 4 or 8 bytes each thread needs room for a table with two counters of each value. */
static uint64_t max_values(const scan_sort_job *j) {
    const size_t keys_a_value = j->plan.key_bytes == 2 ? 2 : 4;
    const size_t tables = j->plan.key_bytes <= 2 ? j->n : j->n / j->plan.threads / 2;
    const size_t counters = tables * j->plan.key_bytes / sizeof(uint32_t),
                 gaps = counters / SCAN_SORT_COUNTED_VALUES * SCAN_SORT_GAP_VALUES;
    return scan_sort_smaller(scan_sort_smaller(counters - gaps, j->n / keys_a_value), MAX_VALUES);
}

/* What a sample says of the keys. */
typedef struct narrow_sample {
    bool repeats;    /* keys that are counted shortly after each other are often equal */
    bool few_values; /* keys are so often equal that quicksort by one thread is quicker, if they are not too many */
    unsigned common_n;
    uint64_t common[SCAN_SORT_COMMON];
} narrow_sample;

/* Values by how often two keys of the sample, one drawn after the other, were equal to them. */
typedef struct pair_list {
    unsigned n, pairs[LISTED];
    uint64_t codes[LISTED];
} pair_list;

static void add_pair(pair_list *list, uint64_t code) {
    unsigned k = 0;
    while (k < list->n && list->codes[k] != code)
        k++;
    if (k == LISTED)
        return;
    list->codes[k] = code;
    list->pairs[k] = k < list->n ? list->pairs[k] + 1 : 1;
    list->n += k == list->n;
}

static void choose_common(narrow_sample *sample, const pair_list *list) {
    unsigned pairs = 0;
    sample->common_n = 0;
    for (unsigned k = 0; k < list->n && sample->common_n < SCAN_SORT_COMMON; k++)
        if (list->pairs[k] >= OFTEN) {
            sample->common[sample->common_n++] = list->codes[k];
            pairs += list->pairs[k];
        }
    if (pairs < MANY_PAIRS)
        sample->common_n = 0;
}

/* Whether so many keys of a sample are equal that quicksort separates them sooner than they are counted: as many as if
 * there were so few values, all alike. Vectors hold more keys that are narrow. */
static bool has_few_values(const uint64_t *codes, size_t key_bytes) {
    const size_t few_values = key_bytes == 2 ? 128 : key_bytes == 4 ? 24 : 16;
    size_t equal = 0;
    for (size_t lag = 1; lag <= LAGS; lag++)
        for (size_t i = lag; i < SAMPLES; i++)
            equal += codes[i] == codes[i - lag];
    return equal * few_values > SAMPLES * LAGS;
}

/* Takes a sample of keys with their neighbours; false if they lie too far apart. n > 1 */
static bool look_at_sample(const scan_sort_job *j, narrow_sample *sample) {
    uint64_t codes[SAMPLES], least = UINT64_MAX, most = 0, before = 0;
    size_t equal = 0;
    pair_list list = {0};
    if (!j->only_codes || j->n > UINT32_MAX)
        return false;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t at = scan_sort_anywhere(i, j->n - 1);
        const uint64_t code = j->plan.kernels->code(j->in.keys, at, j->order);
        least = code < least ? code : least;
        most = code > most ? code : most;
        if (i > 0 && code == before)
            add_pair(&list, code);
        equal += (i > 0 && code == before) || code == j->plan.kernels->code(j->in.keys, at + 1, j->order);
        codes[i] = before = code;
    }
    sample->repeats = equal >= REPEATED;
    sample->few_values = scan_sort_is_quick(&j->plan) && has_few_values(codes, j->plan.key_bytes);
    choose_common(sample, &list);
    return most - least < max_values(j);
}

bool scan_cpu_sort_seems_narrow(const scan_sort_job *j) {
    narrow_sample sample;
    return look_at_sample(j, &sample);
}

/* Tables of counters, one for each thread that counts, in j->temporary. */
typedef struct tables {
    uint64_t least; /* code */
    size_t values;
    unsigned threads;  /* that count */
    unsigned counters; /* of each value, side by side */
} tables;

static tables make_tables(const scan_sort_job *j, uint64_t least, size_t values, bool repeats) {
    const size_t room = j->n * j->plan.key_bytes / sizeof(uint32_t) / table_counters(values);
    tables t = {least, values, (unsigned)scan_sort_smaller(room, j->plan.threads), 1};
    if (repeats && room >= SCAN_SORT_MANY_COUNTERS * (size_t)t.threads && j->n / t.threads >= KEYS_A_VALUE * values)
        t.counters = SCAN_SORT_MANY_COUNTERS;
    else if (values <= TWO_COUNTERS && room >= 2 * (size_t)t.threads)
        t.counters = 2;
    return t;
}

static uint32_t *table_of(const scan_sort_job *j, const tables *t, unsigned thread) {
    return (uint32_t *)j->temporary.keys + thread * table_counters(t->values) * t->counters;
}

static void count_part(const scan_sort_job *j, const tables *t, const narrow_sample *sample, unsigned thread) {
    if (thread >= t->threads)
        return;
    const size_t share = j->n / t->threads, begin = share * thread,
                 end = thread + 1 == t->threads ? j->n : begin + share;
    memset(table_of(j, t, thread), 0, table_counters(t->values) * t->counters * sizeof(uint32_t));
    scan_sort_counting counting = {.order = j->order,
                                   .keys = j->in.keys,
                                   .begin = begin,
                                   .end = end,
                                   .least = t->least,
                                   .counts = table_of(j, t, thread),
                                   .counters = t->counters,
                                   .common_n = sample->common_n};
    memcpy(counting.common, sample->common, sizeof counting.common);
    j->plan.kernels->count(&counting);
}

/* Sums the counters of each of the values begin ... end - 1, in `sums` side by side, on top of what these have if the
 * table is not the first. That one may be where the sums go. Returns how many keys were counted. */
SCAN_INLINE uint64_t add_table(uint32_t *sums, const uint32_t *table, size_t begin, size_t end, unsigned counters,
                               bool is_first) {
    uint64_t keys = 0;
    for (size_t v = begin, stop; v < end; v = stop) {
        const uint32_t *at = table + (scan_sort_counter_of((uint32_t)v) - v) * counters;
        stop = scan_sort_smaller((v / SCAN_SORT_COUNTED_VALUES + 1) * SCAN_SORT_COUNTED_VALUES, end);
        for (; v < stop; v++) {
            uint32_t sum = 0;
            for (unsigned c = 0; c < counters; c++)
                sum += at[v * counters + c];
            sums[v - begin] = is_first ? sum : sums[v - begin] + sum;
            keys += sum;
        }
    }
    return keys;
}

/* The counts of a thread's share of the values, from value `begin` on: in its part of the first table. */
static uint32_t *sums_of(const scan_sort_job *j, const tables *t, size_t begin) {
    return table_of(j, t, 0) + scan_sort_counter_of((uint32_t)begin) * t->counters;
}

/* Sums the tables in the first one, for this thread's share of the values. Returns how many keys have these values. */
static uint64_t add_up(const scan_sort_job *j, const tables *t, unsigned thread) {
    uint64_t keys = 0;
    size_t begin, end;
    scan_sort_part_of(j, 0, t->values, thread, &begin, &end);
    uint32_t *sums = sums_of(j, t, begin);
    for (unsigned other = 0; other < t->threads; other++) {
        const uint32_t *table = table_of(j, t, other);
        const bool is_first = other == 0;
        keys += t->counters == 1   ? add_table(sums, table, begin, end, 1, is_first)
                : t->counters == 2 ? add_table(sums, table, begin, end, 2, is_first)
                                   : add_table(sums, table, begin, end, SCAN_SORT_MANY_COUNTERS, is_first);
    }
    return keys;
}

/* This thread's part of the output; each thread's third count is how many keys have its share of the values. */
static void expand_part(const scan_sort_job *j, const tables *t, unsigned thread) {
    size_t begin, end, from, to, at = 0;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    for (unsigned other = 0; other < j->plan.threads && at < end; other++) {
        const size_t keys = scan_sort_counts_of(j, other)[2];
        scan_sort_part_of(j, 0, t->values, other, &from, &to);
        if (at + keys > begin)
            j->plan.kernels->expand(&(scan_sort_expansion){.to = j->out.keys,
                                                           .begin = begin,
                                                           .end = end,
                                                           .at = at,
                                                           .counts = sums_of(j, t, from),
                                                           .values = to - from,
                                                           .code = t->least + from,
                                                           .flip = j->order.flip});
        at += keys;
    }
}

bool scan_cpu_sort_by_counting(scan_sort_job *j, unsigned thread) {
    const scan_sort_plan *p = &j->plan;
    size_t begin, end;
    narrow_sample sample = {0};
    if (!look_at_sample(j, &sample))
        return false;
    if (sample.few_values && j->n <= (p->key_bytes == 2 ? SCAN_SORT_QUICK_NARROW_N : p->alone_n)) {
        scan_sort_barrier(j); /* the sample has been taken, which the sort in place overwrites */
        if (thread == 0)
            scan_cpu_sort_by_one(j);
        scan_sort_barrier(j);
        return true;
    }
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    if (thread < p->threads)
        p->kernels->bounds(j->in.keys, begin, end, j->order, scan_sort_counts_of(j, thread),
                           scan_sort_counts_of(j, thread) + 1);
    scan_sort_barrier(j);
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned t = 0; t < p->threads; t++) {
        least = least < scan_sort_counts_of(j, t)[0] ? least : scan_sort_counts_of(j, t)[0];
        most = most > scan_sort_counts_of(j, t)[1] ? most : scan_sort_counts_of(j, t)[1];
    }
    scan_sort_barrier(j);
    if (most - least >= max_values(j))
        return false;
    const tables t = make_tables(j, least, (size_t)(most - least) + 1,
                                 sample.repeats && !(p->kernels->sifts && sample.common_n > 0));
    count_part(j, &t, &sample, thread);
    scan_sort_barrier(j);
    if (thread < p->threads)
        scan_sort_counts_of(j, thread)[2] = add_up(j, &t, thread);
    scan_sort_barrier(j);
    if (thread < p->threads)
        expand_part(j, &t, thread);
    return true;
}
