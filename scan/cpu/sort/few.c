/* SPDX-License-Identifier: MIT
 *
 * Keys of a few values, wherever in the range of their type these are: every key is compared with all of them,
 * a vector of keys at a time, and counted; the counts say what the output is. No counter waits for another's store,
 * and the input is read once; of pairs the keys are read twice.
 *
 *   guess   a small sample says whether it is worth trying
 *   count   each thread lists the values that it meets, and gives up at one too many
 *   place   of pairs: the lists are merged, and each thread brings its values to their places
 *   fill    the lists are merged, and each thread writes its part of the output
 *
 * Pairs serve up to 12 different keys in the sample: their values go to their places first, then keys are filled in, so
 * that no key moves. 1.5 to 4 million pairs with 8 or 12 keys are sorted 1.0 to 1.7 times as fast as by partitions
 * (AVX-512, Zen 4, 2026-11-30: tools/bench --verb pairs --type u32,f64 --value-bytes 4, and 8, --n 1500000,4000000
 * --distribution few:8,few:12 --threads 2).
 *
 * Keys of equal codes that are not the same bits (zeros of both signs, several NaNs) must keep their order: these sets
 * are left to the other sorts.
 *
 * A sample also says whether one thread's quicksort, which others help, is to count or set apart what is frequent: of
 * keys alone, and of pairs.
 */
#include "job.h"

enum {
    SAMPLES = 64,
    MAX_KEYS_BESIDE_ONE = 8,   /* of pairs most of which have one: with more, setting that apart takes less time */
    MAX_PAIRS_KEYS = 12,       /* different ones in a sample of pairs: with more, partitions take less time */
    REPEATED_BYTES = 16 << 20, /* of keys many of which are equal, which one's quicksort sorts sooner */
    FEW_THREADS = 2 /* with more, sharing the partitions sorts what a few values leave sooner than one's quicksort */
};

/* The values that a thread has met: they lie in its counts. */
static scan_sort_values *values_of(const scan_sort_job *j, unsigned thread) {
    return (scan_sort_values *)(void *)scan_sort_area_of(j, thread);
}

/* Lists the values of a sample; false if they are more than max_n. */
static bool list_values(const scan_sort_job *j, scan_sort_values *seen, size_t max_n) {
    seen->n = 0;
    seen->max_n = max_n;
    for (size_t i = 0; i < SAMPLES; i++)
        if (!scan_sort_name(seen, scan_sort_load(j->in.keys, scan_sort_anywhere(i, j->n), (unsigned)j->plan.key_bytes)))
            return false;
    return true;
}

/* How many values a sample has, or SIZE_MAX if there are more than in a list. */
static size_t count_values(const scan_sort_job *j) {
    scan_sort_values seen;
    return list_values(j, &seen, SCAN_SORT_VALUES) ? seen.n : SIZE_MAX;
}

/* Whether a sample has no more values than a list, but more than quicksort by one thread, if that is the other way,
 * counts itself (quick_few.h). Integers it soon separates. */
static bool seem_few(const scan_sort_job *j) {
    const bool alone = scan_sort_is_quick_alone(j);
    if (alone && j->only_codes)
        return false;
    const size_t values = count_values(j);
    return values <= SCAN_SORT_VALUES && (!alone || values > SCAN_SORT_VALUES / 2);
}

/* How many keys of a sample have one of a few values that are in it more than once, as quicksort looks for them; of
 * floats none if it has NaNs, or zeros of both signs. */
static size_t count_repeated(const scan_sort_job *j) {
    const unsigned bits = 8 * (unsigned)j->plan.key_bytes;
    uint64_t keys[SAMPLES];
    size_t repeated = 0, values = 0, zeros = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        keys[i] = scan_sort_load(j->in.keys, scan_sort_anywhere(i, j->n), (unsigned)j->plan.key_bytes);
    scan_cpu_sort_sort_codes(keys, SAMPLES);
    for (size_t begin = 0, end; begin < SAMPLES; begin = end) {
        for (end = begin + 1; end < SAMPLES && keys[end] == keys[begin];)
            end++;
        zeros += keys[begin] == 0 || keys[begin] == 1ull << (bits - 1);
        if (j->is_float && (zeros > 1 || j->plan.kernels->code(&keys[begin], 0, j->order) == j->order.nan))
            return 0;
        if (end - begin > 1 && ++values <= SCAN_SORT_VALUES / 2)
            repeated += end - begin;
    }
    return values <= SCAN_SORT_VALUES / 2 ? repeated : 0;
}

/* Whether a sample of pairs is mostly of one key, as the quicksort of pairs looks for it (quick_pairs_often.h), and has
 * no tie of it. */
