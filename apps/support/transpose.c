/* SPDX-License-Identifier: MIT
 *
 * Transposes in square tiles, so that of each cache line that is touched all elements are.
 */
#include "transpose.h"

enum { TILE = 32, MAX_AXES = 64 };

#define TRANSPOSE(bits)                                                                                                \
    static void transpose_##bits(uint##bits##_t *to, size_t to_stride, const uint##bits##_t *from, size_t from_stride, \
                                 size_t rows, size_t columns) {                                                        \
        for (size_t r = 0; r < rows; r++)                                                                              \
            for (size_t c = 0; c < columns; c++)                                                                       \
                to[c * to_stride + r] = from[r * from_stride + c];                                                     \
    }
TRANSPOSE(8)
TRANSPOSE(16)
TRANSPOSE(32)
TRANSPOSE(64)

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

void transpose(void *to, size_t to_stride, const void *from, size_t from_stride, size_t rows, size_t columns,
               size_t size) {
    for (size_t r = 0; r < rows; r += TILE)
        for (size_t c = 0; c < columns; c += TILE) {
            char *t = (char *)to + (c * to_stride + r) * size;
            const char *f = (const char *)from + (r * from_stride + c) * size;
            const size_t tall = smaller(rows - r, TILE), wide = smaller(columns - c, TILE);
            switch (size) {
            case 1: transpose_8((void *)t, to_stride, (const void *)f, from_stride, tall, wide); break;
            case 2: transpose_16((void *)t, to_stride, (const void *)f, from_stride, tall, wide); break;
            case 4: transpose_32((void *)t, to_stride, (const void *)f, from_stride, tall, wide); break;
            case 8: transpose_64((void *)t, to_stride, (const void *)f, from_stride, tall, wide); break;
            }
        }
}

/* For each place on the axes between the first and the last, those two are transposed. Axes of length 1 are left out.
 */
void transpose_to_c_order(void *to, const void *from, unsigned dimensions, const uint64_t *shape, size_t size) {
    size_t length[MAX_AXES], stride[MAX_AXES], place[MAX_AXES] = {0}; /* stride: in C order */
    unsigned axes = 0;
    for (unsigned i = 0; i < dimensions; i++)
        if (shape[i] != 1)
            length[axes++] = (size_t)shape[i];
    if (axes == 0)
        length[axes++] = 1;
    size_t count = 1;
    for (unsigned i = axes; i-- > 0; count *= length[i])
        stride[i] = count;
    if (count == 0)
        return;
    const unsigned last = axes - 1;
    const size_t last_stride = count / length[last]; /* in Fortran order */
    for (size_t done = 0; done < count; done += length[0] * (last ? length[last] : 1)) {
        size_t to_at = 0, from_at = 0, from_stride = length[0];
        for (unsigned i = 1; i < last; i++) {
            to_at += place[i] * stride[i];
            from_at += place[i] * from_stride;
            from_stride *= length[i];
        }
        transpose((char *)to + to_at * size, stride[0], (const char *)from + from_at * size, last_stride,
                  last ? length[last] : 1, length[0], size);
        for (unsigned i = 1; i < last && ++place[i] == length[i]; i++)
            place[i] = 0;
    }
}
