/* SPDX-License-Identifier: MIT
 *
 * Keys alone, some of which are heavy: a few values, wherever in the range of the type they are, make up most of the
 * input. Partitions would move such keys digit after digit only to find them equal. Instead (the idea is that of Dong,
 * Dhulipala, Gu, Sun: Parallel integer sort: theory and practice, PPoPP 2024, where heavy keys have bins of their own):
 *
 *   sample     some hundred keys say whether keys repeat at all, if so some thousand which ones are heavy
 *   take       one pass over the input: keys found in a hash table of the heavy ones are counted, the others are set
 *              aside. All threads, a table each
 *   sort       what was set aside, at most half of the input, is sorted as any input is
 *   put back   both are merged into the output: the heavy keys' counts say where
 *
 * Counted keys have no place of their own, so equal keys must be the same bits. Where zeros of both signs or different
 * NaNs meet, and one of them is heavy, the input is sorted the ordinary way, or, where most keys are such ones, by
 * quicksort, which sets them aside. So is one of which the sample promised too much.
 */
#include "job.h"

enum {
    FIRST_SAMPLE = 512,
    FIRST_REPEATED = 16,      /* keys of the first sample that must not be alone in it */
    FLOATS_N = 1 << 20,       /* from so many floats of 4 bytes on quicksort ... */
    FLOAT_VALUES = 256,       /* ... separates so many values, all alike, as fast as a hash table counts them */
    AVX2_VALUES = 128,        /* any keys of 4 bytes, in vectors of half the size */
    SAMPLE_BYTES = 128 << 10, /* of the second sample, at most; sorted in an area, which has 256 KiB and more */
    SAMPLE_SHARE = 64,        /* it is no more than one key in so many */
    NEIGHBOURS = 16,          /* keys of the second sample that are read together, of many keys */
    LONGEST = 64,             /* runs in a sample: longer ones count as this long */
    PIECE = 1 << 18,          /* keys that a thread takes until it looks whether it pays */
    HASHES = 16,              /* that are tried */
    ASIDE_THREADS = 2         /* at most, where zeros and NaNs are set aside by one */
};

/* ---- which keys are heavy ---------------------------------------------------------------------------------------- */

/* `count` keys from all over the input, sorted. */
static const void *sorted_sample(const scan_sort_job *j, size_t count, size_t neighbours) {
    const size_t key_bytes = j->plan.key_bytes;
    char *scratch = scan_sort_buffers_of(j, 0), *keys = scratch + SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t);
    for (size_t i = 0; i < count; i += neighbours) {
        size_t from = scan_sort_anywhere(i, j->n - neighbours + 1);
        memcpy(keys + i * key_bytes, (const char *)j->in.keys + from * key_bytes, neighbours * key_bytes);
    }
    j->plan.local(&(scan_sort_local){.order = j->order,
                                     .from = {keys, NULL},
                                     .to = {keys, NULL},
                                     .spare = {keys + SAMPLE_BYTES, NULL},
                                     .n = count,
                                     .counts = (uint32_t *)(void *)scratch});
    return keys;
}

/* The length of the run of equal codes that begins at `begin`. */
static size_t run_length(const scan_sort_job *j, const void *keys, size_t begin, size_t n) {
    uint64_t code = j->plan.kernels->code(keys, begin, j->order);
    size_t end = begin + 1;
    while (end < n && j->plan.kernels->code(keys, end, j->order) == code)
        end++;
    return end - begin;
}

typedef struct run_lengths {
    size_t runs[LONGEST + 1], keys[LONGEST + 1]; /* runs of at least so many keys, and the keys in them */
    size_t equal_pairs;
} run_lengths;

static run_lengths count_runs(const scan_sort_job *j, const void *keys, size_t n) {
    run_lengths at_least = {0};
    for (size_t i = 0, length; i < n; i += length) {
        length = run_length(j, keys, i, n);
        size_t row = scan_sort_smaller(length, LONGEST);
        at_least.runs[row]++;
        at_least.keys[row] += length;
        at_least.equal_pairs += length * (length - 1) / 2;
    }
    for (size_t row = LONGEST; row-- > 0;) {
        at_least.runs[row] += at_least.runs[row + 1];
        at_least.keys[row] += at_least.keys[row + 1];
    }
    return at_least;
}

