/* SPDX-License-Identifier: MIT
 *
 * Room for what will be written to a file, made while the caller has nothing to write yet. In a file of tmpfs, whose
 * data are pages of memory, getting these pages takes longer than the copy into them.
 */
#ifndef APPS_SUPPORT_FILE_ROOM_H
#define APPS_SUPPORT_FILE_ROOM_H

#include <stdint.h>

typedef struct file_room file_room;

/* A thread begins to get memory for the first `bytes` bytes of the file, from its end on; the file's size stays as it
 * is. What the system refuses is left to the writes, which report it. Returns NULL, and does nothing, for a file that
 * is not in memory or if the thread cannot be started. */
file_room *file_room_begin(int fd, uint64_t bytes);

/* Ends it, whether all is there or not, and sets it to NULL; nothing is done for NULL. */
void file_room_end(file_room **room);

#endif
