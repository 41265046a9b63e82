/* SPDX-License-Identifier: MIT
 *
 * The transitions of one output; output_file.h draws them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "die.h"
#include "output_access.h"
#include "output_file.h"

enum { MAX_TRIES = 1000 };

static void enter_hidden(output_file *file) {
    hidden_enter(&file->hidden);
    file->state = OUTPUT_HIDDEN;
}

/* The hidden name is gone. */
static void leave_hidden(output_file *file, output_state state) {
    hidden_leave(&file->hidden);
    file->state = state;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void discard(output_file *file) {
    if (file->state == OUTPUT_HIDDEN)
        hidden_remove(&file->hidden);
    leave_hidden(file, OUTPUT_CLOSED);
    close(file->fd);
    file->fd = -1;
}

/* Makes a file with a new hidden name. Returns false with EEXIST if the name is taken. Signals wait while the file is
 * there and not yet entered: nothing else could prove that it is ours. */
static bool make_hidden(output_file *file, mode_t mode) {
    sigset_t all, before;
    sigfillset(&all);
    if (file->number)
        hidden_name(&file->hidden, &file->place, file->number);
    else
        hidden_draw(&file->hidden, &file->place);
    sigprocmask(SIG_BLOCK, &all, &before);
    file->fd = openat(file->place.folder, file->hidden.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int error = errno;
    if (file->fd >= 0 && fstat(file->fd, &file->hidden.file) == 0) {
        enter_hidden(file);
    } else if (file->fd >= 0) {
        error = errno;
        unlinkat(file->place.folder, file->hidden.name, 0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (file->state != OUTPUT_HIDDEN && error != EEXIST)
        die(EXIT_IO, "%s: cannot create: %s", file->place.path, strerror(error));
    return file->state == OUTPUT_HIDDEN;
}

/* Between open and lock another run may take the file for a leftover: it counts as made when it is locked and still has
 * its name. */
static void create_hidden(output_file *file, mode_t mode) {
    hidden_catch_signals();
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        if (!make_hidden(file, mode))
            continue;
        bool taken = flock(file->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!taken && hidden_is_ours(&file->hidden))
            return;
        discard(file);
    }
    die(EXIT_IO, "%s: cannot create: other processes remove its hidden files", file->place.path);
}

/* Without /proc a file without a name could not be linked to one. */
static void create(output_file *file) {
    mode_t mode = file->place.exists ? 0600 : 0666;
    if (!file->number && access("/proc/self/fd", X_OK) == 0)
        file->fd = openat(file->place.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (file->fd < 0) {
        create_hidden(file, mode);
        return;
    }
    if (fstat(file->fd, &file->hidden.file) != 0)
        die(EXIT_IO, "%s: cannot create: %s", file->place.path, strerror(errno));
    flock(file->fd, LOCK_EX | LOCK_NB);
    file->state = OUTPUT_UNNAMED;
}

/* Copies the rights of the file that will be replaced. Returns false if it has changed. */
static bool take_rights(output_file *file) {
    const output_place *place = &file->place;
    struct stat st;
    int old = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (old < 0 && (errno == ENOENT || errno == ESTALE || errno == ELOOP))
        return false;
    if (old < 0 && errno != EACCES)
        die(EXIT_IO, "%s: cannot read its access rights: %s", place->path, strerror(errno));
    bool same = old < 0 || (fstat(old, &st) == 0 && stat_same_file(&st, &place->found));
    if (same && !access_copy(file->fd, old, &place->found))
        die(EXIT_IO, "%s: cannot replace: the new file cannot get the access rights of the old one: %s", place->path,
            strerror(errno));
    if (old >= 0)
        close(old);
    file->rights = place->found;
    return same;
}

static void refuse_block_device(const output_file *file, const struct stat *st) {
    if (S_ISBLK(st->st_mode) && !file->force)
        die(EXIT_USAGE, "%s: is a block device, --force writes to it", file->place.path);
}

/* Returns false if what was no regular file has become one, or has gone. */
static bool open_direct(output_file *file) {
    struct stat st;
    refuse_block_device(file, &file->place.found);
    file->fd = open(file->place.path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file->fd < 0 && (errno == ENOENT || errno == ESTALE))
        return false;
    if (file->fd < 0 || fstat(file->fd, &st) != 0)
        die(EXIT_IO, "%s: cannot open for writing: %s", file->place.path, strerror(errno));
    if (S_ISREG(st.st_mode)) {
        close(file->fd);
        file->fd = -1;
        return false;
    }
    refuse_block_device(file, &st);
    file->state = OUTPUT_DIRECT;
    return true;
}

/* Returns false if the target has changed. */
static bool open_file(output_file *file) {
    bool exists = file->place.exists;
    if (exists && !file->force)
        die(EXIT_USAGE, "%s: exists already, --force replaces it", file->place.path);
    if (exists)
        place_refuse_fixed(&file->place);
    hidden_sweep(&file->place);
    create(file);
    if (!exists || take_rights(file))
        return true;
    discard(file);
    place_close(&file->place);
    return false;
}

__attribute__((noreturn)) static void die_of_changes(const output_file *file) {
    die(EXIT_IO, "%s: cannot write: it changes all the time, or is an open file that has no name", file->place.path);
}

void output_file_open(output_file *file, const char *path, bool force, uint64_t number) {
    *file = (output_file){
        .state = OUTPUT_DIRECT, .fd = STDOUT_FILENO, .force = force, .number = number, .place.folder = -1};
    if (!path)
        return;
    file->state = OUTPUT_CLOSED;
    file->fd = -1;
    bool done = false;
    for (int tries = 0; !done && tries < MAX_TRIES; tries++)
        switch (place_find(&file->place, path)) {
        case PLACE_FREE:
        case PLACE_FILE: done = open_file(file); break;
        case PLACE_OTHER: done = open_direct(file); break;
        case PLACE_CHANGED: break;
        }
    if (!done)
        die_of_changes(file);
}

void output_file_await(output_file *file, const char *path, uint64_t number) {
    *file = (output_file){.fd = -1, .place.folder = -1};
    const place_kind kind = place_find(&file->place, path);
    if (kind != PLACE_FREE && kind != PLACE_FILE)
        return; /* the other process says why */
    hidden_catch_signals();
    file->hidden.awaited = true;
    hidden_name(&file->hidden, &file->place, number);
    enter_hidden(file);
}

void output_file_join(output_file *file, uint64_t inode) {
    if (file->state == OUTPUT_HIDDEN)
        file->fd = openat(file->place.folder, file->hidden.name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &file->hidden.file) != 0 || file->hidden.file.st_ino != inode)
        die(EXIT_IO, "%s: cannot open what another process has begun: all must see the same folder", file->place.path);
    file->hidden.awaited = false;
}

void output_file_leave(output_file *file) { leave_hidden(file, OUTPUT_CLOSED); }

/* Status of what is written, or replaced, in the end. */
static bool target_status(const output_file *file, struct stat *st) {
    *st = file->place.found;
    return file->state == OUTPUT_DIRECT ? fstat(file->fd, st) == 0 : file->place.exists;
}

bool output_file_same(const output_file *a, const output_file *b) {
    struct stat x, y;
    if (a->fd == b->fd)
        return true;
    if (a->state != OUTPUT_DIRECT && b->state != OUTPUT_DIRECT)
        return a->place.folder_device == b->place.folder_device && a->place.folder_inode == b->place.folder_inode &&
               strcmp(a->place.name, b->place.name) == 0;
    if (!target_status(a, &x) || !target_status(b, &y) || !stat_same_file(&x, &y))
        return false;
    return !S_ISCHR(x.st_mode) || isatty(a->state == OUTPUT_DIRECT ? a->fd : b->fd); /* /dev/null takes all */
}

/* ---- the name ---------------------------------------------------------------------------------------------------- */

void output_file_sync(output_file *file) {
    while (fsync(file->fd) != 0)
        if (errno != EINTR)
            die(EXIT_IO, "%s: cannot write: %s", file->place.path, strerror(errno));
}

__attribute__((noreturn)) static void die_of_publishing(const output_file *file) {
    die(EXIT_IO, "%s: cannot create: %s", file->place.path, strerror(errno));
}

static int link_to(const output_file *file, const char *name) {
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, self, file->place.folder, name, AT_SYMLINK_FOLLOW);
}

/* UNNAMED to HIDDEN. */
static void link_hidden(output_file *file) {
    hidden_catch_signals();
    hidden_draw(&file->hidden, &file->place);
    enter_hidden(file);
    for (int tries = 0; link_to(file, file->hidden.name) != 0; tries++) {
        if (errno != EEXIST || tries == MAX_TRIES)
            die_of_publishing(file);
        hidden_draw(&file->hidden, &file->place);
    }
}

static void refuse_foreign_hidden(const output_file *file) {
    if (!hidden_is_ours(&file->hidden))
        die(EXIT_IO, "%s: cannot create: another process has removed or replaced %s", file->place.path,
            file->hidden.name);
}

/* Every file system has one of renameat2 with NOREPLACE and hard links, but not all have both. */
static int rename_new(const output_file *file) {
    int folder = file->place.folder;
    refuse_foreign_hidden(file);
    if (renameat2(folder, file->hidden.name, folder, file->place.name, RENAME_NOREPLACE) == 0 || errno == EEXIST)
        return errno == EEXIST ? -1 : 0;
    if (linkat(folder, file->hidden.name, folder, file->place.name, 0) != 0)
        return -1;
    return unlinkat(folder, file->hidden.name, 0);
}

/* Returns false if something has the name. */
static bool publish_new(output_file *file) {
    errno = 0;
    int result = file->state == OUTPUT_UNNAMED ? link_to(file, file->place.name) : rename_new(file);
    if (result != 0 && errno != EEXIST)
        die_of_publishing(file);
    if (result == 0)
        leave_hidden(file, OUTPUT_PUBLISHED);
    return result == 0;
}

static bool same_rights(const struct stat *a, const struct stat *b) {
    return stat_same_file(a, b) && a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns false if what stands there has changed. */
static bool publish_over(output_file *file) {
    output_place *place = &file->place;
    if (!same_rights(&place->found, &file->rights)) {
        if (!take_rights(file))
            return false;
        output_file_sync(file);
    }
    if (file->state == OUTPUT_UNNAMED)
        link_hidden(file);
    if (place_look(place) != PLACE_FILE || !same_rights(&place->found, &file->rights))
        return false;
    refuse_foreign_hidden(file);
    if (!access_give_owner(file->fd, &place->found))
        die(EXIT_IO, "%s: cannot replace: the access rights cannot be narrowed: %s", place->path, strerror(errno));
    if (renameat(place->folder, file->hidden.name, place->folder, place->name) != 0)
        die_of_publishing(file);
    leave_hidden(file, OUTPUT_PUBLISHED);
    return true;
}

void output_file_publish(output_file *file) {
    for (int tries = 0; file->state != OUTPUT_PUBLISHED; tries++) {
        if (tries == MAX_TRIES)
            die_of_changes(file);
        switch (file->force ? place_look(&file->place) : PLACE_FREE) {
        case PLACE_FREE:
            if (!publish_new(file) && !file->force)
                die(EXIT_USAGE, "%s: exists already, made by another process meanwhile; --force replaces it",
                    file->place.path);
            break;
        case PLACE_FILE: publish_over(file); break;
        case PLACE_OTHER: die(EXIT_IO, "%s: is no regular file any more: not replaced", file->place.path);
        case PLACE_CHANGED: break;
        }
    }
    int synced;
    do
        synced = fsync(file->place.folder);
    while (synced != 0 && errno == EINTR);
    if (synced != 0 && errno == EIO)
        die(EXIT_IO, "%s: its directory cannot be synced: %s", file->place.path, strerror(errno));
}

void output_file_close(output_file *file) {
    close(file->fd);
    place_close(&file->place);
}
