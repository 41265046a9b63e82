/* SPDX-License-Identifier: MIT
 *
 * The caller's modes for floats (subnormals flushed or read as zero, rounding up) change no bit of a result, on one
 * thread and on several, and are the caller's again afterwards.
 *
 * Not with sanitizers: the verbs that it calls have tests of their own there.
 */
#include <fenv.h>
#include <stdio.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "support.h"

enum { N = 300001, IMAGE = 300 * 200 };

static scan_ctx *contexts[2];
static float numbers[N];
static uint8_t image[IMAGE];

static int set_up(void **state) {
    (void)state;
    contexts[0] = context_with_threads(1);
    contexts[1] = context_with_threads(3);
    uint64_t random = 1;
    for (size_t i = 0; i < N; i++) { /* half of them subnormal, of both signs */
        const uint64_t r = random_u64(&random);
        const uint32_t bits = (uint32_t)(r & 0x807fffffu) | (r >> 40 & 1 ? 0 : 0x3f800000u);
        memcpy(&numbers[i], &bits, sizeof bits);
    }
    for (size_t i = 0; i < IMAGE; i++)
        image[i] = (uint8_t)(random_below(&random, 90) + i / 600);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scan_ctx_destroy(contexts[0]);
    scan_ctx_destroy(contexts[1]);
    return 0;
}

/* ---- one run of every verb that computes with floats ------------------------------------------------------------- */

typedef struct outputs {
    float sums[N], products[N], least[N], kept[N], distinct[N], sorted[N];
    uint32_t order[N];
    uint64_t kept_count, distinct_count;
    uint8_t equalized[5][IMAGE], clahe[IMAGE];
} outputs;

static void run_all(scan_ctx *ctx, outputs *o) {
    memset(o, 0, sizeof *o);
    scan_prefix_desc prefix = {.struct_size = sizeof prefix, .type = SCAN_F32};
    assert_int_equal(scan_prefix(ctx, &prefix, numbers, o->sums, N), SCAN_OK);
    prefix.op = SCAN_MUL;
    assert_int_equal(scan_prefix(ctx, &prefix, numbers, o->products, N), SCAN_OK);
    prefix.op = SCAN_MIN;
    assert_int_equal(scan_prefix(ctx, &prefix, numbers, o->least, N), SCAN_OK);
    const scan_term positive = {.op = SCAN_TERM_GT, .constant_type = SCAN_F64};
    const scan_compact_desc compact = {
        .struct_size = sizeof compact, .type = SCAN_F32, .terms = &positive, .term_count = 1};
    const scan_compact_out kept = {.struct_size = sizeof kept, .kept = o->kept, .count = &o->kept_count};
    assert_int_equal(scan_compact(ctx, &compact, numbers, &kept, N), SCAN_OK);
    const scan_sort_desc sort = {.struct_size = sizeof sort, .type = SCAN_F32};
    assert_int_equal(scan_sort(ctx, &sort, numbers, o->sorted, NULL, NULL, N), SCAN_OK);
    assert_int_equal(scan_argsort(ctx, &sort, numbers, o->order, N), SCAN_OK);
    const scan_unique_desc unique = {.struct_size = sizeof unique, .type = SCAN_F32};
    const scan_unique_out distinct = {.struct_size = sizeof distinct, .kept = o->distinct, .count = &o->distinct_count};
    assert_int_equal(scan_unique(ctx, &unique, o->sorted, &distinct, N), SCAN_OK);
    scan_equalize_desc equalize = {.struct_size = sizeof equalize, .type = SCAN_U8};
    for (equalize.like = 0; scan_like_name(equalize.like); equalize.like++)
        assert_int_equal(scan_equalize(ctx, &equalize, image, o->equalized[equalize.like], NULL, IMAGE), SCAN_OK);
    equalize.like = 0;
    assert_int_equal(scan_clahe(ctx, &equalize, image, o->clahe, 300, 200), SCAN_OK);
}

static outputs expected, got;

static void compare(const char *modes) {
    const unsigned char *a = (const unsigned char *)&expected, *b = (const unsigned char *)&got;
    for (size_t i = 0; i < sizeof expected; i++)
        if (a[i] != b[i])
            fail_msg("%s: byte %zu of the outputs differs", modes, i);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void subnormals_count(void **state) {
    (void)state;
    run_all(contexts[0], &expected);
    bool some = false;
    for (size_t i = 0; i < expected.kept_count && !some; i++)
        some = expected.kept[i] < 0x1p-126f;
    assert_true(some); /* or nothing is tested */
    run_all(contexts[1], &got);
    compare("default modes, three threads");
}

#if defined(__x86_64__)
static void x86_modes(void **state) {
    (void)state;
    enum { FLUSH = 0x8000, ZEROS = 0x40 };
    static const unsigned modes[] = {FLUSH, ZEROS, FLUSH | ZEROS};
    run_all(contexts[0], &expected);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
        for (size_t c = 0; c < 2; c++) {
            const unsigned before = _mm_getcsr();
            _mm_setcsr(before | modes[m]);
            scan_ctx *created = context_with_threads(3); /* threads begin with their creator's modes */
            run_all(contexts[c], &got);
            const unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            compare("subnormals as zero");
            assert_int_equal(after & (FLUSH | ZEROS), modes[m]);
            run_all(created, &got);
            compare("subnormals as zero when the context was made");
            scan_ctx_destroy(created);
        }
}
#endif

static void rounding(void **state) {
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    run_all(contexts[0], &expected);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
        for (size_t c = 0; c < 2; c++) {
            assert_int_equal(fesetround(modes[m]), 0);
            run_all(contexts[c], &got);
            const int after = fegetround();
            fesetround(FE_TONEAREST);
            compare("another rounding");
            assert_int_equal(after, modes[m]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subnormals_count),
#if defined(__x86_64__)
        cmocka_unit_test(x86_modes),
#endif
        cmocka_unit_test(rounding),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
