/* SPDX-License-Identifier: MIT
 *
 * Spans of a file read by several threads. pread is a function here: the file is in memory, ends or fails where a
 * case says, and is given in whole or in part, with interruptions.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "apps/support/input_span.h"

enum { PIECE = INPUT_SPAN_PIECE, BYTES = 5 * PIECE + 777, OFFSET = 12345, FD = 4711 };

typedef struct span_case {
    uint64_t end;   /* the file ends here */
    uint64_t bad;   /* reads fail from here on */
    size_t most;    /* bytes that a call gives */
    bool interrupt; /* every other call is interrupted */
} span_case;

static span_case now;
static atomic_int calls;

static unsigned char file[OFFSET + BYTES];

ssize_t __wrap_pread64(int fd, void *to, size_t bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t bytes, off_t offset) {
    const uint64_t begin = (uint64_t)offset;
    const int call = atomic_fetch_add(&calls, 1);
    if (fd != FD || (now.interrupt && call % 2 == 0)) {
        errno = fd != FD ? EBADF : EINTR;
        return -1;
    }
    if (begin >= now.bad) {
        errno = EIO;
        return -1;
    }
    uint64_t stop = begin + (bytes < now.most ? bytes : now.most);
    stop = stop < now.bad ? stop : now.bad;
    stop = stop < now.end ? stop : now.end;
    if (stop <= begin)
        return 0;
    memcpy(to, file + begin, stop - begin);
    return (ssize_t)(stop - begin);
}

static void check(const span_case *c, size_t bytes, unsigned threads) {
    unsigned char *to = malloc(bytes + 1);
    uint64_t stop = OFFSET + bytes;
    int error_number = -1;
    now = *c;
    stop = stop < c->end ? stop : c->end;
    stop = stop < c->bad ? stop : c->bad;
    assert_non_null(to);
    memset(to, 0xaa, bytes + 1);
    const size_t expected = stop > OFFSET ? (size_t)(stop - OFFSET) : 0;
    assert_int_equal(input_span_read(FD, to, bytes, OFFSET, threads, &error_number), expected);
    assert_int_equal(error_number, expected == bytes || c->end <= c->bad ? 0 : EIO);
    assert_true(memcmp(to, file + OFFSET, expected) == 0);
    assert_int_equal(to[bytes], 0xaa);
    free(to);
}

#define NEVER UINT64_MAX

static void whole(void **state) {
    static const size_t sizes[] = {0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, BYTES};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned threads = 1; threads <= 3; threads++)
            check(&(span_case){NEVER, NEVER, SIZE_MAX, false}, sizes[i], threads);
    check(&(span_case){NEVER, NEVER, 100000, true}, BYTES, 3);
}

/* The end, or the fault, is in the first piece, between two, in the middle, at the last byte. */
static void ends_and_faults(void **state) {
    static const uint64_t places[] = {0, 1, PIECE - 1, PIECE, 2 * PIECE + 5, BYTES - 1};
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const uint64_t place = OFFSET + places[i];
        for (unsigned threads = 1; threads <= 4; threads += 3) {
            check(&(span_case){place, NEVER, SIZE_MAX, false}, BYTES, threads);
            check(&(span_case){NEVER, place, 300000, true}, BYTES, threads);
            check(&(span_case){place, place + 1, SIZE_MAX, true}, BYTES, threads);
            check(&(span_case){place + 1, place, SIZE_MAX, false}, BYTES, threads);
        }
    }
}

int main(void) {
    for (size_t i = 0; i < sizeof file; i++)
        file[i] = (unsigned char)(i * 2654435761u >> 13);
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(ends_and_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