/* How many of n sorted keys have the code of others of them that differ in their bits. */
static size_t count_tied(const scan_sort_job *j, const void *keys, size_t n) {
    size_t tied = 0;
    for (size_t i = 0, length; j->is_float && i < n; i += length) {
        length = run_length(j, keys, i, n);
        bool differ = false;
        for (size_t k = 1; k < length && !differ; k++)
            differ = scan_sort_load(keys, i + k, (unsigned)j->plan.key_bytes) !=
                     scan_sort_load(keys, i, (unsigned)j->plan.key_bytes);
        tied += differ ? length : 0;
    }
    return tied;
}

/* What the heavy keys lose that share a slot with one before them. */
static uint64_t weight_lost(const scan_sort_job *j, uint64_t multiplier, uint8_t *used) {
    uint64_t lost = 0;
    memset(used, 0, (size_t)1 << SCAN_SORT_SLOT_BITS);
    for (size_t h = 0; h < j->heavy_n; h++) {
        uint8_t *slot = &used[scan_sort_slot_of(j->heavy[h].key, multiplier)];
        lost += *slot ? j->heavy[h].count : 0;
        *slot = 1;
    }
    return lost;
}

/* Chooses the hash that brings most of the weight into slots of its own, and forgets the keys it does not. */
static void choose_hash(scan_sort_job *j, uint8_t *used) {
    uint64_t least = UINT64_MAX;
    for (uint64_t try = 1; try <= HASHES && least > 0; try++) {
        uint64_t multiplier = (try * 0x9e3779b97f4a7c15u) | 1ull << 63 | 1, lost = weight_lost(j, multiplier, used);
        if (lost < least) {
            least = lost;
            j->multiplier = multiplier;
        }
    }
    memset(used, 0, (size_t)1 << SCAN_SORT_SLOT_BITS);
    size_t kept = 0;
    for (size_t h = 0; h < j->heavy_n; h++) {
        uint8_t *slot = &used[scan_sort_slot_of(j->heavy[h].key, j->multiplier)];
        if (!*slot)
            j->heavy[kept++] = j->heavy[h];
        *slot = 1;
    }
    j->heavy_n = kept;
}

/* The heaviest of the heavy keys, eight by eight while that many are a good part of what the eights before them leave
 * of a sample of n. */
static void choose_frequent(scan_sort_job *j, size_t n) {
    size_t top[SCAN_SORT_MAX_FREQUENT], count = 0;
    for (size_t h = 0; h < j->heavy_n; h++) {
        size_t at = count < SCAN_SORT_MAX_FREQUENT ? count++ : SCAN_SORT_MAX_FREQUENT;
        for (; at > 0 && j->heavy[top[at - 1]].count < j->heavy[h].count; at--)
            if (at < SCAN_SORT_MAX_FREQUENT)
                top[at] = top[at - 1];
        if (at < SCAN_SORT_MAX_FREQUENT)
            top[at] = h;
    }
    j->frequent_n = 0;
    for (size_t begin = 0, left = n, end, weight; begin < count; begin = end, left -= scan_sort_smaller(weight, left)) {
        end = scan_sort_smaller(begin + SCAN_SORT_SIEVE, count);
        weight = 0;
        for (size_t k = begin; k < end; k++)
            weight += (size_t)j->heavy[top[k]].count;
        if (weight * 4 < left)
            return;
        for (size_t k = begin; k < end; k++)
            j->frequent[j->frequent_n++] = j->heavy[top[k]].key;
    }
}

