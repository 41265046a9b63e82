/* SPDX-License-Identifier: MIT
 *
 * The structure of a PNG or JPEG file, walked before it is decoded.
 *
 * stb_image checks no checksum, invents pixels for a JPEG that ends early, and allocates what a header claims. So the
 * parent looks first, with code small enough to be read in one sitting: every access is bounds-checked, nothing is
 * allocated, and all loops advance. The sides, channels and depth that it finds determine the memory that the decoding
 * child gets; a decoder that disagrees with them has failed.
 */
#include "probe.h"

#include <string.h>
#include <zlib.h>

#include "apps/support/die.h"

static uint32_t be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static uint32_t le16(const uint8_t *p) { return (uint32_t)p[1] << 8 | p[0]; }
static uint32_t be32(const uint8_t *p) { return be16(p) << 16 | be16(p + 2); }

static bool sides_fit(const char *name, const image_header *h, image_error *error) {
    if (h->width == 0 || h->height == 0)
        return image_fail(error, EXIT_USAGE, "%s: an image of %u x %u pixels", name, h->width, h->height);
    if (h->width > IMAGE_MAX_SIDE || h->height > IMAGE_MAX_SIDE || image_bytes(h) > IMAGE_MAX_BYTES)
        return image_fail(error, EXIT_USAGE,
                          "%s: %u x %u pixels are too many: sides are limited to %u, all samples to %zu MiB", name,
                          h->width, h->height, IMAGE_MAX_SIDE, IMAGE_MAX_BYTES >> 20);
    return true;
}

/* ---- PNG --------------------------------------------------------------------------------------------------------- */

#define CHUNK(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

static bool png_header(const char *name, const uint8_t *ihdr, image_header *h, bool *palette, image_error *error) {
    static const uint8_t channels[7] = {1, 0, 3, 3, 2, 0, 4};
    uint32_t bits = ihdr[8], color = ihdr[9];
    bool depth_ok = bits == 8 || (bits == 16 && color != 3) ||
                    ((bits == 1 || bits == 2 || bits == 4) && (color == 0 || color == 3));
    if (color > 6 || channels[color] == 0 || !depth_ok)
        return image_fail(error, EXIT_USAGE, "%s: a PNG header with color type %u at %u bits", name, color, bits);
    if (ihdr[10] != 0 || ihdr[11] != 0 || ihdr[12] > 1)
        return image_fail(error, EXIT_USAGE, "%s: a PNG header with an unknown compression, filter or interlace method",
                          name);
    *palette = color == 3;
    *h = (image_header){.format = IMAGE_PNG,
                        .width = be32(ihdr),
                        .height = be32(ihdr + 4),
                        .channels = channels[color],
                        .depth = bits == 16 ? 16 : 8};
    return sides_fit(name, h, error);
}

static bool probe_png(const char *name, const uint8_t *file, size_t bytes, image_header *h, image_error *error) {
    bool palette = false, transparent = false, data = false;
    for (size_t at = 8;;) {
        if (bytes - at < 12)
            return image_fail(error, EXIT_USAGE, "%s: truncated: the PNG ends at byte %zu without an IEND chunk", name,
                              bytes);
        const uint8_t *chunk = file + at;
        uint32_t size = be32(chunk), type = be32(chunk + 4);
        if (size > bytes - at - 12)
            return image_fail(error, EXIT_USAGE,
                              "%s: truncated: the PNG chunk at byte %zu runs past the end of the file", name, at);
        if ((uint32_t)crc32(crc32(0, NULL, 0), chunk + 4, (uInt)(size + 4)) != be32(chunk + 8 + size))
            return image_fail(error, EXIT_USAGE, "%s: damaged: the PNG chunk at byte %zu has a wrong checksum", name,
                              at);
        if (at == 8) {
            if (type == CHUNK('C', 'g', 'B', 'I'))
                return image_fail(error, EXIT_USAGE, "%s: an Apple CgBI file, not a standard PNG", name);
            if (type != CHUNK('I', 'H', 'D', 'R') || size != 13)
                return image_fail(error, EXIT_USAGE, "%s: the PNG does not begin with an IHDR chunk", name);
            if (!png_header(name, chunk + 8, h, &palette, error))
                return false;
        }
        bool critical = (type & 0x20000000u) == 0;
        if (critical && type != CHUNK('I', 'H', 'D', 'R') && type != CHUNK('P', 'L', 'T', 'E') &&
            type != CHUNK('I', 'D', 'A', 'T') && type != CHUNK('I', 'E', 'N', 'D'))
            return image_fail(error, EXIT_USAGE, "%s: the PNG chunk at byte %zu is of an unknown kind", name, at);
        if (type == CHUNK('a', 'c', 'T', 'L'))
            return image_fail(error, EXIT_USAGE, "%s: an animated PNG; give its frames as single images", name);
        if (type == CHUNK('t', 'R', 'N', 'S') && !data && (palette || h->channels % 2 == 1))
            transparent = true;
        if (type == CHUNK('I', 'D', 'A', 'T'))
            data = true;
        at += (size_t)size + 12;
        if (type == CHUNK('I', 'E', 'N', 'D'))
            break;
    }
    if (!data)
        return image_fail(error, EXIT_USAGE, "%s: a PNG without image data", name);
    h->channels += transparent;
    return sides_fit(name, h, error);
}

