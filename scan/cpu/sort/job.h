/* SPDX-License-Identifier: MIT
 *
 * One call of the sort: what is laid out where (plan.c), and the work of all threads (ways.c, partition.c).
 */
#ifndef SCAN_CPU_SORT_JOB_H
#define SCAN_CPU_SORT_JOB_H

#include <stdatomic.h>

#include "sort.h"

/* Where the elements of a range are. OUT is where all end up. */
typedef enum scan_sort_place { SCAN_SORT_IN, SCAN_SORT_TEMPORARY, SCAN_SORT_OUT } scan_sort_place;

typedef struct scan_sort_range {
    size_t begin, n;
    scan_sort_place where;
    size_t shift; /* OUT, argsort: how far before its index an element's key is */
} scan_sort_range;

/* Sizes that follow from the descriptor, n and the threads of the context: the layout of the workspace. */
typedef struct scan_sort_plan {
    const scan_sort_kernels *kernels;
    void (*local)(const scan_sort_local *);     /* kernels->local, or quicksort */
    void (*sort_runs)(const scan_sort_local *); /* pairs of a key and 4 bytes; NULL: runs of keys are not looked for */
    void (*split)(const scan_sort_pieces *);    /* NULL: partitions by splitters are kernels->scatter's */
    scan_sort_halves halves;
    size_t halves_n; /* ranges up to halves_n may be divided in two */
    size_t key_bytes, value_bytes;
    size_t bound_n;      /* the n of the call, which the true count may fall short of */
    size_t local_n;      /* elements one thread sorts alone, in its area */
    size_t alone_n;      /* keys that one thread sorts sooner than all partition them; from local_n */
    size_t leaf_n;       /* elements of a bin that one thread sorts; from local_n */
    size_t bin_n;        /* elements a bin should have */
    unsigned digit_bits; /* widest partition */
    bool by_narrow;      /* pairs that vary in digit_bits or fewer are divided by these, though keys repeat */
    /* How many times as large as bins of equal size a key's bin is on average, keys that are equal to it left out, from
     * which on splitters are quicker than bits. */
    size_t skew;
    unsigned threads;   /* that have an area */
    bool alone_or_two;  /* there are two areas, but one thread sorts sooner unless keys repeat */
    size_t spare_bytes; /* keys of local_n elements */
    size_t area_bytes;  /* a thread's: counts, positions, buffers or scratch */
    size_t stack_bytes, keys_bytes, values_bytes;
    size_t pieces_a_thread, pieces_bytes; /* counts of the pieces that partitions by splitters divide */
    size_t heavy_bytes;
    size_t second_keys_n, second_keys_bytes; /* argsort: room for the keys of ranges that are in the output */
    size_t total_bytes;
} scan_sort_plan;

/* A key that is frequent. */
typedef struct scan_sort_heavy {
    uint64_t key, code;
    _Atomic uint64_t count;
    size_t others_before; /* keys that are not heavy, and less */
} scan_sort_heavy;

enum { SCAN_SORT_MAX_HEAVY = 1 << 12 };

/* A value of keys, and how many keys are of it. */
typedef struct scan_sort_count {
    uint64_t key, code, count;
} scan_sort_count;

typedef struct scan_sort_job {
    scan_sort_plan plan;
    scan_sort_order order;
    scan_pool *pool;
    struct scan_sort_team *team; /* threads that may do parts of a quicksort, or NULL */
    scan_sort_columns in, temporary, out;
    bool drop_keys;      /* argsort: out.keys is scratch */
    bool whole_keys;     /* no values, and all bits decide */
    bool only_codes;     /* also keys of equal codes are equal */
    bool pairs_seem_few; /* see scan_cpu_sort_pairs_seem_few(): asked before the threads begin */
    bool is_float;
    size_t n;
    size_t sorted_n; /* a single thread: keys of the input, from the first on, that are known to be in order */
    scan_sort_range *stack;
    size_t stacked;
    uint64_t *starts; /* of each bin of the partition under way, and its end */
    char *areas;
    uint16_t *piece_counts;
    atomic_size_t next_bin;
    atomic_uint busy; /* threads that have bins to sort */
    atomic_uint order_flags;
    scan_sort_heavy *heavy; /* [SCAN_SORT_MAX_HEAVY], in order; NULL where there may be none */
    size_t heavy_n;
    uint64_t multiplier; /* of the hash of heavy keys */
    uint64_t frequent[SCAN_SORT_MAX_FREQUENT];
    unsigned frequent_n;
    bool runs_sorted;
    bool sets_aside; /* quicksort by one thread, for zeros and NaNs (heavy.c), however many keys there are */
    scan_sort_columns whole_out;
    size_t whole_n;
} scan_sort_job;

