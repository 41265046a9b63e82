/* SPDX-License-Identifier: MIT
 *
 * An output that replaces a file, and stdout and other outputs that are no files of their own, with each call of the
 * system refused: the old file or the new one is there, whole, with no more access rights than the old one had.
 */
#include <sys/xattr.h>

#include "output_case.h"

#define IO "Input/output error"
#define NO_CHANGE                                                                                                      \
    { NULL, 0, 0, NULL }
#define NAMED                                                                                                          \
    { "unnamed", ALWAYS, EOPNOTSUPP, NULL }
enum { REPLACE = OVER | FORCE, OTHER_ID = 12345 };

/* ---- what other processes do ------------------------------------------------------------------------------------- */

static void swap_target(void) {
    write_file("new", FOREIGN);
    chmod("new", 0600);
    rename("new", "out");
}
static void remove_target(void) { unlink("out"); }
static void narrow_target(void) { chmod("out", 0600); }
static void target_is_pipe(void) {
    unlink("out");
    mkfifo("out", 0600);
}
static void target_is_link(void) { rename("link", "out"); }

static void swap_twice(void) {
    static int count;
    if (count++ < 2)
        swap_target();
}

/* ---- what the old file is ---------------------------------------------------------------------------------------- */

static void beside_a_link(void) { assert_int_equal(symlink("away/out", "link"), 0); }
static void read_only(void) { assert_int_equal(chmod("out", 0400), 0); }
static void foreign_group(void) {
    assert_int_equal(chown("out", (uid_t)-1, OTHER_ID), 0);
    assert_int_equal(chmod("out", 0664), 0);
}
static void foreign_owner(void) {
    assert_int_equal(chown("out", OTHER_ID, (gid_t)-1), 0);
    assert_int_equal(chmod("out", 0464), 0);
}
/* Where the file system has no such attributes there is nothing to copy. */
static void with_attributes(void) {
    setxattr("out", "user.one", "1", 1, 0);
    setxattr("out", "user.two", "2", 1, 0);
}

/* ---- replacing --------------------------------------------------------------------------------------------------- */

