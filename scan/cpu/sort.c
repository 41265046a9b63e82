/* SPDX-License-Identifier: MIT
 *
 * Sort and argsort on the CPU: a radix sort that goes through memory once and does the rest in cache.
 *
 *   partition   all threads together: a stable scatter by the leading bits that vary into bins that fit a cache. Each
 *               thread counts the digits of its part; the exclusive scan of the counts, digit by digit and in a digit
 *               thread by thread, is where each thread writes.
 *   bins        one thread each, whoever is free: sorted in cache (sort_local.h), from the partition's destination to
 *               the output. A bin too large for that is partitioned again, by the bits below.
 *
 * Every partition uses up at least one varying bit and as a rule 8 to 11, so skewed keys cost as many passes as a
 * plain least-significant-digit sort would make, never more. Input in order already is copied, in strictly the other
 * order reversed.
 */
#include <stdatomic.h>

#include "sort.h"

/* Where the elements of a range are. OUT is where all end up. */
typedef enum place { IN, TEMPORARY, OUT } place;

typedef struct range {
    size_t begin, n;
    place where;
} range;

enum {
    LOCAL_BYTES = 256 << 10,     /* what one thread sorts alone: half an L2, its scratch the other */
    STREAM_BYTES = 4 << 20,      /* from here on destinations are written past the caches */
    WORKSPACE_SLACK = 3900 << 10 /* of the 4 MiB that the contract allows beyond the data, what threads may use */
};

/* Sizes that follow from the descriptor, n and the threads of the context: the layout of the workspace. */
typedef struct plan {
    const scan_sort_kernels *kernels;
    void (*local)(const scan_sort_local *); /* kernels->local, or quicksort */
    size_t key_bytes, value_bytes;
    size_t local_n;      /* elements one thread sorts alone */
    unsigned digit_bits; /* widest partition */
    bool fetch_keys;     /* argsort, after partitions but the first */
    unsigned threads;    /* that have an area */
    size_t spare_bytes;  /* keys of local_n elements */
    size_t area_bytes;   /* a thread's: counts, positions, buffers or scratch */
    size_t stack_bytes, keys_bytes, values_bytes;
    size_t total_bytes;
} plan;

typedef struct job {
    plan plan;
    scan_sort_order order;
    scan_pool *pool;
    scan_sort_columns in, temporary, out;
    bool drop_keys; /* argsort: out.keys is scratch */
    size_t n;
    range *stack;
    size_t stacked;
    uint64_t *starts; /* of each bin of the partition under way, and its end */
    char *areas;
    atomic_size_t next_bin;
    atomic_uint order_flags;
} job;

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static scan_sort_kernel_table *const tables[SCAN_SIMD_LEVELS] = {
    [SCAN_SIMD_PORTABLE] = &scan_cpu_sort_kernels_portable,
#if defined(__x86_64__)
    [SCAN_SIMD_AVX2] = &scan_cpu_sort_kernels_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_kernels_avx512,
#endif
};

static scan_sort_quick_table *const quick_tables[SCAN_SIMD_LEVELS] = {
#if defined(__x86_64__)
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_quick_avx512,
#endif
};

static const unsigned char kind_of_type[] = {
    [SCAN_U8] = 0,  [SCAN_I8] = 0,  [SCAN_U16] = 1, [SCAN_I16] = 1, [SCAN_U32] = 2,
    [SCAN_I32] = 2, [SCAN_U64] = 3, [SCAN_I64] = 3, [SCAN_F32] = 4, [SCAN_F64] = 5,
};

static size_t round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Bins of a quarter of what one thread sorts alone: small enough that chance does not make them too large. */
static unsigned digit_bits_for(size_t n, size_t local_n) {
    unsigned bits = 6;
    while (bits < SCAN_SORT_MAX_DIGIT_BITS && n >> bits > local_n / 4)
        bits++;
    return bits;
}

