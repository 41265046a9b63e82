/* SPDX-License-Identifier: MIT
 *
 * O_TMPFILE makes a file without a name; where a file system has none, the name is removed at once.
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "die.h"

enum { FOLDER_BYTES = 4096, PIECE_MAX = 1 << 30 };

static const char *asked, *beside;

void spool_in(const char *folder) { asked = folder; }
void spool_beside(const char *output) { beside = output; }

/* Beside an output that is no regular file, such as /dev/null, temporary files are not wanted. */
static const char *folder_of_output(char to[FOLDER_BYTES]) {
    struct stat st;
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    if (!beside || (stat(beside, &st) == 0 && !S_ISREG(st.st_mode)) || strlen(beside) >= FOLDER_BYTES)
        return NULL;
    snprintf(to, FOLDER_BYTES, "%.*s", slash == beside ? 1 : slash ? (int)(slash - beside) : 1, slash ? beside : ".");
    return to;
}

static const char *find_folder(char room[FOLDER_BYTES]) {
    const char *environment = getenv("TMPDIR");
    const char *folder = asked ? asked : environment && environment[0] ? environment : folder_of_output(room);
    return folder ? folder : "/tmp";
}

int spool_open(void) {
    char room[FOLDER_BYTES];
    const char *folder = find_folder(room);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        char path[FOLDER_BYTES];
        int length = snprintf(path, sizeof path, "%s/scan-XXXXXX", folder);
        if (length < (int)sizeof path && (fd = mkostemp(path, O_CLOEXEC)) >= 0)
            unlink(path);
    }
    if (fd < 0)
        die(EXIT_IO, "%s: cannot make a temporary file there: %s (--tmp or TMPDIR names the folder)", folder,
            strerror(errno));
    return fd;
}

__attribute__((noreturn)) static void die_of_spool(const char *what) {
    char room[FOLDER_BYTES];
    die(EXIT_IO, "temporary file in %s: cannot %s: %s (--tmp or TMPDIR names the folder)", find_folder(room), what,
        strerror(errno));
}

void spool_write(int spool, const void *data, size_t bytes, uint64_t offset) {
    for (size_t done = 0; done < bytes;) {
        size_t want = bytes - done < PIECE_MAX ? bytes - done : PIECE_MAX;
        ssize_t n = pwrite(spool, (const char *)data + done, want, (off_t)(offset + done));
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            die_of_spool("write");
    }
}

size_t spool_read(int spool, void *to, size_t bytes, uint64_t offset) {
    size_t done = 0;
    while (done < bytes) {
        size_t want = bytes - done < PIECE_MAX ? bytes - done : PIECE_MAX;
        ssize_t n = pread(spool, (char *)to + done, want, (off_t)(offset + done));
        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            die_of_spool("read");
    }
    return done;
}
