/* SPDX-License-Identifier: MIT
 *
 * The PNM reader and writer.
 *
 * Every byte of a header or of plain text is read through next(), which knows the end. Sizes are multiplied with
 * overflow checks and compared with the bytes of the file before a pixel is touched. Reading is in place and needs no
 * memory: a sample is never larger than its text, so that the writing position stays at or behind the reading position.
 * Plain: a sample is at most two bytes, and its text at least a digit and a separator; the last sample needs no
 * separator, but the header before it took more than one byte.
 */
#include "pnm.h"

#include <stdio.h>
#include <string.h>

#include "apps/support/die.h"

/* Of text, for each sample: five digits, and room for blanks and comments; and for comments of small images. */
enum { PLAIN_BYTES = 16, PLAIN_MORE_BYTES = 64 << 10 };

typedef struct reader {
    const char *name;
    const uint8_t *data;
    size_t bytes;
    size_t at;
    image_error *error;
} reader;

static int next(reader *r) { return r->at < r->bytes ? r->data[r->at++] : -1; }

static bool is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

/* The next character of a header, where a comment counts as the end of its line. */
static int next_of_text(reader *r) {
    int c = next(r);
    if (c == '#')
        while (c != '\n' && c != '\r' && c != -1)
            c = next(r);
    return c;
}

/* A number in [low, high] after blanks and comments, and the blank (or end) that closes it. */
static bool read_number(reader *r, const char *what, uint32_t low, uint32_t high, uint32_t *value) {
    int c = next_of_text(r);
    while (is_blank(c))
        c = next_of_text(r);
    size_t start = r->at;
    if (c == -1)
        return image_fail(r->error, EXIT_USAGE, "%s: truncated: the file ends before its %s", r->name, what);
    if (!is_digit(c))
        return image_fail(r->error, EXIT_USAGE, "%s: byte %zu: not a number where the %s should be", r->name, start - 1,
                          what);
    uint64_t n = 0;
    for (; is_digit(c); c = next_of_text(r))
        n = n > high ? n : n * 10 + (uint64_t)(c - '0');
    if (c != -1 && !is_blank(c))
        return image_fail(r->error, EXIT_USAGE, "%s: byte %zu: the %s is followed by neither blank nor end", r->name,
                          r->at - 1, what);
    if (n < low || n > high)
        return image_fail(r->error, EXIT_USAGE, "%s: byte %zu: the %s is not from %u to %u", r->name, start - 1, what,
                          low, high);
    *value = (uint32_t)n;
    return true;
}

static bool above_maxval(const reader *r, size_t sample, uint32_t value, uint32_t maxval) {
    return image_fail(r->error, EXIT_USAGE, "%s: sample %zu is %u, above the maxval %u", r->name, sample, value,
                      maxval);
}

static uint32_t scaled(uint32_t value, uint32_t full, uint32_t maxval) {
    return maxval == full ? value : (value * full + maxval / 2) / maxval;
}

static bool read_plain(reader *r, uint8_t *to, size_t samples, uint32_t full, uint32_t maxval) {
    uint16_t *wide = (uint16_t *)(void *)to;
    for (size_t i = 0; i < samples; i++) {
        uint32_t value;
        if (!read_number(r, "next sample", 0, UINT32_MAX, &value))
            return false;
        if (value > maxval)
            return above_maxval(r, i, value, maxval);
        value = scaled(value, full, maxval);
        if (full == 255)
            to[i] = (uint8_t)value;
        else
            wide[i] = (uint16_t)value;
    }
    uint8_t c;
    for (; r->at < r->bytes; r->at++)
        if (!is_blank(c = r->data[r->at]))
            return image_fail(r->error, EXIT_USAGE, "%s: byte %zu: 0x%02x after the last sample", r->name, r->at, c);
    return true;
}

static bool read_8_bit(const reader *r, uint8_t *to, size_t samples, size_t first, uint32_t maxval) {
    for (size_t i = 0; i < samples; i++) {
        if (to[i] > maxval)
            return above_maxval(r, first + i, to[i], maxval);
        to[i] = (uint8_t)scaled(to[i], 255, maxval);
    }
    return true;
}

static bool read_16_bit(const reader *r, uint16_t *to, const uint8_t *from, size_t samples, size_t first,
                        uint32_t maxval) {
    for (size_t i = 0; i < samples; i++) {
        uint32_t value = (uint32_t)from[2 * i] << 8 | from[2 * i + 1];
        if (value > maxval)
            return above_maxval(r, first + i, value, maxval);
        to[i] = (uint16_t)scaled(value, 65535, maxval);
    }
    return true;
}

