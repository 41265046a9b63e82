/* SPDX-License-Identifier: MIT
 *
 * JPEG: a baseline encoder after ITU-T T.81, for one component (grey stays grey) or three (YCbCr as in JFIF).
 *
 * Chroma is kept at full size above quality 90, else halved both ways. Quantization and Huffman tables are those of
 * T.81 annex K, the former scaled by quality in the customary way (50: as printed, 100: all ones). The transform is
 * Arai, Agui and Nakajima's (1988) with five multiplications for eight values; its scale factors are part of the
 * quantization. It works on the eight columns of a block at once, twice with a transposition between, so that the
 * compiler can put columns into vector lanes. The sides are padded with their last pixels.
 */
#include "encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/die.h"
#include "profile.h"

typedef struct huffman {
    const uint8_t lengths[16]; /* how many codes of 1 ... 16 bits */
    const uint8_t *values;
    uint32_t count;
} huffman;

static const uint8_t dc_values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const uint8_t luma_values[] = {
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
    0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
    0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37,
    0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
    0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
    0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
    0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
    0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
    0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa};
static const uint8_t chroma_values[] = {
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22,
    0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1,
    0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36,
    0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
    0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
    0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a,
    0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba,
    0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
    0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa};

/* [0 luma, 1 chroma][0 DC, 1 AC] */
static const huffman tables[2][2] = {{{{0, 1, 5, 1, 1, 1, 1, 1, 1}, dc_values, 12},
                                      {{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d}, luma_values, 162}},
                                     {{{0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, dc_values, 12},
                                      {{0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77}, chroma_values, 162}}};

static const uint8_t quantization[2][64] = {
    {16, 11,  10,  16, 24, 40, 51, 61, 12,  12,  14,  19,  26, 58, 60, 55,  14,  13,  16,  24, 40, 57,
     69, 56,  14,  17, 22, 29, 51, 87, 80,  62,  18,  22,  37, 56, 68, 109, 103, 77,  24,  35, 55, 64,
     81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98,  112, 100, 103, 99},
    {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
     99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};

/* Position in a block, row by row, of the k-th coefficient. */
static const uint8_t zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                   12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                   35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                   58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

typedef struct code {
    uint16_t bits;
    uint8_t length;
} code;

typedef struct encoder {
    image_file *file;
    bool failed;
    uint8_t buffer[4096]; /* the next bytes of the file */
    uint32_t buffered;
    uint64_t pending; /* the last `pending_bits` bits written */
    uint32_t pending_bits;
    code codes[2][2][256];
    float divisors[2][64]; /* 1 / (step * scale of the transform) */
    uint8_t steps[2][64];
    int last_dc[3];
} encoder;

/* ---- bytes and bits ---------------------------------------------------------------------------------------------- */

static void flush(encoder *e) {
    if (!e->failed)
        e->failed = !image_file_append(e->file, e->buffer, e->buffered);
    e->buffered = 0;
}

static void put_byte(encoder *e, uint32_t byte) {
    if (e->buffered == sizeof e->buffer)
        flush(e);
    e->buffer[e->buffered++] = (uint8_t)byte;
}

static void put_bytes(encoder *e, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        put_byte(e, ((const uint8_t *)data)[i]);
}

static void put_u16(encoder *e, uint32_t value) {
    put_byte(e, value >> 8);
    put_byte(e, value & 255);
}

/* At most 16 bits. In entropy-coded data a byte 0xff is followed by 0. */
static void put_bits(encoder *e, uint32_t bits, uint32_t length) {
    e->pending = e->pending << length | bits;
    e->pending_bits += length;
    while (e->pending_bits >= 8) {
        uint32_t byte = (uint32_t)(e->pending >> (e->pending_bits - 8)) & 255;
        put_byte(e, byte);
        if (byte == 255)
            put_byte(e, 0);
        e->pending_bits -= 8;
    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void make_codes(const huffman *h, code *codes) {
    uint32_t next = 0, k = 0;
    for (uint32_t length = 1; length <= 16; length++, next <<= 1)
        for (uint32_t i = 0; i < h->lengths[length - 1]; i++)
            codes[h->values[k++]] = (code){.bits = (uint16_t)next++, .length = (uint8_t)length};
}

static void make_tables(encoder *e, unsigned quality) {
    unsigned scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
    double factor[8] = {1};
    for (int k = 1; k < 8; k++)
        factor[k] = cos(k * 3.14159265358979323846 / 16) * sqrt(2);
    for (int t = 0; t < 2; t++) {
        make_codes(&tables[t][0], e->codes[t][0]);
        make_codes(&tables[t][1], e->codes[t][1]);
        for (int i = 0; i < 64; i++) {
            unsigned step = (quantization[t][i] * scale + 50) / 100;
            e->steps[t][i] = (uint8_t)(step < 1 ? 1 : step > 255 ? 255 : step);
            e->divisors[t][i] = (float)(1 / (e->steps[t][i] * factor[i / 8] * factor[i % 8] * 8));
        }
    }
}

static void put_profile(encoder *e, const image_profile *profile) {
    const size_t count = (profile->bytes + PROFILE_SEGMENT_BYTES - 1) / PROFILE_SEGMENT_BYTES;
    for (size_t i = 0, at = 0, bytes; i < count; i++, at += bytes) {
        bytes = profile->bytes - at < PROFILE_SEGMENT_BYTES ? profile->bytes - at : PROFILE_SEGMENT_BYTES;
        put_u16(e, 0xffe2);
        put_u16(e, (uint32_t)(2 + sizeof PROFILE_SEGMENT_HEAD + 2 + bytes));
        put_bytes(e, PROFILE_SEGMENT_HEAD, sizeof PROFILE_SEGMENT_HEAD);
        put_byte(e, (uint32_t)i + 1);
        put_byte(e, (uint32_t)count);
        put_bytes(e, profile->data + at, bytes);
    }
}

static void put_head(encoder *e, const image_header *h, const image_profile *profile, uint32_t sampling) {
    static const uint8_t jfif[] = {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};
    uint32_t components = h->channels, kinds = components == 1 ? 1 : 2;
    put_bytes(e, jfif, sizeof jfif);
    put_profile(e, profile);
    for (uint32_t t = 0; t < kinds; t++) {
        put_u16(e, 0xffdb);
        put_u16(e, 67);
        put_byte(e, t);
        for (int k = 0; k < 64; k++)
            put_byte(e, e->steps[t][zigzag[k]]);
    }
    put_u16(e, 0xffc0);
    put_u16(e, 8 + 3 * components);
    put_byte(e, 8);
    put_u16(e, h->height);
    put_u16(e, h->width);
    put_byte(e, components);
    for (uint32_t c = 0; c < components; c++) {
        put_byte(e, c + 1);
        put_byte(e, c == 0 ? sampling << 4 | sampling : 0x11);
        put_byte(e, c > 0);
    }
    for (uint32_t t = 0; t < kinds; t++)
        for (uint32_t ac = 0; ac < 2; ac++) {
            put_u16(e, 0xffc4);
            put_u16(e, 19 + tables[t][ac].count);
            put_byte(e, ac << 4 | t);
            put_bytes(e, tables[t][ac].lengths, 16);
            put_bytes(e, tables[t][ac].values, tables[t][ac].count);
        }
    put_u16(e, 0xffda);
    put_u16(e, 6 + 2 * components);
    put_byte(e, components);
    for (uint32_t c = 0; c < components; c++) {
        put_byte(e, c + 1);
        put_byte(e, c == 0 ? 0 : 0x11);
    }
    put_bytes(e, (const uint8_t[]){0, 63, 0}, 3);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The scaled 8-point transform of each column of b; the result is transposed. */
static void transform_columns(const float b[8][8], float out[8][8]) {
    float t[8][8];
    for (int j = 0; j < 8; j++) {
        float s07 = b[0][j] + b[7][j], d07 = b[0][j] - b[7][j], s16 = b[1][j] + b[6][j], d16 = b[1][j] - b[6][j];
        float s25 = b[2][j] + b[5][j], d25 = b[2][j] - b[5][j], s34 = b[3][j] + b[4][j], d34 = b[3][j] - b[4][j];
        /* even part */
        float p = s07 + s34, q = s07 - s34, r = s16 + s25, s = s16 - s25;
        float z = (s + q) * 0.707106781f;
        t[0][j] = p + r;
        t[4][j] = p - r;
        t[2][j] = q + z;
        t[6][j] = q - z;
        /* odd part */
        float u = d34 + d25, v = d25 + d16, w = d16 + d07;
        float z5 = (u - w) * 0.382683433f, z2 = u * 0.541196100f + z5, z4 = w * 1.306562965f + z5,
              z3 = v * 0.707106781f;
        float z11 = d07 + z3, z13 = d07 - z3;
        t[5][j] = z13 + z2;
        t[3][j] = z13 - z2;
        t[1][j] = z11 + z4;
        t[7][j] = z11 - z4;
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            out[j][i] = t[i][j];
}

static uint32_t bit_length(int value) {
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
    return magnitude ? 32 - (uint32_t)__builtin_clz(magnitude) : 0;
}

/* The symbol, then the value's low bits; negative values as their ones' complement. */
static void put_value(encoder *e, const code *codes, uint32_t run, int value) {
    uint32_t length = bit_length(value);
    code c = codes[run << 4 | length];
    put_bits(e, c.bits, c.length);
    if (length)
        put_bits(e, (uint32_t)(value < 0 ? value - 1 : value) & ((1u << length) - 1), length);
}

static void put_block(encoder *e, float block[8][8], int component) {
    float rows[8][8], all[8][8];
    int table = component > 0, level[64];
    transform_columns((const float(*)[8])block, rows);
    transform_columns((const float(*)[8])rows, all);
    const float *value = &all[0][0], *divisor = e->divisors[table];
    for (int i = 0; i < 64; i++)
        level[i] = (int)(value[i] * divisor[i] + (value[i] < 0 ? -0.5f : 0.5f));
    put_value(e, e->codes[table][0], 0, level[0] - e->last_dc[component]);
    e->last_dc[component] = level[0];
    uint32_t run = 0;
    const code *codes = e->codes[table][1];
    for (int k = 1; k < 64; k++) {
        int v = level[zigzag[k]];
        if (v == 0) {
            run++;
            continue;
        }
        for (; run > 15; run -= 16)
            put_bits(e, codes[0xf0].bits, codes[0xf0].length);
        put_value(e, codes, run, v);
        run = 0;
    }
    if (run)
        put_bits(e, codes[0].bits, codes[0].length);
}

/* Component planes, less 128, of the 8 * sampling square at (x, y). */
static void take_pixels(const image_header *h, const uint8_t *pixels, uint32_t x, uint32_t y, uint32_t side,
                        float planes[3][16][16]) {
    for (uint32_t j = 0; j < side; j++) {
        uint32_t row = y + j < h->height ? y + j : h->height - 1;
        const uint8_t *line = pixels + (size_t)row * h->width * h->channels;
        for (uint32_t i = 0; i < side; i++) {
            const uint8_t *p = line + (size_t)(x + i < h->width ? x + i : h->width - 1) * h->channels;
            if (h->channels == 1) {
                planes[0][j][i] = (float)p[0] - 128;
                continue;
            }
            float r = p[0], g = p[1], b = p[2];
            planes[0][j][i] = 0.299f * r + 0.587f * g + 0.114f * b - 128;
            planes[1][j][i] = -0.168735892f * r - 0.331264108f * g + 0.5f * b;
            planes[2][j][i] = 0.5f * r - 0.418687589f * g - 0.081312411f * b;
        }
    }
}

static void put_square(encoder *e, const image_header *h, const uint8_t *pixels, uint32_t x, uint32_t y,
                       uint32_t sampling) {
    float planes[3][16][16], block[8][8];
    take_pixels(h, pixels, x, y, 8 * sampling, planes);
    for (uint32_t top = 0; top < 8 * sampling; top += 8)
        for (uint32_t left = 0; left < 8 * sampling; left += 8) {
            for (uint32_t j = 0; j < 8; j++)
                memcpy(block[j], &planes[0][top + j][left], sizeof block[j]);
            put_block(e, block, 0);
        }
    for (int c = 1; c < (int)h->channels; c++) {
        for (uint32_t j = 0; j < 8; j++)
            for (uint32_t i = 0; i < 8; i++)
                block[j][i] = sampling == 1 ? planes[c][j][i]
                                            : (planes[c][2 * j][2 * i] + planes[c][2 * j][2 * i + 1] +
                                               planes[c][2 * j + 1][2 * i] + planes[c][2 * j + 1][2 * i + 1]) *
                                                  0.25f;
        put_block(e, block, c);
    }
}

bool jpeg_write(const char *name, const image_header *header, const void *pixels, const image_profile *profile,
                unsigned quality, image_file *file, image_error *error) {
    encoder *e = calloc(1, sizeof *e);
    if (!e)
        return image_fail(error, EXIT_IO, "%s: no memory for the JPEG writer", name);
    uint32_t sampling = header->channels == 3 && quality <= 90 ? 2 : 1;
    e->file = file;
    make_tables(e, quality);
    put_head(e, header, profile, sampling);
    for (uint32_t y = 0; y < header->height; y += 8 * sampling)
        for (uint32_t x = 0; x < header->width; x += 8 * sampling)
            put_square(e, header, pixels, x, y, sampling);
    put_bits(e, 0x7f, 7); /* the last byte is filled up with ones */
    put_u16(e, 0xffd9);
    flush(e);
    bool good = !e->failed;
    free(e);
    return good || image_fail(error, EXIT_IO, "%s: no memory for the JPEG file", name);
}
