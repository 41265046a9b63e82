/* SPDX-License-Identifier: MIT
 *
 * PGM and PPM: no crash; the samples of an accepted image are those that a simple reader copies from the same bytes,
 * and the image reads the same when written again.
 */
#include <string.h>

#include "apps/support/die.h"
#include "apps/equalize/pnm.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "P2 3 2 9\n0 1 2 3\n9 8\n",     "P2\n# a comment\n2 2 # another\n1000\n0 7 1000 999",
    "P3 1 2 255 1 2 3 4 5 6",       "P5 3 2 255\nabcdef",
    "P5 2 2 65535\nabcdefgh",       "P6 1 1 300#c\n\1\2\1\1\0017",
    "P6 4294967295 2147483647 1\n", NULL,
};

/* Reads the next number; a comment counts as its newline. Returns false if there is no number. */
static bool token(const uint8_t *data, size_t bytes, size_t *at, uint64_t *value) {
    bool any = false;
    *value = 0;
    for (; *at < bytes; ++*at) {
        if (data[*at] == '#')
            while (*at < bytes && data[*at] != '\n' && data[*at] != '\r')
                ++*at;
        if (*at < bytes && data[*at] >= '0' && data[*at] <= '9') {
            *value = *value * 10 + data[*at] - '0';
            any = true;
        } else if (any) {
            break;
        }
    }
    *at += *at < bytes; /* the blank after it */
    return any;
}

static void check(const uint8_t *data, size_t bytes, const image_header *h, const uint8_t *pixels) {
    size_t at = 2, samples = image_pixels(h) * h->channels;
    uint64_t width, height, maxval, value, full = h->depth == 16 ? 65535 : 255;
    bool plain = data[1] <= '3', color = data[1] == '3' || data[1] == '6';
    FUZZ_CHECK(token(data, bytes, &at, &width) && token(data, bytes, &at, &height) && token(data, bytes, &at, &maxval));
    FUZZ_CHECK(h->width == width && h->height == height && h->channels == (color ? 3 : 1) && maxval > 0);
    FUZZ_CHECK(h->depth == (maxval > 255 ? 16 : 8) && samples == width * height * h->channels);
    for (size_t i = 0; i < samples; i++) {
        if (plain) {
            FUZZ_CHECK(token(data, bytes, &at, &value));
        } else {
            value = data[at++];
            if (h->depth == 16)
                value = value << 8 | data[at++];
        }
        uint64_t sample = h->depth == 16 ? ((const uint16_t *)(const void *)pixels)[i] : pixels[i];
        FUZZ_CHECK(value <= maxval && sample == (value * full + maxval / 2) / maxval);
    }
}

static void check_again(const image_header *h, const uint8_t *pixels) {
    image_file file = {0};
    image_error error;
    image_header again;
    uint8_t *back;
    FUZZ_CHECK(pnm_write("in", h, pixels, &file, &error));
    FUZZ_CHECK(pnm_read("in", file.data, file.bytes, &again, &back, &error));
    FUZZ_CHECK(again.width == h->width && again.height == h->height && again.channels == h->channels);
    FUZZ_CHECK(again.depth == h->depth && memcmp(back, pixels, image_bytes(h)) == 0);
    free(file.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    image_error error = {0};
    image_header header = {0};
    uint8_t *file = malloc(bytes + 1), *pixels = NULL;
    FUZZ_CHECK(file);
    if (bytes)
        memcpy(file, data, bytes);
    if (pnm_read("in", file, bytes, &header, &pixels, &error)) {
        FUZZ_CHECK(pixels >= file && image_bytes(&header) <= bytes &&
                   (size_t)(pixels - file) <= bytes - image_bytes(&header));
        check(data, bytes, &header, pixels);
        check_again(&header, pixels);
    } else {
        FUZZ_CHECK(error.code == EXIT_USAGE && strncmp(error.text, "in: ", 4) == 0 && !strchr(error.text, '\n'));
    }
    free(file);
    return 0;
}
