/* SPDX-License-Identifier: MIT
 *
 * scan_dist_histogram: the counts of loops that know nothing of the library, on every rank.
 */
#include "dist_test.h"

enum { PIXELS = 3001, MAX_CHANNELS = 4 };

static uint16_t words[PIXELS * MAX_CHANNELS];
static uint8_t bytes[PIXELS * MAX_CHANNELS], mask[PIXELS];
static uint64_t *bins, expected[MAX_CHANNELS << 16];

static void check(const dist_test *t, scan_type type, uint32_t channels, bool masked, unsigned way, uint64_t *rng) {
    const size_t count = type == SCAN_U8 ? 256 : 65536, size = scan_type_size(type);
    memset(expected, 0, sizeof expected);
    memset(bins, 0xff, sizeof expected);
    for (size_t i = 0; i < PIXELS; i++) {
        mask[i] = random_below(rng, 3) ? (uint8_t)random_u64(rng) : 0;
        for (uint32_t c = 0; c < channels; c++) {
            const uint64_t sample = random_below(rng, i % 2 ? 65536 : 300);
            const size_t k = i * channels + c;
            words[k] = (uint16_t)sample;
            bytes[k] = (uint8_t)sample;
            if (!masked || mask[i])
                expected[c * count + (size == 1 ? bytes[k] : words[k])]++;
        }
    }
    const split s = make_split(t, way, PIXELS, rng);
    const size_t mine = share_of(t, &s), first = s.at[t->rank];
    const char *samples = type == SCAN_U8 ? (const char *)bytes : (const char *)words;
    char *in = copy_bytes(samples + first * channels * size, mine * channels * size);
    uint8_t *own_mask = copy_bytes(mask + first, mine);
    const scan_histogram_desc desc = {
        .struct_size = sizeof desc, .type = type, .channels = channels, .mask = masked ? own_mask : NULL};
    CHECK_STATUS(scan_dist_histogram(t->comm, &desc, in, bins, mine), SCAN_OK);
    for (size_t b = 0; b < channels * count; b++)
        CHECK(bins[b] == expected[b], "%s, %u channels, mask %d, split %u: bin %zu", scan_type_name(type), channels,
              masked, way, b);
    free_bytes(in);
    free_bytes(own_mask);
}

static void errors(const dist_test *t) {
    const bool bad = t->rank == 0;
    const scan_status others = t->size > 1 ? SCAN_ERR_PEER : SCAN_OK;
    scan_histogram_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    CHECK_STATUS(scan_dist_histogram(t->comm, &desc, bytes, bad ? NULL : bins, 4), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_histogram(t->comm, bad ? NULL : &desc, bytes, bins, 4), bad ? SCAN_ERR_ARGUMENT : others);
    desc.n_device = bins;
    CHECK_STATUS(scan_dist_histogram(t->comm, &desc, bytes, bins, 4), SCAN_ERR_OVERLAP);
    desc = (scan_histogram_desc){.struct_size = sizeof desc, .type = SCAN_U32};
    CHECK_STATUS(scan_dist_histogram(t->comm, &desc, bytes, bins, 4), SCAN_ERR_TYPE);
    desc = (scan_histogram_desc){.struct_size = sizeof desc, .type = bad ? SCAN_U8 : SCAN_U16};
    CHECK_STATUS(scan_dist_histogram(t->comm, &desc, words, bins, 4), t->size > 1 ? SCAN_ERR_ARGUMENT : SCAN_OK);
}

void test_histogram(const dist_test *t) {
    uint64_t rng = 3;
    bins = make_bytes(sizeof expected);
    for (unsigned way = 0; way < 2 * SPLITS; way++) {
        check(t, SCAN_U8, 1 + way % MAX_CHANNELS, way % 2, way, &rng);
        check(t, SCAN_U16, 1 + way % MAX_CHANNELS, way % 3 == 0, way, &rng);
    }
    if (!t->on_device)
        errors(t);
    free_bytes(bins);
}
