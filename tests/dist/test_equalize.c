/* SPDX-License-Identifier: MIT
 *
 * scan_dist_equalize: every formula, type, number of channels and treatment of colour gives the bytes and tables of one
 * context on the whole image. (What tables are right, tests/unit/test_equalize.c says.)
 */
#include "dist_test.h"

enum { PIXELS = 2003 };

static uint16_t whole_in[4 * PIXELS], whole_out[4 * PIXELS], luts[3 * 65536], *own_luts;
static uint8_t *mask;

static void check(const dist_test *t, scan_equalize_desc desc, unsigned way, bool in_place, uint64_t *rng) {
    const size_t size = scan_type_size(desc.type), pixel = desc.channels * size;
    const uint64_t top = 1 + random_below(rng, size == 1 ? 256 : 65536);
    for (size_t i = 0; i < PIXELS * desc.channels; i++) {
        const uint64_t sample = random_below(rng, top);
        memcpy((char *)whole_in + i * size, &sample, size);
    }
    for (size_t i = 0; i < PIXELS; i++)
        mask[i] = (uint8_t)random_below(rng, 2);
    memset(luts, 0, sizeof luts);
    memset(own_luts, 0, sizeof luts);
    CHECK_STATUS(scan_equalize(t->whole, &desc, whole_in, whole_out, luts, PIXELS), SCAN_OK);

    const split s = make_split(t, way, PIXELS, rng);
    const size_t mine = share_of(t, &s), first = s.at[t->rank];
    char *in = copy_bytes((const char *)whole_in + first * pixel, mine * pixel);
    char *out = in_place ? in : make_bytes(mine * pixel);
    if (desc.mask)
        desc.mask = mask + first;
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, in, out, own_luts, mine), SCAN_OK);
    CHECK(memcmp(out, (const char *)whole_out + first * pixel, mine * pixel) == 0,
          "%s like %s, %u channels, color %d, split %u: pixels", scan_type_name(desc.type), scan_like_name(desc.like),
          desc.channels, (int)desc.color, way);
    CHECK(memcmp(own_luts, luts, sizeof luts) == 0, "%s like %s, %u channels, color %d, split %u: tables",
          scan_type_name(desc.type), scan_like_name(desc.like), desc.channels, (int)desc.color, way);
    if (!in_place)
        free_bytes(out);
    free_bytes(in);
}

static void errors(const dist_test *t) {
    const bool bad = t->rank == t->size - 1;
    const scan_status others = t->size > 1 ? SCAN_ERR_PEER : SCAN_OK;
    uint8_t in[16] = {1, 2, 3}, out[16];
    uint64_t bins[256];
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, bad ? NULL : in, out, NULL, 16), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, in, bad ? NULL : out, NULL, 16), bad ? SCAN_ERR_ARGUMENT : others);
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, in, bad ? in + 1 : out, NULL, 15), bad ? SCAN_ERR_OVERLAP : others);
    desc.bins_out = bins;
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, in, out, NULL, 16), SCAN_ERR_ARGUMENT);
    desc = (scan_equalize_desc){.struct_size = sizeof desc, .type = SCAN_F32};
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, in, out, NULL, 16), SCAN_ERR_TYPE);
    desc = (scan_equalize_desc){.struct_size = sizeof desc, .type = SCAN_U8, .like = bad ? SCAN_LIKE_VIPS : 0};
    CHECK_STATUS(scan_dist_equalize(t->comm, &desc, in, out, NULL, 16), t->size > 1 ? SCAN_ERR_ARGUMENT : SCAN_OK);
}

void test_equalize(const dist_test *t) {
    uint64_t rng = 41;
    own_luts = make_bytes(sizeof luts);
    mask = make_bytes(PIXELS);
    for (unsigned k = 0; k < 2 * 5 * 4; k++) {
        const scan_equalize_desc desc = {.struct_size = sizeof desc,
                                         .type = k % 2 ? SCAN_U16 : SCAN_U8,
                                         .like = (scan_like)(k / 2 % 5),
                                         .channels = 1 + k / 10,
                                         .color = (scan_color)random_below(&rng, 3),
                                         .mask = random_below(&rng, 3) ? NULL : mask};
        check(t, desc, (unsigned)random_below(&rng, SPLITS), random_below(&rng, 2), &rng);
    }
    if (!t->on_device)
        errors(t);
    free_bytes(own_luts);
    free_bytes(mask);
}
