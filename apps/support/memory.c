/* SPDX-License-Identifier: MIT
 *
 * The size that -S names, and the one that a run without it takes.
 */
#include "memory.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "die.h"

static size_t scaled(size_t number, char suffix) {
    static const char suffixes[] = "KMGTPE";
    const char *at = strchr(suffixes, suffix);
    if (suffix == '%')
        return (size_t)((double)memory_bytes() / 100 * (double)number);
    for (; suffix != 'b' && at >= suffixes; at--)
        number = number > SIZE_MAX / 1024 ? SIZE_MAX : number * 1024;
    return number;
}

size_t memory_of_option(const char *option, const char *text) {
    const char *p = text;
    size_t number = 0;
    bool fits = true;
    for (; *p >= '0' && *p <= '9'; p++)
        fits = fits && !__builtin_mul_overflow(number, 10, &number) &&
               !__builtin_add_overflow(number, (size_t)(*p - '0'), &number);
    if (p == text || (*p && (!strchr("bkKmMGTPE%", *p) || p[1])))
        die_usage("%s \"%s\": a size is a number of K, or with one of the suffixes b, K, M, G, T, P, E and %%", option,
                  text);
    char suffix = *p == 'k' || *p == 0 ? 'K' : *p == 'm' ? 'M' : *p;
    size_t bytes = fits ? scaled(number, suffix) : SIZE_MAX;
    if (bytes < MEMORY_MIN)
        die_usage("%s %s: is less than 1M", option, text);
    return bytes;
}

/* What the kernel says can be allocated without swapping; SIZE_MAX if it does not say. */
static size_t available(void) {
    char line[256];
    unsigned long long kilobytes = 0;
    bool found = false;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1;
    if (file)
        fclose(file);
    return found && kilobytes < SIZE_MAX / 1024 ? (size_t)kilobytes * 1024 : SIZE_MAX;
}

size_t memory_default(void) {
    size_t free_bytes = available(), most = memory_bytes(), bytes = (free_bytes < most ? free_bytes : most) / 2;
    return bytes > MEMORY_MIN ? bytes : MEMORY_MIN;
}

void memory_keep_none(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

void memory_give_back(void) {
#ifdef M_MMAP_THRESHOLD
    malloc_trim(0);
#endif
}