/* Quicksort, if it can serve; else NULL. */
static void (*quick_of(const scan_ctx *ctx, const scan_sort_desc *desc))(const scan_sort_local *) {
    scan_sort_quick_table *table = quick_tables[scan_cpu(ctx)->simd];
    bool whole = desc->begin_bit == 0 && desc->end_bit == 8 * scan_type_size(desc->type);
    if (!table || desc->value_bytes || !whole || desc->method == SCAN_SORT_RADIX)
        return NULL;
    return (*table)[kind_of_type[desc->type]];
}

/* Argsort has no output for keys. Where the contract's bound leaves room for a second array of them, partitions go back
 * and forth as in a sort; else they move indices only, and keys are fetched again. */
static plan make_plan(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort) {
    plan p = {.key_bytes = scan_type_size(desc->type), .value_bytes = desc->value_bytes, .threads = 1};
    p.kernels = &(*tables[scan_cpu(ctx)->simd])[kind_of_type[desc->type]][desc->value_bytes / 4];
    p.local = quick_of(ctx, desc);
    if (!p.local)
        p.local = p.kernels->local;
    if (n <= SCAN_SORT_TINY)
        return p;
    size_t element_bytes = p.key_bytes + p.value_bytes;
    p.local_n = LOCAL_BYTES / element_bytes;
    p.digit_bits = digit_bits_for(n, p.local_n);
    size_t counts = SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t);
    p.spare_bytes = round_up(smaller(n, p.local_n) * p.key_bytes);
    bool two_spares = argsort || p.local != p.kernels->local;
    size_t scratch = (two_spares ? 2 : 1) * p.spare_bytes + round_up(smaller(n, p.local_n) * p.value_bytes);
    p.keys_bytes = round_up(n * p.key_bytes);
    p.values_bytes = round_up(n * p.value_bytes);
    if (n <= p.local_n) {
        p.area_bytes = counts + scratch;
        p.total_bytes = p.area_bytes;
        return p;
    }
    size_t bins = (size_t)1 << p.digit_bits;
    size_t buffers = larger(bins * p.kernels->buffer_bytes, 2 * bins * sizeof(uint32_t));
    p.area_bytes = round_up(2 * bins * sizeof(uint64_t) + larger(buffers, counts + scratch));
    p.stack_bytes = round_up((n / p.local_n + 1) * sizeof(range)) + round_up((bins + 1) * sizeof(uint64_t));
    size_t most_threads = (WORKSPACE_SLACK + n / 10 * element_bytes - p.stack_bytes) / p.area_bytes;
    p.threads = (unsigned)smaller(most_threads, scan_pool_threads(scan_cpu(ctx)->pool));
    p.fetch_keys = argsort && p.key_bytes > p.value_bytes;
    bool second_keys = argsort && !p.fetch_keys;
    p.total_bytes = p.stack_bytes + p.threads * p.area_bytes + (second_keys ? 2 : 1) * p.keys_bytes + p.values_bytes;
    return p;
}

