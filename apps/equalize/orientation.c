/* SPDX-License-Identifier: MIT
 *
 * EXIF orientation is applied to the pixels, because the output has no metadata: else photographs from phones would lie
 * on their side. OpenCV's imread does the same.
 */
#include "orientation.h"

#include <string.h>

enum { BLOCK = 32 }; /* pixels; source and result of a block fit the first cache */

/* How to make an image upright: transpose it, then mirror the result. */
typedef struct orientation {
    bool transposed; /* columns become rows */
    bool mirror_x;
    bool mirror_y;
} orientation;

static const orientation orientations[9] = {
    [2] = {false, true, false}, [3] = {false, true, true}, [4] = {false, false, true}, [5] = {true, false, false},
    [6] = {true, true, false},  [7] = {true, true, true},  [8] = {true, false, true},
};

/* Where pixel (x, y) of the result comes from. */
static size_t source(const orientation *o, const image_header *from, const image_header *to, uint32_t x, uint32_t y) {
    if (o->mirror_x)
        x = to->width - 1 - x;
    if (o->mirror_y)
        y = to->height - 1 - y;
    return o->transposed ? (size_t)x * from->width + y : (size_t)y * from->width + x;
}

static void move_block(const orientation *o, const image *from, image *to, uint32_t left, uint32_t top) {
    size_t bytes = (size_t)from->header.channels * (from->header.depth / 8);
    uint32_t width = to->header.width, right = width - left < BLOCK ? width : left + BLOCK;
    uint32_t height = to->header.height, bottom = height - top < BLOCK ? height : top + BLOCK;
    const unsigned char *in = from->pixels;
    unsigned char *out = to->pixels;
    for (uint32_t y = top; y < bottom; y++)
        for (uint32_t x = left; x < right; x++)
            memcpy(out + ((size_t)y * width + x) * bytes, in + source(o, &from->header, &to->header, x, y) * bytes,
                   bytes);
}

bool image_upright(const char *name, image *img, image_error *error) {
    if (img->header.orientation < 2 || img->header.orientation > 8)
        return true;
    const orientation *o = &orientations[img->header.orientation];
    image_header header = img->header;
    image upright;
    header.orientation = 0;
    if (o->transposed) {
        header.width = img->header.height;
        header.height = img->header.width;
    }
    bool good = image_new(name, &header, &upright, error);
    if (good) {
        for (size_t top = 0; top < header.height; top += BLOCK)
            for (size_t left = 0; left < header.width; left += BLOCK)
                move_block(o, img, &upright, (uint32_t)left, (uint32_t)top);
        upright.file_bytes = img->file_bytes;
    }
    if (good) {
        upright.profile = img->profile;
        img->profile = (image_profile){0};
    }
    image_free(img);
    if (good)
        *img = upright;
    return good;
}
