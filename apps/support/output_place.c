/* SPDX-License-Identifier: MIT
 *
 * Finding the place of an output. Names are handled relative to an open folder, so that the file lands where it was
 * checked even if a parent is renamed meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "die.h"
#include "output_place.h"

enum { MAX_LINKS = 40 };
#ifndef STATX_ATTR_MOUNT_ROOT /* Linux 5.8 */
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

bool stat_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

__attribute__((noreturn)) static void die_of(const char *path, int error) {
    die(EXIT_IO, "%s: cannot create: %s", path, strerror(error));
}

/* ---- the path ---------------------------------------------------------------------------------------------------- */

/* Follows symbolic links until the last component of the path is none; that component may not exist. */
static void follow_links(const char *path, char target[PATH_MAX]) {
    if (strlen(path) >= PATH_MAX)
        die_of(path, ENAMETOOLONG);
    strcpy(target, path);
    for (int links = 0;; links++) {
        char link[PATH_MAX];
        ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0)
            return; /* EINVAL: not a link; ENOENT: a new name; the rest shows when it is opened */
        link[length] = 0;
        char *slash = strrchr(target, '/');
        size_t keep = link[0] != '/' && slash ? (size_t)(slash - target) + 1 : 0;
        if (links == MAX_LINKS || keep + (size_t)length >= PATH_MAX)
            die_of(path, ELOOP);
        strcpy(target + keep, link);
    }
}

/* Opens the folder of `target` and sets the name. Returns false if the path has changed since `exists` was found. */
static bool open_folder(output_place *place, char target[PATH_MAX], bool exists) {
    char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        die(EXIT_IO, "%s: cannot create: it is the name of a directory", place->path);
    if (strlen(name) > NAME_MAX)
        die_of(place->path, ENAMETOOLONG);
    strcpy(place->name, name);
    const char *folder = ".";
    if (slash == target)
        folder = "/";
    else if (slash)
        folder = target;
    if (slash && slash != target)
        *slash = 0;
    place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place->folder < 0 && errno == EACCES)
        place->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* it may still be writable */
    struct stat st;
    if (place->folder < 0 || fstat(place->folder, &st) != 0) {
        bool changed = errno == ESTALE || (exists && (errno == ENOENT || errno == ENOTDIR));
        if (!changed)
            die(EXIT_IO, "%s: cannot create: %s: %s", place->path, folder, strerror(errno));
        return false;
    }
    place->folder_device = st.st_dev;
    place->folder_inode = st.st_ino;
    return true;
}

/* ---- what stands there ------------------------------------------------------------------------------------------- */

place_kind place_look(output_place *place) {
    place->exists = fstatat(place->folder, place->name, &place->found, AT_SYMLINK_NOFOLLOW) == 0;
    if (!place->exists && errno == ESTALE)
        return PLACE_CHANGED;
    if (!place->exists && errno != ENOENT)
        die_of(place->path, errno);
    if (!place->exists)
        return PLACE_FREE;
    return S_ISREG(place->found.st_mode) ? PLACE_FILE : PLACE_OTHER;
}

/* The kernel's own walk tells what the path leads to; only a file that is also found under the name that its links
 * spell can be replaced. The two differ where the path changes between them, and always for /dev/fd/N of a file that
 * has no name any more. */
place_kind place_find(output_place *place, const char *path) {
    struct stat seen;
    bool exists = stat(path, &seen) == 0;
    *place = (output_place){.path = path, .folder = -1};
    if (!exists && errno == ESTALE)
        return PLACE_CHANGED;
    if (!exists && errno != ENOENT)
        die_of(path, errno);
    if (exists && S_ISDIR(seen.st_mode))
        die(EXIT_IO, "%s: cannot write: it is a directory", path);
    if (exists && !S_ISREG(seen.st_mode)) {
        place->found = seen;
        return PLACE_OTHER;
    }
    char target[PATH_MAX];
    follow_links(path, target);
    place_kind kind = open_folder(place, target, exists) ? place_look(place) : PLACE_CHANGED;
    if (kind == (exists ? PLACE_FILE : PLACE_FREE) && (!exists || stat_same_file(&seen, &place->found)))
        return kind;
    place_close(place);
    return PLACE_CHANGED;
}

/* O_NOATIME is granted to whom the kernel lets replace a file in a sticky folder: its owner and CAP_FOWNER. */
static bool owns(const output_place *place) {
    int fd = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_NOATIME | O_CLOEXEC);
    bool denied = fd < 0 && errno == EPERM;
    if (fd >= 0)
        close(fd);
    return !denied;
}

void place_refuse_fixed(const output_place *place) {
    struct statx file, folder;
    if (statx(place->folder, place->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) != 0 ||
        statx(place->folder, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &folder) != 0)
        return; /* the end of the run will tell */
    if (file.stx_attributes & STATX_ATTR_MOUNT_ROOT)
        die(EXIT_IO, "%s: cannot replace: something is mounted on it", place->path);
    if ((file.stx_attributes | folder.stx_attributes) & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
        die(EXIT_IO, "%s: cannot replace: the file or its folder is immutable or can only be appended to", place->path);
    if (folder.stx_mode & S_ISVTX && folder.stx_uid != geteuid() && !owns(place))
        die(EXIT_IO, "%s: cannot replace: it is another user's file in a sticky folder", place->path);
}

void place_close(output_place *place) {
    if (place->folder >= 0)
        close(place->folder);
    place->folder = -1;
}