/* Thread 0: j->heavy, in order; none if it does not pay. */
static void find_heavy(scan_sort_job *j) {
    j->heavy_n = 0;
    const void *first_keys = sorted_sample(j, FIRST_SAMPLE, 1);
    /* Quicksort sets zeros and NaNs aside in a vectorized pass of one thread: a partition by a few threads would move
     * them several times. */
    if (scan_sort_is_quick(&j->plan) && j->plan.threads <= ASIDE_THREADS &&
        2 * count_tied(j, first_keys, FIRST_SAMPLE) >= FIRST_SAMPLE) {
        j->sets_aside = true;
        return;
    }
    /* Where quicksort by one thread is the other way, it takes more to pay: its partitions soon separate a few values,
     * and it counts some dozens itself. 184,298 and 500,000 keys of 8 bytes of 60 to 300 values took 1.1 to 2.1 times
     * as long with the hash table, of more values 1.0 to 1.5 times (AVX-512 and AVX2, Zen 4, 2026-11-30: tools/bench
     * --verb sort --type i64,f64 --n 184298,500000,1000000 --threads 2 --distribution few:60,few:300,few:2000,zipf). */
    const bool alone = scan_sort_is_quick_alone(j);
    const size_t separated = j->plan.key_bytes == 8           ? SIZE_MAX
                             : !j->plan.kernels->sifts        ? AVX2_VALUES
                             : j->is_float && j->n > FLOATS_N ? FLOAT_VALUES
                                                              : SIZE_MAX;
    if (alone && separated == SIZE_MAX)
        return;
    run_lengths first = count_runs(j, first_keys, FIRST_SAMPLE);
    bool narrow = first.runs[1] > SCAN_SORT_MAX_FREQUENT && scan_cpu_sort_seems_narrow(j);
    const bool soon_separated = first.equal_pairs * separated > (size_t)FIRST_SAMPLE * FIRST_SAMPLE / 2;
    if (first.keys[2] < FIRST_REPEATED || narrow || (alone && soon_separated))
        return;
    const size_t most_heavy = alone ? SCAN_SORT_MAX_HEAVY / 4 : SCAN_SORT_MAX_HEAVY,
                 sixteenths = alone || scan_cpu_sort_see_repeats(j) ? 15 : 9;
    size_t n = scan_sort_smaller(SAMPLE_BYTES / j->plan.key_bytes, j->n / (alone ? 4 * SAMPLE_SHARE : SAMPLE_SHARE));
    /* In runs of equal keys neighbours say little of the others: where there are few keys, all come from elsewhere. */
    const size_t neighbours = alone ? 1 : NEIGHBOURS;
    n = n / neighbours * neighbours;
    const void *keys = sorted_sample(j, n, neighbours);
    run_lengths at_least = count_runs(j, keys, n);
    size_t least = 2;
    while (least < LONGEST && at_least.runs[least] > most_heavy)
        least++;
    /* That a key is heavy is said by the others that are equal to it. */
    if (at_least.runs[least] > most_heavy || 16 * at_least.keys[scan_sort_smaller(least + 1, LONGEST)] < sixteenths * n)
        return;
    for (size_t i = 0, length; i < n; i += length) {
        length = run_length(j, keys, i, n);
        if (length >= least) {
            scan_sort_heavy *h = &j->heavy[j->heavy_n++];
            h->key = scan_sort_load(keys, i, (unsigned)j->plan.key_bytes);
            h->code = j->plan.kernels->code(keys, i, j->order);
            atomic_init(&h->count, length);
        }
    }
    choose_hash(j, (uint8_t *)scan_sort_buffers_of(j, 0));
    choose_frequent(j, n);
    for (size_t h = 0; h < j->heavy_n; h++)
        atomic_init(&j->heavy[h].count, 0);
}
/* ---- taking them out --------------------------------------------------------------------------------------------- */

/* Adds what this thread has counted since it did so last. */
static void add_counts(scan_sort_job *j, scan_sort_slot *slots) {
    for (size_t h = 0; h < j->heavy_n; h++) {
        scan_sort_slot *slot = &slots[scan_sort_slot_of(j->heavy[h].key, j->multiplier)];
        uint64_t count = (uint64_t)slot->counts[0] + slot->counts[1];
        if (count)
            atomic_fetch_add_explicit(&j->heavy[h].count, count, memory_order_relaxed);
        slot->counts[0] = slot->counts[1] = 0;
    }
}

/* Codes that a heavy key has and keys of other bits may have, too: at most two. order.nan inverted is none. */
static void find_ties(const scan_sort_job *j, uint64_t ties[2]) {
    const uint64_t zero = 1ull << (8 * j->plan.key_bytes - 1) ^ j->order.flip;
    ties[0] = ties[1] = ~j->order.nan;
    for (size_t h = 0; h < j->heavy_n; h++) {
        if (j->heavy[h].code == j->order.nan)
            ties[0] = j->order.nan;
        if (j->heavy[h].code == (j->plan.key_bytes == 4 ? (uint32_t)zero : zero))
            ties[1] = j->heavy[h].code;
    }
}

/* Takes the heavy keys out of this thread's part. The others go to the same place of the temporary. Returns how many
 * they are; *failed if it does not pay or equal keys differ. */
