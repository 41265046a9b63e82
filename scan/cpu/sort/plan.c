/* SPDX-License-Identifier: MIT
 *
 * What a sort needs, from its descriptor, n and the context: kernels, sizes, threads, the layout of the workspace.
 */
#include "job.h"

enum {
    LOCAL_BYTES = 256 << 10, /* what one thread sorts alone by radix: a quarter of an L2, scratch not counted */
    ALONE_N = 1 << 17,  /* elements that one thread sorts by radix sooner than it partitions, or waits for others */
    NARROW_N = 1 << 17, /* keys of 2 bytes that one thread sorts by quicksort sooner than it counts them */
    HALVES_BYTES = 32 << 20,  /* up to here two threads may divide in halves */
    REPEATS_BYTES = 2 << 20,  /* from here on they may also divide what one would sort alone, if keys repeat */
    BESIDE_SPARES = 96 << 10, /* of an area */
    NARROW_BITS = 10,         /* that one scatter of narrow pairs divides by: of 1,024 bins buffers fit the L2 */
    BARRIERS_N = 1 << 12 /* elements for each thread that one sorts sooner, in 10 to 20 microseconds, than all meet at a
                            partition's barriers */
};

/* The same of quicksort, which minds less if it leaves the L2; and what one thread sorts alone sooner than a partition
 * by 1, 2 ... threads would, and a sort of the bins. Of keys of 4 bytes alone the skew from which on splitters are
 * quicker. All measured. */
static const struct {
    size_t local, alone[2], skew;
} quick_bytes[SCAN_SIMD_LEVELS] = {
    [SCAN_SIMD_AVX2] = {LOCAL_BYTES, {32 << 20, 1 << 20}, 3},
    [SCAN_SIMD_AVX512] = {5 << 18, {32 << 20, 4 << 20}, 0},
};

/* Vectors hold fewer keys of 8 bytes, or pairs; leaves of argsort are smaller. Wide pairs are divided in vectors only
 * where keys repeat. */
static size_t skew_of(const scan_sort_plan *p, scan_simd simd, bool argsort) {
    if (!p->split)
        return 32;
    if (scan_sort_is_wide(p))
        return 32;
    return p->key_bytes == 8 ? 24 : argsort ? 16 : p->value_bytes > 0 ? 8 : quick_bytes[simd].skew;
}

static scan_sort_kernel_table *const tables[SCAN_SIMD_LEVELS] = {
    [SCAN_SIMD_PORTABLE] = &scan_cpu_sort_kernels_portable,
#if SCAN_HAS_SIMD
    [SCAN_SIMD_AVX2] = &scan_cpu_sort_kernels_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_kernels_avx512,
#endif
};

static scan_sort_quick_table *const quick_tables[SCAN_SIMD_LEVELS] = {
#if SCAN_HAS_SIMD
    [SCAN_SIMD_AVX2] = &scan_cpu_sort_quick_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_quick_avx512,
#endif
};

static scan_sort_split_table *const split_tables[SCAN_SIMD_LEVELS] = {
#if SCAN_HAS_SIMD
    [SCAN_SIMD_AVX2] = &scan_cpu_sort_split_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_split_avx512,
#endif
};

static scan_sort_halves_table *const halves_tables[SCAN_SIMD_LEVELS] = {
#if SCAN_HAS_SIMD
    [SCAN_SIMD_AVX2] = &scan_cpu_sort_halves_avx2,
    [SCAN_SIMD_AVX512] = &scan_cpu_sort_halves_avx512,
#endif
};

static const unsigned char kind_of_type[] = {
    [SCAN_U8] = 0,  [SCAN_I8] = 0,  [SCAN_U16] = 1, [SCAN_I16] = 1, [SCAN_U32] = 2,
    [SCAN_I32] = 2, [SCAN_U64] = 3, [SCAN_I64] = 3, [SCAN_F32] = 4, [SCAN_F64] = 5,
};

unsigned scan_cpu_sort_digit_bits(size_t n, size_t bin_n) {
    unsigned bits = 6;
    while (bits < SCAN_SORT_MAX_DIGIT_BITS && n >> bits > bin_n)
        bits++;
    return bits;
}

/* Quicksort, with values of so many bytes, if it can serve; else NULL. */
static void (*quick_of(const scan_ctx *ctx, const scan_sort_desc *desc, size_t value_bytes))(const scan_sort_local *) {
    scan_sort_quick_table *table = quick_tables[scan_cpu(ctx)->simd];
    bool whole = desc->begin_bit == 0 && desc->end_bit == 8 * scan_type_size(desc->type);
    if (!table || !whole || desc->method == SCAN_SORT_RADIX)
        return NULL;
    return (*table)[kind_of_type[desc->type]][value_bytes / 4];
}

bool scan_cpu_sort_can_quick(const scan_ctx *ctx, const scan_sort_desc *desc) {
    return desc->value_bytes == 0 && scan_type_size(desc->type) >= 4 && quick_of(ctx, desc, 0) != NULL;
}

