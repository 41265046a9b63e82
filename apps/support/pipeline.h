/* SPDX-License-Identifier: MIT
 *
 * A stream of pieces that are read one after another, worked on by all threads, and written in their order. Each piece
 * has one of a ring of slots from its reading to its writing. The main thread reads and writes, and works on a piece
 * whenever there is nothing to write and the others have enough to do. Work that ends the program (die.h) does so in
 * the main thread, in place of the next step there.
 *
 * Where the work has threads of its own, such as a sort of the library, it is serial: one helper does all of it, piece
 * after piece, beside the main thread's reading and writing.
 */
#ifndef APPS_SUPPORT_PIPELINE_H
#define APPS_SUPPORT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

enum { PIPELINE_MAX_THREADS = 64, PIPELINE_SLOTS_A_THREAD = 3 };

typedef struct pipeline {
    bool (*read)(void *arg, size_t slot);                  /* false: no piece follows, nothing was read */
    void (*work)(void *arg, size_t slot, unsigned worker); /* worker 0 is the main thread */
    void (*write)(void *arg, size_t slot);
    void *arg;
    size_t slots;     /* at least 1 */
    unsigned threads; /* the main thread among them; serial work has two */
    bool serial;
} pipeline;

/* Returns when all pieces are written. If a thread cannot be started, fewer do the work. */
void pipeline_run(const pipeline *p);

#endif
