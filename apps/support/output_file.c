/* SPDX-License-Identifier: MIT
 *
 * A file that is complete or absent; output_file.h says how. Names are handled relative to an open directory, so that
 * the file lands where it was checked even if a parent is renamed meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "die.h"
#include "output_file.h"

#define HIDDEN_SUFFIX ".scan-tmp"
enum { MAX_LINKS = 40 };

/* ---- where the file is ------------------------------------------------------------------------------------------- */

/* Follows symbolic links until the last component of the path is none; that component may not exist. */
static void follow_links(const char *path, char target[PATH_MAX]) {
    if (strlen(path) >= PATH_MAX)
        die(EXIT_IO, "%s: cannot create: %s", path, strerror(ENAMETOOLONG));
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
            die(EXIT_IO, "%s: cannot create: %s", path, strerror(ELOOP));
        strcpy(target + keep, link);
    }
}

/* Opens the folder of `target` and sets the names. */
static void open_directory(output_file *file, char target[PATH_MAX]) {
    char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        die(EXIT_IO, "%s: cannot create: it is the name of a directory", file->shown);
    if (strlen(name) > NAME_MAX)
        die(EXIT_IO, "%s: cannot create: %s", file->shown, strerror(ENAMETOOLONG));
    strcpy(file->name, name);
    int part = NAME_MAX - 1 - (int)strlen(HIDDEN_SUFFIX);
    snprintf(file->hidden, sizeof file->hidden, ".%.*s" HIDDEN_SUFFIX, part, name);

    const char *directory = ".";
    if (slash == target)
        directory = "/";
    else if (slash)
        directory = target;
    if (slash && slash != target)
        *slash = 0;
    file->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->directory < 0 && errno == EACCES)
        file->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC); /* it may still be writable */
    struct stat st;
    if (file->directory < 0 || fstat(file->directory, &st) != 0)
        die(EXIT_IO, "%s: cannot create: %s: %s", file->shown, directory, strerror(errno));
    file->directory_device = st.st_dev;
    file->directory_inode = st.st_ino;
}

bool output_file_same(const output_file *a, const output_file *b) {
    return a->directory_device == b->directory_device && a->directory_inode == b->directory_inode &&
           strcmp(a->name, b->name) == 0;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Removes a hidden file that a killed process left. A living process holds its lock. */
static void remove_leftover(const output_file *file) {
    int fd = openat(file->directory, file->hidden, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(file->directory, file->hidden, 0);
    close(fd);
}

static void open_hidden(output_file *file, mode_t mode) {
    file->fd = openat(file->directory, file->hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file->fd < 0 && errno == EEXIST)
        die(EXIT_IO, "%s: another process is writing it (%s is in use)", file->shown, file->hidden);
    if (file->fd < 0)
        die(EXIT_IO, "%s: cannot create: %s", file->shown, strerror(errno));
    file->hidden_exists = 1;
}

/* Takes owner and mode from the file that will be replaced. Only root can keep another user's ownership. The mode is
 * set last, because chown clears bits. */
static void take_over(output_file *file, const struct stat *old) {
    if (fchown(file->fd, old->st_uid, old->st_gid) != 0 && fchown(file->fd, (uid_t)-1, old->st_gid) != 0)
        errno = 0;
    if (fchmod(file->fd, old->st_mode & 0777) != 0)
        die(EXIT_IO, "%s: cannot keep the mode: %s", file->shown, strerror(errno));
}

bool output_file_open(output_file *file, const char *path, bool force) {
    struct stat st, found;
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT)
        die(EXIT_IO, "%s: cannot create: %s", path, strerror(errno));
    if (exists && S_ISDIR(st.st_mode))
        die(EXIT_IO, "%s: cannot write: it is a directory", path);
    if (exists && !S_ISREG(st.st_mode))
        return false;
    if (exists && !force)
        die(EXIT_USAGE, "%s: exists already, --force replaces it", path);

    *file = (output_file){.fd = -1, .shown = path};
    char target[PATH_MAX];
    follow_links(path, target);
    open_directory(file, target);
    if (exists && (fstatat(file->directory, file->name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
                   found.st_dev != st.st_dev || found.st_ino != st.st_ino)) {
        close(file->directory); /* open, but without a name: /dev/fd/N of a deleted file */
        return false;
    }
    remove_leftover(file);
    file->replace = exists;
    if (access("/proc/self/fd", X_OK) == 0)
        file->fd = openat(file->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, exists ? 0600 : 0666);
    if (file->fd < 0)
        open_hidden(file, exists ? 0600 : 0666);
    flock(file->fd, LOCK_EX | LOCK_NB); /* where there are no locks, leftovers stay */
    if (exists)
        take_over(file, &st);
    return true;
}

void output_file_sync(output_file *file) {
    while (fsync(file->fd) != 0)
        if (errno != EINTR)
            die(EXIT_IO, "%s: cannot write: %s", file->shown, strerror(errno));
}

/* ---- the name ---------------------------------------------------------------------------------------------------- */

static int link_to(const output_file *file, const char *name) {
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, self, file->directory, name, AT_SYMLINK_FOLLOW);
}

/* Every file system has one of renameat2 with NOREPLACE and hard links, but not all have both. */
static int rename_new(const output_file *file) {
    int d = file->directory;
    if (renameat2(d, file->hidden, d, file->name, RENAME_NOREPLACE) == 0 || errno == EEXIST)
        return errno == EEXIST ? -1 : 0;
    if (linkat(d, file->hidden, d, file->name, 0) != 0)
        return -1;
    return unlinkat(d, file->hidden, 0);
}

static int publish_new(output_file *file) {
    errno = 0;
    int result = file->hidden_exists ? rename_new(file) : link_to(file, file->name);
    if (result == 0)
        file->hidden_exists = 0;
    return result;
}

static int publish_over(output_file *file) {
    if (!file->hidden_exists) {
        remove_leftover(file);
        if (link_to(file, file->hidden) != 0)
            return -1;
        file->hidden_exists = 1;
    }
    if (renameat(file->directory, file->hidden, file->directory, file->name) != 0)
        return -1;
    file->hidden_exists = 0;
    return 0;
}

/* Signals are blocked, so that only SIGKILL can fall between link and rename. */
void output_file_publish(output_file *file) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int result = file->replace ? publish_over(file) : publish_new(file);
    int error = errno;
    if (result != 0)
        output_file_abandon(file);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (result != 0 && error == EEXIST && !file->replace)
        die(EXIT_USAGE, "%s: has come into existence meanwhile, --force replaces it", file->shown);
    if (result != 0)
        die(EXIT_IO, "%s: cannot create: %s", file->shown, strerror(error));
    if (fsync(file->directory) != 0 && errno == EIO)
        die(EXIT_IO, "%s: its directory cannot be synced: %s", file->shown, strerror(errno));
}

void output_file_abandon(output_file *file) {
    if (file->hidden_exists)
        unlinkat(file->directory, file->hidden, 0);
    file->hidden_exists = 0;
}

void output_file_close(output_file *file) {
    close(file->fd);
    close(file->directory);
}
