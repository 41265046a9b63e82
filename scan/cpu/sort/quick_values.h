/* SPDX-License-Identifier: MIT
 *
 * Quicksort of keys of some dozens of values, or mostly of them: a sample shows the values, and a hash table has a slot
 * for each of them alone. Keys are looked up a vector at a time, and those that are found are counted by their slots:
 * that costs the same for many values as for few, while partitions go through all keys once for each doubling. The
 * others are set aside, sorted, and put between the values. Included by quick_lanes.h once a width.
 */

typedef struct NAME(dictionary) {
    KEY slots[QUICK_SLOTS]; /* the key of a slot, or one that has another slot */
    KEY multiplier;         /* of the hash */
    unsigned count;
    KEY keys[QUICK_VALUES + LANES]; /* in order */
    uint16_t places[QUICK_VALUES];  /* their slots */
} NAME(dictionary);

SCAN_INLINE uint16_t NAME(slot_of)(KEY key, KEY multiplier) {
    return (uint16_t)((KEY)(key * multiplier) >> (8 * sizeof(KEY) - QUICK_SLOT_BITS));
}

/* The place of a key among those of the dictionary, or their number. */
SCAN_INLINE unsigned NAME(find_key)(const NAME(dictionary) * d, KEY key) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    for (unsigned k = 0; k < d->count; k += LANES) {
        const V_BITS same = (V_BITS)(~V_UNSET(V_EQUAL(V_LOAD(d->keys + k), V_SET1(key))) & all);
        if (same)
            return k + (unsigned)__builtin_ctz(same) < d->count ? k + (unsigned)__builtin_ctz(same) : d->count;
    }
    return d->count;
}

/* Finds the keys of a sample of x. False if they are too many, or there seem to be more than it shows. */
static bool NAME(sample_values)(const KEY *x, size_t n, NAME(dictionary) * d) {
    enum { PER_SAMPLE = 256, MIN_SAMPLES = 128, MAX_SAMPLES = 512, PER_SINGLE = 16 };
    size_t samples = n / PER_SAMPLE < MAX_SAMPLES ? n / PER_SAMPLE : MAX_SAMPLES, singles = 0;
    bool again[QUICK_VALUES] = {false};
    samples = samples > MIN_SAMPLES ? samples : MIN_SAMPLES;
    memset(d->keys, 0, sizeof d->keys);
    d->count = 0;
    for (size_t i = 0; i < samples; i++) {
        const KEY key = x[scan_sort_anywhere(i, n)];
        const unsigned k = NAME(find_key)(d, key);
        if (k < d->count) {
            singles -= !again[k];
            again[k] = true;
            continue;
        }
        if (d->count == QUICK_VALUES)
            return false;
        d->keys[d->count++] = key;
        singles++;
    }
    return singles <= samples / PER_SINGLE;
}

/* Chooses the hash, if one is found soon. */
static bool NAME(choose_slots)(NAME(dictionary) * d) {
    enum { TRIES = 64 };
    for (uint64_t try = 1; try <= TRIES; try++) {
        uint64_t used[QUICK_SLOTS / 64] = {0};
        const KEY multiplier = (KEY)((try * 0x9e3779b97f4a7c15u) >> (64 - 8 * sizeof(KEY))) | 1;
        unsigned k = 0;
        for (; k < d->count; k++) {
            const uint16_t slot = d->places[k] = NAME(slot_of)(d->keys[k], multiplier);
            if (used[slot / 64] >> slot % 64 & 1)
                break;
            used[slot / 64] |= 1ull << slot % 64;
        }
        if (k < d->count)
            continue;
        d->multiplier = multiplier;
        NAME(fill)(d->slots, QUICK_SLOTS, V_SET1(d->keys[0]));
        for (k = 0; k < d->count; k++)
            d->slots[d->places[k]] = d->keys[k];
        return true;
    }
    return false;
}

/* Whether n keys, whose codes are x[i] ^ flip, are nearly all of some dozens of values, as far as a sample shows: then
 * those. */
