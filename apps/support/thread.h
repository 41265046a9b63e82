/* SPDX-License-Identifier: MIT
 *
 * Threads of the programs. Their stacks are small, so that those of a machine's many processors do not take more memory
 * than the work does.
 */
#ifndef APPS_SUPPORT_THREAD_H
#define APPS_SUPPORT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Begins run(arg) in a thread that takes no signals, which are the main thread's. Returns false if none can be started.
 */
bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
