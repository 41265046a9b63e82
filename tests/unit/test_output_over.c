/* SPDX-License-Identifier: MIT
 *
 * An output that replaces a file, with each call of the system refused: the old file or the new one is there, whole,
 * with no more access rights than the old one had.
 */
#include <sys/xattr.h>

#include "output_case.h"

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

/* From the first call on at each later one. */
static bool swaps;
static void begin_swaps(void) { swaps = true; }
static void swap_on(void) {
    if (swaps)
        swap_target();
}

static void give(uid_t user, gid_t group) {
    if (chown("out", user, group) != 0)
        abort();
}
static void give_away(void) { give(OTHER_ID, (gid_t)-1); }
static void give_group_away(void) { give((uid_t)-1, OTHER_ID); }

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
static void owner_alone(void) { assert_int_equal(chown("out", OTHER_ID, (gid_t)-1), 0); }
static void sticky(void) {
    assert_int_equal(chown(".", OTHER_ID, (gid_t)-1), 0);
    assert_int_equal(chmod(".", 01777), 0);
}
/* user::rw-, user:12345:r--, group::r--, mask::r--, other::---. */
static void with_acl(void) {
    static const struct {
        uint32_t version;
        struct {
            uint16_t tag, rights;
            uint32_t id;
        } entries[5];
    } acl = {2, {{1, 6, ~0u}, {2, 4, OTHER_ID}, {4, 4, ~0u}, {16, 4, ~0u}, {32, 0, ~0u}}};
    if (setxattr("out", "system.posix_acl_access", &acl, sizeof acl, 0) != 0)
        skip(); /* the file system has none */
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
        {"nothing fails", REPLACE, {NO_FAULT}, 0, NULL, data, 0640, NULL, NULL},
        {"no force", OVER, {NO_FAULT}, 2, "out: exists already, --force replaces it", OLD, 0640, NULL, NULL},
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
    TRY_ALL(cases);
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
        {"swapped all the time",
         REPLACE,
         {{"fsync", 1, 0, begin_swaps}, {"fstatat", ALWAYS, 0, swap_on}},
         3,
         "it changes all the time",
         FOREIGN,
         0600,
         NULL,
         NULL},
        {"gone at the link", REPLACE, {{"linkat", 1, 0, remove_target}}, 0, NULL, data, 0, NULL, NULL},
        {"given to another", REPLACE | ROOT, {{"fsync", 1, 0, give_away}}, 0, NULL, data, 0640, NULL, NULL},
        {"given to a group", REPLACE | ROOT, {{"fsync", 1, 0, give_group_away}}, 0, NULL, data, 0640, NULL, NULL},
        {"its folder: a stale handle", REPLACE, {{"open", 1, ENOENT, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"its folder is a file", REPLACE, {{"open", 1, ENOTDIR, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"narrowed", REPLACE, {{"fsync", 1, 0, narrow_target}}, 0, NULL, data, 0600, NULL, NULL},
        {"a pipe", REPLACE, {{"fsync", 1, 0, target_is_pipe}}, 3, "is no regular file any more", "", 0, NULL, NULL},
        {"look: a stale handle", REPLACE, {{"fstatat", 2, ESTALE, NULL}}, 0, NULL, data, 0640, NULL, NULL},
        {"look", REPLACE, {{"fstatat", 2, EIO, NULL}}, 3, "out: cannot create: " IO, OLD, 0640, NULL, NULL},
    };
    TRY_ALL(cases);
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
        {"the owner, no wider", REPLACE | ROOT, {{"fchown", 2, EPERM, NULL}}, 0, NULL, data, 0640, NULL, owner_alone},
        {"an ACL", REPLACE, {NO_FAULT}, 0, NULL, data, 0640, NULL, with_acl},
        {"an ACL that is not set", REPLACE, {{"fsetxattr", 1, EOPNOTSUPP, NULL}}, 0, NULL, data, 0600, NULL, with_acl},
        {"a sticky folder",
         REPLACE | ROOT,
         {{"owned", 1, EPERM, NULL}},
         3,
         "another user's file in a sticky folder",
         OLD,
         0640,
         NULL,
         sticky},
        {"a sticky folder, owned", REPLACE | ROOT, {{"owned", 1, 0, NULL}}, 0, NULL, data, 0640, NULL, sticky},
        {"a sticky folder, unreadable",
         REPLACE | ROOT,
         {{"owned", 1, EACCES, NULL}},
         0,
         NULL,
         data,
         0640,
         NULL,
         sticky},
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
    TRY_ALL(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(replacing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(what_changes_meanwhile, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(access_rights, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests_name("outputs over files", tests, NULL, NULL);
}
