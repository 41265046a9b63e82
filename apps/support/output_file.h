/* SPDX-License-Identifier: MIT
 *
 * One output as a state machine. A regular file appears under its name only when it is complete; whatever ends the
 * process before leaves the target as it was.
 *
 *   CLOSED   stdout, or opened and then proven to be no regular file ......... DIRECT     open_direct
 *   CLOSED   O_TMPFILE ....................................................... UNNAMED    create
 *   CLOSED   without O_TMPFILE, or /proc to link from: O_EXCL, then a lock ... HIDDEN     create_hidden
 *   UNNAMED  link to NAME, if nothing has it ................................. PUBLISHED  publish_new
 *   UNNAMED  link to the hidden name ......................................... HIDDEN     link_hidden
 *   HIDDEN   rename to NAME, if nothing has it ............................... PUBLISHED  publish_new
 *   HIDDEN   rename over NAME, with its access rights ........................ PUBLISHED  publish_over
 *   CLOSED   named from the start, where other processes open it, too ............ HIDDEN     create_hidden
 *   CLOSED   another process's hidden file, awaited and opened ................... HIDDEN     output_file_join
 *   HIDDEN   left to the process that made it .................................... CLOSED     output_file_leave
 *   HIDDEN   unlink, by die() and by every signal that ends a process ........ CLOSED     hidden_remove_all
 *
 * The hidden name is .NAME.XXXXXX.scan-tmp (XXXXXX random) beside the target. Its file is locked (flock) as long as its
 * process lives: before it gets the name, or else before it counts as made (create_hidden). What SIGKILL or a loss of
 * power can leave in each state, and what the next run to the same NAME does with it:
 *
 *   DIRECT     what was written so far is written
 *   UNNAMED    nothing: the file system frees a file without a name
 *   HIDDEN     the target as it was, and the hidden file in part or whole. Its lock is gone with the process. The next
 *              run takes the lock, proves that the name leads to what it has locked, and removes it (hidden_sweep).
 *              Between link and unlink, where a file system cannot rename without replacing, both names lead to the
 *              whole file: the hidden one is removed in the same way
 *   PUBLISHED  the new target; after a loss of power before the folder is synced, the new or the old one. Several
 *              outputs are published one after another when all are on the disk: some may be new and others old
 *
 * A hidden file stays where the next run cannot lock it (a file system without flock), cannot list the folder or cannot
 * open the file. It is in nobody's way, because the next run draws another name.
 *
 * Look and act: what stands at the target is looked at before each step, and again when the kernel says that it has
 * changed; nothing but what open() and fstat() show to be no regular file is ever written directly. Without force the
 * kernel refuses to publish over a name. With force the last of several runs wins; each takes over the access rights of
 * the file that it replaces (output_access.h).
 */
#ifndef APPS_SUPPORT_OUTPUT_FILE_H
#define APPS_SUPPORT_OUTPUT_FILE_H

#include <stdint.h>

#include "output_hidden.h"

typedef enum output_state {
    OUTPUT_CLOSED,
    OUTPUT_DIRECT,
    OUTPUT_UNNAMED,
    OUTPUT_HIDDEN,
    OUTPUT_PUBLISHED
} output_state;

typedef struct output_file {
    output_state state;
    int fd;
    bool force;
    uint64_t number; /* other processes open it by the hidden name of this number; 0: no other does */
    output_place place;
    output_hidden hidden; /* entered in state HIDDEN */
    struct stat rights;   /* the file whose access rights were copied last */
} output_file;

/* path NULL: stdout. number: 0, or the file has this hidden name (hidden_number) from the start. Exits 2 if the file
 * exists and force is not given, 3 if it cannot be made or replaced. */
void output_file_open(output_file *file, const char *path, bool force, uint64_t number);

/* For a file that another process makes for the same path, with this number: before, and when it is there, of this
 * inode. All remove it when they die. output_file_join exits 3 if it cannot be opened. */
void output_file_await(output_file *file, const char *path, uint64_t number);
void output_file_join(output_file *file, uint64_t inode);
void output_file_leave(output_file *file);

/* Whether what is written to both would end in one place. */
bool output_file_same(const output_file *a, const output_file *b);

/* Sends the data to the disk and waits. */
void output_file_sync(output_file *file);

/* Gives the file its name. With force also if the name has been taken meanwhile; else that is exit 2. */
void output_file_publish(output_file *file);

/* Not of stdout. */
void output_file_close(output_file *file);

#endif
