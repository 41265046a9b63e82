/* SPDX-License-Identifier: MIT
 *
 * Sort and argsort on the CPU.
 */
#include "sort.h"

enum { DIGIT_BITS = 8, BINS = 1 << DIGIT_BITS, MAX_DIGITS = 8 };

typedef struct job {
    scan_sort_order order;
    unsigned begin, end;
    scan_sort_columns from, to, spare;
    bool keep_keys;
    size_t n;
} job;

typedef size_t counts[MAX_DIGITS][BINS];

SCAN_INLINE void scatter(const job *j, scan_sort_columns from, scan_sort_columns to, unsigned shift, size_t *positions,
                         scan_sort_kind kind) {
    for (size_t i = 0; i < j->n; i++) {
        uint64_t key = scan_sort_load(from.keys, i, kind.key_bytes);
        size_t at = positions[scan_sort_code(key, j->order, kind) >> shift & (BINS - 1)]++;
        if (to.keys)
            scan_sort_store(to.keys, at, key, kind.key_bytes);
        if (kind.value_bytes)
            scan_sort_store(to.values, at, from.values ? scan_sort_load(from.values, i, kind.value_bytes) : i,
                            kind.value_bytes);
    }
}

static void copy(const job *j, scan_sort_columns from, scan_sort_columns to, scan_sort_kind kind) {
    if (to.keys && to.keys != from.keys)
        memcpy(to.keys, from.keys, j->n * kind.key_bytes);
    if (!kind.value_bytes || to.values == from.values)
        return;
    if (from.values)
        memcpy(to.values, from.values, j->n * kind.value_bytes);
    else
        for (size_t i = 0; i < j->n; i++)
            scan_sort_store(to.values, i, i, kind.value_bytes);
}

SCAN_INLINE void sort_lsd(const job *j, size_t (*count)[BINS], scan_sort_kind kind) {
    if (j->n == 0)
        return;
    unsigned digits = (j->end - j->begin + DIGIT_BITS - 1) / DIGIT_BITS;
    memset(count, 0, sizeof(counts));
    for (size_t i = 0; i < j->n; i++) {
        uint64_t code = scan_sort_code(scan_sort_load(j->from.keys, i, kind.key_bytes), j->order, kind);
        for (unsigned d = 0; d < digits; d++)
            count[d][code >> (j->begin + d * DIGIT_BITS) & (BINS - 1)]++;
    }
    unsigned active[MAX_DIGITS], passes = 0;
    for (unsigned d = 0; d < digits; d++) {
        size_t sum = 0;
        bool constant = false;
        for (unsigned b = 0; b < BINS; b++) {
            size_t c = count[d][b];
            constant |= c == j->n;
            count[d][b] = sum;
            sum += c;
        }
        if (!constant)
            active[passes++] = d;
    }
    scan_sort_columns at = j->from, final = j->to;
    if (!j->keep_keys)
        final.keys = NULL;
    if (passes % 2 == 1 && (at.keys == j->to.keys || (at.values && at.values == j->to.values))) {
        copy(j, at, j->spare, kind);
        at = j->spare;
    }
    for (unsigned p = 0; p < passes; p++) {
        scan_sort_columns to = p + 1 == passes ? final : (passes - p) % 2 ? j->to : j->spare;
        scatter(j, at, to, j->begin + active[p] * DIGIT_BITS, count[active[p]], kind);
        at = to;
    }
    if (passes == 0)
        copy(j, at, final, kind);
}

/* X(name, key bytes, is float) */
#define KEY_KINDS(X) X(u8, 1, false) X(u16, 2, false) X(u32, 4, false) X(u64, 8, false) X(f32, 4, true) X(f64, 8, true)

#define SORTS(name, key_bytes, is_float)                                                                               \
    static void sort_##name##_0(const job *j, size_t(*count)[BINS]) {                                                  \
        sort_lsd(j, count, (scan_sort_kind){key_bytes, is_float, 0});                                                  \
    }                                                                                                                  \
    static void sort_##name##_4(const job *j, size_t(*count)[BINS]) {                                                  \
        sort_lsd(j, count, (scan_sort_kind){key_bytes, is_float, 4});                                                  \
    }                                                                                                                  \
    static void sort_##name##_8(const job *j, size_t(*count)[BINS]) {                                                  \
        sort_lsd(j, count, (scan_sort_kind){key_bytes, is_float, 8});                                                  \
    }
