/* SPDX-License-Identifier: MIT
 *
 * What all widths of a quicksort share. Included by quick_avx512.c and quick_avx2.c, which define QUICK_KERNELS, the
 * radix sort's kernels of their SIMD level, before.
 */
#ifndef SCAN_CPU_SORT_QUICK_H
#define SCAN_CPU_SORT_QUICK_H

#include "sort.h"
#include "team.h"

enum {
    QUICK_FEW = 8,                   /* values that are counted in one pass */
    QUICK_SAMPLES = 64,              /* keys that show them */
    QUICK_PART = QUICK_SAMPLES / 4,  /* of them, of a value whose keys are written while they are counted */
    QUICK_THREE = QUICK_SAMPLES / 8, /* of them, of a value whose keys a partition leaves out */
    QUICK_ALIKE = 10,       /* of them, neighbours in order that are equal: they may be of some dozens of values */
    QUICK_VALUES = 128,     /* at most so many */
    QUICK_MANY = 13,        /* values in the sample, at least, of keys that are counted all rather than a few values */
    QUICK_REPEATED = 6,     /* likewise, one in so many keys of others than the most frequent equals its neighbour */
    QUICK_VALUES_N = 16384, /* keys from which on these are looked for */
    QUICK_SLOT_BITS = 11,
    QUICK_SLOTS = 1 << QUICK_SLOT_BITS, /* of the hash table that counts them */
    QUICK_COUNTERS = 4,                 /* of a slot: a key that repeats would wait for its own store */
    QUICK_BLOCK = 2048,                 /* keys that are looked up, and counted then */
    QUICK_PER_OTHER = 8,                /* keys for each of another value */
    QUICK_COUNT_COST = 12,              /* what counting a key takes, in bytes of a simple pass */
    QUICK_SORTED_BYTES = 1 << 14,       /* of keys in order, from which on they are counted by runs */
    QUICK_SURVEY_N = 1024,              /* keys from which on they are looked for */
    QUICK_PLACES_SAMPLE = 32,           /* keys that quick_places.h looks at first */
    QUICK_L1_BYTES = 1 << 15,           /* of keys; more are partitioned with a view to the lines that leave the L1 */
    QUICK_WAKE_BYTES = 320 << 10,       /* 150 microseconds of work, or */
    QUICK_SURVEYED = 4,                 /* a part of the repeats where a survey has found no few values */
    QUICK_REPEATS = 24,                 /* times as many where all keys are equal */
    QUICK_SHARE_N = 8192 /* elements of a range that is left to another thread: 20 microseconds of work or more,
                            many times what it costs to hand it over */
};

/* Result of a pass over keys most of which are equal: sorted; too many others; another key is a tie of the frequent
 * one. Only when done has anything but the spare changed. */
typedef enum quick_found { QUICK_DONE, QUICK_TOO_MANY, QUICK_TIES } quick_found;

/* Not inlined where it is called once: it needs all registers, and the caller some of its own. */
#define QUICK_APART __attribute__((noinline))

typedef struct quick_job {
    uint64_t flip;                /* what to invert in sorted codes to have the keys */
    uint64_t least;               /* of integers what to invert in codes to order them as unsigned ones */
    bool is_float;                /* codes are ordered as floats */
    const scan_sort_local *local; /* for the radix sort, where quicksort gives up */
    atomic_uint *unfinished;      /* ranges that have been shared */
} quick_job;

/* A range that has been divided, and how many of its pivot's candidates equal another. */
typedef struct quick_range {
    size_t n, repeats;
} quick_range;

/* Whether n elements of a range are left to another thread. One that has to wake comes in time only if the range has
 * many bytes, and more where keys repeat, which are soon sorted: so many of the pivot's candidates equal it. With three
 * fifths of QUICK_WAKE_BYTES 17 of 1,860 sets took 1.1 times as long as by one thread of vqsort, or longer, and 10 with
 * all, but sorts a hundredth less on average (Zen 4, 2026-11-30: tools/bench --hunt 4000 --seed 20264030, and 20264031,
 * --threads 2 --min-n 20000 --max-n 300000). */
static inline bool quick_may_share(const scan_sort_local *l, size_t n, size_t range_bytes, size_t repeats,
                                   size_t candidates) {
    return n >= QUICK_SHARE_N && l->team &&
           (l->team->ready ||
            range_bytes >= QUICK_WAKE_BYTES + QUICK_WAKE_BYTES * QUICK_REPEATS * repeats / candidates);
}

static inline size_t quick_clamp(size_t x, size_t low, size_t high) { return x < low ? low : x < high ? x : high; }

