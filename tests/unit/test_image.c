/* SPDX-License-Identifier: MIT
 *
 * Image files in memory that ends at a guard page: the PNM reader, the structure checks, the writers, and the decoder
 * with its arena, here without its sandbox.
 *
 * Not with ThreadSanitizer: one thread.
 */
#include <stdio.h>

#include "apps/equalize/decode.h"
#include "apps/equalize/orientation.h"
#include "apps/equalize/pnm.h"
#include "apps/equalize/probe.h"
#include "apps/equalize/save.h"
#include "apps/support/die.h"
#include "support.h"

static image_header header_of(uint32_t width, uint32_t height, uint32_t channels, uint32_t depth) {
    return (image_header){.width = width, .height = height, .channels = channels, .depth = depth};
}

static void fill(uint64_t *seed, void *pixels, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)pixels)[i] = (uint8_t)(random_u64(seed) >> 32);
}

static image_file encoded(image_format format, const image_header *header, const void *pixels) {
    image_file file = {0};
    image_error error;
    assert_true(image_encode("test", format, header, pixels, &(image_profile){0}, 95, &file, &error));
    return file;
}

/* ---- PNM --------------------------------------------------------------------------------------------------------- */

/* Reads bytes[0 ... n-1] where byte n faults; for odd n byte n + 1, because the start is aligned. */
static bool read_guarded(guarded room, const void *bytes, size_t n, image_header *header, uint8_t **pixels,
                         image_error *error) {
    uint8_t *file = guarded_end(room, (n + 1) & ~(size_t)1);
    memcpy(file, bytes, n);
    return pnm_read("test", file, n, header, pixels, error);
}

static void pnm_round_trip(void **state) {
    (void)state;
    uint64_t seed = 1;
    guarded room = guarded_create(1 << 16);
    for (uint32_t width = 1; width <= 33; width += 4)
        for (uint32_t depth = 8; depth <= 16; depth += 8)
            for (uint32_t channels = 1; channels <= 3; channels += 2) {
                image_header header = header_of(width, 7, channels, depth), got;
                uint8_t samples[33 * 7 * 3 * 2], *pixels;
                image_error error;
                fill(&seed, samples, sizeof samples);
                image_file file = encoded(channels == 1 ? IMAGE_PGM : IMAGE_PPM, &header, samples);
                assert_true(read_guarded(room, file.data, file.bytes, &got, &pixels, &error));
                assert_int_equal(got.width, width);
                assert_int_equal(got.height, 7);
                assert_int_equal(got.channels, channels);
                assert_int_equal(got.depth, depth);
                assert_memory_equal(pixels, samples, image_bytes(&header));
                for (size_t cut = 0; cut < file.bytes; cut++) {
                    assert_false(read_guarded(room, file.data, cut, &got, &pixels, &error));
                    assert_int_equal(error.code, EXIT_USAGE);
                }
                free(file.data);
            }
    guarded_destroy(room);
}

/* Text that is nearly a header: where it is accepted, the samples must lie inside the file. */
static void pnm_nonsense(void **state) {
    (void)state;
    static const char *const words[] = {"P5 ",
                                        "P6 ",
                                        "P2 ",
                                        "P3 ",
                                        "1 ",
                                        "2 ",
                                        "3 ",
                                        "1\n",
                                        "255 ",
                                        "256 ",
                                        "7 ",
                                        "0 ",
                                        "#x\n",
                                        "\n",
                                        "65535 ",
                                        "99",
                                        "-1 ",
                                        "1.5 ",
                                        "4294967295 ",
                                        "4294967296 ",
                                        "\t",
                                        "\r",
                                        "#",
                                        "abc",
                                        "P",
                                        "\x01",
                                        "\xff",
                                        "65536 ",
                                        "18446744073709551616 "};
    uint64_t seed = 2;
    guarded room = guarded_create(4096);
    int accepted = 0;
    for (int round = 0; round < 300000; round++) {
        char text[256] = "";
        size_t n = 0;
        for (uint64_t k = random_u64(&seed) % 14 + (round % 2 ? 1 : 0); k > 0; k--) {
            uint64_t any = random_u64(&seed), few = random_u64(&seed) % 8;
            const char *word = words[n == 0 ? any % 4 : few ? 4 + any % 8 : any % (sizeof words / sizeof words[0])];
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", word);
        }
        image_header header;
        image_error error;
        uint8_t *pixels, *file = guarded_end(room, (n + 1) & ~(size_t)1);
        if (read_guarded(room, text, n, &header, &pixels, &error)) {
            accepted++;
            assert_true(pixels >= file && pixels + image_bytes(&header) <= file + n);
        }
    }
    assert_true(accepted > 100);
    guarded_destroy(room);
}

