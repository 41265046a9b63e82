/* SPDX-License-Identifier: MIT
 *
 * Sorted parts in spools.
 */
#include "part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "apps/support/spool.h"

enum { BLOCK_BYTES = 4 << 10, WINDOW_BYTES = 4 << 20 };

void part_file_open(part_file *f) {
    static char name[SPOOL_FOLDER_BYTES + 64];
    char room[SPOOL_FOLDER_BYTES];
    snprintf(name, sizeof name, "temporary file in %s (--tmp names another folder)", spool_folder(room));
    *f = (part_file){.fd = spool_file()};
    f->out = output_over(f->fd, name);
    output_pass_cache(f->out);
}

void part_file_close(part_file *f) {
    if (f->out)
        output_end(f->out);
    if (f->fd >= 0)
        close(f->fd);
    free(f->window);
    *f = (part_file){.fd = -1};
}

void part_file_end(part_file *f) {
    output_end(f->out);
    f->out = NULL;
    f->window = aligned_alloc(BLOCK_BYTES, WINDOW_BYTES);
    const int flags = fcntl(f->fd, F_GETFL);
    if (flags < 0 || !f->window || fcntl(f->fd, F_SETFL, flags | O_DIRECT) != 0) {
        free(f->window);
        f->window = NULL;
    }
}

/* Reads up to `bytes` bytes; returns how many. */
static ssize_t read_window(const part_file *f, void *to, size_t bytes, uint64_t offset) {
    if (!f->window)
        return pread(f->fd, to, bytes, (off_t)offset);
    const size_t before = (size_t)(offset % BLOCK_BYTES);
    const size_t most = bytes < WINDOW_BYTES - before ? bytes : WINDOW_BYTES - before;
    const size_t blocks = (before + most + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const ssize_t n = pread(f->fd, f->window, blocks * BLOCK_BYTES, (off_t)(offset - before));
    if (n < 0 || (size_t)n <= before)
        return n < 0 ? n : 0;
    const size_t there = (size_t)n - before < most ? (size_t)n - before : most;
    memcpy(to, f->window + before, there);
    return (ssize_t)there;
}

/* For a disk of larger blocks. Returns true if the file was read past the page cache and no longer is. */
static bool read_cached(const part_file *f) {
    const int flags = fcntl(f->fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) && fcntl(f->fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

void part_file_read(const part_file *f, void *to, size_t bytes, uint64_t offset) {
    report_phase before = report_enter(PHASE_READ);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read_window(f, (char *)to + done, bytes - done, offset + done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EINVAL && read_cached(f))
            continue;
        else if (n == 0 || errno != EINTR)
            die(EXIT_IO, "temporary file: cannot read: %s", n == 0 ? "it is shorter than it was" : strerror(errno));
    }
    report_bytes(bytes, 0);
    report_enter(before);
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

/* Returns true if the output is, or will be, a file of the file system of this folder. */
static bool shares(const char *path, const char *folder) {
    struct stat of_folder, of_output;
    char parent[4096] = ".";
    const char *slash = strrchr(path, '/');
    if (stat(folder, &of_folder) != 0)
        return false;
    if (stat(path, &of_output) == 0)
        return S_ISREG(of_output.st_mode) && of_output.st_dev == of_folder.st_dev;
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    return stat(parent, &of_output) == 0 && of_output.st_dev == of_folder.st_dev;
}

void part_file_need_room(uint64_t bytes, const char *path, uint64_t output_bytes, bool in_levels) {
    char name[SPOOL_FOLDER_BYTES];
    const char *folder = spool_folder(name);
    struct statvfs system;
    const bool with_output = path && shares(path, folder);
    if (in_levels) /* the parts that are merged last are there alone beside the output */
        bytes += with_output && output_bytes > bytes ? output_bytes : bytes;
    else if (with_output)
        bytes += output_bytes;
    if (statvfs(folder, &system) != 0 || system.f_blocks == 0)
        return; /* the attempt to make a file there will say why; and not all file systems know their size */
    uint64_t room = (uint64_t)system.f_bavail * system.f_frsize;
    if (room < bytes)
        die(EXIT_IO,
            "%s: %llu bytes are free there, and the sort needs %llu for temporary files%s: --tmp names another "
            "folder, -S more memory",
            folder, (unsigned long long)room, (unsigned long long)bytes, with_output ? " and the output" : "");
}
