/* SPDX-License-Identifier: MIT
 *
 * The structure of image files: no crash; a refusal is one line with exit code 2; the header of an accepted PNG or JPEG
 * is what its bytes say at the place where the formats have it, and within the limits. Its ICC profile is found, and
 * goes to PNG and to JPEG and back.
 *
 * The first byte of the input says whether the checksums of a PNG are mended first: no mutation would get past them.
 */
#include <string.h>
#include <zlib.h>

#include "apps/equalize/probe.h"
#include "apps/equalize/profile.h"
#include "apps/support/die.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "1P5 3 2 255\nabcdef",
    "1\xff\xd8\xff\xe0\x01\x01\xff\xc0\x01\x0b\x08\x01\x02\x01\x03\x01\x01\x11\x01\xff\xda\x01\x02x\xff\xd9",
    "1\xff\xd8\xff\xe1\x01\x18"
    "Exif\x01\x01II*\x01",
    "1GIF89a",
    "1\x89PNG\r\n\x1a\n\x01\x01\x01\x0dIHDR\x01\x01\x01\x05\x01\x01\x01\x04\x08\x02\x01\x01\x01",
    "1TRUEVISION-XFILE.",
    NULL,
};

static uint32_t word(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_png(const uint8_t *file, size_t bytes) {
    return bytes >= 33 && memcmp(file, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static void mend_checksums(uint8_t *file, size_t bytes) {
    for (size_t at = 8; bytes - at >= 12 && word(file + at) <= bytes - at - 12;) {
        size_t size = word(file + at);
        uint32_t sum = (uint32_t)crc32(crc32(0, NULL, 0), file + at + 4, (uInt)(size + 4));
        for (int i = 0; i < 4; i++)
            file[at + 8 + size + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        at += size + 12;
    }
}

/* Whether a frame header with these numbers is somewhere in the file. */
static bool has_frame(const uint8_t *file, size_t bytes, const image_header *h) {
    for (size_t at = 2; at + 10 <= bytes; at++) {
        const uint8_t *p = file + at;
        if (p[0] == 0xff && p[1] >= 0xc0 && p[1] <= 0xc2 && p[4] == 8 && (uint32_t)(p[5] << 8 | p[6]) == h->height &&
            (uint32_t)(p[7] << 8 | p[8]) == h->width && p[9] == h->channels)
            return true;
    }
    return false;
}

static void check(const uint8_t *file, size_t bytes, const image_header *h) {
    if (h->format == IMAGE_PGM || h->format == IMAGE_PPM) { /* pnm.h reads their headers */
        FUZZ_CHECK(bytes >= 2 && file[0] == 'P' && strchr(h->format == IMAGE_PGM ? "25" : "36", file[1]));
        return;
    }
    FUZZ_CHECK(h->width > 0 && h->width <= IMAGE_MAX_SIDE && h->height > 0 && h->height <= IMAGE_MAX_SIDE);
    FUZZ_CHECK(h->channels >= 1 && h->channels <= 4 && (h->depth == 8 || h->depth == 16));
    FUZZ_CHECK((uint64_t)h->width * h->height * h->channels * (h->depth / 8) <= IMAGE_MAX_BYTES);
    if (h->format == IMAGE_PNG) {
        static const uint32_t channels[7] = {1, 0, 3, 3, 2, 0, 4};
        FUZZ_CHECK(is_png(file, bytes) && word(file + 16) == h->width && word(file + 20) == h->height);
        FUZZ_CHECK(file[25] <= 6 && (h->depth == 16) == (file[24] == 16) && h->orientation == 0);
        FUZZ_CHECK(h->channels == channels[file[25]] || h->channels == channels[file[25]] + 1); /* tRNS */
        FUZZ_CHECK(memcmp(file + bytes - 8, "IEND", 4) == 0 || memmem(file, bytes, "IEND", 4));
    } else {
        FUZZ_CHECK(h->format == IMAGE_JPEG && h->depth == 8 && has_frame(file, bytes, h));
        FUZZ_CHECK((h->channels == 1 || h->channels == 3) && h->orientation != 1 && h->orientation <= 8);
        FUZZ_CHECK(memmem(file, bytes, "\xff\xda", 2) && memmem(file, bytes, "\xff\xd9", 2));
    }
}

static void check_profile(const uint8_t *file, size_t bytes, image_format format) {
    const image_format other = format == IMAGE_PNG ? IMAGE_JPEG : IMAGE_PNG;
    image_profile found, same, there, back;
    FUZZ_CHECK(profile_find(file, bytes, format, &found) &&
               !found.data == (found.form == PROFILE_NONE || found.form == PROFILE_BROKEN));
    FUZZ_CHECK(profile_convert(&found, format, &same) && same.bytes == found.bytes);
    FUZZ_CHECK(profile_convert(&found, other, &there) && profile_convert(&there, format, &back));
    if (format == IMAGE_JPEG && found.data)
        FUZZ_CHECK(back.bytes == found.bytes && memcmp(back.data, found.data, found.bytes) == 0);
    profile_free(&found);
    profile_free(&same);
    profile_free(&there);
    profile_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes == 0)
        return 0;
    image_error error = {0};
    image_header header;
    uint8_t *file = malloc(bytes); /* the size of the image, or one byte more for an empty one */
    FUZZ_CHECK(file);
    memcpy(file, data + 1, bytes - 1);
    if (data[0] & 1 && is_png(file, bytes - 1))
        mend_checksums(file, bytes - 1);
    if (probe_image("in", file, bytes - 1, &header, &error)) {
        check(file, bytes - 1, &header);
        check_profile(file, bytes - 1, header.format);
    } else
        FUZZ_CHECK(error.code == EXIT_USAGE && strncmp(error.text, "in: ", 4) == 0 && !strchr(error.text, '\n'));
    free(file);
    return 0;
}
