/* SPDX-License-Identifier: MIT
 *
 * The bound on what comes out of a compressed input that is held as a whole, at its exact value.
 *
 * Not with ThreadSanitizer: one thread.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/support/codec.h"
#include "apps/support/die.h"
#include "apps/support/input.h"

/* A zstd frame: one run of 1000 zeros; and the same in gzip's format, as zlib writes it. */
static const unsigned char zstd_frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38, 0x43, 0x1f, 0x00, 0x00};
static const unsigned char gzip_member[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff,
                                            0x63, 0x60, 0x18, 0x05, 0xa3, 0x60, 0x14, 0x0c, 0x77, 0x00,
                                            0x00, 0x80, 0x17, 0x0b, 0x06, 0xe8, 0x03, 0x00, 0x00};

typedef struct reading {
    input in;
    unsigned char *data;
    size_t bytes;
} reading;

static void read_all(void *arg) {
    reading *r = arg;
    r->data = input_read_all(&r->in, &r->bytes);
}

static void check_bound(const codec *c, const unsigned char *file, size_t bytes) {
    if (!c->open)
        skip();
    for (size_t bound = 998; bound <= 1002; bound++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], file, bytes), bytes);
        close(ends[1]);
        reading r = {.in = {.fd = ends[0], .name = "in"}};
        fatal_error error;
        input_decompress(&r.in);
        assert_true(r.in.decoder && r.in.max_bytes > 1 << 20);
        r.in.max_bytes = bound;
        if (die_catch(&error, read_all, &r)) {
            assert_true(bound >= 1000 && r.bytes == 1000);
            for (size_t i = 0; i < r.bytes; i++)
                assert_int_equal(r.data[i], 0);
        } else {
            assert_true(bound < 1000 && error.code == EXIT_IO);
            assert_non_null(strstr(error.line, "in: more than 99"));
            assert_non_null(strstr(error.line, "is all the memory there is"));
        }
        free(r.data);
        input_close(&r.in);
    }
}

static void the_bound_of_gzip(void **state) {
    (void)state;
    check_bound(&codec_gzip, gzip_member, sizeof gzip_member);
}

static void the_bound_of_zstd(void **state) {
    (void)state;
    check_bound(&codec_zstd, zstd_frame, sizeof zstd_frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bound_of_gzip), cmocka_unit_test(the_bound_of_zstd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
