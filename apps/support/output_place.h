/* SPDX-License-Identifier: MIT
 *
 * The place of an output: the folder, held open, and the name in it, with symbolic links followed. Other processes may
 * change what stands there at any time, so that each answer is about one moment. For output_file.c.
 */
#ifndef APPS_SUPPORT_OUTPUT_PLACE_H
#define APPS_SUPPORT_OUTPUT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef struct output_place {
    const char *path; /* as the user wrote it, for messages */
    int folder;       /* -1: not open */
    dev_t folder_device;
    ino_t folder_inode;
    char name[NAME_MAX + 1];
    bool exists;
    struct stat found; /* what exists at the name */
} output_place;

typedef enum place_kind {
    PLACE_FREE,   /* nothing has the name */
    PLACE_FILE,   /* a regular file */
    PLACE_OTHER,  /* a pipe, a device, a socket; for place_look also a folder or a symbolic link */
    PLACE_CHANGED /* it changed while it was looked at: look again */
} place_kind;

/* Follows the path. After PLACE_FREE and PLACE_FILE the folder is open; it is not after the others. Exits 3 where no
 * file can be. */
place_kind place_find(output_place *place, const char *path);

/* Looks at the name once more. */
place_kind place_look(output_place *place);

/* Exits 3 if the file that was found cannot be replaced: something is mounted on it, it or the folder is immutable, or
 * it is another user's in a sticky folder. */
void place_refuse_fixed(const output_place *place);

void place_close(output_place *place);

bool stat_same_file(const struct stat *a, const struct stat *b);

#endif
