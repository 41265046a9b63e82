/* SPDX-License-Identifier: MIT
 *
 * Memory of the host.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "alloc.h"
#include "die.h"

enum { HUGE_PAGE = 2 << 20 };

static size_t checked_bytes(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        die(EXIT_IO, "no memory for %zu items of %zu bytes", count, size);
    return bytes ? bytes : 1;
}

void *try_alloc(size_t bytes) {
    if (bytes < 4 * (size_t)HUGE_PAGE || bytes > SIZE_MAX - HUGE_PAGE)
        return malloc(bytes);
    size_t rounded = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *memory = aligned_alloc(HUGE_PAGE, rounded);
    if (memory)
        madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

void *must_alloc(size_t count, size_t size) {
    size_t bytes = checked_bytes(count, size);
    void *memory = try_alloc(bytes);
    if (!memory)
        die(EXIT_IO, "no memory for %zu bytes", bytes);
    return memory;
}

void *must_realloc(void *memory, size_t count, size_t size) {
    size_t bytes = checked_bytes(count, size);
    void *moved = realloc(memory, bytes);
    if (!moved)
        die(EXIT_IO, "no memory for %zu bytes", bytes);
    return moved;
}
