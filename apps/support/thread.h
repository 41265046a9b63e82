/* SPDX-License-Identifier: MIT
 *
 * Threads of the programs, for work that needs little stack: so many that a machine has should not take more memory
 * for it than the work itself.
 */
#ifndef APPS_SUPPORT_THREAD_H
#define APPS_SUPPORT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Begins run(arg) in a thread that takes no signals, which are the main thread's. Returns false if none can be started.
 */
bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
