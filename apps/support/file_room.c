/* SPDX-License-Identifier: MIT
 *
 * fallocate() ahead of the writes. Both hold the file's lock, so each call is for a few pages only, and begins no
 * earlier than where the writes are.
 */
#include "file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "alloc.h"
#include "thread.h"

enum { STEP_BYTES = 8 << 20 };

struct file_room {
    int fd;
    uint64_t bytes;
    atomic_bool ended;
    pthread_t thread;
};

static void *get_pages(void *arg) {
    file_room *room = arg;
    struct stat st;
    for (uint64_t at = 0; !room->ended && fstat(room->fd, &st) == 0;) {
        at = at > (uint64_t)st.st_size ? at : (uint64_t)st.st_size;
        if (at >= room->bytes)
            break;
        const uint64_t step = room->bytes - at < STEP_BYTES ? room->bytes - at : STEP_BYTES;
        if (fallocate(room->fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)step) == 0)
            at += step;
        else if (errno != EINTR)
            break;
    }
    return NULL;
}

file_room *file_room_begin(int fd, uint64_t bytes) {
    struct statfs system;
    if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
        return NULL;
    file_room *room = must_alloc(1, sizeof *room);
    *room = (file_room){.fd = fd, .bytes = bytes};
    if (thread_start(&room->thread, get_pages, room))
        return room;
    free(room);
    return NULL;
}

void file_room_end(file_room **room) {
    if (!*room)
        return;
    (*room)->ended = true;
    pthread_join((*room)->thread, NULL);
    free(*room);
    *room = NULL;
}