/* What threads may use beside the data: the contract's 4 MiB, less what is laid out beside them, and a tenth. */
static size_t areas_budget(size_t n, size_t element_bytes) { return ((size_t)3 << 20) + n / 10 * element_bytes; }

/* Elements that one thread sorts alone. */
static size_t local_elements(const scan_sort_plan *p, size_t n, unsigned threads, scan_simd simd) {
    size_t element_bytes = p->key_bytes + p->value_bytes;
    if (p->local == p->kernels->local)
        return LOCAL_BYTES / element_bytes;
    size_t share = areas_budget(n, element_bytes) / threads;
    share = share > BESIDE_SPARES ? share - BESIDE_SPARES : 0;
    return scan_sort_smaller(scan_sort_larger(share, LOCAL_BYTES), quick_bytes[simd].local) / element_bytes;
}

/* Whether pairs of few bits are divided by all of them at once, though a scatter waits where keys repeat: 4 x 10^6 take
 * a half to three quarters of the time of splitters, 10^6 as long or less. Narrower pairs AVX-512 divides by splitters
 * in the same time or less (Zen 3, and Xeon with AVX-512, 2026-11-30: tools/bench --verb pairs --type u32,u64
 * --value-bytes 4, 8 --n 1M,4M --distribution bits:4,bits:6,bits:8,bits:10 --threads 2; of more threads unknown). */
static bool divides_narrow(const scan_sort_plan *p, unsigned threads, scan_simd simd, bool argsort) {
    return p->split && p->value_bytes > 0 && !argsort && threads <= 2 &&
           (scan_sort_is_wide(p) || simd == SCAN_SIMD_AVX2);
}

/* Counts, positions and, at different times, buffers of a partition or scratch of a local sort. */
static size_t area_bytes(const scan_sort_plan *p, size_t n, bool argsort) {
    size_t scratch = SCAN_SORT_LOCAL_COUNTS * sizeof(uint32_t) + (argsort ? 2 : 1) * p->spare_bytes +
                     scan_sort_round_up(scan_sort_smaller(n, p->local_n) * p->value_bytes);
    if (n <= p->local_n)
        return scratch;
    size_t bins = (size_t)1 << p->digit_bits;
    size_t buffers = scan_sort_larger(bins * p->kernels->buffer_bytes, 2 * bins * sizeof(uint32_t));
    return scan_sort_round_up(2 * bins * sizeof(uint64_t) + scan_sort_larger(buffers, scratch));
}

/* Argsort has no output for keys: partitions that go back to it need another array. Where keys are wider than indices
 * the contract's bound has room for seven tenths of it (partition.c, place_range). */
static size_t second_keys(const scan_sort_plan *p, size_t n) {
    return p->key_bytes > p->value_bytes && n > p->alone_n ? n / 10 * 7 : n;
}

/* Where what one thread sorts alone ends, and how the rest is cut. */
static void plan_partition(scan_sort_plan *p, const scan_sort_desc *desc, size_t n, unsigned threads, scan_simd simd,
                           bool argsort) {
    const size_t element_bytes = p->key_bytes + p->value_bytes;
    const bool quick = scan_sort_is_quick(p), narrow = quick && p->key_bytes == 2;
    p->leaf_n = p->local_n;
    p->alone_n = scan_sort_larger(p->local_n, ALONE_N);
    if (quick && !narrow && (!scan_sort_is_wide(p) || (simd == SCAN_SIMD_AVX512 && !argsort))) {
        if (threads <= sizeof quick_bytes->alone / sizeof *quick_bytes->alone)
            p->alone_n = scan_sort_larger(p->local_n, quick_bytes[simd].alone[threads - 1] / element_bytes);
        p->leaf_n = n;                         /* threads that have no bin left help with those of others (team.h) */
    } else if (quick && !narrow && !argsort) { /* an argsort's leaves have keys in their thread's area */
        p->leaf_n = scan_sort_larger(p->local_n, scan_sort_smaller(threads * (size_t)BARRIERS_N, n / threads));
    }
    p->skew = skew_of(p, simd, argsort);
    bool is_float = scan_is_float(desc->type); /* exponents make uneven bins */
    p->bin_n = p->key_bytes == 1 ? 1 : (size_t)LOCAL_BYTES / (is_float ? 16 : 4) / element_bytes;
    p->digit_bits = scan_cpu_sort_digit_bits(n, p->bin_n);
    p->by_narrow = divides_narrow(p, threads, simd, argsort);
    if (p->by_narrow && p->digit_bits < NARROW_BITS)
        p->digit_bits = NARROW_BITS;
    if (p->digit_bits > 8 * p->key_bytes)
        p->digit_bits = (unsigned)(8 * p->key_bytes);
}

