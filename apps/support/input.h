/* SPDX-License-Identifier: MIT
 *
 * Input: one file or stdin, read() and never mapped, so that a file that shrinks is an error and no signal.
 */
#ifndef APPS_SUPPORT_INPUT_H
#define APPS_SUPPORT_INPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct input {
    int fd;
    const char *name;    /* for messages: the path, or "stdin" */
    uint64_t size_hint;  /* bytes of a regular file, else 0 */
    unsigned char *peek; /* bytes looked at and not yet taken */
    size_t peek_bytes;
} input;

/* path NULL or "-": stdin. Errors are exit 3 here and below. */
void input_open(input *in, const char *path);

/* Looks at up to `bytes` (at most 64 KiB) bytes ahead; returns how many there are. */
size_t input_peek(input *in, const unsigned char **data, size_t bytes);

/* Reads until `bytes` are there or the input ends; returns how many. */
size_t input_read(input *in, void *to, size_t bytes);

/* Everything that is left, in one allocation, followed by 64 zero bytes. */
unsigned char *input_read_all(input *in, size_t *bytes);

void input_close(input *in);

#endif