static void pnm_scales_to_the_full_range(void **state) {
    (void)state;
    for (uint32_t maxval = 1; maxval <= 65535; maxval = maxval < 300 ? maxval + 1 : maxval * 2 - 7) {
        _Alignas(2) uint8_t file[64];
        image_header header;
        image_error error;
        uint8_t *pixels;
        int n = snprintf((char *)file, sizeof file, "P2 3 1 %u 0 %u %u", maxval, maxval / 2, maxval);
        assert_true(pnm_read("test", file, (size_t)n, &header, &pixels, &error));
        uint32_t full = maxval > 255 ? 65535 : 255, got[3];
        for (int i = 0; i < 3; i++)
            got[i] = full == 255 ? pixels[i] : ((uint16_t *)(void *)pixels)[i];
        assert_int_equal(got[0], 0);
        assert_int_equal(got[1], ((uint64_t)(maxval / 2) * full + maxval / 2) / maxval);
        assert_int_equal(got[2], full);
    }
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static image_file sample_file(int which) {
    static const struct {
        image_format format;
        image_header header;
    } samples[] = {{IMAGE_PNG, {.width = 23, .height = 11, .channels = 3, .depth = 8}},
                   {IMAGE_PNG, {.width = 9, .height = 20, .channels = 2, .depth = 16}},
                   {IMAGE_JPEG, {.width = 30, .height = 17, .channels = 1, .depth = 8}},
                   {IMAGE_JPEG, {.width = 19, .height = 21, .channels = 3, .depth = 8}}};
    uint64_t seed = 3;
    uint8_t pixels[23 * 20 * 4];
    fill(&seed, pixels, sizeof pixels);
    return encoded(samples[which].format, &samples[which].header, pixels);
}

static void probe_every_prefix(void **state) {
    (void)state;
    guarded room = guarded_create(1 << 16);
    for (int which = 0; which < 4; which++) {
        image_file file = sample_file(which);
        image_header header;
        image_error error;
        for (size_t n = 0; n <= file.bytes; n++) {
            uint8_t *copy = guarded_end(room, n);
            memcpy(copy, file.data, n);
            assert_int_equal(probe_image("test", copy, n, &header, &error), n == file.bytes);
        }
        free(file.data);
    }
    guarded_destroy(room);
}

static void probe_damaged(void **state) {
    (void)state;
    uint64_t seed = 4;
    guarded room = guarded_create(1 << 16);
    for (int which = 0; which < 4; which++) {
        image_file file = sample_file(which);
        for (int round = 0; round < 20000; round++) {
            image_header header;
            image_error error;
            size_t n = round % 3 ? file.bytes : random_u64(&seed) % (file.bytes + 1);
            uint8_t *copy = guarded_end(room, n);
            memcpy(copy, file.data, n);
            for (uint64_t k = random_u64(&seed) % 6 + 1; n && k > 0; k--)
                copy[random_u64(&seed) % (round % 2 && n > 64 ? 64 : n)] = (uint8_t)random_u64(&seed);
            if (probe_image("test", copy, n, &header, &error) && header.channels) {
                assert_in_range(header.width, 1, IMAGE_MAX_SIDE);
                assert_in_range(header.height, 1, IMAGE_MAX_SIDE);
                assert_true(image_bytes(&header) <= IMAGE_MAX_BYTES);
            }
        }
        free(file.data);
    }
    guarded_destroy(room);
}

/* ---- the decoder and its arena ----------------------------------------------------------------------------------- */

/* The job's pixels end at a guard page, aligned like memory of malloc, and so does the arena. */
static decode_state decode(guarded shared, guarded arena, const image_header *header, const image_file *file,
                           size_t arena_bytes, uint8_t **pixels) {
    size_t pixel_bytes = (image_bytes(header) + DECODE_PIXEL_MORE + 15) / 16 * 16;
    size_t room = (sizeof(decode_job) + file->bytes + 63) / 16 * 16;
    decode_job *job = (decode_job *)(((uintptr_t)guarded_end(shared, room + pixel_bytes)) & ~(uintptr_t)15);
    *pixels = guarded_end(shared, pixel_bytes);
    *job = (decode_job){.header = *header,
                        .file_at = sizeof *job,
                        .file_bytes = file->bytes,
                        .pixels_at = (size_t)(*pixels - (uint8_t *)job),
                        .arena_bytes = arena_bytes};
    memset(*pixels, 0, pixel_bytes);
    memcpy(job + 1, file->data, file->bytes);
    decode_run(job, arena.memory + (arena.bytes - arena_bytes));
    return (decode_state)job->state;
}

static void decoder_round_trip_and_small_arenas(void **state) {
    (void)state;
    guarded shared = guarded_create(1 << 18), arena = guarded_create(4 << 20);
    for (int which = 0; which < 2; which++) {
        image_file file = sample_file(which);
        image_header header;
        image_error error;
        uint8_t *pixels, expected[23 * 20 * 4];
        uint64_t seed = 3;
        fill(&seed, expected, sizeof expected);
        assert_true(probe_image("test", file.data, file.bytes, &header, &error));
        size_t enough = decode_arena_bytes(&header, file.bytes) / 16 * 16;
        memset(arena.memory, 0, arena.bytes);
        assert_int_equal(decode(shared, arena, &header, &file, enough, &pixels), DECODE_DONE);
        assert_memory_equal(pixels, expected, image_bytes(&header));
        int done = 0, starved = 0;
        for (size_t bytes = 0; bytes < 8192; bytes += 16) {
            memset(arena.memory, 0, arena.bytes);
            decode_state end = decode(shared, arena, &header, &file, bytes, &pixels);
            assert_true(end == DECODE_DONE || end == DECODE_NO_MEMORY);
            done += end == DECODE_DONE;
            starved += end == DECODE_NO_MEMORY;
        }
        assert_true(starved > 10 && done > 10);
        free(file.data);
    }
    guarded_destroy(shared);
    guarded_destroy(arena);
}

/* The arena holds the filtered rows; there is no room for the pixels, too. */
static void decoder_has_one_place_for_pixels(void **state) {
    (void)state;
    enum { WIDTH = 500, HEIGHT = 400, ARENA = WIDTH * HEIGHT * 3 / 2 };
    guarded shared = guarded_create(1 << 19), arena = guarded_create(1 << 19);
    image_header header = {.width = WIDTH, .height = HEIGHT, .channels = 1, .depth = 8};
    image_error error;
    uint8_t *grey = malloc(WIDTH * HEIGHT), *pixels;
    assert_non_null(grey);
    memset(grey, 77, WIDTH * HEIGHT);
    image_file file = encoded(IMAGE_PNG, &header, grey);
    assert_true(probe_image("test", file.data, file.bytes, &header, &error));
    memset(arena.memory, 0, arena.bytes);
    assert_int_equal(decode(shared, arena, &header, &file, ARENA, &pixels), DECODE_DONE);
    assert_memory_equal(pixels, grey, WIDTH * HEIGHT);
    free(grey);
    free(file.data);
    guarded_destroy(shared);
    guarded_destroy(arena);
}

static void decoder_disagrees_with_header(void **state) {
    (void)state;
    guarded shared = guarded_create(1 << 18), arena = guarded_create(4 << 20);
    image_file file = sample_file(0);
    image_header header;
    image_error error;
    uint8_t *pixels;
    assert_true(probe_image("test", file.data, file.bytes, &header, &error));
    for (int change = 0; change < 3; change++) {
        image_header wrong = header;
        *(change == 0 ? &wrong.width : change == 1 ? &wrong.height : &wrong.channels) -= 1;
        memset(arena.memory, 0, arena.bytes);
        assert_int_equal(decode(shared, arena, &wrong, &file, 1 << 20, &pixels), DECODE_REFUSED);
    }
    free(file.data);
    guarded_destroy(shared);
    guarded_destroy(arena);
}

/* ---- orientation, names ------------------------------------------------------------------------------------------ */

static void orientations(void **state) {
    (void)state;
    for (uint32_t orientation = 0; orientation <= 9; orientation++) {
        image img;
        image_error error;
        image_header header = header_of(67, 41, 3, 8);
        header.orientation = orientation;
        assert_true(image_new("test", &header, &img, &error));
        uint8_t *p = img.pixels;
        for (uint32_t y = 0; y < 41; y++)
            for (uint32_t x = 0; x < 67; x++, p += 3)
                memcpy(p, (uint8_t[]){(uint8_t)x, (uint8_t)y, 7}, 3);
        assert_true(image_upright("test", &img, &error));
        uint32_t w = img.header.width, h = img.header.height;
        assert_int_equal(w, orientation >= 5 && orientation <= 8 ? 41 : 67);
        p = img.pixels;
        for (uint32_t y = 0; y < h; y++)
            for (uint32_t x = 0; x < w; x++, p += 3) {
                uint32_t from_x = x, from_y = y;
                switch (orientation) {
                case 2: from_x = 66 - x; break;
                case 3: from_x = 66 - x, from_y = 40 - y; break;
                case 4: from_y = 40 - y; break;
                case 5: from_x = y, from_y = x; break;
                case 6: from_x = y, from_y = 40 - x; break;
                case 7: from_x = 66 - y, from_y = 40 - x; break;
                case 8: from_x = 66 - y, from_y = x; break;
                }
                assert_int_equal(p[0], from_x);
                assert_int_equal(p[1], from_y);
            }
        image_free(&img);
    }
}

static void formats_of_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t channels;
        image_format format;
    } cases[] = {{"a.png", 1, IMAGE_PNG},   {"a.PNG", 4, IMAGE_PNG},     {"x/y.z/a.jpg", 3, IMAGE_JPEG},
                 {"a.JpEg", 1, IMAGE_JPEG}, {"a.pgm", 3, IMAGE_PGM},     {"a.ppm", 1, IMAGE_PPM},
                 {"a.pnm", 1, IMAGE_PGM},   {"a.pnm", 3, IMAGE_PPM},     {".png", 1, IMAGE_PNG},
                 {"a", 1, IMAGE_NONE},      {"a.png/b", 1, IMAGE_NONE},  {"a.", 1, IMAGE_NONE},
                 {"", 1, IMAGE_NONE},       {"png", 1, IMAGE_NONE},      {"a.pngx", 1, IMAGE_NONE},
                 {"a.jp", 1, IMAGE_NONE},   {"a.png.gif", 1, IMAGE_NONE}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        image_format format = IMAGE_NONE;
        image_error error;
        assert_int_equal(image_format_of_name(cases[k].name, cases[k].channels, &format, &error),
                         cases[k].format != IMAGE_NONE);
        assert_int_equal(format, cases[k].format);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pnm_round_trip),
        cmocka_unit_test(pnm_nonsense),
        cmocka_unit_test(pnm_scales_to_the_full_range),
        cmocka_unit_test(probe_every_prefix),
        cmocka_unit_test(probe_damaged),
        cmocka_unit_test(decoder_round_trip_and_small_arenas),
        cmocka_unit_test(decoder_has_one_place_for_pixels),
        cmocka_unit_test(decoder_disagrees_with_header),
        cmocka_unit_test(orientations),
        cmocka_unit_test(formats_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
