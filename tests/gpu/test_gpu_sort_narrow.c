/* SPDX-License-Identifier: MIT
 *
 * Keys alone that the device counts. Those that vary in few bits (narrow.cuh) against keys counted here: how many bits
 * and where, both directions, in place, counts on the device, codes that many keys have and codes that none has, both
 * sides of every limit. And those of one and two bytes (fill.cuh).
 */

#include "gpu_sort.h"

/* narrow_counted_bits, and so on up to where keys are too few for their codes (narrow_copies, narrow_least);
 * fill_words_least. */
enum {
    COUNTED_BITS = GPU_EMULATED ? 9 : 12,
    MAX_BITS = COUNTED_BITS + 8,
    COPIES = GPU_EMULATED ? 1 : 64,
    MIN_N = GPU_EMULATED ? 9000 : 1 << 24,
    FILL_MIN_N = GPU_EMULATED ? 9000 : 3 << 21
};

enum shape {
    EVEN,
    SKEWED,   /* half of the keys in the lower half of the bits, and so on */
    ENDS,     /* the first code and the last, and one between for a few keys */
    FEW,      /* of 64 codes */
    RARE,     /* all codes, by one key in 512; the others have one */
    ROUND,    /* the lowest byte is 0 */
    GAP,      /* the second byte is 0 */
    STRANGER, /* one key differs from the others in another bit */
    SHAPES
};

typedef struct narrow_keys {
    sort_call call;
    uint32_t bits, shift;
    enum shape shape;
} narrow_keys;

/* The code of a drawn key. few: from which the 64 codes of FEW are made. */
static uint64_t draw_code(const narrow_keys *k, uint64_t few) {
    const uint64_t codes = (uint64_t)1 << k->bits, last = codes - 1;
    if (k->shape == ENDS)
        return random_below(&rng, 256) == 0 ? last / 3 : random_bool(&rng) ? last : 0;
    if (k->shape == FEW)
        return random_mix(few + random_below(&rng, 64)) & last;
    const uint64_t code = random_below(&rng, codes);
    switch (k->shape) {
    case SKEWED: return code >> random_below(&rng, k->bits);
    case RARE: return random_below(&rng, 512) ? last / 2 : code;
    case ROUND: return code & ~(uint64_t)0xff;
    case GAP: return code & ~(uint64_t)0xff00;
    default: return code;
    }
}

/* Fills `keys`, and `want` with the same in order. */
static void count_keys(const narrow_keys *k) {
    const sort_case *order = &k->call.order;
    const uint32_t width = type_bits(order->type);
    const uint64_t all = ~(uint64_t)0 >> (64 - width), codes = (uint64_t)1 << k->bits,
                   flip =
                       (order->descending ? all : 0) ^ (type_is_signed(order->type) ? (uint64_t)1 << (width - 1) : 0),
                   rest = random_u64(&rng) & all & ~((codes - 1) << k->shift), first = random_below(&rng, k->call.n);
    const bool stranger = k->shape == STRANGER;
    size_t *count = calloc(codes, sizeof *count), at = 0;
    assert_non_null(count);
    const uint64_t few = random_u64(&rng),
                   strange = rest ^ (uint64_t)1 << (k->shift ? k->shift - 1 : k->shift + k->bits);
    for (size_t i = 0; i < k->call.n; i++) {
        if (stranger && i == first) {
            set_key_bits(keys, i, order->type, strange ^ flip);
            continue;
        }
        const uint64_t code = draw_code(k, few);
        count[code]++;
        set_key_bits(keys, i, order->type, (code << k->shift | rest) ^ flip);
    }
    bool placed = !stranger;
    for (uint64_t code = 0; code < codes; code++) {
        const uint64_t key = code << k->shift | rest;
        for (size_t copies = 0; copies < count[code]; copies++) {
            if (!placed && strange < key) {
                set_key_bits(want, at++, order->type, strange ^ flip);
                placed = true;
            }
            set_key_bits(want, at++, order->type, key ^ flip);
        }
    }
    if (!placed)
        set_key_bits(want, at++, order->type, strange ^ flip);
    free(count);
    assert_int_equal(at, k->call.n);
}

static void check_narrow(const narrow_keys *k) {
    const sort_call *c = &k->call;
    const size_t size = scan_type_size(c->order.type);
    make_room(c->bound);
    count_keys(k);
    memset(keys + c->n * size, GPU_ZONE_BYTE, (c->bound - c->n) * size);
    memset(want + c->n * size, GPU_ZONE_BYTE, (c->bound - c->n) * size);
    const scan_sort_desc d = desc_of(c);
    const void *in = c->keys_in_place ? NULL : gpu_put(&d_keys_in, keys, c->bound, size, c->offset[0]);
    void *out = gpu_put(&d_keys_out, c->keys_in_place ? keys : NULL, c->bound, size, c->offset[1]);
    gpu_ok(scan_sort(gpu, &d, in ? in : out, out, NULL, NULL, c->bound));
    compare(c, &d_keys_out, "key", size);
    if (in)
        gpu_unchanged(&d_keys_in, keys);
}

