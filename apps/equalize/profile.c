/* SPDX-License-Identifier: MIT
 *
 * ICC profiles in PNG (an iCCP chunk: a name, 0, 0, the profile deflated) and JPEG (APP2 segments, numbered from 1;
 * ICC.1 annex B). A profile that stays in its format is copied as it is; only from PNG to JPEG it is inflated, to no
 * more than JPEG can hold.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    MAX_BYTES = PROFILE_SEGMENT_BYTES * PROFILE_SEGMENTS,
    SEGMENT_HEAD_BYTES = sizeof PROFILE_SEGMENT_HEAD + 2,
    MAX_NAME_BYTES = 80
};

static const uint8_t png_name[] = "ICC profile\0"; /* of a profile that had none; and its method, 0 */

void profile_free(image_profile *profile) {
    free(profile->data);
    *profile = (image_profile){0};
}

static bool keep(image_profile *profile, profile_form form, const uint8_t *data, size_t bytes) {
    profile->data = malloc(bytes ? bytes : 1);
    if (!profile->data)
        return false;
    memcpy(profile->data, data, bytes);
    profile->bytes = bytes;
    profile->form = form;
    return true;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static uint32_t be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static uint32_t be32(const uint8_t *p) { return be16(p) << 16 | be16(p + 2); }

/* Where the deflated profile begins in an iCCP chunk; 0: the chunk is damaged. */
static size_t deflated_at(const uint8_t *chunk, size_t bytes) {
    const uint8_t *end = memchr(chunk, 0, bytes < MAX_NAME_BYTES ? bytes : MAX_NAME_BYTES);
    if (!end || end == chunk || (size_t)(end - chunk) + 2 >= bytes || end[1] != 0)
        return 0;
    return (size_t)(end - chunk) + 2;
}

static bool find_png(const uint8_t *file, size_t bytes, image_profile *profile) {
    for (size_t at = 8; bytes - at >= 12;) {
        const size_t size = be32(file + at);
        const uint8_t *type = file + at + 4, *chunk = file + at + 8;
        if (size > bytes - at - 12 || memcmp(type, "IDAT", 4) == 0)
            return true;
        if (memcmp(type, "iCCP", 4) == 0) {
            if (deflated_at(chunk, size) && size <= MAX_BYTES)
                return keep(profile, PROFILE_PNG, chunk, size);
            profile->form = PROFILE_BROKEN;
            return true;
        }
        at += size + 12;
    }
    return true;
}

/* The next APP2 segment of a profile from *at on, before the first scan; NULL: none. *size: of its part. */
static const uint8_t *next_segment(const uint8_t *file, size_t bytes, size_t *at, size_t *size) {
    while (bytes - *at >= 4 && file[*at] == 0xff) {
        const uint32_t marker = file[*at + 1];
        const uint8_t *content = file + *at + 4;
        if (marker == 0xff) { /* fill */
            ++*at;
            continue;
        }
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
            *at += 2;
            continue;
        }
        *size = be16(file + *at + 2);
        if (marker == 0xda || marker == 0xd9 || *size < 2 || *size > bytes - *at - 2)
            return NULL;
        *at += 2 + *size;
        *size -= 2;
        if (marker == 0xe2 && *size >= SEGMENT_HEAD_BYTES &&
            memcmp(content, PROFILE_SEGMENT_HEAD, sizeof PROFILE_SEGMENT_HEAD) == 0) {
            *size -= SEGMENT_HEAD_BYTES;
            return content + sizeof PROFILE_SEGMENT_HEAD;
        }
    }
    return NULL;
}

/* The parts may come in any order; each must be there once. */
static bool find_jpeg(const uint8_t *file, size_t bytes, image_profile *profile) {
    struct {
        const uint8_t *data;
        size_t bytes;
    } parts[PROFILE_SEGMENTS + 1] = {{0}};
    size_t at = 2, size, all = 0, count = 0, found = 0;
    for (const uint8_t *part; (part = next_segment(file, bytes, &at, &size));) {
        profile->form = PROFILE_BROKEN; /* until all are found */
        count = found++ ? count : part[1];
        if (part[0] == 0 || part[0] > count || part[1] != count || parts[part[0]].data)
            return true;
        parts[part[0]].data = part + 2;
        parts[part[0]].bytes = size;
        all += size;
    }
    if (found == 0 || found != count || all == 0)
        return true;
    profile->data = malloc(all);
    if (!profile->data)
        return false;
    for (size_t i = 1; i <= count; i++) {
        memcpy(profile->data + profile->bytes, parts[i].data, parts[i].bytes);
        profile->bytes += parts[i].bytes;
    }
    profile->form = PROFILE_RAW;
    return true;
}

bool profile_find(const uint8_t *file, size_t bytes, image_format format, image_profile *profile) {
    *profile = (image_profile){0};
    if (format == IMAGE_PNG)
        return find_png(file, bytes, profile);
    return format != IMAGE_JPEG || find_jpeg(file, bytes, profile);
}

/* ---- converting -------------------------------------------------------------------------------------------------- */

/* An iCCP chunk's content, raw; none if it does not inflate, or to more than JPEG holds. */
static bool inflate_profile(const image_profile *from, image_profile *to) {
    const size_t at = deflated_at(from->data, from->bytes);
    z_stream z = {.next_in = from->data + at, .avail_in = (uInt)(from->bytes - at)};
    if (inflateInit(&z) != Z_OK)
        return false;
    size_t room = 64 << 10;
    int status = Z_OK;
    uint8_t *data = NULL, *grown;
    while (status == Z_OK && z.total_out < MAX_BYTES && (grown = realloc(data, room *= 2))) {
        data = grown;
        z.next_out = data + z.total_out;
        z.avail_out = (uInt)(room - z.total_out);
        status = inflate(&z, Z_NO_FLUSH);
    }
    const bool memory = data && status != Z_MEM_ERROR;
    if (status == Z_STREAM_END && z.total_out > 0 && z.total_out <= MAX_BYTES)
        *to = (image_profile){.data = data, .bytes = z.total_out, .form = PROFILE_RAW};
    else
        free(data);
    inflateEnd(&z);
    return memory;
}

static bool deflate_profile(const image_profile *from, image_profile *to) {
    uLongf bytes = compressBound((uLong)from->bytes);
    uint8_t *data = malloc(sizeof png_name + bytes);
    if (!data || compress(data + sizeof png_name, &bytes, from->data, (uLong)from->bytes) != Z_OK) {
        free(data);
        return false;
    }
    memcpy(data, png_name, sizeof png_name);
    *to = (image_profile){.data = data, .bytes = sizeof png_name + bytes, .form = PROFILE_PNG};
    return true;
}

bool profile_convert(const image_profile *profile, image_format format, image_profile *converted) {
    const profile_form form = format == IMAGE_PNG ? PROFILE_PNG : format == IMAGE_JPEG ? PROFILE_RAW : PROFILE_NONE;
    *converted = (image_profile){0};
    if (!profile->data || form == PROFILE_NONE)
        return true;
    if (profile->form == form)
        return keep(converted, form, profile->data, profile->bytes);
    return form == PROFILE_PNG ? deflate_profile(profile, converted) : inflate_profile(profile, converted);
}