static bool are_mostly_one(const scan_sort_job *j) {
    const unsigned key_bytes = (unsigned)j->plan.key_bytes;
    uint64_t keys[SAMPLES];
    size_t others = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        keys[i] = scan_sort_load(j->in.keys, scan_sort_anywhere(i, j->n), key_bytes);
    scan_cpu_sort_sort_codes(keys, SAMPLES);
    const uint64_t key = keys[SAMPLES / 2], code = j->plan.kernels->code(&key, 0, j->order);
    for (size_t i = 0; i < SAMPLES; i++) {
        others += keys[i] != key;
        if (keys[i] != key && j->plan.kernels->code(&keys[i], 0, j->order) == code)
            return false;
    }
    return others <= SAMPLES / 4;
}

bool scan_cpu_sort_quick_counts(const scan_sort_job *j) {
    if (j->in.values && scan_sort_is_quick(&j->plan))
        return j->team && j->plan.threads > 1 && j->plan.threads <= FEW_THREADS && are_mostly_one(j);
    if (!j->whole_keys || !scan_sort_is_quick(&j->plan))
        return false;
    if (j->plan.threads == 1)
        return scan_sort_is_quick_alone(j) && count_values(j) <= SCAN_SORT_VALUES / 2;
    return j->team && count_repeated(j) >= SAMPLES / 16 * (j->plan.threads > FEW_THREADS ? 15 : 12);
}

/* Takes a sample, and sorts it. Returns how many of its keys equal the one behind them. */
static size_t sample_neighbours(const scan_sort_job *j, uint64_t *keys) {
    const unsigned key_bytes = (unsigned)j->plan.key_bytes;
    size_t equal = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t at = scan_sort_anywhere(i, j->n - 1);
        keys[i] = scan_sort_load(j->in.keys, at, key_bytes);
        equal += keys[i] == scan_sort_load(j->in.keys, at + 1, key_bytes);
    }
    scan_cpu_sort_sort_codes(keys, SAMPLES);
    return equal;
}

scan_sort_repeats scan_cpu_sort_see_repeats(const scan_sort_job *j) {
    const size_t key_bytes = j->plan.key_bytes;
    uint64_t keys[SAMPLES];
    size_t different = 0, zeros = 0, expected = 0;
    if (!j->whole_keys || !j->team || j->plan.threads == 1 || j->plan.threads > FEW_THREADS ||
        j->n * key_bytes > REPEATED_BYTES)
        return SCAN_SORT_NO_REPEATS;
    const size_t equal = sample_neighbours(j, keys);
    for (size_t i = 0; i < SAMPLES; i++)
        zeros += keys[i] << (65 - 8 * key_bytes) == 0;
    for (size_t begin = 0, end = 0; begin < SAMPLES; begin = end, different++) {
        while (end < SAMPLES && keys[end] == keys[begin])
            end++;
        expected += (end - begin) * (end - begin); /* neighbours that are equal, of SAMPLES, if the order is random */
    }
    const bool runs = equal >= SAMPLES / 4 + expected / SAMPLES;
    /* One thread sets zeros aside, which takes long if they are wide and many. */
    const bool aside = j->is_float && key_bytes == 8 && zeros >= SAMPLES / 4;
    if (different > SAMPLES / 4 * 3 || aside || scan_cpu_sort_seems_narrow(j))
        return SCAN_SORT_NO_REPEATS;
    return runs ? SCAN_SORT_REPEATS_IN_RUNS : SCAN_SORT_REPEATS;
}

/* Pairs of 8 to 64 values: one thread, which the other helps from the second partition on, takes up to 1.4 times as
 * long as two that divide them (Xeon with AVX-512, 2026-11-29: tools/bench --verb pairs --type f32,u32 --threads 2
 * --n 300000,500000 --distribution few:K). It does not where a few values are frequent, or where many keys equal their
 * neighbours: one thread notices both. */
bool scan_cpu_sort_pairs_repeat(const scan_sort_job *j) {
    enum { PAIRS = SAMPLES * SAMPLES / 2, MIN_ALIKE = 8, MAX_ALIKE = 64 /* values, if each is alike */ };
    uint64_t keys[SAMPLES];
    const size_t neighbours = sample_neighbours(j, keys);
    size_t equal = 0; /* pairs */
    for (size_t i = 1, run = 0; i < SAMPLES; i++)
        equal += run = keys[i] == keys[i - 1] ? run + 1 : 0;
    /* In random order the share of neighbours that are equal is that of any two keys of the sample. */
    return equal * MAX_ALIKE >= PAIRS && equal * MIN_ALIKE <= PAIRS && neighbours <= SAMPLES / 8 + 2 * equal / SAMPLES;
}

