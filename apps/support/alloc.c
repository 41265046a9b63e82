/* SPDX-License-Identifier: MIT
 *
 * Memory of the host.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"

enum { HUGE_PAGE = 2 << 20, LARGE_BYTES = 4 * HUGE_PAGE };

static size_t checked_bytes(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        die(EXIT_IO, "no memory for %zu items of %zu bytes", count, size);
    return bytes ? bytes : 1;
}

/* Huge pages where they lie in the memory as a whole, so that it takes no more than without. */
static void *with_huge_pages_inside(void *memory, size_t bytes) {
    const uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)memory + bytes) / HUGE_PAGE * HUGE_PAGE;
    if (memory && begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    return memory;
}

void *try_alloc(size_t bytes) {
    if (bytes < 2 * HUGE_PAGE || bytes > SIZE_MAX - HUGE_PAGE)
        return malloc(bytes);
    if (bytes < LARGE_BYTES)
        return with_huge_pages_inside(malloc(bytes), bytes);
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

void *must_alloc_blocks(size_t bytes) {
    const bool large = bytes >= LARGE_BYTES;
    const size_t rounded = (checked_bytes(bytes, 1) + ALLOC_BLOCK_BYTES - 1) / ALLOC_BLOCK_BYTES * ALLOC_BLOCK_BYTES;
    void *memory = large ? try_alloc(bytes) : aligned_alloc(ALLOC_BLOCK_BYTES, rounded);
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

/* The number that a file begins with, SIZE_MAX if there is none. */
static size_t number_in(const char *path) {
    unsigned long long number;
    FILE *file = fopen(path, "re");
    if (!file)
        return SIZE_MAX;
    bool there = fscanf(file, "%llu", &number) == 1;
    fclose(file);
    return there && number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

size_t memory_bytes(void) {
    struct rlimit space;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX / 4;
    size_t limits[] = {number_in("/sys/fs/cgroup/memory.max"), number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                       getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY ? (size_t)space.rlim_cur
                                                                                            : SIZE_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        bytes = limits[i] < bytes ? limits[i] : bytes;
    return bytes;
}