static size_t take_part(scan_sort_job *j, unsigned thread, bool *failed) {
    size_t begin, end, key_bytes = j->plan.key_bytes;
    scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
    scan_sort_taking t = {.order = j->order,
                          .keys = j->in.keys,
                          .rest = (char *)j->temporary.keys + begin * key_bytes,
                          .slots = (scan_sort_slot *)(void *)scan_sort_buffers_of(j, thread),
                          .multiplier = j->multiplier,
                          .frequent = j->frequent,
                          .frequent_n = j->frequent_n};
    find_ties(j, t.ties);
    /* What is not a heavy key's slot holds a key that belongs elsewhere: 0 in all but its own. */
    memset(t.slots, 0, sizeof *t.slots << SCAN_SORT_SLOT_BITS);
    t.slots[0].key = 1;
    for (size_t h = 0; h < j->heavy_n; h++)
        t.slots[scan_sort_slot_of(j->heavy[h].key, j->multiplier)].key = j->heavy[h].key;
    size_t rest_n = 0;
    for (size_t at = begin; at < end && !*failed; at = t.end) {
        t.begin = at;
        t.end = scan_sort_smaller(at + PIECE, end);
        j->plan.kernels->take(&t);
        rest_n += t.rest_n;
        t.rest = (char *)t.rest + t.rest_n * key_bytes;
        *failed = t.tied || rest_n > (t.end - begin) / 2;
        if (t.end == end || (t.end - begin) % ((size_t)1 << 31) == 0)
            add_counts(j, t.slots);
    }
    return rest_n;
}

bool scan_cpu_sort_take_heavy(scan_sort_job *j, unsigned thread) {
    const scan_sort_plan *p = &j->plan;
    enum { REST_N, FAILED }; /* in the thread's counts */
    if (!j->heavy)
        return false;
    if (thread == 0)
        find_heavy(j);
    scan_sort_barrier(j);
    if (j->heavy_n == 0)
        return false;
    if (thread < p->threads) {
        bool failed = false;
        scan_sort_counts_of(j, thread)[REST_N] = take_part(j, thread, &failed);
        scan_sort_counts_of(j, thread)[FAILED] = failed;
    }
    scan_sort_barrier(j);
    size_t rest_n = 0, before = 0;
    bool failed = false;
    for (unsigned t = 0; t < p->threads; t++) {
        if (t == thread)
            before = rest_n;
        rest_n += scan_sort_counts_of(j, t)[REST_N];
        failed |= scan_sort_counts_of(j, t)[FAILED];
    }
    if (thread < p->threads && !failed) {
        size_t begin, end;
        scan_sort_part_of(j, 0, j->n, thread, &begin, &end);
        memcpy((char *)j->out.keys + before * p->key_bytes, (const char *)j->temporary.keys + begin * p->key_bytes,
               scan_sort_counts_of(j, thread)[REST_N] * p->key_bytes);
    }
    scan_sort_barrier(j);
    if (thread == 0 && !failed) {
        /* The output holds what is to be sorted; it is sorted into the first half of the temporary. */
        j->whole_out = j->out;
        j->whole_n = j->n;
        j->in = j->out;
        j->out = j->temporary;
        j->temporary.keys = (char *)j->temporary.keys + j->n / 2 * p->key_bytes;
        j->n = rest_n;
        j->sorted_n = 0;
    }
    scan_sort_barrier(j);
    return !failed;
}

/* ---- putting them back ------------------------------------------------------------------------------------------- */

/* How many of the other keys, now sorted, are less than a code. */
static size_t lower_bound(const scan_sort_job *j, uint64_t code) {
    size_t begin = 0, end = j->n;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (j->plan.kernels->code(j->out.keys, middle, j->order) < code)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

void scan_cpu_sort_put_back(scan_sort_job *j, unsigned thread) {
    const size_t key_bytes = j->plan.key_bytes;
    size_t begin, end;
    scan_sort_part_of(j, 0, j->heavy_n, thread, &begin, &end);
    for (size_t h = begin; h < end; h++)
        j->heavy[h].others_before = lower_bound(j, j->heavy[h].code);
    scan_sort_barrier(j);
    scan_sort_part_of(j, 0, j->whole_n, thread, &begin, &end);
    char *out = j->whole_out.keys;
    size_t others = 0, counted = 0;
    for (size_t h = 0; h <= j->heavy_n && others + counted < end; h++) {
        /* Up to the next heavy key, and that as often as it was counted: clipped to this thread's part. */
        size_t stop = h < j->heavy_n ? j->heavy[h].others_before : j->n;
        size_t from = scan_sort_larger(begin, others + counted), to = scan_sort_smaller(end, stop + counted);
        if (from < to)
            memcpy(out + from * key_bytes, (const char *)j->out.keys + (from - counted) * key_bytes,
                   (to - from) * key_bytes);
        others = stop;
        if (h == j->heavy_n)
            break;
        size_t count = (size_t)atomic_load_explicit(&j->heavy[h].count, memory_order_relaxed);
        from = scan_sort_larger(begin, others + counted);
        to = scan_sort_smaller(end, others + counted + count);
        scan_sort_fill(out, from, to, j->heavy[h].key, key_bytes);
        counted += count;
    }
}
