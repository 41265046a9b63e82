/* SPDX-License-Identifier: MIT
 *
 * What the files of the sort share: the columns they move, and the table of kernels that exists once a SIMD level and
 * once a kind of element (kernels.h), from which partition.c builds the sort.
 */
#ifndef SCAN_CPU_SORT_SORT_H
#define SCAN_CPU_SORT_SORT_H

#include "../cpu.h"
#include "code.h"

enum {
    SCAN_SORT_MAX_DIGIT_BITS = 11, /* of the partition and of the passes in cache */
    SCAN_SORT_MAX_BINS = 1 << SCAN_SORT_MAX_DIGIT_BITS,
    SCAN_SORT_SPLITTER_BITS = 6,
    SCAN_SORT_SPLITTER_BINS = 1 << SCAN_SORT_SPLITTER_BITS,
    SCAN_SORT_MAX_SPLITTERS = SCAN_SORT_SPLITTER_BINS - 1,
    SCAN_SORT_MAX_FLAT = 16,
    SCAN_SORT_QUICK_NARROW_N = 1 << 20, /* keys of 2 bytes that quicksort may take instead of counters */
    SCAN_SORT_TINY = 24                 /* up to here without workspace, by insertion or a network */
};

/* Keys and the values that travel with them. */
typedef struct scan_sort_columns {
    void *keys;   /* NULL as a destination: the keys are not wanted */
    void *values; /* NULL as a source: the values are 0, 1, 2, ... */
} scan_sort_columns;

/* The i-th of many places from all over n elements. */
static inline size_t scan_sort_anywhere(size_t i, size_t n) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (size_t)((x ^ x >> 31) % n);
}

/* Cut keys into bins: a key's digit is how many of them are less than its code. In order. */
typedef struct scan_sort_splitters {
    uint64_t codes[SCAN_SORT_MAX_SPLITTERS];
    unsigned n;
    /* The tree of comparisons: the splitter that divides a range of bins, then those of its lower part, then those of
     * its upper part. */
    uint8_t middles[SCAN_SORT_MAX_SPLITTERS];
    /* Pairs: bins of one key each that a good part of all have, in order. Their keys need not be moved. */
    unsigned flat_n;
    uint8_t flat_bins[SCAN_SORT_MAX_FLAT];
    uint64_t flat_keys[SCAN_SORT_MAX_FLAT];
} scan_sort_splitters;

/* splitters.c: sorts the codes of a sample, and chooses splitters from them. */
void scan_cpu_sort_sort_codes(uint64_t *codes, size_t n);
void scan_cpu_sort_choose_splitters(const uint64_t *sample, size_t n, scan_sort_splitters *splitters);

/* One thread's share of a partition. */
typedef struct scan_sort_part {
    scan_sort_order order;
    scan_sort_columns from;
    scan_sort_columns to;                 /* base of the whole array */
    size_t begin, end;                    /* of from: this thread's elements */
    unsigned shift, bits;                 /* the digit; with splitters it has bits, too */
    const scan_sort_splitters *splitters; /* NULL: the digit is bits of the code */
    bool halves;                          /* there is one splitter, near the median */
    bool stream;                          /* the destination is too large for the caches */
    uint64_t first;                       /* histogram, in: any code of the range */
    uint64_t varying;                     /* histogram, out: the bits in which a code differs from first */
    uint64_t *counts;                     /* [1 << bits] histogram: zeroed and counted */
    uint64_t *positions;                  /* [1 << bits] scatter: where this thread's next element of a digit goes */
    void *buffers;                        /* histogram: 2 * 4 << bits bytes; scatter: the kernels' buffer_bytes a bin */
} scan_sort_part;

/* A sort inside the cache by one thread. to and from may be the same; spare is neither. */
typedef struct scan_sort_local {
    scan_sort_order order;
    scan_sort_columns from, to, spare; /* already offset to the range */
    size_t n;
    bool drop_keys;              /* to.keys is scratch: the last pass need not write it */
    uint32_t *counts;            /* SCAN_SORT_LOCAL_COUNTS of them */
    unsigned max_depth;          /* of a quicksort, before radix takes over; 0: by n */
    struct scan_sort_team *team; /* that may do parts of a quicksort, or NULL */
    size_t sorted_n;             /* keys at the front that are known to be in order */
} scan_sort_local;

enum { SCAN_SORT_LOCAL_COUNTS = 6 * SCAN_SORT_MAX_BINS };

/* A slot of a hash table of keys: each key has one slot where it can be. Two counters: a key that repeats would wait
 * for its own store. */
typedef struct scan_sort_slot {
    uint64_t key; /* the bits of the key */
    uint32_t counts[2];
} scan_sort_slot;

