/* SPDX-License-Identifier: MIT
 *
 * Memory that is lent to an output past the page cache, at all offsets from a block, between data that are copied. It
 * is changed as soon as it may be. Byte i of the file is a hash of i.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "apps/support/alloc.h"
#include "apps/support/output.h"
#include "../random.h"

enum { BLOCK = ALLOC_BLOCK_BYTES, MOST = 6 << 20, CALLS = 40 };

static unsigned char byte_at(uint64_t i) { return (unsigned char)(random_mix(i / 8) >> i % 8 * 8); }

static unsigned char *fill(unsigned char *to, uint64_t at, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = byte_at(at + i);
    return to;
}

static void spoil(unsigned char *memory) {
    for (size_t i = 0; i < MOST + BLOCK; i += 512)
        memory[i] ^= 0xff;
}

/* In half of the calls the data lie in memory as in the file. */
static uint64_t write_all_kinds(output *out, unsigned char *memory, uint64_t seed) {
    uint64_t rng = seed, at = 0;
    unsigned char *own = memory, *lent = memory + MOST + BLOCK;
    for (size_t call = 0; call < CALLS; call++, at = output_bytes(out)) {
        const bool congruent = random_bool(&rng), lends = random_bool(&rng), large = random_below(&rng, 8) == 0;
        const size_t n = (size_t)random_below(&rng, large ? MOST : 3 << 16), any = (size_t)random_below(&rng, BLOCK);
        unsigned char *data = fill(own + (congruent ? at % BLOCK : any), at, n), *before = lent;
        (lends ? output_lend : output_write)(out, data, n);
        if (lends) {
            lent = own;
            own = before;
        }
        spoil(own);
    }
    output_lend(out, NULL, 0);
    spoil(lent);
    return at;
}

static void lent_memory(void **state) {
    unsigned char *memory = must_alloc_blocks(2 * (MOST + BLOCK)), *read = must_alloc(1 << 20, 1);
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        FILE *file = tmpfile();
        assert_non_null(file);
        const int fd = fileno(file);
        output *out = output_over(fd, "it");
        output_pass_cache(out);
        const uint64_t bytes = write_all_kinds(out, memory, seed);
        output_end(out);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), bytes);
        uint64_t done = 0, wrong = 0;
        for (ssize_t n; (n = pread(fd, read, 1 << 20, (off_t)done)) > 0; done += (uint64_t)n)
            for (ssize_t i = 0; i < n; i++)
                wrong += read[i] != byte_at(done + (uint64_t)i);
        assert_int_equal(done, bytes);
        assert_int_equal(wrong, 0);
        fclose(file);
    }
    free(memory);
    free(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lent_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
