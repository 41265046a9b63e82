/* SPDX-License-Identifier: MIT
 *
 * Parts of quicksorts that other threads may take: a sort goes on by one thread, shares what it leaves for later, and
 * does that itself where no other thread has come. The others are threads of the pool that sleep, or those that sort
 * bins of the same partition and have no bin left. No thread is waited for that has not begun a part: one that sleeps
 * may need longer to wake than a small sort takes.
 */
#ifndef SCAN_CPU_SORT_TEAM_H
#define SCAN_CPU_SORT_TEAM_H

#include <stdatomic.h>

#include "sort.h"

/* A range to be sorted. */
typedef struct scan_sort_task {
    void (*run)(const struct scan_sort_task *task);
    const void *job; /* what the tasks of one sort share */
    scan_sort_columns from, to, spare;
    size_t n;
    unsigned depth;
    atomic_uint *unfinished; /* tasks that somebody waits for */
} scan_sort_task;

enum {
    SCAN_SORT_MAX_TASKS = 64,       /* a power of two */
    SCAN_SORT_MAX_PARTS = 16,       /* of one pass, which are described on the stack */
    SCAN_SORT_PASS_BYTES = 1 << 20, /* of a pass that a team shares: 40 microseconds of work */
    SCAN_SORT_WAKING = 5 /* halves of that pay for threads that sleep: they come some 50 microseconds later, and to wake
                            one costs the caller 20 more */
};

/* The tasks that no thread has begun. */
typedef struct scan_sort_team {
    scan_pool *pool; /* NULL: the threads are awake, and help when they have nothing else to do */
    unsigned threads;
    bool ready;    /* they come at once */
    unsigned room; /* tasks that may wait */
    atomic_flag locked;
    atomic_uint waiting; /* end - begin */
    atomic_uint open;    /* 1 until the team ends */
    bool offered;        /* to the other threads */
    unsigned begin, end;
    scan_sort_task tasks[SCAN_SORT_MAX_TASKS];
} scan_sort_team;

/* Begins a team of threads of a pool, to which the first task is offered, or, without a pool, of threads that help.
 * `ready`: these come at once. */
void scan_cpu_sort_begin_team(scan_sort_team *team, scan_pool *pool, unsigned threads, bool ready);

/* Leaves a task to the first thread that takes one, which may be the caller when it joins. False if there are too many:
 * then the caller has to do it. */
bool scan_cpu_sort_share(scan_sort_team *team, const scan_sort_task *task);

/* Does tasks, those shared last first, until there are no unfinished ones. */
void scan_cpu_sort_join(scan_sort_team *team, atomic_uint *unfinished);

/* Does tasks, in the order in which they were shared, until no thread is busy. */
void scan_cpu_sort_help(scan_sort_team *team, const atomic_uint *busy);

/* Calls `part` for parts of the places from `begin` to `end`, in the caller and in the threads that come, and waits
 * until all have returned. There are up to SCAN_SORT_MAX_PARTS, several for each thread if threads are few, of whole
 * units but for the last one, and none is empty if there is a unit. A caller whom nobody helps goes from the last part
 * to the first: who has just written an array has its end in the cache, which the parts before would replace. Without a
 * team the caller does all. */
typedef void scan_sort_part_task(void *arg, size_t begin, size_t end);
void scan_cpu_sort_in_parts(scan_sort_team *team, scan_sort_part_task *part, void *arg, size_t begin, size_t end,
                            size_t unit);

/* Whether there is a team, and so much work that it pays to share some: `least`, or more where threads must wake. */
static inline bool scan_sort_pays(const scan_sort_team *team, size_t work, size_t least) {
    return team && work >= (team->ready ? least : SCAN_SORT_WAKING * least / 2);
}

/* A pass over places from 0 on, which reads or writes so many bytes: in parts where a team pays. */
static inline void scan_sort_pass(scan_sort_team *team, scan_sort_part_task *task, void *arg, size_t places,
                                  size_t bytes) {
    if (scan_sort_pays(team, bytes, SCAN_SORT_PASS_BYTES))
        scan_cpu_sort_in_parts(team, task, arg, 0, places, 1);
    else
        task(arg, 0, places);
}

/* The same where it costs nothing to join parts: the caller also goes backward alone, if the bytes are more than an L2
 * holds. */
static inline void scan_sort_backward_pass(scan_sort_team *team, scan_sort_part_task *task, void *arg, size_t places,
                                           size_t bytes) {
    if (!scan_sort_pays(team, bytes, SCAN_SORT_PASS_BYTES) && bytes >= 2 * SCAN_SORT_PASS_BYTES)
        scan_cpu_sort_in_parts(NULL, task, arg, 0, places, 1);
    else
        scan_sort_pass(team, task, arg, places, bytes);
}

/* Ends a team, of which all tasks are finished: waits until the threads that came have left it. */
void scan_cpu_sort_end_team(scan_sort_team *team);

#endif
