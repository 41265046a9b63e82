/* SPDX-License-Identifier: MIT
 *
 * Decoding of one PNG or JPEG file inside memory that two processes share.
 */
#ifndef APPS_EQUALIZE_DECODE_H
#define APPS_EQUALIZE_DECODE_H

#include "image.h"

typedef enum decode_state {
    DECODE_NOT_STARTED = 0,
    DECODE_NO_SETUP = 1,  /* the child could not be confined, or had no memory for its arena: error_number says why */
    DECODE_RUNNING = 2,   /* found after the child's end: a fault of its own or a limit killed it */
    DECODE_REFUSED = 3,   /* reason says why */
    DECODE_NO_MEMORY = 4, /* the file makes the decoder want more than such an image can need */
    DECODE_DONE = 5
} decode_state;

/* The head of the shared memory. The parent fills in the job and keeps a copy of its own. The child may write anything,
 * so that the parent reads back only state (as an enum), error_number and reason (as text to be checked). */
typedef struct decode_job {
    image_header header; /* what probe.c found */
    uint32_t state;      /* decode_state */
    int32_t error_number;
    size_t file_at; /* offsets from the job's own address */
    size_t file_bytes;
    size_t pixels_at;
    size_t arena_bytes;
    uint32_t cpu_seconds;
    char reason[60];
} decode_job;

/* Bytes after the pixels that the decoder may write, too: stb_image allocates one more for a JPEG. */
enum { DECODE_PIXEL_MORE = 1 };

/* Bytes of memory that the decoder may use: what stb_image needs for the worst layout that such a header allows. */
size_t decode_arena_bytes(const image_header *header, size_t file_bytes);

/* Decodes into the job's pixels (zeroed, DECODE_PIXEL_MORE bytes longer) with `arena` (zeroed) as the only memory,
 * makes no system call, leaves the state. */
void decode_run(decode_job *job, void *arena);

#endif
