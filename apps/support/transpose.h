/* SPDX-License-Identifier: MIT
 *
 * Elements in another order of axes, in the host's memory.
 */
#ifndef APPS_SUPPORT_TRANSPOSE_H
#define APPS_SUPPORT_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

/* to[c * to_stride + r] = from[r * from_stride + c] for r < rows, c < columns; elements of 1, 2, 4 or 8 bytes. */
void transpose(void *to, size_t to_stride, const void *from, size_t from_stride, size_t rows, size_t columns,
               size_t size);

/* An array in Fortran order (its first axis is contiguous) in C order (its last one is). */
void transpose_to_c_order(void *to, const void *from, unsigned dimensions, const uint64_t *shape, size_t size);

#endif
