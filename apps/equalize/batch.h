/* SPDX-License-Identifier: MIT
 *
 * Many independent pieces of work on several threads, their results taken in order by the caller's thread.
 */
#ifndef APPS_EQUALIZE_BATCH_H
#define APPS_EQUALIZE_BATCH_H

#include <stddef.h>

typedef struct batch {
    size_t count;
    unsigned threads; /* workers */
    /* In any thread, must not print or exit. worker is below threads. */
    void (*work)(void *arg, size_t index, unsigned worker);
    /* In the caller's thread, index after index. */
    void (*take)(void *arg, size_t index);
    void *arg;
} batch;

/* Work begins on index i when i - batch_window(threads) has been taken: so many slots for work and results are enough.
 */
static inline size_t batch_window(unsigned threads) { return (size_t)threads + 2; }

/* With fewer threads than asked for if no more can be had; if none, the work is done in the caller's. */
void batch_run(const batch *b);

#endif
