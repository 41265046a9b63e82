/* SPDX-License-Identifier: MIT
 *
 * Input: one file or stdin, read() and never mapped, so that a file that shrinks is an error and no signal.
 */
#ifndef APPS_SUPPORT_INPUT_H
#define APPS_SUPPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_PEEK_MAX = 64 << 10 };

typedef struct input {
    int fd;
    const char *name;    /* for messages: the path, or "stdin" */
    uint64_t size_hint;  /* bytes of a regular file from `start` on, else 0. The file may change at any time. */
    bool seekable;       /* a regular file: input_read_at works */
    uint64_t start;      /* offset in the file where reading began (stdin may be partly read already) */
    uint64_t taken;      /* bytes given out by input_read and input_read_all */
    unsigned char *peek; /* bytes looked at and not yet taken */
    size_t peek_bytes;
} input;

/* path NULL or "-": stdin. Errors exit 3, here and below. Times count as PHASE_READ (report_phase.h). */
void input_open(input *in, const char *path);

/* Looks at up to `bytes` (at most INPUT_PEEK_MAX) bytes ahead; returns how many there are. The pointer is good until
 * the next call. */
size_t input_peek(input *in, const unsigned char **data, size_t bytes);

/* Reads until `bytes` are there or the input ends; returns how many. */
size_t input_read(input *in, void *to, size_t bytes);

/* Returns everything that is left, in one allocation, followed by 64 zero bytes. */
unsigned char *input_read_all(input *in, size_t *bytes);

/* Returns the length of the byte order mark that a text begins with, 3 or 0; exit 2 for a mark of UTF-16. */
size_t input_mark_bytes(const input *in, const unsigned char *text, size_t bytes);

/* Reads exactly `bytes` from `offset`, counted from `start`, without moving the reading position; exit 3 if the file
 * has become shorter. Seekable inputs only. */
void input_read_at(const input *in, void *to, size_t bytes, uint64_t offset);

void input_close(input *in);

/* After read() failed: returns true if it is to be tried again. Waits for a pipe or socket that its other users made
 * non-blocking. */
bool input_retry(int fd);

/* Counts the newlines from p to end. A narrow counter over a short run is a loop that compilers turn into SIMD. */
static inline size_t input_newlines(const unsigned char *p, const unsigned char *end) {
    size_t count = 0;
    while (p < end) {
        const unsigned char *stop = end - p > 4096 ? p + 4096 : end;
        unsigned short run = 0;
        for (; p < stop; p++)
            run = (unsigned short)(run + (*p == '\n'));
        count += run;
    }
    return count;
}

#endif
