/* SPDX-License-Identifier: MIT
 *
 * The tasks of a team: one ring, used from both ends. The thread that waits for tasks takes those shared last, whose
 * elements are in its cache; a helper takes the one shared first, which is mostly the largest.
 */
#include "team.h"
#include "job.h"

#include <sched.h>

enum {
    SPINS = 1000,      /* looks for a task until a thread yields its processor */
    PARTS_A_THREAD = 8 /* of a pass: a thread that wakes late does fewer of them */
};

static void pause_or_yield(unsigned *looks) {
    if (++*looks < SPINS)
        scan_pool_pause();
    else
        sched_yield();
}

static void lock(scan_sort_team *team) {
    for (unsigned looks = 0; atomic_flag_test_and_set_explicit(&team->locked, memory_order_acquire);)
        pause_or_yield(&looks);
}

static void unlock(scan_sort_team *team) { atomic_flag_clear_explicit(&team->locked, memory_order_release); }

static void note_waiting(scan_sort_team *team) {
    atomic_store_explicit(&team->waiting, team->end - team->begin, memory_order_relaxed);
}

/* Does a task, if one waits. */
static bool do_task(scan_sort_team *team, bool last) {
    scan_sort_task task;
    if (atomic_load_explicit(&team->waiting, memory_order_relaxed) == 0)
        return false;
    lock(team);
    const bool found = team->begin < team->end;
    if (found)
        task = team->tasks[(last ? --team->end : team->begin++) % SCAN_SORT_MAX_TASKS];
    note_waiting(team);
    unlock(team);
    if (!found)
        return false;
    task.run(&task);
    atomic_fetch_sub_explicit(task.unfinished, 1, memory_order_release);
    return true;
}

/* Does tasks until `left` is 0. */
static void do_tasks(scan_sort_team *team, const atomic_uint *left, bool last) {
    for (unsigned looks = 0; atomic_load_explicit(left, memory_order_acquire) > 0;)
        if (do_task(team, last))
            looks = 0;
        else
            pause_or_yield(&looks);
}

void scan_cpu_sort_join(scan_sort_team *team, atomic_uint *unfinished) { do_tasks(team, unfinished, true); }

void scan_cpu_sort_help(scan_sort_team *team, const atomic_uint *busy) { do_tasks(team, busy, false); }

static void help(void *arg, unsigned thread, unsigned threads) {
    (void)thread;
    (void)threads;
    scan_sort_team *team = arg;
    scan_cpu_sort_help(team, &team->open);
}

void scan_cpu_sort_begin_team(scan_sort_team *team, scan_pool *pool, unsigned threads, bool ready) {
    team->pool = pool;
    team->threads = threads;
    team->ready = ready;
    /* Threads that are awake share at every step: those that find a task for each of them do not take the lock. */
    team->room = pool || threads > SCAN_SORT_MAX_TASKS ? SCAN_SORT_MAX_TASKS : threads;
    atomic_flag_clear(&team->locked);
    atomic_init(&team->waiting, 0);
    atomic_init(&team->open, 1);
    team->offered = false;
    team->begin = team->end = 0;
}

bool scan_cpu_sort_share(scan_sort_team *team, const scan_sort_task *task) {
    if (atomic_load_explicit(&team->waiting, memory_order_relaxed) >= team->room)
        return false;
    lock(team);
    const bool room = team->end - team->begin < team->room, first = team->pool && !team->offered;
    if (room) {
        atomic_fetch_add_explicit(task->unfinished, 1, memory_order_relaxed);
        team->tasks[team->end++ % SCAN_SORT_MAX_TASKS] = *task;
        team->offered = true;
        if (first)
            team->ready = true; /* before another thread reads it */
        note_waiting(team);
    }
    unlock(team);
    if (room && first)
        scan_pool_offer(team->pool, team->threads, help, team);
    return room;
}

typedef struct part_of_places {
    scan_sort_part_task *task;
    void *arg;
    size_t begin, end;
} part_of_places;

static void do_part(const scan_sort_task *task) {
    const part_of_places *part = task->job;
    part->task(part->arg, part->begin, part->end);
}

void scan_cpu_sort_in_parts(scan_sort_team *team, scan_sort_part_task *task, void *arg, size_t begin, size_t end,
                            size_t unit) {
    const size_t most = scan_sort_smaller(PARTS_A_THREAD * (team ? team->threads : 1), SCAN_SORT_MAX_PARTS),
                 units = (end - begin) / unit, count = scan_sort_larger(scan_sort_smaller(units, most), 1);
    part_of_places parts[SCAN_SORT_MAX_PARTS];
    atomic_uint unfinished = 0;
    for (size_t p = 0, from = begin, to; p < count; p++, from = to) {
        to = p + 1 == count ? end : begin + units * (p + 1) / count * unit;
        parts[team ? p : count - 1 - p] = (part_of_places){task, arg, from, to};
    }
    for (size_t p = 0; p < count; p++) {
        const scan_sort_task shared = {.run = do_part, .job = &parts[p], .unfinished = &unfinished};
        if (!team || p + 1 == count || !scan_cpu_sort_share(team, &shared))
            do_part(&shared);
    }
    if (team)
        scan_cpu_sort_join(team, &unfinished);
}

void scan_cpu_sort_end_team(scan_sort_team *team) {
    if (!team->pool || !team->offered)
        return;
    atomic_store_explicit(&team->open, 0, memory_order_relaxed);
    scan_pool_withdraw(team->pool);
}
