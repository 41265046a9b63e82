/* SPDX-License-Identifier: MIT
 *
 * Outputs that are no files of their own, several outputs at once, and paths.
 */
#include "output_case.h"

/* ---- no file of its own ------------------------------------------------------------------------------------------ */

typedef struct direct_case {
    const char *path; /* NULL: stdout, which goes to ../out */
    bool late_head;
    faulty_call calls[FAULTY_MAX];
    int code;
    const char *message;
    void (*prepare)(void);
} direct_case;

static void body_of_direct(const void *arg) {
    const direct_case *c = arg;
    output *out = output_open(c->path, false, false);
    if (c->late_head)
        output_reserve_head(out, strlen(HEAD));
    output_write(out, new_data(), strlen(new_data()));
    if (c->late_head)
        output_write_head(out, HEAD, strlen(HEAD));
    output_commit_all();
}

static void make_pipe(void) { assert_int_equal(mkfifo("out", 0600), 0); }
static void pipe_is_file(void) {
    unlink("out");
    write_file("out", OLD);
}

static void no_spool(void) { setenv("TMPDIR", "/no/such", 1); }
static void empty_spool(void) { setenv("TMPDIR", "", 1); }
static void long_spool(void) {
    static char path[5000];
    memset(path, 'x', sizeof path - 1);
    setenv("TMPDIR", path, 1);
}

