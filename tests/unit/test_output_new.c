/* SPDX-License-Identifier: MIT
 *
 * A new output, and each call of the system that it makes refused: the file is complete or absent, and one line says
 * why. That what is said is true is in the tables: message, exit code, what is left.
 */
#include "output_case.h"

static const char hidden_start[] = ".out.";

/* ---- what other processes do ------------------------------------------------------------------------------------- */

static void make_target(void) { write_file("out", FOREIGN); }

static void swap_file(const char *name, const char *text) {
    write_file("new", text);
    rename("new", name);
}

/* The one hidden file in the folder. */
static void find_hidden(char name[256]) {
    DIR *list = opendir(".");
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strncmp(entry->d_name, hidden_start, strlen(hidden_start)) == 0)
            snprintf(name, 256, "%s", entry->d_name);
    closedir(list);
}

static void remove_hidden(void) {
    char name[256] = "";
    find_hidden(name);
    unlink(name);
}

static void swap_hidden(void) {
    char name[256] = "";
    find_hidden(name);
    swap_file(name, FOREIGN);
}

static void end_process(void) { raise(SIGTERM); }

static void take_leftover(void) { swap_file(LEFTOVER, FOREIGN); }

static void make_folder(void) { mkdir("out", 0700); }
static void link_to_nothing(void) { assert_int_equal(symlink("away/out", "out"), 0); }
static void link_to_itself(void) { assert_int_equal(symlink("out", "out"), 0); }

static void long_link(void) {
    char path[4000];
    memset(path, 'x', sizeof path);
    for (size_t i = 100; i < sizeof path; i += 100)
        path[i] = '/';
    path[sizeof path - 1] = 0;
    assert_int_equal(symlink(path, "out"), 0);
}

/* ---- finding the place ------------------------------------------------------------------------------------------- */

