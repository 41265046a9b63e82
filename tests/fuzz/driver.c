/* SPDX-License-Identifier: MIT
 *
 * The main program of a fuzz target without libFuzzer: tries mutations of the seeds for a second of processor time, or
 * the files named on the command line.
 */
#include <string.h>
#include <time.h>

#include "../random.h"
#include "fuzz.h"

enum { RUNS = 1000000, SECONDS = 1, MAX_BYTES = 4096 };

static uint64_t rng = 1;

static size_t below(size_t n) { return n ? (size_t)random_below(&rng, n) : 0; }

/* Changes a byte, or takes a piece out, doubles it, or inserts one of another seed. Returns the new length. */
static size_t mutate(uint8_t *data, size_t n, size_t seed_count) {
    static const uint8_t odd[] = "\0\xff\x80(){}[]'\"`,.:+-eE0189 \t\r\n&|!<>=_xinf";
    size_t at = below(n), length = below(8) + 1;
    switch (below(5)) {
    case 0:
        if (n)
            data[at] = (uint8_t)random_u64(&rng);
        return n;
    case 1:
        if (n)
            data[at] = odd[below(sizeof odd)];
        return n;
    case 2:
        length = length < n - at ? length : n - at;
        memmove(data + at, data + at + length, n - at - length);
        return n - length;
    case 3:
        length = length < n - at ? length : n - at;
        if (n + length > MAX_BYTES)
            return n;
        memmove(data + at + length, data + at, n - at);
        return n + length;
    default: {
        const char *other = fuzz_seeds[below(seed_count)];
        size_t m = strlen(other), from = below(m);
        length = length < m - from ? length : m - from;
        if (n + length > MAX_BYTES)
            return n;
        memmove(data + at + length, data + at, n - at);
        memcpy(data + at, other + from, length);
        return n + length;
    }
    }
}

/* Tries a copy of exactly n bytes, so that a sanitizer sees reads past the end. */
static void try_one(const uint8_t *data, size_t n) {
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact)
        abort();
    if (n)
        memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

int main(int argc, char **argv) {
    static uint8_t data[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file)
            return 1;
        try_one(data, fread(data, 1, sizeof data, file));
        fclose(file);
    }
    if (argc > 1)
        return 0;
    size_t seed_count = 0;
    while (fuzz_seeds[seed_count])
        seed_count++;
    for (size_t run = 0; run < RUNS && clock() < SECONDS * CLOCKS_PER_SEC; run++) {
        const char *seed = fuzz_seeds[run % seed_count];
        size_t n = strlen(seed);
        memcpy(data, seed, n);
        for (size_t changes = below(6); changes; changes--)
            n = mutate(data, n, seed_count);
        try_one(data, n);
    }
    return 0;
}