static bool NAME(find_values)(const KEY *x, size_t n, KEY flip, NAME(dictionary) * d) {
    if (!NAME(sample_values)(x, n, d))
        return false;
    for (unsigned k = 1; k < d->count; k++) { /* by insertion */
        const KEY key = d->keys[k];
        unsigned at = k;
        for (; at > 0 && RANK(d->keys[at - 1] ^ flip) > RANK(key ^ flip); at--)
            d->keys[at] = d->keys[at - 1];
        d->keys[at] = key;
    }
    return NAME(choose_slots)(d);
}

/* What a part of a pass has found: how many keys of each value, and others, from where the part begins. */
typedef struct NAME(counted) {
    size_t begin, others_n;
    uint32_t counts[QUICK_VALUES];
} NAME(counted);

/* A pass over codes x[i] ^ flip, in blocks. */
typedef struct NAME(counting) {
    const NAME(dictionary) * dictionary;
    const KEY *x;
    KEY flip, *others; /* room for n */
    size_t n;
    atomic_uint parts_n;
    atomic_bool failed; /* there are too many others */
    NAME(counted) parts[SCAN_SORT_MAX_PARTS];
} NAME(counting);

/* Counts the slots of n keys that are in the dictionary. The codes of others go to `others`. Returns their number. */
SCAN_INLINE size_t NAME(count_block)(const NAME(dictionary) * d, const KEY *x, size_t n, KEY flip, KEY *others,
                                     uint16_t (*counts)[QUICK_SLOTS + 1]) {
    /* One branch for several vectors is predicted better than one for each. */
    enum { VECTORS = LANES * sizeof(KEY) == 64 ? 4 : 2 };
    uint16_t slots[QUICK_BLOCK];
    size_t others_n = 0, i = 0;
    for (; i + VECTORS * LANES <= n; i += VECTORS * LANES) {
        V v[VECTORS];
        V_BITS differ[VECTORS], any = 0;
#pragma GCC unroll 4
        for (size_t k = 0; k < VECTORS; k++) {
            v[k] = V_LOAD(x + i + k * LANES);
            differ[k] = (V_BITS)V_LOOK_UP(v[k], d->multiplier, d->slots, slots + i + k * LANES);
            any |= differ[k];
        }
        if (any) {
#pragma GCC unroll 4
            for (size_t k = 0; k < VECTORS; k++) {
                V_STORE(others + others_n, V_XOR(V_SET1(flip), V_COMPRESS(v[k], differ[k])));
                others_n += quick_count(differ[k], LANES);
            }
        }
    }
    for (; i < n; i++) {
        slots[i] = NAME(slot_of)(x[i], d->multiplier);
        if (d->slots[slots[i]] != x[i]) {
            slots[i] = QUICK_SLOTS;
            others[others_n++] = x[i] ^ flip;
        }
    }
    for (i = 0; i + QUICK_COUNTERS <= n; i += QUICK_COUNTERS) {
#pragma GCC unroll 4
        for (size_t k = 0; k < QUICK_COUNTERS; k++)
            counts[k][slots[i + k]]++;
    }
    for (; i < n; i++)
        counts[0][slots[i]]++;
    return others_n;
}

/* Adds the counts of slots, which begin anew, to those of values. */
static void NAME(add_counts)(const NAME(dictionary) * d, uint16_t (*counts)[QUICK_SLOTS + 1], uint32_t *sums) {
    for (unsigned k = 0; k < d->count; k++)
        for (unsigned c = 0; c < QUICK_COUNTERS; c++) {
            sums[k] += counts[c][d->places[k]];
            counts[c][d->places[k]] = 0;
        }
}