scan_sort_plan scan_cpu_sort_plan(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort) {
    scan_sort_plan p = {
        .key_bytes = scan_type_size(desc->type), .value_bytes = desc->value_bytes, .bound_n = n, .threads = 1};
    unsigned threads = scan_pool_threads(scan_cpu(ctx)->pool);
    p.kernels = &(*tables[scan_cpu(ctx)->simd])[kind_of_type[desc->type]][desc->value_bytes / 4];
    p.local = quick_of(ctx, desc, desc->value_bytes);
    p.local = p.local ? p.local : p.kernels->local;
    if (p.key_bytes >= 4 && p.value_bytes == 0 && !argsort) {
        p.sort_runs = quick_of(ctx, desc, sizeof(uint32_t));
        p.sort_runs = p.sort_runs ? p.sort_runs : (*tables[scan_cpu(ctx)->simd])[kind_of_type[desc->type]][1].local;
    }
    const bool quick = scan_sort_is_quick(&p);
    p.split = quick && !(scan_sort_is_wide(&p) && argsort)
                  ? (*split_tables[scan_cpu(ctx)->simd])[kind_of_type[desc->type]][desc->value_bytes / 4]
                  : NULL;
    if (p.split && desc->value_bytes > 0)
        p.halves = (*halves_tables[scan_cpu(ctx)->simd])[kind_of_type[desc->type]][desc->value_bytes / 4];
    if (n <= SCAN_SORT_TINY)
        return p;
    size_t element_bytes = p.key_bytes + p.value_bytes;
    const scan_simd simd = scan_cpu(ctx)->simd;
    p.local_n = quick && p.key_bytes == 2 ? NARROW_N : local_elements(&p, n, threads, simd);
    if (n > p.local_n)
        plan_partition(&p, desc, n, threads, simd, argsort);
    p.spare_bytes = scan_sort_round_up(scan_sort_smaller(n, p.local_n) * p.key_bytes);
    p.area_bytes = area_bytes(&p, n, argsort);
    p.total_bytes = p.area_bytes;
    if (n <= p.local_n)
        return p;
    p.keys_bytes = scan_sort_round_up(n * p.key_bytes);
    p.values_bytes = scan_sort_round_up(n * p.value_bytes);
    if (argsort) {
        p.second_keys_n = second_keys(&p, n);
        p.second_keys_bytes = scan_sort_round_up(p.second_keys_n * p.key_bytes);
    }
    p.stack_bytes = scan_sort_round_up((n / p.local_n + 1) * sizeof(scan_sort_range)) +
                    scan_sort_round_up((((size_t)1 << p.digit_bits) + 1) * sizeof(uint64_t));
    if (desc->value_bytes == 0 && !argsort && p.key_bytes >= 4 && desc->begin_bit == 0 &&
        desc->end_bit == 8 * p.key_bytes)
        p.heavy_bytes = scan_sort_round_up(SCAN_SORT_MAX_HEAVY * sizeof(scan_sort_heavy));
    const size_t piece_bytes = p.split ? SCAN_SORT_SPLITTER_BINS * sizeof(uint16_t) : 0;
    size_t pieces = n / scan_cpu_sort_piece_elements(&p),
           budget = areas_budget(n, element_bytes) - pieces * piece_bytes;
    size_t most_threads = budget / (p.area_bytes + 2 * piece_bytes);
    const bool alone = n <= p.alone_n || (quick && p.key_bytes == 2 && threads <= 2 && n <= SCAN_SORT_QUICK_NARROW_N);
    const bool halves = p.halves.count && threads == 2 && !argsort && n * element_bytes <= HALVES_BYTES;
    p.alone_or_two = alone && halves && !scan_sort_is_wide(&p) && n * element_bytes >= REPEATS_BYTES;
    p.threads = alone && !p.alone_or_two ? 1 : (unsigned)scan_sort_larger(scan_sort_smaller(most_threads, threads), 1);
    p.alone_or_two &= p.threads == 2;
    if (halves && p.threads == 2)
        p.halves_n = n;
    p.pieces_a_thread = p.threads == 1 && n <= p.alone_n && !scan_sort_is_wide(&p) ? 0 : pieces / p.threads + 2;
    p.pieces_bytes = scan_sort_round_up(p.threads * p.pieces_a_thread * piece_bytes);
    p.total_bytes = p.stack_bytes + p.heavy_bytes + p.threads * p.area_bytes + p.pieces_bytes + p.keys_bytes +
                    p.values_bytes + p.second_keys_bytes;
    return p;
}

scan_sort_order scan_cpu_sort_order(const scan_sort_desc *desc) {
    unsigned width = (unsigned)(8 * scan_type_size(desc->type));
    uint64_t all = ~0ull >> (64 - width);
    scan_sort_order order = {.flip = desc->descending ? all : 0, .nan = desc->nan_first ? 0 : all};
    if (scan_is_signed(desc->type))
        order.flip ^= 1ull << (width - 1);
    if (desc->begin_bit < desc->end_bit)
        order.mask = all >> (width - desc->end_bit) >> desc->begin_bit << desc->begin_bit;
    return order;
}