/* Waits for what has been shared. */
static inline void quick_join(const scan_sort_local *l, atomic_uint *unfinished) {
    if (l->team)
        scan_cpu_sort_join(l->team, unfinished);
}

/* Fetches the line that will be stored to in a few steps, which may lie behind the array: a partition that leaves the
 * L1 spends most of its time waiting for the lines that it stores to. */
static inline void quick_fetch_ahead(void *to) {
    enum { AHEAD = 256 };
    __builtin_prefetch((void *)((uintptr_t)to + AHEAD), 1);
}

/* n codes where they are, by the radix sort. The counts, 48 KiB, are on the stack, for those of the area are another
 * thread's, perhaps. It is no part of the frames of the recursion that calls it. */
QUICK_APART static void quick_give_up(const quick_job *job, void *codes, void *spare, size_t n, unsigned key_bytes) {
    const uint64_t all = ~0ull >> (64 - 8 * key_bytes);
    uint32_t counts[SCAN_SORT_LOCAL_COUNTS];
    scan_sort_local l = *job->local;
    l.counts = counts;
    l.order = (scan_sort_order){.flip = job->least & all, .mask = all, .nan = all};
    l.from.keys = l.to.keys = codes;
    l.spare.keys = spare;
    l.n = n;
    QUICK_KERNELS[(key_bytes == 2 ? 1 : key_bytes == 4 ? 2 : 3) + 2 * job->is_float][0].local(&l);
    for (size_t i = 0; job->flip && i < n; i++)
        scan_sort_store(codes, i, scan_sort_load(codes, i, key_bytes) ^ job->flip, key_bytes);
}

/* Floats whose zeros and NaNs are set aside while the other numbers are sorted (quick_floats.h). */
typedef struct quick_aside {
    size_t numbers, zeros, nans;
    bool nan_first;
    size_t below; /* numbers that come before zeros */
} quick_aside;

/* Where zeros and NaNs begin in the result. */
static inline size_t quick_zeros_at(const quick_aside *a) { return (a->nan_first ? a->nans : 0) + a->below; }
static inline size_t quick_nans_at(const quick_aside *a) { return a->nan_first ? 0 : a->numbers + a->zeros; }

/* Moves the sorted numbers to their places in the result. */
static void quick_make_room(const quick_aside *a, void *column, size_t bytes) {
    char *numbers = column;
    const size_t zeros_at = quick_zeros_at(a);
    if (zeros_at + a->zeros > a->below)
        memmove(numbers + (zeros_at + a->zeros) * bytes, numbers + a->below * bytes, (a->numbers - a->below) * bytes);
    if (zeros_at > a->below)
        memmove(numbers + (zeros_at - a->below) * bytes, numbers, a->below * bytes);
}

/* Elements of a table at n places, of which the lowest bits count: a table has QUICK_PLACES elements. */
static inline void quick_gather_8(const void *table, const uint32_t *places, size_t n, void *to) {
    for (size_t i = 0; i < n; i++)
        scan_sort_store(to, i, scan_sort_load(table, places[i] % QUICK_PLACES, 8), 8);
}
#ifndef QUICK_GATHER_4
static inline void quick_gather_4(const void *table, const uint32_t *places, size_t n, void *to) {
    for (size_t i = 0; i < n; i++)
        scan_sort_store(to, i, scan_sort_load(table, places[i] % QUICK_PLACES, 4), 4);
}
#endif

/* How deep splits may nest before the radix sort takes over. */
static unsigned max_depth(const scan_sort_local *l, size_t n) {
    return l->max_depth ? l->max_depth : 2 * (64 - (unsigned)__builtin_clzll(n | 1));
}

/* The table of what quick_halves.h has. */
#define NO_HALVES                                                                                                      \
    { NULL, NULL, NULL }
#define HALVES(kind, widths)                                                                                           \
    { count_half_##kind##_##widths, scatter_half_##kind##_##widths, place_few_##widths }
#define QUICK_HALVES                                                                                                   \
    {                                                                                                                  \
        {NO_HALVES}, {NO_HALVES}, {NO_HALVES, HALVES(integers, 32_4), HALVES(integers, 32_8)},                         \
            {NO_HALVES, HALVES(integers, 64_4), HALVES(integers, 64_8)},                                               \
            {NO_HALVES, HALVES(floats, 32_4), HALVES(floats, 32_8)},                                                   \
            {NO_HALVES, HALVES(floats, 64_4), HALVES(floats, 64_8)},                                                   \
    }

#endif
