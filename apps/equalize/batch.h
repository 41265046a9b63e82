/* SPDX-License-Identifier: MIT
 *
 * Many independent jobs on several threads. The caller's thread takes their results in order.
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

/* Work on index i begins once index i - batch_window(threads) has been taken, so that this many slots for work and
 * results are enough. */
static inline size_t batch_window(unsigned threads) { return (size_t)threads + 2; }

/* Runs with fewer threads if the system has no more; without any, in the caller's thread. */
void batch_run(const batch *b);

#endif
