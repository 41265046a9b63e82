/* SPDX-License-Identifier: MIT
 *
 * The caller and its helpers, which take parts from a shared counter.
 */
#include "parallel.h"

#include <sched.h>
#include <stdatomic.h>

#include "thread.h"

enum { MAX_HELPERS = 255 };

typedef struct crew {
    parallel_task *task;
    void *arg;
    size_t parts;
    atomic_size_t next;
} crew;

unsigned parallel_threads(unsigned asked) {
    if (asked)
        return asked;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    return 1;
}

static void *work(void *arg) {
    crew *c = arg;
    for (;;) {
        size_t part = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
        if (part >= c->parts)
            return NULL;
        c->task(c->arg, part);
    }
}

void parallel_for(unsigned threads, size_t parts, parallel_task *task, void *arg) {
    crew c = {.task = task, .arg = arg, .parts = parts};
    pthread_t helpers[MAX_HELPERS];
    size_t wanted = threads > 1 ? threads - 1 : 0, started = 0;
    if (wanted > MAX_HELPERS)
        wanted = MAX_HELPERS;
    if (parts == 0 || wanted > parts - 1)
        wanted = parts ? parts - 1 : 0;
    atomic_init(&c.next, 0);

    while (started < wanted && thread_start(&helpers[started], work, &c))
        started++;
    work(&c);
    while (started > 0)
        pthread_join(helpers[--started], NULL);
}