KEY_KINDS(SORTS)

typedef void sort_function(const job *, size_t (*)[BINS]);
#define ROW(name, key_bytes, is_float) {sort_##name##_0, sort_##name##_4, sort_##name##_8},
static sort_function *const sorts[][3] = {KEY_KINDS(ROW)};

static const unsigned char kind_of_type[] = {
    [SCAN_U8] = 0,  [SCAN_I8] = 0,  [SCAN_U16] = 1, [SCAN_I16] = 1, [SCAN_U32] = 2,
    [SCAN_I32] = 2, [SCAN_U64] = 3, [SCAN_I64] = 3, [SCAN_F32] = 4, [SCAN_F64] = 5,
};

static scan_sort_order order_of(const scan_sort_desc *desc) {
    unsigned width = (unsigned)(8 * scan_type_size(desc->type));
    uint64_t all = ~0ull >> (64 - width);
    scan_sort_order order = {.flip = desc->descending ? all : 0, .nan = desc->nan_first ? 0 : all};
    switch (desc->type) {
    case SCAN_I8:
    case SCAN_I16:
    case SCAN_I32:
    case SCAN_I64: order.flip ^= 1ull << (width - 1); break;
    default: break;
    }
    uint64_t below_end = desc->end_bit == 0 ? 0 : all >> (width - desc->end_bit);
    order.mask = desc->begin_bit >= 64 ? 0 : below_end >> desc->begin_bit << desc->begin_bit;
    return order;
}

static size_t round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

size_t scan_cpu_sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    (void)ctx;
    return sizeof(counts) + round_up(n * scan_type_size(desc->type)) + round_up(n * desc->value_bytes);
}

size_t scan_cpu_argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n) {
    (void)ctx;
    return sizeof(counts) + 2 * round_up(n * scan_type_size(desc->type)) + round_up(n * desc->value_bytes);
}

scan_status scan_cpu_sort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys_in, void *keys_out,
                          const void *values_in, void *values_out, size_t n) {
    if (desc->method != SCAN_SORT_AUTO && desc->method != SCAN_SORT_RADIX)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "sort method %s is not available here",
                         scan_sort_method_name(desc->method));
    char *workspace;
    SCAN_TRY(scan_workspace(ctx, scan_cpu_sort_workspace(ctx, desc, n), (void **)&workspace));
    n = scan_cpu_count(n, desc->n_device);
    char *spare = workspace + sizeof(counts);
    job j = {.order = order_of(desc),
             .begin = desc->begin_bit,
             .end = desc->end_bit,
             .from = {(void *)keys_in, (void *)values_in},
             .to = {keys_out, values_out},
             .spare = {spare, spare + round_up(n * scan_type_size(desc->type))},
             .keep_keys = true,
             .n = n};
    sorts[kind_of_type[desc->type]][desc->value_bytes / 4](&j, (size_t(*)[BINS])workspace);
    scan_cpu_note(ctx, "radix");
    return SCAN_OK;
}

scan_status scan_cpu_argsort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys, void *indices, size_t n) {
    if (desc->method != SCAN_SORT_AUTO && desc->method != SCAN_SORT_RADIX)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "argsort has no method %s here", scan_sort_method_name(desc->method));
    char *workspace;
    SCAN_TRY(scan_workspace(ctx, scan_cpu_argsort_workspace(ctx, desc, n), (void **)&workspace));
    n = scan_cpu_count(n, desc->n_device);
    size_t key_bytes = round_up(n * scan_type_size(desc->type));
    char *spare = workspace + sizeof(counts);
    job j = {.order = order_of(desc),
             .begin = desc->begin_bit,
             .end = desc->end_bit,
             .from = {(void *)keys, NULL},
             .to = {spare, indices},
             .spare = {spare + key_bytes, spare + 2 * key_bytes},
             .keep_keys = false,
             .n = n};
    sorts[kind_of_type[desc->type]][desc->value_bytes / 4](&j, (size_t(*)[BINS])workspace);
    scan_cpu_note(ctx, "radix");
    return SCAN_OK;
}
