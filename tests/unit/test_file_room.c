/* SPDX-License-Identifier: MIT
 *
 * Room for a file in memory: made beside the writes or ahead of them, refused, too little, too much. The file's blocks
 * say how much of it there is.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "apps/support/file_room.h"
#include "apps/support/write_all.h"

enum { STEP = 8 << 20, BYTES = 2 * STEP + 12345, TRIES = 10000 };

static unsigned char data[BYTES];

static int new_file(void) {
    const int fd = memfd_create("test_file_room", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    return fd;
}

static struct stat status_of(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st;
}

/* Waits until the file takes so many bytes of memory. */
static void await_room(int fd, uint64_t bytes) {
    int tries = 0;
    for (; (uint64_t)status_of(fd).st_blocks * 512 < bytes && tries < TRIES; tries++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(tries < TRIES);
}

/* Writes and reads back; the data end the file, whatever room there is. */
static void check_writing(int fd, size_t bytes) {
    const size_t half = bytes / 2 + 1;
    unsigned char *back = malloc(bytes);
    assert_non_null(back);
    write_all("file", fd, data, half);
    write_all("file", fd, data + half, bytes - half);
    assert_int_equal(status_of(fd).st_size, bytes);
    assert_int_equal(pread(fd, back, bytes, 0), bytes);
    assert_memory_equal(back, data, bytes);
    free(back);
}

static void ahead_of_writes(void **state) {
    static const size_t sizes[] = {2, 4096, STEP - 1, STEP, STEP + 1, BYTES};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int fd = new_file();
        file_room *room = file_room_begin(fd, sizes[i]);
        assert_non_null(room);
        await_room(fd, sizes[i]);
        assert_int_equal(status_of(fd).st_size, 0);
        check_writing(fd, sizes[i]);
        file_room_end(&room);
        assert_int_equal(status_of(fd).st_size, sizes[i]);
        close(fd);
    }
}

static void beside_writes(void **state) {
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        const int fd = new_file();
        file_room *room = file_room_begin(fd, turn == 0 ? BYTES : turn == 1 ? BYTES / 3 : 2 * (uint64_t)BYTES);
        check_writing(fd, BYTES);
        file_room_end(&room);
        assert_int_equal(status_of(fd).st_size, BYTES);
        close(fd);
    }
}

/* Ending does not wait for the whole. */
static void ends_early(void **state) {
    (void)state;
    const int fd = new_file();
    file_room *room = file_room_begin(fd, (uint64_t)1 << 50);
    file_room_end(&room);
    assert_null(room);
    const uint64_t most = (uint64_t)1 << 32; /* a loaded machine may stop this thread for a second */
    assert_true((uint64_t)status_of(fd).st_blocks * 512 < most);
    assert_int_equal(status_of(fd).st_size, 0);
    close(fd);
}

/* The writes say what is wrong, not this. */
static void refused(void **state) {
    int ends[2];
    (void)state;
    const int fd = new_file();
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    file_room *room = file_room_begin(fd, BYTES);
    file_room_end(&room);
    assert_int_equal(status_of(fd).st_blocks, 0);
    close(fd);
    assert_int_equal(pipe(ends), 0);
    room = file_room_begin(ends[1], BYTES);
    assert_null(room);
    file_room_end(&room);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    const struct CMUnitTest tests[] = {cmocka_unit_test(ahead_of_writes), cmocka_unit_test(beside_writes),
                                       cmocka_unit_test(ends_early), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