/* ---- JPEG -------------------------------------------------------------------------------------------------------- */

/* The orientation in an EXIF segment: 2 to 8, or 0 if there is none or the segment is malformed. */
static uint32_t exif_orientation(const uint8_t *segment, uint32_t size) {
    if (size < 14 || memcmp(segment, "Exif\0", 6) != 0)
        return 0;
    const uint8_t *tiff = segment + 6;
    size -= 6;
    bool little = memcmp(tiff, "II*\0", 4) == 0;
    if (!little && memcmp(tiff, "MM\0*", 4) != 0)
        return 0;
    uint32_t at = little ? le16(tiff + 4) | le16(tiff + 6) << 16 : be32(tiff + 4);
    if (at > size || size - at < 2)
        return 0;
    uint32_t entries = little ? le16(tiff + at) : be16(tiff + at);
    for (at += 2; entries > 0 && size - at >= 12; entries--, at += 12) {
        const uint8_t *entry = tiff + at;
        uint32_t tag = little ? le16(entry) : be16(entry), type = little ? le16(entry + 2) : be16(entry + 2);
        uint32_t value = little ? le16(entry + 8) : be16(entry + 8);
        if (tag == 0x0112)
            return type == 3 && value >= 2 && value <= 8 ? value : 0;
    }
    return 0;
}

static bool jpeg_frame(const char *name, uint32_t marker, const uint8_t *segment, uint32_t size, image_header *h,
                       image_error *error) {
    static const char *const kinds[16] = {
        [3] = "lossless",    [5] = "hierarchical", [6] = "hierarchical",  [7] = "hierarchical",  [9] = "arithmetic",
        [10] = "arithmetic", [11] = "arithmetic",  [13] = "hierarchical", [14] = "hierarchical", [15] = "hierarchical"};
    const char *kind = kinds[marker & 15];
    if (kind)
        return image_fail(error, EXIT_USAGE, "%s: %s JPEG; only baseline and progressive are read", name, kind);
    if (size < 6 || size != 6 + 3 * (uint32_t)segment[5])
        return image_fail(error, EXIT_USAGE, "%s: damaged: a JPEG frame header of %u bytes", name, size);
    if (segment[0] != 8)
        return image_fail(error, EXIT_USAGE, "%s: a JPEG with %u bits a sample; only 8 are read", name, segment[0]);
    if (segment[5] == 4)
        return image_fail(error, EXIT_USAGE, "%s: a CMYK JPEG; convert it to RGB first", name);
    if (segment[5] != 1 && segment[5] != 3)
        return image_fail(error, EXIT_USAGE, "%s: a JPEG with %u components", name, segment[5]);
    *h = (image_header){.format = IMAGE_JPEG,
                        .height = be16(segment + 1),
                        .width = be16(segment + 3),
                        .channels = segment[5],
                        .depth = 8};
    return sides_fit(name, h, error);
}

/* The first byte at or after `at` that is the 0xff of a marker; stuffed zeros and restart markers are data. */
static size_t jpeg_skip_scan(const uint8_t *file, size_t bytes, size_t at) {
    while (at + 1 < bytes) {
        const uint8_t *ff = memchr(file + at, 0xff, bytes - at - 1);
        if (!ff)
            return bytes;
        at = (size_t)(ff - file);
        uint8_t next = ff[1];
        if (next == 0xff)
            at++;
        else if (next == 0 || (next >= 0xd0 && next <= 0xd7))
            at += 2;
        else
            return at;
    }
    return bytes;
}

static bool probe_jpeg(const char *name, const uint8_t *file, size_t bytes, image_header *h, image_error *error) {
    bool frame = false, scan = false;
    uint32_t orientation = 0;
    for (size_t at = 2;;) {
        while (at + 1 < bytes && file[at] == 0xff && file[at + 1] == 0xff)
            at++;
        if (at + 1 >= bytes)
            return image_fail(error, EXIT_USAGE, "%s: truncated: the JPEG has no end-of-image marker", name);
        uint32_t marker = file[at + 1];
        if (file[at] != 0xff || marker == 0)
            return image_fail(error, EXIT_USAGE, "%s: damaged: no JPEG marker at byte %zu", name, at);
        at += 2;
        if (marker == 0xd9)
            break;
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7))
            continue;
        if (marker == 0xd8)
            return image_fail(error, EXIT_USAGE, "%s: damaged: a second JPEG begins at byte %zu", name, at - 2);
        if (bytes - at < 2 || be16(file + at) < 2 || be16(file + at) > bytes - at)
            return image_fail(error, EXIT_USAGE, "%s: truncated: the JPEG segment at byte %zu runs past the end", name,
                              at - 2);
        uint32_t size = be16(file + at);
        bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (is_frame && frame)
            return image_fail(error, EXIT_USAGE, "%s: damaged: a second JPEG frame header at byte %zu", name, at - 2);
        if (is_frame && !jpeg_frame(name, marker, file + at + 2, size - 2, h, error))
            return false;
        frame |= is_frame;
        if (marker == 0xe1 && orientation == 0)
            orientation = exif_orientation(file + at + 2, size - 2);
        at += size;
        if (marker == 0xda) {
            scan = true;
            at = jpeg_skip_scan(file, bytes, at);
        }
    }
    if (!frame || !scan)
        return image_fail(error, EXIT_USAGE, "%s: a JPEG without image data", name);
    h->orientation = orientation;
    return true;
}

