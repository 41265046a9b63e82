/* SPDX-License-Identifier: MIT
 *
 * Access rights, copied or narrowed. The order matters: an ACL that the folder gave goes first, while the mode is 0600;
 * the group is set before the group gets rights.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "output_access.h"

#define ACL "system.posix_acl_access"
enum { XATTR_BYTES = 65536 }; /* the kernel's limit for a value and for the list of names */

static bool is_absent(int error) { return error == ENODATA || error == EOPNOTSUPP || error == ENOSYS; }

/* Returns false with errno if the file has more rights than `mode` afterwards. */
static bool set_mode(int fd, mode_t mode) {
    struct stat now;
    errno = 0;
    int refused = fchmod(fd, mode) != 0 ? errno : 0;
    if (fstat(fd, &now) != 0)
        return false;
    errno = refused ? refused : EPERM;
    return (now.st_mode & 0777 & ~mode) == 0;
}

static bool set_group(int fd, gid_t group) {
    struct stat now;
    if (fchown(fd, (uid_t)-1, group) != 0)
        errno = 0; /* what counts is the group that the file has now */
    return fstat(fd, &now) == 0 && now.st_gid == group;
}

static void copy_attributes(int fd, int old) {
    static char names[XATTR_BYTES], value[XATTR_BYTES];
    ssize_t bytes = flistxattr(old, names, sizeof names);
    for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(names + at) + 1) {
        const char *name = names + at;
        ssize_t n = strncmp(name, "user.", 5) == 0 ? fgetxattr(old, name, value, sizeof value) : -1;
        if (n >= 0)
            fsetxattr(fd, name, value, (size_t)n, 0);
    }
}

/* Takes away the ACL that the folder gave. */
static bool clear_acl(int fd) { return fremovexattr(fd, ACL) == 0 || is_absent(errno); }

bool access_copy(int fd, int old, const struct stat *st) {
    static char acl[XATTR_BYTES];
    mode_t mode = st->st_mode & 0777, both = mode & mode >> 3 & 7;
    bool cleared = clear_acl(fd), same_group = set_group(fd, st->st_gid);
    ssize_t bytes = -1;
    bool plain = false; /* no ACL, the mode says all */
    if (old >= 0) {
        copy_attributes(fd, old);
        bytes = fgetxattr(old, ACL, acl, sizeof acl);
        plain = bytes < 0 && is_absent(errno);
    }
    if (cleared && plain && !same_group)
        mode = (mode & 0700) | both * 011;
    else if (!(cleared && plain) && !(bytes >= 0 && same_group && fsetxattr(fd, ACL, acl, (size_t)bytes, 0) == 0))
        mode &= 0700;
    return set_mode(fd, mode);
}

bool access_give_owner(int fd, const struct stat *st) {
    struct stat now;
    if (fstat(fd, &now) != 0)
        return false;
    if (now.st_uid == st->st_uid || fchown(fd, st->st_uid, (gid_t)-1) == 0)
        return true;
    mode_t mode = now.st_mode & 0777, narrow = mode & (0700 | (mode >> 6) * 011);
    return narrow == mode || set_mode(fd, narrow);
}
