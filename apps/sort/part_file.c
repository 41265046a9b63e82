/* SPDX-License-Identifier: MIT
 *
 * Sorted parts in spools.
 */
#include "part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apps/support/die.h"
#include "apps/support/report.h"
#include "apps/support/spool.h"

void part_file_open(part_file *f) { *f = (part_file){.fd = spool_file()}; }

void part_file_close(part_file *f) {
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

output *part_file_begin(part_file *f) {
    static char name[SPOOL_FOLDER_BYTES + 64];
    char room[SPOOL_FOLDER_BYTES];
    snprintf(name, sizeof name, "temporary file in %s (--tmp names another folder)", spool_folder(room));
    return output_over(f->fd, name);
}

void part_file_end(part_file *f, output *out) {
    output_end(out);
    f->written = (uint64_t)lseek(f->fd, 0, SEEK_CUR);
}

void part_file_read(const part_file *f, void *to, size_t bytes, uint64_t offset) {
    report_phase before = report_enter(PHASE_READ);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(f->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            die(EXIT_IO, "temporary file: cannot read: %s", n == 0 ? "it is shorter than it was" : strerror(errno));
    }
    report_bytes(bytes, 0);
    report_enter(before);
}

void part_file_expect(const part_file *f, uint64_t bytes, uint64_t offset) {
    if (bytes > 0)
        posix_fadvise(f->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
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

void part_file_need_room(uint64_t bytes, const char *path, uint64_t output_bytes) {
    char name[SPOOL_FOLDER_BYTES];
    const char *folder = spool_folder(name);
    struct statvfs system;
    if (path && shares(path, folder))
        bytes += output_bytes;
    if (statvfs(folder, &system) != 0)
        return; /* the attempt to make a file there will say why */
    uint64_t room = (uint64_t)system.f_bavail * system.f_frsize;
    if (room < bytes)
        die(EXIT_IO,
            "%s: %llu bytes are free there, and the sort needs %llu for temporary files%s: --tmp names another "
            "folder, -S more memory",
            folder, (unsigned long long)room, (unsigned long long)bytes,
            path && shares(path, folder) ? " and the output" : "");
}