static void replacing(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"nothing fails", REPLACE, {NO_CHANGE}, 0, NULL, data, 0640, NULL, NULL},
        {"no force", OVER, {NO_CHANGE}, 2, "out: exists already, --force replaces it", OLD, 0640, NULL, NULL},
        {"no statx", REPLACE, {{"statx", ALWAYS, ENOSYS, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"statx of the folder", REPLACE, {{"statx", 2, EIO, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"write", REPLACE, {{"write", 1, ENOSPC, NULL}}, 3, "out: cannot write: No space", OLD, 0640, NULL, NULL},
        {"fsync", REPLACE, {{"fsync", 1, EIO, NULL}}, 3, "out: cannot write: " IO, OLD, 0640, NULL, NULL},
        {"link", REPLACE, {{"linkat", 1, EIO, NULL}}, 3, "out: cannot create: " IO, OLD, 0640, NULL, NULL},
        {"link: the name is taken", REPLACE, {{"linkat", 1, EEXIST, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"link: names are taken",
         REPLACE,
         {{"linkat", ALWAYS, EEXIST, NULL}},
         3,
         "cannot create",
         OLD,
         0640,
         NULL,
         NULL},
        {"rename", REPLACE, {{"renameat", 1, EIO, NULL}}, 3, "out: cannot create: " IO, OLD, 0640, NULL, NULL},
        {"no O_TMPFILE", REPLACE, {NAMED}, 0, NULL, data, 0640, NULL, NULL},
        {"no O_TMPFILE: rename",
         REPLACE,
         {NAMED, {"renameat", 1, EIO, NULL}},
         3,
         "out: cannot create: " IO,
         OLD,
         0640,
         NULL,
         NULL},
        {"its folder is not synced",
         REPLACE,
         {{"fsync", 2, EIO, NULL}},
         3,
         "its directory cannot be synced",
         data,
         0640,
         NULL,
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        try_case(&cases[i]);
}

static void what_changes_meanwhile(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"gone before its rights are read",
         REPLACE,
         {{"openat", 1, 0, remove_target}},
         0,
         NULL,
         data,
         0644,
         NULL,
         NULL},
        {"swapped before", REPLACE, {{"openat", 1, 0, swap_target}}, 0, NULL, data, 0600, NULL, NULL},
        {"a stale handle", REPLACE, {{"openat", 1, ESTALE, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"a stale handle, named", REPLACE, {NAMED, {"openat", 1, ESTALE, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"stale handles",
         REPLACE,
         {{"openat", ALWAYS, ESTALE, NULL}},
         3,
         "changes all the time",
         OLD,
         0640,
         NULL,
         NULL},
        {"a link before",
         REPLACE,
         {{"openat", 1, 0, target_is_link}},
         3,
         "cannot create: away: No such",
         "",
         0,
         NULL,
         beside_a_link},
        {"gone while it is written", REPLACE, {{"fsync", 1, 0, remove_target}}, 0, NULL, data, 0, NULL, NULL},
        {"swapped while it is written", REPLACE, {{"fsync", 1, 0, swap_target}}, 0, NULL, data, 0600, NULL, NULL},
        {"swapped at the link", REPLACE, {{"linkat", 1, 0, swap_target}}, 0, NULL, data, 0600, NULL, NULL},
        {"swapped twice", REPLACE, {{"openat", ALWAYS, 0, swap_twice}}, 0, NULL, data, 0600, NULL, NULL},
        {"swapped after the last look",
         REPLACE,
         {{"fsync", 1, 0, swap_target}, {"openat", 2, 0, swap_twice}},
         0,
         NULL,
         data,
         0600,
         NULL,
         NULL},
        {"narrowed", REPLACE, {{"fsync", 1, 0, narrow_target}}, 0, NULL, data, 0600, NULL, NULL},
        {"a pipe", REPLACE, {{"fsync", 1, 0, target_is_pipe}}, 3, "is no regular file any more", "", 0, NULL, NULL},
        {"look: a stale handle", REPLACE, {{"fstatat", 2, ESTALE, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"look", REPLACE, {{"fstatat", 2, EIO, NULL}}, 3, "out: cannot create: " IO, OLD, 0640, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        try_case(&cases[i]);
}

#define RIGHTS "the new file cannot get the access rights of the old one"

static void access_rights(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"open",
         REPLACE,
         {{"openat", 1, EIO, NULL}},
         3,
         "out: cannot read its access rights: " IO,
         OLD,
         0640,
         NULL,
         NULL},
        {"not readable", REPLACE, {{"openat", 1, EACCES, NULL}}, 0, NULL, data, 0600, NULL, NULL},
        {"its status", REPLACE, {{"fstat", 3, EIO, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"mode", REPLACE, {{"fchmod", 1, EPERM, NULL}}, 0, NULL, data, 0600, NULL, NULL},
        {"mode, wider", REPLACE, {{"fchmod", 1, EPERM, NULL}}, 3, RIGHTS, OLD, 0400, NULL, read_only},
        {"the new status", REPLACE, {{"fstat", 5, EIO, NULL}}, 3, RIGHTS, OLD, 0640, NULL, NULL},
        {"the new group", REPLACE, {{"fstat", 4, EIO, NULL}}, 0, NULL, data, 0600, NULL, NULL},
        {"an ACL that stays", REPLACE, {{"fremovexattr", 1, EIO, NULL}}, 0, NULL, data, 0600, NULL, NULL},
        {"no ACLs",
         REPLACE,
         {{"fremovexattr", 1, EOPNOTSUPP, NULL}, {"fgetxattr", 1, ENOSYS, NULL}},
         0,
         NULL,
         data,
         0640,
         NULL,
         NULL},
        {"an ACL that is not read", REPLACE, {{"fgetxattr", 1, EIO, NULL}}, 0, NULL, data, 0600, NULL, NULL},
        {"attributes are not listed",
         REPLACE,
         {{"flistxattr", 1, EIO, NULL}},
         0,
         NULL,
         data,
         0640,
         NULL,
         with_attributes},
        {"attributes", REPLACE, {{"fsetxattr", ALWAYS, ENOSPC, NULL}}, 0, NULL, data, 0640, NULL, with_attributes},
        {"the group", REPLACE | ROOT, {{"fchown", 1, EPERM, NULL}}, 0, NULL, data, 0644, NULL, foreign_group},
        {"the owner", REPLACE | ROOT, {{"fchown", 2, EPERM, NULL}}, 0, NULL, data, 0444, NULL, foreign_owner},
        {"the owner, and mode",
         REPLACE | ROOT,
         {{"fchown", 2, EPERM, NULL}, {"fchmod", 2, EPERM, NULL}},
         3,
         "the access rights cannot be narrowed",
         OLD,
         0464,
         NULL,
         foreign_owner},
        {"the last status",
         REPLACE,
         {{"fstat", 6, EIO, NULL}},
         3,
         "the access rights cannot be narrowed",
         OLD,
         0640,
         NULL,
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        try_case(&cases[i]);
}

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

static void direct(void **state) {
    (void)state;
    static const direct_case cases[] = {
        {NULL, false, {NO_CHANGE}, 0, NULL, NULL},
        {NULL, false, {{"write", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, false, {{"write", 1, EAGAIN, NULL}, {"poll", 1, 0, NULL}}, 0, NULL, NULL},
        {NULL, false, {{"write", 1, EIO, NULL}}, 3, "stdout: cannot write: " IO, NULL},
        {NULL, false, {{"dup", 1, EMFILE, NULL}}, 0, NULL, NULL},
        {NULL, false, {{"close", 1, EIO, NULL}}, 3, "stdout: cannot write: " IO, NULL},
        {NULL, false, {{"close", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, true, {NO_CHANGE}, 0, NULL, NULL},
        {NULL, true, {{"open", 1, EOPNOTSUPP, NULL}}, 0, NULL, NULL},
        {NULL,
         true,
         {{"open", 1, EOPNOTSUPP, NULL}, {"mkostemp", 1, EACCES, NULL}},
         3,
         "TMPDIR names the folder",
         NULL},
        {NULL, true, {{"write", 1, ENOSPC, NULL}}, 3, "cannot write: No space left on device (TMPDIR", NULL},
        {NULL, true, {{"lseek", 1, EIO, NULL}}, 3, "cannot read: " IO " (TMPDIR", NULL},
        {NULL, true, {{"read", 1, EINTR, NULL}}, 0, NULL, NULL},
        {NULL, true, {{"read", 1, EIO, NULL}}, 3, "cannot read: " IO " (TMPDIR", NULL},
        {"out", false, {{"open", 1, EACCES, NULL}}, 3, "out: cannot open for writing: Permission denied", make_pipe},
        {"out", false, {{"open", ALWAYS, ENOENT, NULL}}, 3, "it changes all the time", make_pipe},
        {"out", false, {{"open", 1, 0, pipe_is_file}}, 2, "out: exists already", make_pipe},
        {"/dev/null", false, {{"fstat", 1, EIO, NULL}}, 3, "/dev/null: cannot open for writing: " IO, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const direct_case *c = &cases[i];
        char title[32];
        snprintf(title, sizeof title, "direct case %zu", i);
        empty_folder();
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

static void several(void **state) {
    (void)state;
    const faulty_call none[] = {NO_CHANGE};
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
    check_said(&(output_case){.title = "twice", .code = 2, .message = "two outputs go to ./n0"},
               run_child(none, write_twice, "./n0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(replacing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(what_changes_meanwhile, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(access_rights, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(direct, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(several, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests_name("outputs over files", tests, NULL, NULL);
}