static void finding_the_place(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"nothing fails", 0, {NO_FAULT}, 0, NULL, data, 0644, NULL, NULL},
        {"stat: a stale handle", 0, {{"stat", 1, ESTALE, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"stat: stale handles", 0, {{"stat", ALWAYS, ESTALE, NULL}}, 3, "it changes all the time", NULL, 0, NULL, NULL},
        {"stat", 0, {{"stat", 1, EIO, NULL}}, 3, "out: cannot create: " IO, NULL, 0, NULL, NULL},
        {"readlink", 0, {{"readlink", 1, EIO, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"folder: not readable", 0, {{"open", 1, EACCES, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"folder: no access",
         0,
         {{"open", ALWAYS, EACCES, NULL}},
         3,
         "out: cannot create: .: Permission",
         NULL,
         0,
         NULL,
         NULL},
        {"folder", 0, {{"open", 1, EIO, NULL}}, 3, "out: cannot create: .: " IO, NULL, 0, NULL, NULL},
        {"folder: a stale handle", 0, {{"open", 1, ESTALE, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"its status", 0, {{"fstat", 1, EIO, NULL}}, 3, "out: cannot create: .: " IO, NULL, 0, NULL, NULL},
        {"its status: a stale handle", 0, {{"fstat", 1, ESTALE, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"the name", 0, {{"fstatat", 1, EIO, NULL}}, 3, "out: cannot create: " IO, NULL, 0, NULL, NULL},
        {"the name: a stale handle", 0, {{"fstatat", 1, ESTALE, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"made between two looks", 0, {{"readlink", 1, 0, make_target}}, 2, "exists already", FOREIGN, 0, NULL, NULL},
        {"a link to itself", 0, {NO_FAULT}, 3, "Too many levels of symbolic links", "", 0, NULL, link_to_itself},
        {"a link into nothing", 0, {NO_FAULT}, 3, "cannot create: away: No such file", "", 0, NULL, link_to_nothing},
        {"a link to a long path", 0, {NO_FAULT}, 3, "out: cannot create: ", "", 0, NULL, long_link},
        {"a folder", 0, {NO_FAULT}, 3, "out: cannot write: it is a directory", "", 0, NULL, make_folder},
    };
    TRY_ALL(cases);
}

/* ---- a file without a name --------------------------------------------------------------------------------------- */

static void without_a_name(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"its status", 0, {{"fstat", 2, EIO, NULL}}, 3, "out: cannot create: " IO, NULL, 0, NULL, NULL},
        {"no locks", 0, {{"flock", ALWAYS, ENOLCK, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"write", 0, {{"write", 1, EIO, NULL}}, 3, "out: cannot write: " IO, NULL, 0, NULL, NULL},
        {"write: no space", 0, {{"write", 1, ENOSPC, NULL}}, 3, "out: cannot write: No space", NULL, 0, NULL, NULL},
        {"write: a signal", 0, {{"write", 1, EINTR, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"head", WITH_HEAD, {NO_FAULT}, 0, NULL, data, 0644, NULL, NULL},
        {"head: a signal", WITH_HEAD, {{"pwrite", 1, EINTR, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"head: error", WITH_HEAD, {{"pwrite", 1, EIO, NULL}}, 3, "out: cannot write: " IO, NULL, 0, NULL, NULL},
        {"fsync: a signal", 0, {{"fsync", 1, EINTR, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"fsync", 0, {{"fsync", 1, EIO, NULL}}, 3, "out: cannot write: " IO, NULL, 0, NULL, NULL},
        {"linkat", 0, {{"linkat", 1, EIO, NULL}}, 3, "out: cannot create: " IO, NULL, 0, NULL, NULL},
        {"a target appears", 0, {{"linkat", 1, 0, make_target}}, 2, "made by another process", FOREIGN, 0, NULL, NULL},
        {"a target appears, force", FORCE, {{"linkat", 1, 0, make_target}}, 0, NULL, data, 0644, NULL, NULL},
        {"its folder is not synced",
         0,
         {{"fsync", 2, EIO, NULL}},
         3,
         "out: its directory cannot be synced: " IO,
         data,
         0644,
         NULL,
         NULL},
        {"its folder: a signal", 0, {{"fsync", 2, EINTR, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"its folder has no sync", 0, {{"fsync", 2, EINVAL, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"a signal ends it", 0, {{"fsync", 1, 0, end_process}}, -SIGTERM, NULL, NULL, 0, NULL, NULL},
    };
    TRY_ALL(cases);
}

/* ---- a hidden name ----------------------------------------------------------------------------------------------- */

static void with_a_hidden_name(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"no O_TMPFILE", 0, {NAMED}, 0, NULL, data, 0644, NULL, NULL},
        {"no /proc", 0, {{"access", 1, ENOENT, NULL}, {"renameat2", 1, 0, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"open",
         0,
         {NAMED, {"hidden", 1, EACCES, NULL}},
         3,
         "out: cannot create: Permission denied",
         NULL,
         0,
         NULL,
         NULL},
        {"the name is taken", 0, {NAMED, {"hidden", 1, EEXIST, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"all names are taken",
         0,
         {NAMED, {"hidden", ALWAYS, EEXIST, NULL}},
         3,
         "other processes",
         NULL,
         0,
         NULL,
         NULL},
        {"no random bytes", 0, {NAMED, {"getrandom", ALWAYS, ENOSYS, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"no limit of names", 0, {NAMED, {"fpathconf", ALWAYS, EINVAL, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"its status", 0, {NAMED, {"fstat", 2, EIO, NULL}}, 3, "out: cannot create: " IO, NULL, 0, NULL, NULL},
        {"lock: another has it", 0, {NAMED, {"flock", 1, EWOULDBLOCK, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"lock: others have it",
         0,
         {NAMED, {"flock", ALWAYS, EWOULDBLOCK, NULL}},
         3,
         "other processes",
         NULL,
         0,
         NULL,
         NULL},
        {"lock: there is none", 0, {NAMED, {"flock", ALWAYS, ENOLCK, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"removed before the lock", 0, {NAMED, {"flock", 1, 0, remove_hidden}}, 0, NULL, data, 0644, NULL, NULL},
        {"swapped before the lock", 0, {NAMED, {"flock", 1, 0, swap_hidden}}, 0, NULL, data, 0644, hidden_start, NULL},
        {"write", 0, {NAMED, {"write", 1, EIO, NULL}}, 3, "out: cannot write: " IO, NULL, 0, NULL, NULL},
        {"write, and unlink",
         0,
         {NAMED, {"write", 1, EIO, NULL}, {"unlinkat", 1, EIO, NULL}},
         3,
         "out: cannot write: " IO,
         NULL,
         0,
         hidden_start,
         NULL},
        {"removed", 0, {NAMED, {"fsync", 1, 0, remove_hidden}}, 3, "another process has removed", NULL, 0, NULL, NULL},
        {"swapped",
         0,
         {NAMED, {"fsync", 1, 0, swap_hidden}},
         3,
         "another process has removed",
         NULL,
         0,
         hidden_start,
         NULL},
        {"rename",
         0,
         {NAMED, {"renameat2", 1, EIO, NULL}, {"linkat", 1, EIO, NULL}},
         3,
         "out: cannot create: " IO,
         NULL,
         0,
         NULL,
         NULL},
        {"rename: replaces always", 0, {NAMED, {"renameat2", 1, EINVAL, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"link, then unlink",
         0,
         {NAMED, {"renameat2", 1, EINVAL, NULL}, {"unlinkat", 1, EIO, NULL}},
         3,
         "out: cannot create: " IO,
         data,
         0644,
         NULL,
         NULL},
        {"a target appears",
         0,
         {NAMED, {"renameat2", 1, 0, make_target}},
         2,
         "made by another process",
         FOREIGN,
         0,
         NULL,
         NULL},
        {"a signal ends it", 0, {NAMED, {"fsync", 1, 0, end_process}}, -SIGTERM, NULL, NULL, 0, NULL, NULL},
        {"a signal, swapped",
         0,
         {NAMED, {"write", 1, 0, swap_hidden}, {"fsync", 1, 0, end_process}},
         -SIGTERM,
         NULL,
         NULL,
         0,
         hidden_start,
         NULL},
    };
    TRY_ALL(cases);
}

/* ---- what a killed run left -------------------------------------------------------------------------------------- */

static void a_leftover(void **state) {
    (void)state;
    const char *data = new_data();
    const output_case cases[] = {
        {"it goes", LEFT, {NO_FAULT}, 0, NULL, data, 0644, NULL, NULL},
        {"not writable", LEFT, {{"openat", 1, EACCES, NULL}}, 0, NULL, data, 0644, NULL, NULL},
        {"no access", LEFT, {{"openat", ALWAYS, EACCES, NULL}}, 0, NULL, data, 0644, LEFTOVER, NULL},
        {"its status", LEFT, {{"fstat", 2, EIO, NULL}}, 0, NULL, data, 0644, LEFTOVER, NULL},
        {"locked", LEFT, {{"flock", 1, EWOULDBLOCK, NULL}}, 0, NULL, data, 0644, LEFTOVER, NULL},
        {"swapped before the lock", LEFT, {{"flock", 1, 0, take_leftover}}, 0, NULL, data, 0644, LEFTOVER, NULL},
        {"unlink", LEFT, {{"unlinkat", 1, EACCES, NULL}}, 0, NULL, data, 0644, LEFTOVER, NULL},
        {"the folder is not listed", LEFT, {{"folder", 1, EACCES, NULL}}, 0, NULL, data, 0644, LEFTOVER, NULL},
        {"no memory to list it", LEFT, {{"fdopendir", 1, ENOMEM, NULL}}, 0, NULL, data, 0644, LEFTOVER, NULL},
    };
    TRY_ALL(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finding_the_place, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(without_a_name, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(with_a_hidden_name, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_leftover, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests_name("new outputs", tests, NULL, NULL);
}