/* ---- which kind -------------------------------------------------------------------------------------------------- */

typedef struct magic {
    const char *name;
    size_t at;
    size_t bytes;
    const char *text;
} magic;

static const magic foreign[] = {
    {"a GIF", 0, 4, "GIF8"},
    {"a TIFF", 0, 4, "II*\0"},
    {"a TIFF", 0, 4, "MM\0*"},
    {"a WebP", 8, 4, "WEBP"},
    {"a Photoshop file", 0, 4, "8BPS"},
    {"a Radiance HDR file", 0, 2, "#?"},
    {"an OpenEXR file", 0, 4, "v/1\x01"},
    {"a JPEG 2000", 4, 4, "jP  "},
    {"a JPEG XL", 0, 2, "\xff\x0a"},
    {"a JPEG XL", 4, 4, "JXL "},
    {"an AVIF", 4, 8, "ftypavif"},
    {"a HEIF", 4, 4, "ftyp"},
    {"a Softimage PIC", 0, 4, "\x53\x80\xf6\x34"},
    {"a farbfeld file", 0, 8, "farbfeld"},
    {"a QOI file", 0, 4, "qoif"},
    {"a FITS file", 0, 6, "SIMPLE"},
    {"an SVG or XML file", 0, 5, "<?xml"},
    {"an SVG", 0, 4, "<svg"},
    {"a PDF", 0, 4, "%PDF"},
    {"a PBM bitmap, black and white only", 0, 2, "P1"},
    {"a PBM bitmap, black and white only", 0, 2, "P4"},
    {"a PAM file", 0, 2, "P7"},
    {"a PFM file", 0, 2, "Pf"},
    {"a PFM file", 0, 2, "PF"},
    {"a .npy array", 0, 6, "\x93NUMPY"},
    {"a gzip file", 0, 2, "\x1f\x8b"},
    {"a BMP", 0, 2, "BM"},
};

static bool has_magic(const uint8_t *file, size_t bytes, size_t at, const char *text, size_t text_bytes) {
    return bytes >= at + text_bytes && memcmp(file + at, text, text_bytes) == 0;
}

image_format probe_format(const uint8_t *file, size_t bytes) {
    if (has_magic(file, bytes, 0, "\x89PNG\r\n\x1a\n", 8))
        return IMAGE_PNG;
    if (has_magic(file, bytes, 0, "\xff\xd8\xff", 3))
        return IMAGE_JPEG;
    if (bytes < 2 || file[0] != 'P')
        return IMAGE_NONE;
    return file[1] == '5' || file[1] == '2' ? IMAGE_PGM : file[1] == '6' || file[1] == '3' ? IMAGE_PPM : IMAGE_NONE;
}

bool probe_image(const char *name, const uint8_t *file, size_t bytes, image_header *header, image_error *error) {
    static const char readable[] = "PNG, JPEG, PGM and PPM are read";
    *header = (image_header){.format = probe_format(file, bytes)};
    if (bytes == 0)
        return image_fail(error, EXIT_USAGE, "%s: the file is empty", name);
    if (header->format == IMAGE_PNG)
        return probe_png(name, file, bytes, header, error);
    if (header->format == IMAGE_JPEG)
        return probe_jpeg(name, file, bytes, header, error);
    if (header->format != IMAGE_NONE)
        return true;
    for (size_t k = 0; k < sizeof foreign / sizeof foreign[0]; k++)
        if (has_magic(file, bytes, foreign[k].at, foreign[k].text, foreign[k].bytes))
            return image_fail(error, EXIT_USAGE, "%s: this is %s; %s", name, foreign[k].name, readable);
    if (bytes >= 26 && memcmp(file + bytes - 18, "TRUEVISION-XFILE.", 17) == 0)
        return image_fail(error, EXIT_USAGE, "%s: this is a TGA; %s", name, readable);
    if (bytes < 8 && memcmp(file, "\x89PNG\r\n\x1a\n", bytes) == 0)
        return image_fail(error, EXIT_USAGE, "%s: truncated: the PNG ends at byte %zu", name, bytes);
    if (bytes < 3 && memcmp(file, "\xff\xd8\xff", bytes) == 0)
        return image_fail(error, EXIT_USAGE, "%s: truncated: the JPEG ends at byte %zu", name, bytes);
    return image_fail(error, EXIT_USAGE, "%s: not an image that is known here; %s", name, readable);
}
