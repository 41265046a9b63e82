/* SPDX-License-Identifier: MIT
 *
 * Temporary files: where they are made, and calls of the system that fail while they are written and read.
 */
#include "apps/sort/part_file.h"
#include "apps/support/spool.h"
#include "output_case.h"

/* ---- where they are ---------------------------------------------------------------------------------------------- */

static void check_folder(const char *output, const char *expected) {
    char room[SPOOL_FOLDER_BYTES];
    spool_beside(output);
    assert_string_equal(spool_folder(room), expected);
}

static void folders(void **state) {
    static char deep[SPOOL_FOLDER_BYTES + 8];
    (void)state;
    unsetenv("TMPDIR");
    memset(deep, 'x', sizeof deep - 1);
    check_folder(NULL, "/tmp");
    check_folder("/dev/null", "/tmp");
    check_folder(deep, "/tmp");
    check_folder("out", ".");
    check_folder("a/b/out", "a/b");
    check_folder("/no such file", "/");
    write_file("out", OLD);
    check_folder("out", ".");
    setenv("TMPDIR", "", 1);
    check_folder("a/out", "a");
    setenv("TMPDIR", "/var/tmp", 1);
    check_folder("out", "/var/tmp");
    spool_in("asked");
    check_folder("out", "asked");
    spool_in(NULL);
    unsetenv("TMPDIR");
}

/* ---- written and read -------------------------------------------------------------------------------------------- */

typedef struct spool_case {
    faulty_call calls[FAULTY_MAX];
    int code;
    const char *message;
} spool_case;

/* More than an output writes at once past the page cache. */
enum { BYTES = 5 << 20, ODD = 777777, FILES = 16 };

static unsigned char data[BYTES];

static int make_data(void **state) {
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i % 251 + (i >> 16));
    return enter_folder(state);
}

/* Another process with root's rights shortens the file. */
static void shorten(void) {
    for (int fd = STDERR_FILENO + 1; fd < FILES; fd++)
        if (ftruncate(fd, 3) != 0)
            errno = 0;
}

static void keep_in_spool(const void *arg) {
    static unsigned char read[BYTES];
    spool s = {0};
    (void)arg;
    for (size_t at = 0; at < BYTES; at += ODD)
        spool_write(&s, data + at, at + ODD < BYTES ? ODD : BYTES - at, at);
    spool_write(&s, data + 5, 10, 5);
    spool_write(&s, data, 0, 0);
    for (size_t at = 0; at < BYTES; at += ODD)
        spool_read(&s, read + at, ODD, at);
    const bool good = s.bytes == BYTES && memcmp(read, data, BYTES) == 0 && spool_read(&s, read, 1, BYTES) == 0;
    spool_clear(&s);
    if (!good)
        die(EXIT_NEGATIVE, "the bytes are others");
}

static void keep_in_part_file(const void *arg) {
    static unsigned char read[BYTES];
    part_file f;
    (void)arg;
    part_file_open(&f);
    for (size_t at = 0; at < BYTES; at += ODD)
        output_write(f.out, data + at, at + ODD < BYTES ? ODD : BYTES - at);
    part_file_end(&f);
    for (size_t at = 0; at < BYTES; at += ODD)
        part_file_read(&f, read + at, at + ODD < BYTES ? ODD : BYTES - at, at);
    part_file_close(&f);
    if (memcmp(read, data, BYTES) != 0)
        die(EXIT_NEGATIVE, "the bytes are others");
}

static void stop_writing(const void *arg) {
    part_file f;
    (void)arg;
    part_file_open(&f);
    output_write(f.out, OLD, strlen(OLD));
    part_file_close(&f);
    part_file_close(&f);
}

static void try_spool(const char *title, const spool_case *c, void (*body)(const void *), const char *also) {
    const output_case as_output = {.title = title, .code = c->code, .message = c->message, .also = also};
    empty_folder();
    int code = run_child(c->calls, body, NULL);
    check_said(&as_output, code);
    check_left(&as_output, code);
}

#define NO_UNNAMED                                                                                                     \
    { "open", ALWAYS, EOPNOTSUPP, NULL }

static void making(void **state) {
    static const spool_case cases[] = {
        {{NO_FAULT}, 0, NULL},
        {{NO_UNNAMED}, 0, NULL},
        {{NO_UNNAMED, {"mkostemp", 1, EACCES, NULL}}, 3, ".: cannot make a temporary file there: Permission denied"},
    };
    static const spool_case stays = {
        {NO_UNNAMED, {"unlink", 1, EPERM, NULL}}, 3, ".: cannot make a temporary file there: Operation not permitted"};
    (void)state;
    setenv("TMPDIR", ".", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        try_spool("spool", &cases[i], keep_in_spool, NULL);
        try_spool("part file", &cases[i], keep_in_part_file, NULL);
        try_spool("begun part file", &cases[i], stop_writing, NULL);
    }
    try_spool("a name that stays", &stays, keep_in_spool, "scan-");
}