static inline size_t scan_sort_round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }
static inline size_t scan_sort_larger(size_t a, size_t b) { return a > b ? a : b; }
static inline unsigned scan_sort_top_bit(uint64_t x) { return 63u - (unsigned)__builtin_clzll(x); }
static inline size_t scan_sort_smaller(size_t a, size_t b) { return a < b ? a : b; }

/* One thread with an area sorts outside the pool: to wake the others costs more than they could do. */
static inline void scan_sort_barrier(const scan_sort_job *j) {
    if (j->plan.threads > 1)
        scan_pool_barrier(j->pool);
}

/* ---- what each thread has ---------------------------------------------------------------------------------------- */

/* Its elements of begin ... begin + n. */
static inline void scan_sort_part_of(const scan_sort_job *j, size_t begin, size_t n, unsigned thread, size_t *from,
                                     size_t *to) {
    unsigned threads = j->plan.threads;
    *from = thread >= threads ? begin + n : begin + n / threads * thread + scan_sort_smaller(n % threads, thread);
    *to = thread >= threads ? begin + n : *from + n / threads + (thread < n % threads);
}

/* Whether quicksort takes the ranges of one thread. */
static inline bool scan_sort_is_quick(const scan_sort_plan *p) { return p->local != p->kernels->local; }

/* Whether quicksort by one thread is the way for the elements that are left. */
static inline bool scan_sort_is_quick_alone(const scan_sort_job *j) {
    return j->n <= j->plan.alone_n && scan_sort_is_quick(&j->plan);
}

/* Keys of 8 bytes with values: vectors hold few of them, so that quicksort is for what fits the cache. */
static inline bool scan_sort_is_wide(const scan_sort_plan *p) { return p->key_bytes == 8 && p->value_bytes > 0; }

static inline char *scan_sort_area_of(const scan_sort_job *j, unsigned thread) {
    return j->areas + thread * j->plan.area_bytes;
}

static inline uint64_t *scan_sort_counts_of(const scan_sort_job *j, unsigned thread) {
    return (uint64_t *)(void *)scan_sort_area_of(j, thread);
}

static inline uint64_t *scan_sort_positions_of(const scan_sort_job *j, unsigned thread) {
    return scan_sort_counts_of(j, thread) + ((size_t)1 << j->plan.digit_bits);
}

static inline char *scan_sort_buffers_of(const scan_sort_job *j, unsigned thread) {
    return (char *)(scan_sort_positions_of(j, thread) + ((size_t)1 << j->plan.digit_bits));
}

/* Elements begin ... end of keys become `key`. */
static inline void scan_sort_fill(void *keys, size_t begin, size_t end, uint64_t key, size_t key_bytes) {
    switch (key_bytes) {
    case 1:
        for (size_t i = begin; i < end; i++)
            scan_sort_store(keys, i, key, 1);
        break;
    case 2:
        for (size_t i = begin; i < end; i++)
            scan_sort_store(keys, i, key, 2);
        break;
    case 4:
        for (size_t i = begin; i < end; i++)
            scan_sort_store(keys, i, key, 4);
        break;
    case 8:
        for (size_t i = begin; i < end; i++)
            scan_sort_store(keys, i, key, 8);
        break;
    }
}

/* ---- the sort's parts -------------------------------------------------------------------------------------------- */

/* Bits of the digit that cuts n elements into bins of about bin_n. */
unsigned scan_cpu_sort_digit_bits(size_t n, size_t bin_n);

/* splitters.c: chooses the digit of the n keys of a part's range from a sample: of the leading bits that vary, or,
 * where these leave bins that are too large, by splitters. Bits are known to vary, or 0; returns these and those that
 * vary in the sample, which may miss some. Every thread chooses the same. */
uint64_t scan_cpu_sort_choose_digit(const scan_sort_job *job, scan_sort_part *part, size_t begin, size_t n,
                                    uint64_t varying, scan_sort_splitters *splitters);

/* ordered.c: copies a thread's part of a range to the output; the order of a part of n keys and of the key after it,
 * and of a thread's part of the input, which is copied to the output as far as it ascends; and reverses the input, or
 * returns false if it is in neither order. All that ascends has been copied by then. */
void scan_cpu_sort_copy_part(const scan_sort_job *job, scan_sort_range range, scan_sort_columns from, unsigned thread);
unsigned scan_cpu_sort_order_of_part(const scan_sort_job *job, const void *keys, size_t begin, size_t end, size_t n);
unsigned scan_cpu_sort_order_of_input(scan_sort_job *job, unsigned thread);
bool scan_cpu_sort_finish_ordered(const scan_sort_job *job, unsigned flags, unsigned thread);

