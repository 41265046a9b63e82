/* SPDX-License-Identifier: MIT
 *
 * Threads take pieces in their order. The first piece that is not whole says where the file ends or fails: every piece
 * before it is read to its own end, and pieces after it are left out.
 */
#include "input_span.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "parallel.h"

typedef struct span {
    int fd;
    unsigned char *to;
    size_t bytes;
    uint64_t offset;
    pthread_mutex_t mutex;
    size_t have; /* bytes before the first gap */
    int error_number;
} span;

/* Returns true if all bytes before this place may still be read. */
static bool is_wanted(span *s, size_t at) {
    pthread_mutex_lock(&s->mutex);
    const bool wanted = at < s->have;
    pthread_mutex_unlock(&s->mutex);
    return wanted;
}

static void end_at(span *s, size_t have, int error_number) {
    pthread_mutex_lock(&s->mutex);
    if (have < s->have) {
        s->have = have;
        s->error_number = error_number;
    }
    pthread_mutex_unlock(&s->mutex);
}

static void read_piece(void *arg, size_t i) {
    span *s = arg;
    size_t at = i * INPUT_SPAN_PIECE, end = s->bytes - at > INPUT_SPAN_PIECE ? at + INPUT_SPAN_PIECE : s->bytes;
    if (!is_wanted(s, at))
        return;
    while (at < end) {
        ssize_t got = pread(s->fd, s->to + at, end - at, (off_t)(s->offset + at));
        if (got > 0) {
            at += (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = s->fd, .events = POLLIN};
            poll(&p, 1, -1);
        } else if (got == 0 || errno != EINTR) {
            end_at(s, at, got == 0 ? 0 : errno);
            return;
        }
    }
}

size_t input_span_read(int fd, void *to, size_t bytes, uint64_t offset, unsigned threads, int *error_number) {
    span s = {.fd = fd, .to = to, .bytes = bytes, .offset = offset, .have = bytes};
    pthread_mutex_init(&s.mutex, NULL);
    parallel_for(threads, bytes / INPUT_SPAN_PIECE + (bytes % INPUT_SPAN_PIECE != 0), read_piece, &s);
    pthread_mutex_destroy(&s.mutex);
    *error_number = s.error_number;
    return s.have;
}