static scan_sort_order order_of(const scan_sort_desc *desc) {
    unsigned width = (unsigned)(8 * scan_type_size(desc->type));
    uint64_t all = ~0ull >> (64 - width);
    scan_sort_order order = {.flip = desc->descending ? all : 0, .nan = desc->nan_first ? 0 : all};
    if (desc->type == SCAN_I8 || desc->type == SCAN_I16 || desc->type == SCAN_I32 || desc->type == SCAN_I64)
        order.flip ^= 1ull << (width - 1);
    if (desc->begin_bit < desc->end_bit)
        order.mask = all >> (width - desc->end_bit) >> desc->begin_bit << desc->begin_bit;
    return order;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static scan_sort_columns place_of(const job *j, place where) {
    return where == IN ? j->in : where == TEMPORARY ? j->temporary : j->out;
}

static scan_sort_columns offset(scan_sort_columns c, size_t begin, const plan *p) {
    return (scan_sort_columns){c.keys ? (char *)c.keys + begin * p->key_bytes : NULL,
                               c.values ? (char *)c.values + begin * p->value_bytes : NULL};
}

static void part_of(const job *j, size_t begin, size_t n, unsigned thread, size_t *from, size_t *to) {
    unsigned threads = j->plan.threads;
    *from = thread >= threads ? begin + n : begin + n / threads * thread + smaller(n % threads, thread);
    *to = thread >= threads ? begin + n : *from + n / threads + (thread < n % threads);
}

static char *area_of(const job *j, unsigned thread) { return j->areas + thread * j->plan.area_bytes; }

static uint64_t *counts_of(const job *j, unsigned thread) { return (uint64_t *)(void *)area_of(j, thread); }

static uint64_t *positions_of(const job *j, unsigned thread) {
    return counts_of(j, thread) + ((size_t)1 << j->plan.digit_bits);
}

static char *buffers_of(const job *j, unsigned thread) {
    return (char *)(positions_of(j, thread) + ((size_t)1 << j->plan.digit_bits));
}

static void copy_part(const job *j, range r, place from, unsigned thread) {
    size_t begin, end;
    part_of(j, r.begin, r.n, thread, &begin, &end);
    scan_sort_columns to = j->out;
    if (j->drop_keys)
        to.keys = NULL;
    if (begin < end)
        j->plan.kernels->copy(place_of(j, from), to, begin, end);
}

static void sort_locally(const job *j, range r, char *scratch) {
    const plan *p = &j->plan;
    char *keys = scratch + SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t), *second_keys = keys + p->spare_bytes;
    scan_sort_local local = {.order = j->order,
                             .from = offset(place_of(j, r.where), r.begin, p),
                             .to = offset(j->out, r.begin, p),
                             .spare = {keys, second_keys + (j->drop_keys ? p->spare_bytes : 0)},
                             .spare_keys = second_keys,
                             .n = r.n,
                             .drop_keys = j->drop_keys,
                             .counts = (uint32_t *)(void *)scratch};
    if (j->drop_keys)
        local.to.keys = second_keys;
    p->local(&local);
}

static void sort_bins(job *j, place where, size_t bins, unsigned thread) {
    enum { AT_ONCE = 4 };
    if (thread >= j->plan.threads)
        return;
    for (;;) {
        size_t bin = atomic_fetch_add_explicit(&j->next_bin, AT_ONCE, memory_order_relaxed);
        if (bin >= bins)
            return;
        for (size_t end = smaller(bin + AT_ONCE, bins); bin < end; bin++) {
            range r = {j->starts[bin], j->starts[bin + 1] - j->starts[bin], where};
            if (r.n > 0 && r.n <= j->plan.local_n)
                sort_locally(j, r, buffers_of(j, thread));
        }
    }
}

/* ---- one partition, all threads ---------------------------------------------------------------------------------- */

/* A guess at the bits that vary in a range, from a few of its elements. It may miss some, never invents one. */
static uint64_t sample_varying(const job *j, range r) {
    enum { SAMPLES = 64 };
    const void *keys = place_of(j, r.where).keys;
    uint64_t first = j->plan.kernels->code(keys, r.begin, j->order), varying = 0;
    for (size_t i = 1; i <= SAMPLES; i++)
        varying |= j->plan.kernels->code(keys, r.begin + (r.n - 1) / SAMPLES * i, j->order) ^ first;
    return varying;
}

static unsigned top_bit(uint64_t x) { return 63u - (unsigned)__builtin_clzll(x); }

/* Counts the digit of the leading varying bits in every thread's part; what varies is exact afterwards. */
static uint64_t count_digits(job *j, range r, scan_sort_part *part, unsigned thread) {
    uint64_t guess = sample_varying(j, r) | 1;
    for (;;) {
        unsigned top = top_bit(guess) + 1, bits = digit_bits_for(r.n, j->plan.local_n);
        part->bits = top < bits ? top : bits;
        part->shift = top - part->bits;
        if (thread < j->plan.threads) {
            j->plan.kernels->histogram(part);
            *positions_of(j, thread) = part->varying;
        }
        scan_pool_barrier(j->pool);
        uint64_t varying = 0;
        for (unsigned t = 0; t < j->plan.threads; t++)
            varying |= *positions_of(j, t);
        scan_pool_barrier(j->pool);
        if (varying == 0 || top_bit(varying) <= top_bit(guess))
            return varying;
        guess = varying;
    }
}

