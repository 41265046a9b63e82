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

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/report.h"
#include "apps/support/spool.h"

enum { BLOCK_BYTES = ALLOC_BLOCK_BYTES, WINDOW_BYTES = 1 << 20 };

void part_file_open(part_file *f) {
    static char name[SPOOL_FOLDER_BYTES + 64]; /* of all part files: threads that write others may be reading it */
    char room[SPOOL_FOLDER_BYTES];
    if (!name[0])
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
    const int flags = fcntl(f->fd, F_GETFL);
    if (flags >= 0)
        fcntl(f->fd, F_SETFL, flags | O_DIRECT); /* read_cached asks whether it is so */
}

/* For a disk of larger blocks. Returns true if the file was read past the page cache and no longer is. */
static bool read_cached(const part_file *f) {
    const int flags = fcntl(f->fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) && fcntl(f->fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

/* Reads whole blocks, or up to the end of the file, but `wanted` bytes at least. Behind a short count there is no whole
 * block: the rest is read through the page cache. */
static void read_blocks(const part_file *f, unsigned char *to, size_t bytes, uint64_t offset, size_t wanted) {
    for (size_t done = 0; done < wanted;) {
        const ssize_t n = pread(f->fd, to + done, bytes - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EINVAL && read_cached(f))
            continue;
        else if (n == 0 || errno != EINTR)
            die(EXIT_IO, "temporary file: cannot read: %s", n == 0 ? "it is shorter than it was" : strerror(errno));
    }
}

size_t part_file_room(size_t bytes) { return (bytes / BLOCK_BYTES + 2) * BLOCK_BYTES; }

size_t part_file_append(const part_file *f, unsigned char *to, size_t used, size_t room, uint64_t offset,
                        uint64_t end) {
    const size_t before = (size_t)(offset % BLOCK_BYTES), first = used - before; /* these bytes are read again */
    const size_t fitting = (room - first) / BLOCK_BYTES * BLOCK_BYTES;
    const uint64_t left = end - offset + before;
    const size_t wanted = left < fitting ? (size_t)left : fitting;
    if (wanted <= before)
        return 0;
    report_phase phase = report_enter(PHASE_READ);
    const size_t bytes = (wanted + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    read_blocks(f, to + first, bytes, offset - before, wanted);
    report_bytes(wanted - before, 0);
    report_enter(phase);
    return wanted - before;
}

void part_file_read(part_file *f, void *to, size_t bytes, uint64_t offset) {
    report_phase phase = report_enter(PHASE_READ);
    if (!f->window)
        f->window = must_alloc_blocks(WINDOW_BYTES);
    for (size_t done = 0; done < bytes;) {
        const uint64_t from = offset + done;
        const size_t before = (size_t)(from % BLOCK_BYTES), most = WINDOW_BYTES - before;
        const size_t n = bytes - done < most ? bytes - done : most;
        const size_t blocks = (before + n + BLOCK_BYTES - 1) / BLOCK_BYTES;
        read_blocks(f, f->window, blocks * BLOCK_BYTES, from - before, before + n);
        memcpy((char *)to + done, f->window + before, n);
        done += n;
    }
    report_bytes(bytes, 0);
    report_enter(phase);
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
