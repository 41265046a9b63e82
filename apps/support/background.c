/* SPDX-License-Identifier: MIT
 *
 * The thread is started with the first task. Its times count as phases that overlap the main thread's.
 */
#include "background.h"

#include <stdbool.h>
#include <stdlib.h>

#include "alloc.h"
#include "die.h"
#include "report_phase.h"
#include "thread.h"

struct background {
    void (*task)(void *arg); /* NULL between tasks */
    void *arg;
    bool started, refused; /* the thread; refused: it could not be started */
    bool ends;             /* the thread is to end */
    bool failed;           /* a task died (die.h), of `error` */
    fatal_error error;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t phase_ns[PHASE_COUNT];
};

background *background_open(void) {
    background *b = must_alloc(1, sizeof *b);
    *b = (background){0};
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->changed, NULL);
    return b;
}

static void *run(void *arg) {
    background *b = arg;
    report_aside();
    pthread_mutex_lock(&b->mutex);
    while (b->task || !b->ends) {
        if (!b->task) {
            pthread_cond_wait(&b->changed, &b->mutex);
            continue;
        }
        pthread_mutex_unlock(&b->mutex);
        const bool lives = die_catch(&b->error, b->task, b->arg);
        pthread_mutex_lock(&b->mutex);
        b->failed |= !lives;
        b->task = NULL;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->mutex);
    report_aside_times(b->phase_ns);
    return NULL;
}

/* Returns false if there is no thread. */
static bool start_thread(background *b) {
    if (!b->started && !b->refused) {
        b->started = thread_start(&b->thread, run, b);
        b->refused = !b->started;
    }
    return b->started;
}

void background_wait(background *b) {
    if (!b)
        return;
    pthread_mutex_lock(&b->mutex);
    while (b->task)
        pthread_cond_wait(&b->changed, &b->mutex);
    pthread_mutex_unlock(&b->mutex);
    if (b->failed)
        rethrow_fatal(&b->error);
}

void background_start(background *b, void (*task)(void *arg), void *arg) {
    background_wait(b);
    if (!b || !start_thread(b)) {
        task(arg);
        return;
    }
    pthread_mutex_lock(&b->mutex);
    b->task = task;
    b->arg = arg;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
}

void background_close(background *b) {
    if (!b)
        return;
    background_wait(b);
    if (b->started) {
        pthread_mutex_lock(&b->mutex);
        b->ends = true;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->mutex);
        pthread_join(b->thread, NULL);
        for (int phase = 0; phase < PHASE_COUNT; phase++)
            if (b->phase_ns[phase])
                report_time((report_phase)phase, b->phase_ns[phase]);
        report_overlap();
    }
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}