/* This thread's first position of each bin; thread 0 also notes where bins start. */
static void scan_counts(job *j, range r, const scan_sort_part *part, unsigned thread) {
    size_t bins = (size_t)1 << part->bits, sum = r.begin;
    uint64_t *positions = positions_of(j, thread);
    for (size_t d = 0; d < bins; d++) {
        if (thread == 0)
            j->starts[d] = sum;
        for (unsigned t = 0; t < j->plan.threads; t++) {
            if (t == thread)
                positions[d] = sum;
            sum += counts_of(j, t)[d];
        }
    }
    if (thread == 0)
        j->starts[bins] = sum;
}

static void push_large_bins(job *j, place where, size_t bins) {
    for (size_t d = 0; d < bins; d++) {
        size_t n = j->starts[d + 1] - j->starts[d];
        if (n > j->plan.local_n)
            j->stack[j->stacked++] = (range){j->starts[d], n, where};
    }
}

static void sort_range(job *j, range r, unsigned thread) {
    scan_sort_part part = {.order = j->order, .from = place_of(j, r.where)};
    part_of(j, r.begin, r.n, thread, &part.begin, &part.end);
    part.first = j->plan.kernels->code(part.from.keys, r.begin, j->order);
    if (thread < j->plan.threads) {
        part.counts = counts_of(j, thread);
        part.positions = positions_of(j, thread);
        part.buffers = buffers_of(j, thread);
    }
    uint64_t varying = count_digits(j, r, &part, thread);
    if (varying == 0) {
        copy_part(j, r, r.where, thread);
        scan_pool_barrier(j->pool);
        return;
    }
    bool last = (varying & ((1ull << part.shift) - 1)) == 0;
    bool in_place = j->in.keys == j->out.keys || (j->in.values && j->in.values == j->out.values);
    bool to_temporary = r.where == OUT || (r.where == IN && !(last && !in_place));
    place where = to_temporary ? TEMPORARY : OUT;
    part.to = place_of(j, where);
    part.stream = r.n * (j->plan.key_bytes + j->plan.value_bytes) >= STREAM_BYTES;
    bool fetch_keys = j->plan.fetch_keys && where == OUT && !last;
    if (j->drop_keys && where == OUT && (last || fetch_keys))
        part.to.keys = NULL;
    size_t bins = (size_t)1 << part.bits;
    if (thread < j->plan.threads)
        scan_counts(j, r, &part, thread);
    scan_pool_barrier(j->pool); /* scatter overwrites the counts */
    if (thread < j->plan.threads)
        j->plan.kernels->scatter(&part);
    scan_pool_barrier(j->pool);
    if (last && where == TEMPORARY)
        copy_part(j, r, TEMPORARY, thread);
    if (fetch_keys) {
        where = TEMPORARY;
        if (part.begin < part.end)
            j->plan.kernels->fetch(j->in.keys, j->out.values, j->temporary, part.begin, part.end);
        scan_pool_barrier(j->pool);
    }
    if (!last) {
        if (thread == 0)
            push_large_bins(j, where, bins);
        sort_bins(j, where, bins, thread);
    }
    scan_pool_barrier(j->pool);
    if (thread == 0)
        atomic_store_explicit(&j->next_bin, 0, memory_order_relaxed);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Copies or reverses what is in order already; false if it is not. */
static bool finish_if_ordered(job *j, unsigned thread) {
    size_t begin, end;
    part_of(j, 0, j->n, thread, &begin, &end);
    unsigned flags = SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING;
    if (begin < end)
        flags = j->plan.kernels->ordered(j->in.keys, begin, smaller(end + 1, j->n), j->order);
    atomic_fetch_and_explicit(&j->order_flags, flags, memory_order_relaxed);
    scan_pool_barrier(j->pool);
    flags = atomic_load_explicit(&j->order_flags, memory_order_relaxed);
    if (flags & SCAN_SORT_ASCENDING) {
        copy_part(j, (range){0, j->n, IN}, IN, thread);
    } else if (flags & SCAN_SORT_DESCENDING) {
        part_of(j, 0, (j->n + 1) / 2, thread, &begin, &end);
        scan_sort_columns to = {j->drop_keys ? NULL : j->out.keys, j->out.values};
        j->plan.kernels->reverse(j->in, to, begin, end, j->n);
    }
    return flags != 0;
}

static void sort_task(void *arg, unsigned thread, unsigned threads) {
    (void)threads;
    job *j = arg;
    if (finish_if_ordered(j, thread))
        return;
    sort_range(j, (range){0, j->n, IN}, thread);
    for (;;) {
        scan_pool_barrier(j->pool);
        if (j->stacked == 0)
            return;
        range r = j->stack[j->stacked - 1];
        scan_pool_barrier(j->pool);
        if (thread == 0)
            j->stacked--;
        sort_range(j, r, thread);
    }
}

static scan_status check_method(scan_ctx *ctx, const scan_sort_desc *desc) {
    if (desc->method == SCAN_SORT_SPLIT)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "method split exists on CUDA only");
    if (desc->method == SCAN_SORT_QUICK && !quick_of(ctx, desc))
        return scan_fail(ctx, SCAN_ERR_ALGORITHM,
                         "method quick sorts keys of 4 or 8 bytes alone, by all their bits, with AVX-512");
    return SCAN_OK;
}