/* Adds one list to another, in order; false if two values have one code. */
static bool merge(const scan_sort_job *j, scan_sort_count *all, size_t *n, const scan_sort_values *values) {
    for (size_t v = 0; v < values->n; v++) {
        const uint64_t key = values->keys[v], code = j->plan.kernels->code(&key, 0, j->order);
        size_t at = *n;
        while (at > 0 && all[at - 1].code > code)
            at--;
        if (at > 0 && all[at - 1].code == code) {
            if (all[at - 1].key != key)
                return false;
            all[at - 1].count += values->counts[v];
            continue;
        }
        memmove(all + at + 1, all + at, (*n - at) * sizeof *all);
        all[at] = (scan_sort_count){key, code, values->counts[v]};
        ++*n;
    }
    return true;
}

/* Whether two values of a list have one code: zeros of both signs, or NaNs. */
static bool has_ties(const scan_sort_job *j, const scan_sort_values *values) {
    for (size_t v = 0; v < values->n; v++)
        for (size_t w = 0; w < v; w++)
            if (j->plan.kernels->code(&values->keys[v], 0, j->order) ==
                j->plan.kernels->code(&values->keys[w], 0, j->order))
                return true;
    return false;
}

bool scan_cpu_sort_pairs_seem_few(const scan_sort_job *j) {
    scan_sort_values seen;
    return j->in.values && !j->drop_keys && j->plan.halves.place && j->plan.threads > 1 &&
           j->plan.threads <= FEW_THREADS && list_values(j, &seen, MAX_PAIRS_KEYS) &&
           !(j->is_float && has_ties(j, &seen));
}

/* All threads merge all lists, into memory of their own: they are short. Returns the number of values, up to twice as
 * many as a list has, or SIZE_MAX if a thread's list or the merged ones overflow, or if two values have one code. */
static size_t merge_lists(const scan_sort_job *j, scan_sort_count *all) {
    size_t n = 0;
    for (unsigned t = 0; t < j->plan.threads; t++)
        if (values_of(j, t)->n > SCAN_SORT_VALUES || n > SCAN_SORT_VALUES || !merge(j, all, &n, values_of(j, t)))
            return SIZE_MAX;
    return n;
}

/* How many keys of a value a thread has. */
static size_t count_of(const scan_sort_job *j, unsigned thread, uint64_t key) {
    const scan_sort_values *values = values_of(j, thread);
    for (size_t v = 0; v < values->n; v++)
        if (values->keys[v] == key)
            return values->counts[v];
    return 0;
}

/* The values of a thread's pairs go behind those of the same key that threads before it have. In place they go to the
 * temporary first. */
static void place_values(const scan_sort_job *j, const scan_sort_count *all, size_t n, size_t begin, size_t end,
                         unsigned thread) {
    const bool in_place = j->in.values == j->out.values;
    const size_t value_bytes = j->plan.value_bytes;
    scan_sort_placing p = {.from = j->in,
                           .to = in_place ? j->temporary.values : j->out.values,
                           .begin = begin,
                           .end = end,
                           .n = (unsigned)n};
    for (size_t v = 0, before = 0; v < n; before += all[v++].count) {
        p.keys[v] = all[v].key;
        p.places[v] = before;
        for (unsigned t = 0; t < thread && t < j->plan.threads; t++)
            p.places[v] += count_of(j, t, all[v].key);
        p.ends[v] = p.places[v] + (thread < j->plan.threads ? count_of(j, thread, all[v].key) : 0);
    }
    if (begin < end)
        j->plan.halves.place(&p);
    scan_sort_barrier(j); /* the input has been read */
    if (in_place && begin < end)
        memcpy((char *)j->out.values + begin * value_bytes, (char *)j->temporary.values + begin * value_bytes,
               (end - begin) * value_bytes);
}

bool scan_cpu_sort_by_few(scan_sort_job *j, unsigned thread) {
    const scan_sort_plan *p = &j->plan;
    const bool pairs = j->pairs_seem_few, mostly_one = pairs && are_mostly_one(j);
    const size_t max_n = !pairs ? 2 * SCAN_SORT_VALUES : mostly_one ? MAX_KEYS_BESIDE_ONE : SCAN_SORT_VALUES;
    size_t begin, end, before = 0;
    if (!pairs && (!j->whole_keys || !seem_few(j)))
        return false;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    if (thread < p->threads) {
        values_of(j, thread)->n = 0;
        values_of(j, thread)->max_n = scan_sort_smaller(max_n, SCAN_SORT_VALUES);
        p->kernels->tally(j->in.keys, begin, end, values_of(j, thread));
    }
    scan_sort_barrier(j);
    scan_sort_count all[2 * SCAN_SORT_VALUES];
    const size_t n = merge_lists(j, all);
    const bool few = n <= max_n;
    if (few && pairs)
        place_values(j, all, n, begin, end, thread);
    for (size_t v = 0; few && v < n; before += all[v++].count) {
        const size_t from = scan_sort_larger(begin, before), to = scan_sort_smaller(end, before + all[v].count);
        if (from < to)
            p->kernels->spread(j->out.keys, from, to, to, all[v].key);
    }
    scan_sort_barrier(j); /* the lists have been read */
    return few;
}