enum { SCAN_SORT_SLOT_BITS = 14, SCAN_SORT_SIEVE = 8, SCAN_SORT_MAX_SIEVES = 4, SCAN_SORT_MAX_FREQUENT = 32 };

/* Keys that are counted, and so taken out of an array: heavy.c. */
typedef struct scan_sort_taking {
    scan_sort_order order;
    const void *keys;
    size_t begin, end;
    void *rest;               /* the other keys go there, in order: room for all */
    scan_sort_slot *slots;    /* [1 << SCAN_SORT_SLOT_BITS] */
    uint64_t multiplier;      /* of the hash */
    const uint64_t *frequent; /* the most frequent ones, for SIMD levels that compare with them first */
    unsigned frequent_n;
    uint64_t ties[2]; /* floats: codes that a counted key and another one must not share */
    size_t rest_n;    /* out */
    bool tied;        /* out: another key has one of those codes */
} scan_sort_taking;

static inline size_t scan_sort_slot_of(uint64_t key, uint64_t multiplier) {
    return (size_t)(key * multiplier >> (64 - SCAN_SORT_SLOT_BITS));
}

/* Values of keys, and how often each was met. */
enum { SCAN_SORT_VALUES = 16 };
typedef struct scan_sort_values {
    size_t n;     /* more than SCAN_SORT_VALUES: there are more than max_n */
    size_t max_n; /* up to SCAN_SORT_VALUES */
    uint64_t keys[SCAN_SORT_VALUES], counts[SCAN_SORT_VALUES];
} scan_sort_values;

/* Adds a key to the values if it is none of them; false if there is no room. */
static inline bool scan_sort_name(scan_sort_values *values, uint64_t key) {
    for (size_t v = 0; v < values->n; v++)
        if (values->keys[v] == key)
            return true;
    if (values->n >= values->max_n)
        return false;
    values->keys[values->n] = key;
    values->counts[values->n++] = 0;
    return true;
}

/* The number of value v's counters among those of all values: after each 512 values there is a gap of eight. Those of
 * values a large power of two apart would else lie at the same places of pages, where each waits for the stores of all
 * the others, and in one set of the cache: 334,696 u16 whose upper seven bits vary, and the others slowly, took 2.8 ms
 * in place of 0.24 (Zen 4, 2026-11-30: tools/bench --hunt 1 --seed 668842975367168534 --threads 2). */
enum { SCAN_SORT_COUNTED_VALUES = 512, SCAN_SORT_GAP_VALUES = 8 };
SCAN_INLINE uint32_t scan_sort_counter_of(uint32_t v) {
    return v + v / SCAN_SORT_COUNTED_VALUES * SCAN_SORT_GAP_VALUES;
}

/* Keys that are counted: those with the code `least` + v in counts[i * counters ... + counters - 1], where i is
 * scan_sort_counter_of(v). Of many counters one is left over: with an even number, those of values a smaller power of
 * two apart would lie at the same places. */
enum { SCAN_SORT_COMMON = 4, SCAN_SORT_MANY_COUNTERS = 9 };
typedef struct scan_sort_counting {
    scan_sort_order order;
    const void *keys;
    size_t begin, end;
    uint64_t least;
    uint32_t *counts;
    unsigned counters;                 /* 1, 2 or SCAN_SORT_MANY_COUNTERS */
    unsigned common_n;                 /* these codes are perhaps a good part of all */
    uint64_t common[SCAN_SORT_COMMON]; /* different ones */
} scan_sort_counting;

/* A sorted run of keys, given by counts: from place `at` on, counts[v] keys of the code `code` + v, for each v
 * below `values`. The keys at places begin ... end - 1 are written. */
typedef struct scan_sort_expansion {
    void *to;
    size_t begin, end, at;
    const uint32_t *counts;
    size_t values;
    uint64_t code, flip;
} scan_sort_expansion;

/* What the order of keys may be: both where all are equal. */
enum { SCAN_SORT_ASCENDING = 1, SCAN_SORT_DESCENDING = 2, SCAN_SORT_NO_TIES = 4, SCAN_SORT_ORDERS = 7 };