static scan_status run(scan_ctx *ctx, const scan_sort_desc *desc, scan_sort_columns in, scan_sort_columns out, size_t n,
                       bool argsort) {
    SCAN_TRY(check_method(ctx, desc));
    job j = {.plan = make_plan(ctx, desc, n, argsort), .order = order_of(desc), .pool = scan_cpu(ctx)->pool};
    const plan *p = &j.plan;
    char *workspace;
    SCAN_TRY(scan_workspace(ctx, p->total_bytes, (void **)&workspace));
    scan_cpu_note(ctx, p->local == p->kernels->local ? "radix" : "quick");
    j.n = scan_cpu_count(n, desc->n_device);
    if (j.n == 0)
        return SCAN_OK;
    j.in = in;
    j.out = out;
    j.drop_keys = argsort;
    char *next = workspace + p->stack_bytes + p->threads * p->area_bytes;
    if (n > SCAN_SORT_TINY && n > p->local_n) {
        j.temporary = (scan_sort_columns){next, next + p->keys_bytes};
        next += p->keys_bytes + p->values_bytes;
    }
    if (argsort)
        j.out.keys = p->fetch_keys ? NULL : next;
    j.stack = (range *)(void *)workspace;
    j.areas = workspace + p->stack_bytes;
    if (j.n <= SCAN_SORT_TINY) {
        p->kernels->local(
            &(scan_sort_local){.order = j.order, .from = in, .to = j.out, .n = j.n, .drop_keys = argsort});
        return SCAN_OK;
    }
    if (j.n <= p->local_n) {
        sort_locally(&j, (range){0, j.n, IN}, j.areas);
        return SCAN_OK;
    }
    j.starts = (uint64_t *)(void *)(workspace + round_up((n / p->local_n + 1) * sizeof(range)));
    atomic_init(&j.next_bin, 0);
    atomic_init(&j.order_flags, SCAN_SORT_ASCENDING | SCAN_SORT_DESCENDING);
    scan_pool_run(j.pool, sort_task, &j);
    return SCAN_OK;
}

size_t scan_cpu_sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return make_plan(ctx, desc, n, false).total_bytes;
}

scan_status scan_cpu_sort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys_in, void *keys_out,
                          const void *values_in, void *values_out, size_t n) {
    scan_sort_columns in = {(void *)keys_in, (void *)values_in}, out = {keys_out, values_out};
    return run(ctx, desc, in, out, n, false);
}

size_t scan_cpu_argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    return make_plan(ctx, desc, n, true).total_bytes;
}

scan_status scan_cpu_argsort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys, void *indices, size_t n) {
    return run(ctx, desc, (scan_sort_columns){(void *)keys, NULL}, (scan_sort_columns){NULL, indices}, n, true);
}