static void spools(void **state) {
    static const spool_case cases[] = {
        {{{"pwrite", 2, EINTR, NULL}, {"pread", 1, EINTR, NULL}}, 0, NULL},
        {{{"pwrite", 2, ENOSPC, NULL}}, 3, "temporary file in .: cannot write: No space left on device (--tmp"},
        {{{"pread", 2, EIO, NULL}}, 3, "temporary file in .: cannot read: " IO " (--tmp"},
        {{{"pread", 2, 0, shorten}}, 3, "temporary file in .: cannot read: No data available"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        try_spool("spool", &cases[i], keep_in_spool, NULL);
}

static void part_files(void **state) {
    static const spool_case cases[] = {
        /* Neither written nor read past the page cache: it cannot be asked for, or fails when it is done. */
        {{{"fcntl", ALWAYS, EINVAL, NULL}}, 0, NULL},
        {{{"fcntl", 2, EINVAL, NULL}}, 0, NULL},
        {{{"fcntl", 6, EINVAL, NULL}}, 0, NULL},
        {{{"write", 1, EINVAL, NULL}}, 0, NULL},
        {{{"pread", 1, EINVAL, NULL}}, 0, NULL},
        {{{"pread", 3, EINVAL, NULL}}, 0, NULL},
        {{{"pread", ALWAYS, EINVAL, NULL}}, 3, "temporary file: cannot read: Invalid argument"},
        {{{"write", 1, EINVAL, NULL}, {"write", 2, EINVAL, NULL}},
         3,
         "(--tmp names another folder): cannot write: Inv"},
        {{{"write", 1, EINTR, NULL}, {"pread", 1, EINTR, NULL}}, 0, NULL},
        {{{"write", 1, ENOSPC, NULL}}, 3, "(--tmp names another folder): cannot write: No space left on device"},
        {{{"pread", 2, EIO, NULL}}, 3, "temporary file: cannot read: " IO},
        {{{"pread", 2, 0, shorten}}, 3, "temporary file: cannot read: it is shorter than it was"},
        {{{"fcntl", ALWAYS, EINVAL, NULL}, {"pread", 2, 0, shorten}}, 3, "it is shorter than it was"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        try_spool("part file", &cases[i], keep_in_part_file, NULL);
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

typedef struct room_case {
    const char *tmp, *output;
    bool in_levels;
    spool_case end;
} room_case;

static void need_too_much(const void *arg) {
    const room_case *c = arg;
    spool_in(c->tmp);
    part_file_need_room(1, c->output, 1, c->in_levels);
    part_file_need_room((uint64_t)1 << 62, c->output, (uint64_t)1 << 60, c->in_levels);
}

static void room(void **state) {
    static const room_case cases[] = {
        {".", NULL, false, {{NO_FAULT}, 3, "needs 4611686018427387904 for temporary files: --tmp"}},
        {".", NULL, true, {{NO_FAULT}, 3, "needs 9223372036854775808 for temporary files: --tmp"}},
        {".", "out", false, {{NO_FAULT}, 3, "needs 5764607523034234880 for temporary files and the output: --tmp"}},
        {".", "out", true, {{NO_FAULT}, 3, "needs 9223372036854775808 for temporary files and the output: --tmp"}},
        {".", "./new", false, {{NO_FAULT}, 3, "for temporary files and the output"}},
        {".", "no/new", false, {{NO_FAULT}, 3, "for temporary files: --tmp"}},
        {".", "/scan-no-such-file", false, {{NO_FAULT}, 3, "for temporary files"}},
        {"/proc", "/scan-no-such-file", false, {{NO_FAULT}, 0, NULL}}, /* of unknown size */
        {".", "/proc/no-such-file", false, {{NO_FAULT}, 3, "for temporary files: --tmp"}},
        {".", "/dev/null", false, {{NO_FAULT}, 3, "for temporary files: --tmp"}},
        {"no", "out", false, {{NO_FAULT}, 0, NULL}},
        {".", NULL, false, {{{"statvfs", ALWAYS, EIO, NULL}}, 0, NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const room_case *c = &cases[i];
        empty_folder();
        write_file("out", OLD);
        int code = run_child(c->end.calls, need_too_much, c);
        check_said(&(output_case){.title = c->output, .code = c->end.code, .message = c->end.message}, code);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders), cmocka_unit_test(making),     cmocka_unit_test(spools),
        cmocka_unit_test(room),    cmocka_unit_test(part_files),
    };
    return cmocka_run_group_tests(tests, make_data, leave_folder);
}