static void NAME(count_blocks)(void *arg, size_t begin, size_t end) {
    enum { MOST_BLOCKS = UINT16_MAX / (QUICK_BLOCK / QUICK_COUNTERS) }; /* until a counter is full */
    NAME(counting) *c = arg;
    const NAME(dictionary) *d = c->dictionary;
    uint16_t counts[QUICK_COUNTERS][QUICK_SLOTS + 1] = {{0}};
    NAME(counted) *part = &c->parts[atomic_fetch_add_explicit(&c->parts_n, 1, memory_order_relaxed)];
    KEY *const others = c->others + begin * QUICK_BLOCK;
    part->begin = begin * QUICK_BLOCK;
    part->others_n = 0;
    memset(part->counts, 0, sizeof part->counts);
    for (size_t b = begin; b < end; b++) {
        const size_t at = b * QUICK_BLOCK, n = c->n - at < QUICK_BLOCK ? c->n - at : QUICK_BLOCK;
        part->others_n += NAME(count_block)(d, c->x + at, n, c->flip, others + part->others_n, counts);
        if (part->others_n > QUICK_BLOCK / 2 + (at - part->begin) / QUICK_PER_OTHER) {
            atomic_store_explicit(&c->failed, true, memory_order_relaxed);
            return;
        }
        if (b + 1 == end || (b - begin) % MOST_BLOCKS == MOST_BLOCKS - 1)
            NAME(add_counts)(d, counts, part->counts);
    }
}

/* Adds up what the parts have found, and brings the others together. Returns how many they are. */
static size_t NAME(add_parts)(const NAME(counting) * c, size_t *counts) {
    size_t others_n = 0;
    for (unsigned k = 0; k < c->dictionary->count; k++)
        counts[k] = 0;
    for (unsigned p = 0; p < atomic_load_explicit(&c->parts_n, memory_order_relaxed); p++)
        for (unsigned k = 0; k < c->dictionary->count; k++)
            counts[k] += c->parts[p].counts[k];
    for (size_t begin = 0; begin < c->n;) { /* in order, so that none is overwritten */
        size_t next = c->n;
        for (unsigned p = 0; p < atomic_load_explicit(&c->parts_n, memory_order_relaxed); p++) {
            const NAME(counted) *part = &c->parts[p];
            if (part->begin == begin) {
                memmove(c->others + others_n, c->others + begin, part->others_n * sizeof(KEY));
                others_n += part->others_n;
            } else if (part->begin > begin && part->begin < next) {
                next = part->begin;
            }
        }
        begin = next;
    }
    return others_n;
}

/* Sorts the codes x[i] ^ flip, as quick() does, if they are mostly of some dozens of values. Else only scratch has
 * changed: `other`, or where x is that, `to`. */
QUICK_APART static bool NAME(sort_values)(const quick_job *job, const KEY *x, KEY flip, KEY *to, KEY *other, size_t n,
                                          size_t room, unsigned depth) {
    NAME(dictionary) d;
    NAME(counting) c;
    size_t counts[QUICK_VALUES], less[QUICK_VALUES];
    if (!NAME(find_values)(x, n, flip, &d))
        return false;
    c.dictionary = &d;
    c.x = x;
    c.flip = flip;
    c.others = x == other ? to : other;
    c.n = n;
    atomic_init(&c.parts_n, 0);
    atomic_init(&c.failed, false);
    scan_sort_pass(job->local->team, NAME(count_blocks), &c, (n + QUICK_BLOCK - 1) / QUICK_BLOCK, n * QUICK_COUNT_COST);
    if (atomic_load_explicit(&c.failed, memory_order_relaxed))
        return false;
    const size_t rest_n = NAME(add_parts)(&c, counts);
    if (c.others != other)
        memcpy(other, c.others, rest_n * sizeof(KEY));
    atomic_uint unfinished = 0;
    quick_job of_rest = *job;
    of_rest.unfinished = &unfinished;
    NAME(quick)(&of_rest, other, to + (n - rest_n), other, rest_n, room - (n - rest_n), depth);
    quick_join(job->local, &unfinished);
    for (unsigned k = 0; k < d.count; k++)
        d.keys[k] ^= flip;
    NAME(count_less)(d.keys, d.count, to + (n - rest_n), rest_n, (KEY)job->flip, less);
    for (unsigned k = 0; k < d.count; k++)
        d.keys[k] ^= (KEY)job->flip;
    NAME(put_between)(d.keys, d.count, counts, less, to, n, rest_n, NULL, job->local->team);
    return true;
}
