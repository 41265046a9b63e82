/* SPDX-License-Identifier: MIT
 *
 * scan_argsort of some thousand keys, whose even division into cells leaves crowds and numbers that are none. Against
 * the oracle; keys and indices end at a page that faults.
 *
 * Not with ThreadSanitizer: arrays that one thread sorts.
 */
#include "sort_oracle.h"

enum { MOST = 16385 };

/* Anywhere, but one key in 12 is one of a crowd that any even division of the whole range leaves together. */
static uint64_t data_crowd(uint64_t *s, size_t i, size_t n, scan_type type) {
    (void)i, (void)n;
    const uint64_t r = random_u64(s), bits = type_bits(type);
    return r % 12 == 0 ? (0x3full << (bits - 8)) + (r >> 8 & 0x3ff) : r >> (64 - bits);
}

/* Numbers that are spread evenly, and some that are none, or zeros of both signs. */
static uint64_t data_some_specials(uint64_t *s, size_t i, size_t n, scan_type type) {
    const uint64_t r = random_u64(s);
    return r % 8 == 0 ? data_specials(s, i, n, type) : bits_of_double((double)(int64_t)r * 0x1p-32, type);
}

static void cells_with_crowds(void **state) {
    static const scan_type types[] = {SCAN_U32, SCAN_I32, SCAN_U64, SCAN_I64, SCAN_F32, SCAN_F64};
    static const size_t sizes[] = {700, 5000, MOST - 1, MOST};
    static sort_item items[MOST];
    uint64_t random = 1;
    scan_ctx *ctx = context_with_threads(1);
    guarded keys_in = guarded_create(8 * MOST + 4096), indices_out = guarded_create(8 * MOST + 4096);
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (unsigned order = 0; order < (type_is_float(types[t]) ? 8 : 4); order++) {
                const size_t n = sizes[k], index_bytes = order & 1 ? 8 : 4;
                const scan_sort_desc desc = {.struct_size = sizeof desc,
                                             .type = types[t],
                                             .descending = order >> 1 & 1,
                                             .nan_first = order >> 2,
                                             .index_type = order & 1 ? SCAN_U64 : SCAN_U32};
                void *keys = guarded_place(keys_in, n, scan_type_size(types[t]), &random),
                     *indices = guarded_place(indices_out, n, index_bytes, &random);
                fill(keys, n, types[t], (t + k + order) % 2 ? data_crowd : data_some_specials, random_u64(&random));
                assert_int_equal(scan_argsort(ctx, &desc, keys, indices, n), SCAN_OK);
                const sort_case c = {types[t], order >> 1 & 1, order >> 2, 0, type_bits(types[t])};
                const size_t wrong = first_misplaced(items, keys, indices, index_bytes, n, c);
                if (wrong != n)
                    fail_msg("%s, order %u: index wrong at %zu of %zu", scan_type_name(types[t]), order, wrong, n);
            }
    guarded_destroy(keys_in);
    guarded_destroy(indices_out);
    scan_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_with_crowds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
