/* SPDX-License-Identifier: MIT
 *
 * Stacks are 2 MiB, and all signals blocked.
 */
#include "thread.h"

#include <signal.h>

enum { STACK_BYTES = 2 << 20 };

bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(thread, &attributes, run, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}