static void direct(void **state) {
    (void)state;
    static const direct_case cases[] = {
        {NULL, false, {NO_FAULT}, 0, NULL, NULL},
        {NULL, false, {{"write", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, false, {{"write", 1, EAGAIN, NULL}, {"poll", 1, 0, NULL}}, 0, NULL, NULL},
        {NULL, false, {{"write", 1, EIO, NULL}}, 3, "stdout: cannot write: " IO, NULL},
        {NULL, false, {{"dup", 1, EMFILE, NULL}}, 0, NULL, NULL},
        {NULL, false, {{"close", 1, EIO, NULL}}, 3, "stdout: cannot write: " IO, NULL},
        {NULL, false, {{"close", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, true, {NO_FAULT}, 0, NULL, NULL},
        {NULL, true, {{"open", 1, EOPNOTSUPP, NULL}}, 0, NULL, NULL},
        {NULL,
         true,
         {{"open", 1, EOPNOTSUPP, NULL}, {"mkostemp", 1, EACCES, NULL}},
         3,
         "TMPDIR names the folder",
         NULL},
        {NULL, true, {NO_FAULT}, 3, "/no/such: cannot make a temporary file there: No such file", no_spool},
        {NULL, true, {NO_FAULT}, 3, "cannot make a temporary file there: File name too long", long_spool},
        {NULL, true, {NO_FAULT}, 0, NULL, empty_spool},
        {NULL, true, {{"pwrite", 1, ENOSPC, NULL}}, 3, "cannot write: No space left on device (--tmp", NULL},
        {NULL, true, {{"pwrite", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, true, {{"pread", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, true, {{"pread", 1, EIO, NULL}}, 3, "cannot read: " IO " (--tmp", NULL},
        {"out", false, {{"open", 1, EACCES, NULL}}, 3, "out: cannot open for writing: Permission denied", make_pipe},
        {"out", false, {{"open", 1, ESTALE, NULL}, {"open", 2, EACCES, NULL}}, 3, "Permission denied", make_pipe},
        {"out", false, {{"open", ALWAYS, ENOENT, NULL}}, 3, "it changes all the time", make_pipe},
        {"out", false, {{"open", 1, 0, pipe_is_file}}, 2, "out: exists already", make_pipe},
        {"/dev/null", false, {{"fstat", 1, EIO, NULL}}, 3, "/dev/null: cannot open for writing: " IO, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const direct_case *c = &cases[i];
        char title[32];
        snprintf(title, sizeof title, "direct case %zu", i);
        empty_folder();
        unsetenv("TMPDIR");
        if (c->prepare)
            c->prepare();
        int code = run_child(c->calls, body_of_direct, c);
        check_said(&(output_case){.title = title, .code = c->code, .message = c->message}, code);
        if (code == 0 && !c->path) {
            const char *text = read_file("../out");
            size_t head = c->late_head ? strlen(HEAD) : 0;
            assert_int_equal(strncmp(text, HEAD, head), 0);
            assert_string_equal(text + head, new_data());
        }
    }
}

/* ---- several outputs --------------------------------------------------------------------------------------------- */

static void write_nine(const void *arg) {
    char name[8];
    for (int i = 0; i < 8 + !arg; i++) {
        snprintf(name, sizeof name, "n%d", i);
        output_open(strdup(name), false, false);
    }
    output_commit_all();
}

static void write_one_of_three(const void *arg) {
    (void)arg;
    output *first = output_open("n0", false, false), *second = output_open("n1", false, false);
    output_open("n2", false, false);
    output_write(first, OLD, strlen(OLD));
    output_write(second, FOREIGN, strlen(FOREIGN));
    output_commit(second);
    die(EXIT_USAGE, "%s", output_name(first));
}

static void write_twice(const void *arg) {
    output_open("n0", false, false);
    output_open(arg, false, false);
}

static void write_null_twice(const void *arg) {
    output_open("/dev/null", false, false);
    output_open(arg, false, false);
}

/* stdout goes to the file. */
static void write_stdout_too(const void *arg) {
    output_open(NULL, false, false);
    output_open(arg, true, false);
}

static void several(void **state) {
    (void)state;
    const faulty_call none[] = {NO_FAULT};
    empty_folder();
    check_said(&(output_case){.title = "nine", .code = 2, .message = "more than 8 outputs"},
               run_child(none, write_nine, NULL));
    assert_null(read_file("n0"));
    check_said(&(output_case){.title = "eight"}, run_child(none, write_nine, ""));
    assert_string_equal(read_file("n7"), "");
    empty_folder();
    check_said(&(output_case){.title = "one", .code = 2, .message = "n0"}, run_child(none, write_one_of_three, NULL));
    assert_null(read_file("n0"));
    assert_string_equal(read_file("n1"), FOREIGN);
    assert_null(read_file("n2"));
    empty_folder();
    check_said(&(output_case){.title = "null twice"}, run_child(none, write_null_twice, "/dev/null"));
    check_said(&(output_case){.title = "two devices"}, run_child(none, write_null_twice, "/dev/zero"));
    check_said(&(output_case){.title = "two folders"}, run_child(none, write_twice, "../n0"));
    check_said(&(output_case){.title = "twice", .code = 2, .message = "two outputs go to ./n0"},
               run_child(none, write_twice, "./n0"));
    check_said(&(output_case){.title = "stdout", .code = 2, .message = "two outputs go to ../out"},
               run_child(none, write_stdout_too, "../out"));
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static void open_binary(const void *arg) { output_open(arg, false, true); }

static void read_what_is_written(const void *arg) {
    output *out = output_open(NULL, false, false);
    output_refuse_input(STDIN_FILENO, output_name(out)); /* /dev/null */
    output_refuse_input(STDOUT_FILENO, arg);
}

static void paths(void **state) {
    (void)state;
    static char long_name[300], long_path[5000], terminal[64];
    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_path, '/', sizeof long_path - 1);
    int host = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(host >= 0 && grantpt(host) == 0 && unlockpt(host) == 0);
    assert_int_equal(ptsname_r(host, terminal, sizeof terminal), 0);
    const struct {
        const char *path;
        int code;
        const char *message;
    } cases[] = {
        {"new/", 3, "new/: cannot create: "},
        {"..", 3, "..: cannot write: it is a directory"},
        {"away/.", 3, "away/.: cannot create: it is the name of a directory"},
        {"away/..", 3, "away/..: cannot create: it is the name of a directory"},
        {"away/out", 3, "away/out: cannot create: away: No such file"},
        {"/proc/out", 3, "/proc/out: cannot create: "},
        {"/sys", 3, "/sys: cannot write: it is a directory"},
        {long_name, 3, "File name too long"},
        {long_path, 3, "File name too long"},
        {"a.gz", 2, "outputs are not compressed: leave out the .gz"},
        {"a.zst", 2, "outputs are not compressed: leave out the .zst"},
        {terminal, 2, "binary data are not written to a terminal"},
    };
    const faulty_call none[] = {NO_FAULT};
    empty_folder();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = run_child(none, open_binary, cases[i].path);
        check_said(&(output_case){.title = cases[i].path, .code = cases[i].code, .message = cases[i].message}, code);
    }
    int code = run_child(none, read_what_is_written, "the input");
    check_said(&(output_case){.title = "input", .code = 2, .message = "the input: is what stdout goes to"}, code);
    close(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(direct, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(several, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(paths, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests_name("direct outputs", tests, NULL, NULL);
}