static narrow_keys draw_narrow(uint32_t bits, size_t n) {
    static const scan_type types[] = {SCAN_U32, SCAN_I32, SCAN_U64, SCAN_I64};
    const scan_type type = types[random_below(&rng, 4)];
    const uint32_t width = type_bits(type);
    narrow_keys k = {.bits = bits, .shape = (enum shape)random_below(&rng, SHAPES)};
    if (random_bool(&rng)) {
        const uint32_t unit = random_bool(&rng) ? 8 : 1;
        k.shift = (uint32_t)random_below(&rng, 16) * unit;
    }
    if (k.shift + bits >= width)
        k.shift = width - 1 - bits;
    /* AUTO sorts few keys by a cluster. */
    k.call = (sort_call){.order = ascending(type), .method = SCAN_SORT_RADIX, .n = n, .bound = n, .data = (int)k.shape};
    k.call.order.descending = random_bool(&rng);
    if (random_bool(&rng))
        k.call.bound += random_below(&rng, 8);
    k.call.keys_in_place = random_bool(&rng);
    const bool aligned = random_bool(&rng);
    for (int i = 0; i < 2; i++)
        k.call.offset[i] = aligned ? 0 : random_below(&rng, OFFSETS);
    return k;
}

/* n on both sides of the minimum for the bits. */
static void few_bits(void **state) {
    (void)state;
    gpu_need();
    const bool fewer = gpu_is_small && !GPU_EMULATED;
    const uint32_t step = gpu_is_racecheck ? 9 : fewer ? 6 : 1, max_bits = fewer ? 18 : MAX_BITS + 1;
    int shape = 0;
    for (uint32_t bits = step; bits <= max_bits; bits += step) {
        const size_t min_n = (size_t)COPIES << bits > MIN_N ? (size_t)COPIES << bits : MIN_N;
        for (int round = 0; round < (gpu_is_small ? 2 : 3); round++) {
            size_t n = min_n / 2;
            if (bits <= MAX_BITS) {
                n = min_n - random_below(&rng, 2);
                if (random_bool(&rng))
                    n += random_below(&rng, 256);
            }
            narrow_keys k = draw_narrow(bits, n);
            k.shape = (enum shape)(shape++ % SHAPES);
            k.call.data = (int)k.shape;
            check_narrow(&k);
        }
    }
}

/* The count on the device is less than the call's n, and too small for the codes. */
static void fewer_than_said(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 1 : 8); round++) {
        const uint32_t bits = COUNTED_BITS + (uint32_t)random_below(&rng, 3);
        const size_t codes = (size_t)1 << bits, bound = COPIES * codes > MIN_N ? COPIES * codes : MIN_N;
        narrow_keys k = draw_narrow(bits, round ? COPIES * codes - (size_t)round : 1 + codes / 2);
        k.call.bound = bound + (round & 1);
        if (k.call.n < bound)
            check_narrow(&k);
    }
}

/* Other sorts before and after on the same workspace: no count is left over. */
static void alternating(void **state) {
    (void)state;
    gpu_need();
    for (int round = 0; round < (gpu_is_racecheck ? 2 : 6); round++) {
        if (round % 2) {
            const sort_case order = drawn_order(SCAN_U32);
            check_array(&order, SCAN_SORT_RADIX, gpu_is_small ? 20000 : 300000, 0, 1);
        } else {
            const narrow_keys k = draw_narrow(COUNTED_BITS + 1, (size_t)MIN_N + 70001);
            check_narrow(&k);
        }
    }
}

/* Captured once, replayed on keys that are counted and on others. */
static void captured(void **state) {
    (void)state;
    gpu_need();
    const size_t n = (size_t)MIN_N + 5000;
    captured_sort c = capture_sort(SCAN_U32, SCAN_SORT_RADIX, n);
    for (int round = 0; round < (gpu_is_racecheck ? 1 : 4); round++) {
        const sort_case order = {SCAN_U32, false, false, 0, 32};
        narrow_keys k = draw_narrow(COUNTED_BITS + 1, n - (size_t)round * 2000);
        if (round % 2) {
            fill(keys, k.call.n, SCAN_U32, data_uniform, random_u64(&rng));
        } else {
            k.call.order = order;
            k.shift = 0;
            count_keys(&k);
        }
        expect(k.call.n, &order);
        replay_sort(&c, k.call.n, 2, round);
    }
    release_sort(&c);
}

/* Both sides of where 2-byte keys are many enough. */
static void bytes_and_words(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U16, SCAN_I16, SCAN_U8, SCAN_I8};
    for (int round = 0; round < (gpu_is_racecheck ? 1 : 24); round++) {
        const sort_case order = drawn_order(types[round % 4]);
        const size_t n = (size_t)(FILL_MIN_N + (round / 4 + 1) % 3 - 1);
        make_room(n + 8);
        fill(keys, n, order.type, distributions[round < 12 ? 0 : drawn_data()], random_u64(&rng));
        const uint64_t one = random_u64(&rng);
        for (size_t i = 0; round % 8 >= 4 && i < n; i++) /* few keys of all codes, and very many of one */
            if (random_below(&rng, 512))
                set_key_bits(keys, i, order.type, one);
        expect(n, &order);
        sort_call c = {.order = order, .method = SCAN_SORT_RADIX, .n = n, .bound = n + random_below(&rng, 4)};
        c.keys_in_place = random_bool(&rng);
        c.offset[0] = random_below(&rng, OFFSETS);
        c.offset[1] = random_below(&rng, OFFSETS);
        run_sort(&c);
    }
}

int main(int argc, char **argv) {
    setenv("SCAN_EMULATED_CLUSTER", "2", 0);
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, few_bits),        GPU_TEST(GPU_MATRIX | GPU_SMALL, fewer_than_said),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, alternating),     GPU_TEST(GPU_MATRIX | GPU_SMALL, captured),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, bytes_and_words),
    };
    int result = gpu_main("gpu_sort_narrow", tests, sizeof tests / sizeof tests[0], argc, argv);
    drop_room();
    return result;
}
