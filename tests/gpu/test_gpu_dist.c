/* SPDX-License-Identifier: MIT
 *
 * The kernels of verbs over ranks (scan/dist/device.cu, halves.cu), on one device: totals of groups, beside the last
 * output of a scan of each group by serial loops; counts of keys up to probes, beside a loop over all keys; runs merged
 * from halves, beside a sort on the CPU.
 */
#include "prefix_reference.h"
#include "scan/dist/device.h"

static gpu_array d_in, d_memory;
static scan_dist_device *device;

static void open_device(void) {
    const char *failed = device ? NULL : scan_dist_device_open(&device, 0);
    if (failed)
        fail_msg("%s", failed);
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

static bool is_ordered(const scan_prefix_desc *d) { return prefix_rounds(d); }

static void check_totals(const scan_prefix_desc *d, size_t n, size_t offset, uint64_t seed) {
    const size_t in_size = scan_type_size(d->type), size = scan_type_size(d->out_type);
    const size_t group = ((size_t)1 << 20) / size, groups = n / group + (n % group != 0);
    char *in = malloc(n * in_size + 1), *out = malloc(group * size), *got = malloc(groups * size + 1);
    assert_true(in && out && got);
    prefix_fill(d->type, d->op, seed % 3 ? GPU_RANDOM : GPU_SPECIAL, in, n, seed);
    const void *d_from = gpu_put(&d_in, in, n, in_size, offset);
    void *memory = gpu_put(&d_memory, NULL, groups, 8, 0);
    gpu_ok(scan_ctx_sync(gpu));
    const char *failed = scan_dist_device_totals(device, d, d_from, n, memory, got);
    if (failed)
        fail_msg("%s", failed);
    for (size_t g = 0; g < groups; g++) {
        const size_t at = g * group, length = n - at < group ? n - at : group;
        prefix_reference(d, in + (d->reverse ? n - at - length : at) * in_size, out, length);
        const size_t last = d->reverse ? 0 : length - 1;
        if (prefix_difference(d, got + g * size, out + last * size, 1) == 0)
            fail_msg("%s to %s, %s, reverse %u, n %zu, offset %zu: group %zu", scan_type_name(d->type),
                     scan_type_name(d->out_type), scan_op_name(d->op), d->reverse, n, offset, g);
    }
    gpu_unchanged(&d_in, in);
    free(in);
    free(out);
    free(got);
}

/* The order of a last group with fewer elements is not that of scan.h. */
static void totals(void **state) {
    (void)state;
    gpu_need();
    open_device();
    uint64_t rng = 61;
    for (int type = 1; scan_type_name((scan_type)type); type++)
        for (int out_type = 1; scan_type_name((scan_type)out_type); out_type++)
            for (int op = 0; op < SCAN_OP_COUNT; op++) {
                scan_prefix_desc d = {.struct_size = sizeof d,
                                      .type = (scan_type)type,
                                      .out_type = (scan_type)out_type,
                                      .op = (scan_op)op,
                                      .reverse = (uint32_t)random_below(&rng, 2)};
                const size_t group = ((size_t)1 << 20) / scan_type_size(d.out_type);
                const size_t lengths[] = {2 * group, group, 3 * group};
                size_t n = lengths[gpu_is_small ? 1 : random_below(&rng, 3)];
                if (scan_prefix(cpu, &d, NULL, NULL, 0) != SCAN_OK)
                    continue;
                if (!is_ordered(&d))
                    n = gpu_is_small ? random_below(&rng, 5000) : n + random_below(&rng, group);
                if (gpu_is_small && is_ordered(&d) && random_below(&rng, 2))
                    continue;
                check_totals(&d, n, random_below(&rng, 3), random_u64(&rng));
            }
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static void check_counts(scan_type type, size_t n, uint64_t ranges, uint64_t *rng) {
    enum { SPLITTERS = 5 };
    const size_t size = scan_type_size(type), probes = (size_t)ranges - 1;
    const uint32_t bits = 8 * (uint32_t)size, begin = gpu_is_float(type) ? 0 : (uint32_t)random_below(rng, bits);
    const scan_dist_codes codes = {
        (uint32_t)size,      begin, bits, gpu_is_float(type), gpu_is_signed(type), random_below(rng, 2),
        random_below(rng, 2)};
    const scan_sort_desc order = {.struct_size = sizeof order,
                                  .type = type,
                                  .descending = codes.descending,
                                  .nan_first = codes.nan_first,
                                  .begin_bit = begin,
                                  .end_bit = bits};
    char *keys = malloc(n * size + 1);
    uint64_t *got = malloc(SPLITTERS * probes * sizeof *got);
    assert_true(keys && got);
    gpu_fill(type, random_below(rng, 2) ? GPU_SPECIAL : GPU_FEW, keys, n, random_u64(rng));
    cpu_ok(scan_sort(cpu, &order, keys, keys, NULL, NULL, n));
    scan_dist_splitter splitters[SPLITTERS];
    for (int s = 0; s < SPLITTERS; s++) {
        const uint64_t all = ~UINT64_C(0) >> (64 - (bits - begin)), low = random_u64(rng) & all;
        splitters[s] = (scan_dist_splitter){0, s ? low : 0, all, 0, n};
    }
    const void *d_keys = gpu_put(&d_in, keys, n, size, random_below(rng, 3));
    void *memory = gpu_put(&d_memory, NULL, scan_dist_device_count_bytes(SPLITTERS, ranges), 1, 0);
    gpu_ok(scan_ctx_sync(gpu));
    const char *failed = scan_dist_device_counts(device, &codes, d_keys, splitters, SPLITTERS, ranges, memory, got);
    if (failed)
        fail_msg("%s", failed);
    gpu_get(&d_memory, NULL);
    for (size_t i = 0; i < SPLITTERS * probes; i++) {
        const uint64_t probe = scan_dist_probe(&splitters[i / probes], i % probes, ranges);
        size_t count = 0;
        for (size_t k = 0; k < n; k++) {
            uint64_t key = 0;
            memcpy(&key, keys + k * size, size);
            count += scan_dist_code(&codes, key) <= probe;
        }
        if (got[i] != count)
            fail_msg("%s, n %zu: probe %zu: %zu, not %zu", scan_type_name(type), n, i, (size_t)got[i], count);
    }
    free(keys);
    free(got);
}

static void counts(void **state) {
    (void)state;
    gpu_need();
    open_device();
    uint64_t rng = 67;
    for (int type = 1; scan_type_name((scan_type)type); type++) {
        check_counts((scan_type)type, random_below(&rng, 300), 16, &rng);
        check_counts((scan_type)type, 0, 2, &rng);
    }
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

static gpu_array d_keys[2], d_values[2], d_low[2], d_begins[2], d_keys_out, d_values_out;

/* which: the runs that are halved, a bit each. Upper halves from 3 to 3 + count - 1. */
static void check_halves(scan_type type, const size_t *n, unsigned which, uint32_t value_bytes, uint32_t count,
                         uint64_t *rng) {
    const size_t all = n[0] + n[1];
    const uint32_t descending = (uint32_t)random_below(rng, 2), sign = type == SCAN_I32 ? 1u << 31 : 0;
    const uint32_t flip = sign ^ (descending ? ~0u : 0);
    const scan_dist_codes codes = {4, 0, 32, false, type == SCAN_I32, descending, false};
    const scan_sort_desc order = {
        .struct_size = sizeof order, .type = type, .descending = descending, .value_bytes = value_bytes};
    const scan_sort_desc alone = {.struct_size = sizeof alone, .type = type, .descending = descending};
    uint32_t *keys = malloc(all * 4 + 1), *got = malloc(all * 4 + 1);
    char *values = malloc(all * 8 + 1), *moved = malloc(all * 8 + 1);
    assert_true(keys && got && values && moved);
    for (size_t i = 0; i < all; i++) {
        const uint64_t any = random_u64(rng);
        keys[i] = ((3 + (uint32_t)(any % count)) << 16 | (uint32_t)(any >> 32 & (any & 1 << 20 ? 0xffff : 3))) ^ flip;
        memcpy(values + i * value_bytes, &i, value_bytes);
    }
    scan_dist_run runs[2];
    for (int r = 0; r < 2; r++) {
        uint32_t *own = keys + (r ? n[0] : 0);
        cpu_ok(scan_sort(cpu, &alone, own, own, NULL, NULL, n[r]));
        runs[r] = (scan_dist_run){.n = n[r]};
        runs[r].keys = gpu_put(&d_keys[r], own, n[r], 4, random_below(rng, 3));
        if (value_bytes)
            runs[r].values = gpu_put(&d_values[r], values + (r ? n[0] : 0) * value_bytes, n[r], value_bytes, 0);
        const size_t words = (n[r] * 2 + SCAN_DIST_HALVES_ALIGN - 1) / SCAN_DIST_HALVES_ALIGN;
        runs[r].halves =
            (scan_dist_halves){gpu_put(&d_low[r], NULL, words, SCAN_DIST_HALVES_ALIGN, random_below(rng, 3)),
                               gpu_put(&d_begins[r], NULL, count, 4, 0), 3, count};
    }
    void *out = gpu_put(&d_keys_out, NULL, all, 4, random_below(rng, 3));
    void *values_out = value_bytes ? gpu_put(&d_values_out, NULL, all, value_bytes, 0) : NULL;
    void *memory = gpu_put(&d_memory, NULL, scan_dist_device_merge_bytes(all), 1, 0);
    gpu_ok(scan_ctx_sync(gpu));
    const char *failed = NULL;
    for (int r = 0; r < 2 && !failed; r++) {
        if (which >> r & 1)
            failed = scan_dist_device_halve(device, &codes, runs[r].keys, n[r], runs[r].halves);
        else
            runs[r].halves.low = NULL;
    }
    failed = failed ? failed
                    : scan_dist_device_merge(device, &codes, value_bytes, &runs[0], &runs[1], out, values_out, memory);
    failed = failed ? failed : scan_dist_device_wait(device);
    if (failed)
        fail_msg("%s", failed);
    cpu_ok(scan_sort(cpu, &order, keys, keys, value_bytes ? values : NULL, value_bytes ? moved : NULL, all));
    gpu_get(&d_keys_out, got);
    if (memcmp(got, keys, all * 4) != 0)
        fail_msg("%s, n %zu and %zu, halved %u: keys", scan_type_name(type), n[0], n[1], which);
    if (value_bytes) {
        gpu_get(&d_values_out, values);
        if (memcmp(values, moved, all * value_bytes) != 0)
            fail_msg("%s, n %zu and %zu, halved %u: values", scan_type_name(type), n[0], n[1], which);
    }
    gpu_get(&d_memory, NULL);
    for (int r = 0; r < 2; r++) {
        gpu_get(&d_low[r], NULL);
        gpu_get(&d_begins[r], NULL);
    }
    free(keys);
    free(got);
    free(values);
    free(moved);
}

static void halves(void **state) {
    (void)state;
    gpu_need();
    open_device();
    uint64_t rng = 71;
    for (unsigned i = 0; i < 48; i++) {
        const size_t most = i % 4 ? 3000 : 60000,
                     n[2] = {i % 7 ? random_below(&rng, most) : 0, random_below(&rng, most)};
        const uint32_t counts_of[] = {1, 2, 300, 20000};
        check_halves(i % 2 ? SCAN_U32 : SCAN_I32, n, 1 + i % 3, 4 * (i / 3 % 3), counts_of[random_below(&rng, 4)],
                     &rng);
    }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {GPU_TEST(GPU_MATRIX | GPU_SMALL, totals), GPU_TEST(GPU_MATRIX | GPU_SMALL, counts),
                                     GPU_TEST(GPU_MATRIX | GPU_SMALL, halves)};
    const int result = gpu_main("gpu_dist", tests, sizeof tests / sizeof tests[0], argc, argv);
    scan_dist_device_close(device);
    return result;
}
