/* SPDX-License-Identifier: MIT
 *
 * One regular file that appears under its name only when it is complete. For output.c.
 *
 *   new name    an unnamed file (O_TMPFILE), linked to the name at the end; the kernel refuses if the name exists then
 *   replaced    the unnamed file is linked to the hidden name .NAME.scan-tmp beside the target, then renamed over it
 *   elsewhere   no O_TMPFILE on the file system: .NAME.scan-tmp from the start, removed on exit and on signals
 *
 * The hidden file is locked while its process lives, so that the next run can tell a leftover from the file of another
 * process.
 */
#ifndef APPS_SUPPORT_OUTPUT_FILE_H
#define APPS_SUPPORT_OUTPUT_FILE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct output_file {
    int fd;
    int directory;
    dev_t directory_device; /* with directory_inode and name: which file this is */
    ino_t directory_inode;
    char name[NAME_MAX + 1];
    char hidden[NAME_MAX + 1];
    bool replace;
    volatile sig_atomic_t hidden_exists; /* read by the signal handler */
    const char *shown;                   /* for messages */
} output_file;

/* Returns false if path names something that is not a regular file: the caller writes that directly. Exits 2 if the
 * file exists and force is not given, 3 if it cannot be made. */
bool output_file_open(output_file *file, const char *path, bool force);

bool output_file_same(const output_file *a, const output_file *b);

/* Sends the data to the disk and waits. */
void output_file_sync(output_file *file);

/* Gives the file its name. */
void output_file_publish(output_file *file);

/* Removes the hidden name, if there is one. Async-signal-safe. */
void output_file_abandon(output_file *file);

void output_file_close(output_file *file);

#endif
