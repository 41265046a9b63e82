/* SPDX-License-Identifier: MIT
 *
 * The main program of a fuzz target without libFuzzer: tries the seeds, those of a folder named on the command line
 * too, and their mutations for a second of processor time; or it tries files named there.
 */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../random.h"
#include "fuzz.h"

enum { RUNS = 1000000, SECONDS = 1, MAX_BYTES = 4096, MAX_SEEDS = 1024 };

static uint64_t rng = 1;

static struct seed {
    uint8_t *data;
    size_t bytes;
} seeds[MAX_SEEDS];
static size_t seed_count;

static size_t below(size_t n) { return n ? (size_t)random_below(&rng, n) : 0; }

/* Changes a byte, or takes a piece out, doubles it, or inserts one of another seed. Returns the new length. */
static size_t mutate(uint8_t *data, size_t n) {
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
        const struct seed *other = &seeds[below(seed_count)];
        size_t m = other->bytes, from = below(m);
        length = length < m - from ? length : m - from;
        if (n + length > MAX_BYTES)
            return n;
        memmove(data + at + length, data + at, n - at);
        if (length)
            memcpy(data + at, other->data + from, length);
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

static void add_seed(const void *data, size_t bytes) {
    if (seed_count == MAX_SEEDS || bytes > MAX_BYTES)
        return;
    uint8_t *copy = malloc(bytes + 1);
    if (!copy)
        abort();
    if (bytes)
        memcpy(copy, data, bytes);
    seeds[seed_count++] = (struct seed){copy, bytes};
}

static size_t read_file(const char *path, uint8_t *data, size_t room) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t n = fread(data, 1, room, file);
    fclose(file);
    return n;
}

/* The files of a folder become seeds, in the order of their names. */
static void add_folder(const char *folder, uint8_t *data, size_t room) {
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            add_seed(data, read_file(path, data, room));
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv) {
    static uint8_t data[1 << 20];
    struct stat st;
    bool files = false;
    for (size_t k = 0; fuzz_seeds[k]; k++)
        add_seed(fuzz_seeds[k], strlen(fuzz_seeds[k]));
    for (int i = 1; i < argc; i++) {
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            add_folder(argv[i], data, sizeof data);
        } else {
            try_one(data, read_file(argv[i], data, sizeof data));
            files = true;
        }
    }
    if (files)
        return 0;
    for (size_t run = 0; run < seed_count || (run < RUNS && clock() < SECONDS * CLOCKS_PER_SEC); run++) {
        const struct seed *seed = &seeds[run % seed_count];
        size_t n = seed->bytes;
        memcpy(data, seed->data, n);
        for (size_t changes = run < seed_count ? 0 : below(6); changes; changes--)
            n = mutate(data, n);
        try_one(data, n);
    }
    return 0;
}