typedef struct scan_sort_kernels {
    uint64_t (*code)(const void *keys, size_t i, scan_sort_order order);
    /* what of `flags`, some SCAN_SORT_ORDERS, is true of keys begin ... end; if they do not all ascend, but `flags` has
     * that, *sorted is how far they are known to */
    unsigned (*ordered)(const void *keys, size_t begin, size_t end, scan_sort_order order, unsigned flags,
                        size_t *sorted);
    void (*reverse)(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end, size_t n);
    void (*turn_ties)(const void *keys, size_t last, scan_sort_columns to, size_t begin, size_t end,
                      scan_sort_order order);
    void (*copy)(scan_sort_columns from, scan_sort_columns to, size_t begin, size_t end);
    void (*fetch)(const void *keys, const void *indices, scan_sort_columns to, size_t begin, size_t end);
    void (*histogram)(scan_sort_part *part);
    void (*scatter)(const scan_sort_part *part);
    void (*local)(const scan_sort_local *local);
    /* keys alone, else NULL, but for tally and spread */
    void (*take)(scan_sort_taking *taking);
    void (*bounds)(const void *keys, size_t begin, size_t end, scan_sort_order order, uint64_t *least, uint64_t *most);
    void (*count)(const scan_sort_counting *counting);
    void (*tally)(const void *keys, size_t begin, size_t end, scan_sort_values *values);
    void (*spread)(void *to, size_t begin, size_t end, size_t room, uint64_t key);
    void (*expand)(const scan_sort_expansion *expansion);
    /* keys of 4 or 8 bytes: each run of equal keys as its key and its length; SIZE_MAX: there are more than `room` */
    size_t (*runs)(const void *keys, size_t begin, size_t end, scan_sort_columns runs, size_t room);
    size_t buffer_bytes; /* a bin, in scatter */
    bool sifts;          /* count() compares keys with the common ones first */
} scan_sort_kernels;

/* X(name, key bytes, is float): the kinds of key; signed integers are unsigned ones with a bit flipped */
#define SCAN_SORT_KEYS(X)                                                                                              \
    X(u8, 1, false)                                                                                                    \
    X(u16, 2, false)                                                                                                   \
    X(u32, 4, false)                                                                                                   \
    X(u64, 8, false)                                                                                                   \
    X(f32, 4, true)                                                                                                    \
    X(f64, 8, true)
enum { SCAN_SORT_KEY_KINDS = 6 };

/* [kind of key][value bytes / 4] */
typedef const scan_sort_kernels scan_sort_kernel_table[SCAN_SORT_KEY_KINDS][3];
extern scan_sort_kernel_table scan_cpu_sort_kernels_portable, scan_cpu_sort_kernels_avx2, scan_cpu_sort_kernels_avx512;

/* [kind of key][value bytes / 4]: local() by quicksort, of keys of which all bits decide; from and spare may be the
 * same. NULL where there is none. */
typedef void (*const scan_sort_quick_table[SCAN_SORT_KEY_KINDS][3])(const scan_sort_local *local);
extern scan_sort_quick_table scan_cpu_sort_quick_avx2, scan_cpu_sort_quick_avx512;

/* Elements that are divided piece by piece: those of a piece into bins by splitters, from one array to the same place
 * of another, or where they are. */
typedef struct scan_sort_pieces {
    scan_sort_order order;
    scan_sort_columns from, to; /* bases of the whole arrays */
    size_t begin, end;
    const scan_sort_splitters *splitters;
    bool fills;       /* keys of flat bins need not be written */
    uint16_t *counts; /* [pieces][SCAN_SORT_SPLITTER_BINS], out */
} scan_sort_pieces;

enum { SCAN_SORT_PIECE_BYTES = 32768 }; /* keys and values: half an L1 */

/* [kind of key][value bytes / 4]: that, in vectors. NULL where there is none. */
typedef void (*const scan_sort_split_table[SCAN_SORT_KEY_KINDS][3])(const scan_sort_pieces *pieces);
extern scan_sort_split_table scan_cpu_sort_split_avx2, scan_cpu_sort_split_avx512;

/* Pairs of a few keys: their values go where those of each key belong, in order. */
typedef struct scan_sort_placing {
    scan_sort_columns from; /* bases of the whole arrays */
    void *to;               /* of values, likewise */
    size_t begin, end;      /* of from: this thread's elements */
    unsigned n;             /* different keys; every element has one of them */
    uint64_t keys[SCAN_SORT_VALUES];
    /* of this thread's values of each key: where the next one goes, and the end of its share */
    size_t places[SCAN_SORT_VALUES], ends[SCAN_SORT_VALUES];
} scan_sort_placing;

/* [kind of key][value bytes / 4]: a range of pairs divided in two by one splitter: its histogram and its scatter; and
 * the placing of pairs of a few keys; in vectors. NULL where there are none. */
typedef struct scan_sort_halves {
    void (*count)(scan_sort_part *part);
    void (*scatter)(const scan_sort_part *part);
    void (*place)(scan_sort_placing *placing);
} scan_sort_halves;
typedef const scan_sort_halves scan_sort_halves_table[SCAN_SORT_KEY_KINDS][3];
extern scan_sort_halves_table scan_cpu_sort_halves_avx2, scan_cpu_sort_halves_avx512;

#endif