/* halves.c: counts the halves of a range of n elements. False, and the part has no splitter any more, if they are too
 * different: then the sample was not what the range is, and a partition by bits always makes progress. All threads. */
bool scan_cpu_sort_count_halves(const scan_sort_job *job, scan_sort_part *part, size_t n, unsigned thread);

/* pieces.c: a partition by splitters in two steps, and the bins that are final then, as bits: their keys are all equal.
 * In between there are a barrier and the scan of the counts that divide has left in the part. */
void scan_cpu_sort_divide(const scan_sort_job *job, const scan_sort_part *part, unsigned thread);
void scan_cpu_sort_gather(const scan_sort_job *job, const scan_sort_part *part, unsigned thread);
uint64_t scan_cpu_sort_pure_bins(const scan_sort_splitters *splitters);
size_t scan_cpu_sort_piece_elements(const scan_sort_plan *plan);
static inline bool scan_sort_is_final(uint64_t final, size_t bin) {
    return bin < SCAN_SORT_SPLITTER_BINS && (final >> bin & 1);
}

scan_sort_plan scan_cpu_sort_plan(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort);

/* Whether quicksort can serve. */
bool scan_cpu_sort_can_quick(const scan_ctx *ctx, const scan_sort_desc *desc);

/* partition.c: sorts a range to the output, by one thread, with the scratch of an area if it is no larger than
 * plan.local_n; and partitions a range, whose bins are sorted or, if they are too large, pushed on the stack. */
void scan_cpu_sort_locally(const scan_sort_job *job, scan_sort_range range, char *scratch);
void scan_cpu_sort_partition(scan_sort_job *job, scan_sort_range range, unsigned thread);

/* A thread that has nothing left to sort does parts of what the others do, if quicksort serves. */
void scan_cpu_sort_help_others(scan_sort_job *job);

/* ways.c: the whole input by the calling thread; scratch is an area's. n <= plan.local_n. */
void scan_cpu_sort_alone(scan_sort_job *job, char *scratch);

/* The same of any n, with the temporary beside the output. */
void scan_cpu_sort_by_one(const scan_sort_job *job);

/* heavy.c: takes keys that are frequent out of the input, or does nothing and answers false. The job is then to
 * sort the other ones, if any; at last all are put together. All threads. */
bool scan_cpu_sort_take_heavy(scan_sort_job *job, unsigned thread);
void scan_cpu_sort_put_back(scan_sort_job *job, unsigned thread);

/* runs.c: whether keys seem to come in long runs of equal ones, and a sort of these; or nothing and false. scratch has
 * the size of the input. By the calling thread and a team. */
bool scan_cpu_sort_seems_runs(const scan_sort_job *job);
bool scan_cpu_sort_by_runs(const scan_sort_job *job, void *scratch, uint32_t *counts);

/* few.c: whether the quicksort of one thread, which others help, counts most of the keys: they are of so few values
 * (quick_few.h). Of pairs, whether it sets those of one key apart, which most have (quick_pairs_often.h). */
bool scan_cpu_sort_quick_counts(const scan_sort_job *job);

/* Whether keys of pairs repeat, not in runs of equal ones, so that two threads divide them sooner than one. */
bool scan_cpu_sort_pairs_repeat(const scan_sort_job *job);

/* Whether keys seem to repeat so much that the quicksort of one thread, which one other helps, is quicker than a
 * partition; if they also come in runs of equal ones, than a hash table, whose counters wait for their own stores. */
typedef enum scan_sort_repeats { SCAN_SORT_NO_REPEATS, SCAN_SORT_REPEATS, SCAN_SORT_REPEATS_IN_RUNS } scan_sort_repeats;
scan_sort_repeats scan_cpu_sort_see_repeats(const scan_sort_job *job);

/* Whether pairs seem to have so few different keys that placing their values takes two threads less time than
 * partitions. */
bool scan_cpu_sort_pairs_seem_few(const scan_sort_job *job);

/* A sort of keys of a few values, with values or without, or nothing and false. All threads. */
bool scan_cpu_sort_by_few(scan_sort_job *job, unsigned thread);

/* count.c: whether a counting sort may serve, and that sort, or nothing and false. All threads. */
bool scan_cpu_sort_seems_narrow(const scan_sort_job *job);
bool scan_cpu_sort_by_counting(scan_sort_job *job, unsigned thread);

/* The task of all threads, for a scan_sort_job. */
void scan_cpu_sort_task(void *job, unsigned thread, unsigned threads);

#endif