static bool read_header(reader *r, pnm_layout *l) {
    image_header *header = &l->header;
    if (r->bytes < 3 || r->data[0] != 'P' || (!is_blank(r->data[2]) && r->data[2] != '#') || r->data[1] < '2' ||
        r->data[1] > '6' || r->data[1] == '4')
        return image_fail(r->error, EXIT_USAGE, "%s: not a PGM or PPM", r->name);
    bool color = r->data[1] == '3' || r->data[1] == '6';
    uint32_t width, height;
    r->at = 2;
    if (!read_number(r, "width", 1, INT32_MAX, &width) || !read_number(r, "height", 1, INT32_MAX, &height) ||
        !read_number(r, "maxval", 1, 65535, &l->maxval))
        return false;
    *header = (image_header){.format = color ? IMAGE_PPM : IMAGE_PGM,
                             .width = width,
                             .height = height,
                             .channels = color ? 3 : 1,
                             .depth = l->maxval > 255 ? 16 : 8};
    l->plain = r->data[1] <= '3';
    if ((size_t)width * height > IMAGE_MAX_PNM_BYTES || image_bytes(header) > IMAGE_MAX_PNM_BYTES)
        return image_fail(r->error, EXIT_USAGE, "%s: %u x %u pixels are too many: all samples are limited to %zu MiB",
                          r->name, width, height, IMAGE_MAX_PNM_BYTES >> 20);
    l->bytes = image_bytes(header);
    l->samples = image_pixels(header) * header->channels;
    l->at = r->at;
    return true;
}

bool pnm_max_bytes(const char *name, const uint8_t *head, size_t bytes, size_t *max_bytes, image_error *error) {
    reader r = {.name = name, .data = head, .bytes = bytes, .error = error};
    pnm_layout l;
    if (!read_header(&r, &l)) {
        if (bytes >= IMAGE_HEAD_BYTES && r.at == bytes)
            image_fail(error, EXIT_USAGE, "%s: its header is longer than %zu KiB", name, IMAGE_HEAD_BYTES >> 10);
        return false;
    }
    *max_bytes = r.at + (l.plain ? PLAIN_BYTES * l.samples + PLAIN_MORE_BYTES : l.bytes);
    return true;
}

bool pnm_too_long(const char *name, const uint8_t *head, image_error *error) {
    if (head[1] <= '3')
        return image_fail(error, EXIT_USAGE,
                          "%s: the text is longer than %d bytes a sample, blanks and comments counted", name,
                          PLAIN_BYTES);
    return image_fail(error, EXIT_USAGE, "%s: there are data after the last pixel (one image a file)", name);
}

bool pnm_read(const char *name, uint8_t *file, size_t bytes, image_header *header, uint8_t **pixels,
              image_error *error) {
    reader r = {.name = name, .data = file, .bytes = bytes, .error = error};
    pnm_layout l;
    if (!read_header(&r, &l))
        return false;
    *header = l.header;
    size_t left = bytes - r.at;
    if (l.plain && 2 * l.samples - 1 > left)
        return image_fail(error, EXIT_USAGE, "%s: truncated: %zu bytes cannot hold %u x %u samples", name, left,
                          header->width, header->height);
    if (!l.plain && left < l.bytes)
        return image_fail(error, EXIT_USAGE, "%s: truncated: %zu bytes of pixels, %u x %u need %zu", name, left,
                          header->width, header->height, l.bytes);
    if (!l.plain && left > l.bytes)
        return pnm_too_long(name, file, error);
    *pixels = file;
    if (l.plain)
        return read_plain(&r, file, l.samples, header->depth == 16 ? 65535 : 255, l.maxval);
    if (header->depth == 16)
        return read_16_bit(&r, (uint16_t *)(void *)file, file + r.at, l.samples, 0, l.maxval);
    *pixels = file + r.at;
    return l.maxval == 255 || read_8_bit(&r, *pixels, l.samples, 0, l.maxval);
}

/* ---- in bands ---------------------------------------------------------------------------------------------------- */

bool pnm_read_layout(const char *name, const uint8_t *head, size_t bytes, pnm_layout *l, image_error *error) {
    reader r = {.name = name, .data = head, .bytes = bytes, .error = error};
    return read_header(&r, l);
}

bool pnm_read_samples(const char *name, const pnm_layout *l, void *samples, size_t n, size_t first,
                      image_error *error) {
    const reader r = {.name = name, .error = error};
    if (l->header.depth == 16)
        return read_16_bit(&r, samples, samples, n, first, l->maxval);
    return l->maxval == 255 || read_8_bit(&r, samples, n, first, l->maxval);
}

static void swap_bytes(uint8_t *to, const uint16_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const uint16_t sample = from[i];
        to[2 * i] = (uint8_t)(sample >> 8);
        to[2 * i + 1] = (uint8_t)sample;
    }
}

void pnm_write_samples(const image_header *header, void *samples, size_t n) {
    if (header->depth == 16)
        swap_bytes(samples, samples, n);
}

size_t pnm_write_header(const image_header *header, char to[PNM_HEADER_BYTES]) {
    return (size_t)snprintf(to, PNM_HEADER_BYTES, "P%c\n%u %u\n%u\n", header->channels == 3 ? '6' : '5', header->width,
                            header->height, header->depth == 16 ? 65535u : 255u);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

bool pnm_write(const char *name, const image_header *header, const void *pixels, image_file *file, image_error *error) {
    char head[PNM_HEADER_BYTES];
    const size_t head_bytes = pnm_write_header(header, head);
    if (!image_file_reserve(file, head_bytes + image_bytes(header)) || !image_file_append(file, head, head_bytes))
        return image_fail(error, EXIT_IO, "%s: no memory for the file", name);
    if (header->depth != 16)
        return image_file_append(file, pixels, image_bytes(header));
    swap_bytes(file->data + file->bytes, pixels, image_pixels(header) * header->channels);
    file->bytes += image_bytes(header);
    return true;
}
