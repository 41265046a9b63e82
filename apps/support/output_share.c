/* SPDX-License-Identifier: MIT
 *
 * Writing one file in turns.
 */
#include "output_share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"
#include "write_all.h"

enum { PIECE_BYTES = 8 << 20 };

struct output_share {
    const output_file *file;
    uint64_t end; /* of all turns so far */
    unsigned char *kept;
    size_t kept_bytes, room;
};

output_share *output_share_open(output_file *file, const char *path, bool force) {
    output_share *share = must_alloc(1, sizeof *share);
    uint64_t mine = hidden_number() | 1, *all = must_alloc(ranks_count(), sizeof *all);
    *share = (output_share){.file = file};
    if (!path)
        ranks_refuse("-o FILE names the output, which all of them write");
    ranks_gather(&mine, sizeof mine, all);
    if (ranks_own() > 0)
        output_file_await(file, path, all[0]);
    ranks_add(0); /* all can remove it before it is there */
    if (ranks_own() == 0)
        output_file_open(file, path, force, mine);
    if (ranks_own() == 0 && file->state == OUTPUT_DIRECT)
        ranks_refuse("%s is no regular file, which all of them could write", path);
    mine = file->hidden.file.st_ino;
    ranks_gather(&mine, sizeof mine, all);
    if (ranks_own() > 0)
        output_file_join(file, all[0]);
    free(all);
    return share;
}

void output_share_close(output_share *share) {
    if (share)
        free(share->kept);
    free(share);
}

void output_share_rewind(output_share *share) {
    ranks_add(0); /* nobody writes any more */
    if (ranks_own() == 0 && ftruncate(share->file->fd, 0) != 0)
        die(EXIT_IO, "%s: cannot write: %s", share->file->place.path, strerror(errno));
    ranks_add(0);
    share->end = share->kept_bytes = 0;
}

void output_share_add(output_share *share, const void *data, size_t bytes) {
    if (bytes > share->room - share->kept_bytes) {
        share->room = 2 * share->room + bytes;
        share->kept = must_realloc(share->kept, share->room, 1);
    }
    memcpy(share->kept + share->kept_bytes, data, bytes);
    share->kept_bytes += bytes;
}

/* The way to the disk begins at once, as for outputs of one process. */
static void write_share(const output_share *share, const void *data, size_t bytes, uint64_t offset) {
    const int fd = share->file->fd;
    for (size_t done = 0; done < bytes;) {
        const size_t n = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        write_all_at(share->file->place.path, fd, (const char *)data + done, n, offset + done);
        sync_file_range(fd, (off_t)(offset + done), (off_t)n, SYNC_FILE_RANGE_WRITE);
        done += n;
    }
}

void output_share_turn(output_share *share, const void *data, size_t bytes) {
    const ranks_sum sum = ranks_add(share->kept_bytes + bytes);
    const uint64_t place = share->end + sum.before;
    share->end += sum.total;
    write_share(share, share->kept, share->kept_bytes, place);
    write_share(share, data, bytes, place + share->kept_bytes);
    share->kept_bytes = 0;
}
