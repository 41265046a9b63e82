/* SPDX-License-Identifier: MIT
 *
 * Ranks: how they start, what they tell each other, and how they end together.
 */
#include "ranks.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"
#include "hash.h"
#include "parallel.h"
#include "ranks_load.h"
#include "session.h"

static struct {
    scan_dist_comm *comm; /* NULL: this process is alone */
    ranks_calls calls;
    scan_dist_info info;
    uint64_t *all; /* what ranks_add and ranks_min gather */
} ranks = {.info = {.struct_size = sizeof ranks.info, .size = 1, .local_size = 1}};

unsigned ranks_count(void) { return ranks.info.size; }
unsigned ranks_own(void) { return ranks.info.rank; }
unsigned ranks_local(void) { return ranks.info.local_rank; }
const ranks_calls *ranks_library(void) { return &ranks.calls; }
scan_dist_comm *ranks_comm(void) { return ranks.comm; }

unsigned ranks_threads(void) {
    const unsigned own = parallel_threads(0);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned share = online > 0 ? (unsigned)online / ranks.info.local_size : 1;
    return share < 1 ? 1 : share < own ? share : own;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static bool is_broken(void) {
    scan_dist_info info = {.struct_size = sizeof info};
    return ranks.calls.comm_info(ranks.comm, &info) != SCAN_OK || info.broken;
}

/* A rank is gone. The lowest of those that are left says so, or the error that it has itself. They stay until all that
 * wait have seen that one rank, and not another one leave. */
__attribute__((noreturn)) static void end_without(const fatal_error *own) {
    uint32_t gone;
    fatal_error error;
    const scan_status cause = ranks.calls.cause(ranks.comm, &gone);
    compose_fatal(&error, session_exit_code(cause), "%s", ranks.calls.detail(ranks.comm));
    if (ranks.info.rank == (gone == 0))
        die_say(own ? own->line : error.line);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    die_leave(error.code);
}

/* All ranks come here when one of them has failed; own: this one's error, or NULL. They leave when the line is out,
 * because a launcher ends them all when the first has left. */
__attribute__((noreturn)) static void end_together(const fatal_error *own) {
    const int mine = own ? own->code : EXIT_DONE;
    int *codes = must_alloc(ranks.info.size, sizeof *codes);
    uint32_t cause = 0;
    if (is_broken() || ranks.calls.all_gather(ranks.comm, &mine, sizeof mine, codes) != SCAN_OK)
        end_without(own);
    while (cause + 1 < ranks.info.size && codes[cause] == EXIT_DONE)
        cause++;
    const int code = codes[cause];
    if (ranks.info.rank == cause && own)
        die_say(own->line);
    if (ranks.calls.all_gather(ranks.comm, &mine, sizeof mine, codes) != SCAN_OK)
        die_leave(EXIT_IO);
    die_leave(code);
}

/* Seconds that the others have to come; the launcher needs the rest to end them. */
static double patience(void) {
    const char *text = getenv("SCAN_DIST_TIMEOUT");
    const double seconds = text ? strtod(text, NULL) : 0;
    return 0.8 * (seconds > 0 && seconds < 1e6 ? seconds : 10);
}

static void *lose_patience(void *arg) {
    const fatal_error *error = arg;
    const double seconds = patience();
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        continue;
    die_say(error->line);
    die_leave(error->code);
}

/* The hook of die(). */
static void end_by(const fatal_error *error) {
    pthread_t thread;
    if (!ranks.comm)
        return;
    die_together(NULL); /* whatever fails from here on is not said */
    if (is_broken())
        end_without(error);
    pthread_create(&thread, NULL, lose_patience, (void *)(uintptr_t)error);
    ranks.calls.agree(ranks.comm, SCAN_ERR_ARGUMENT, error->line);
    end_together(error);
}

void ranks_take(scan_status status, const char *subject) {
    fatal_error error;
    if (status == SCAN_OK)
        return;
    if (is_broken() || status == SCAN_ERR_PEER)
        end_together(NULL);
    compose_fatal(&error, session_exit_code(status), "%s: %s", subject, ranks.calls.detail(ranks.comm));
    end_together(&error);
}

void ranks_refuse(const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (ranks_several())
        die_usage("with several processes (a launcher started %u): %s", ranks.info.size, what);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

/* Before ranks know of each other each speaks for itself: others may not be there, as where the variables are left over
 * from a process that started this one. */
__attribute__((noreturn, format(printf, 2, 3))) static void refuse_start(unsigned launched, const char *format, ...) {
    char what[RANKS_REASON_BYTES + 128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    die(EXIT_USAGE, "started as %u processes, but %s; SCAN_DIST=off makes each a program by itself", launched, what);
}

static void refuse_other_arguments(int argc, char **argv) {
    uint64_t hash = (uint64_t)argc, *all = must_alloc(ranks.info.size, sizeof *all);
    for (int i = 1; i < argc; i++)
        hash = (hash ^ hash_bytes((const unsigned char *)argv[i], strlen(argv[i]))) * UINT64_C(0x9e3779b97f4a7c15);
    ranks_gather(&hash, sizeof hash, all);
    for (unsigned r = 1; r < ranks.info.size; r++)
        if (all[r] != all[0])
            die_usage("a launcher started %u processes with different arguments; SCAN_DIST=off makes each a program by "
                      "itself",
                      ranks.info.size);
    free(all);
}

void ranks_start(int argc, char **argv) {
    const unsigned launched = ranks_launched();
    char reason[RANKS_REASON_BYTES] = "";
    scan_dist_comm *comm;
    if (launched < 2)
        return;
    if (!ranks_load(&ranks.calls, reason))
        refuse_start(launched, "%s", reason);
    const scan_dist_options options = {.struct_size = sizeof options, .detail = reason, .detail_bytes = sizeof reason};
    if (ranks.calls.comm_create(&comm, &options) != SCAN_OK)
        refuse_start(launched, "they do not find each other: %s", reason);
    ranks.comm = comm;
    ranks.calls.comm_info(comm, &ranks.info);
    if (ranks.info.size != launched)
        refuse_start(launched,
                     "MPI finds %u of them: the launcher is not the one of this MPI library (or srun needs "
                     "--mpi=pmix)",
                     ranks.info.size);
    die_together(end_by);
    refuse_other_arguments(argc, argv);
}

void ranks_finish(void) {
    if (!ranks.comm)
        return;
    ranks_take(ranks.calls.agree(ranks.comm, SCAN_OK, NULL), "");
    die_together(NULL);
    ranks.calls.comm_destroy(ranks.comm);
    ranks.comm = NULL;
    free(ranks.all);
    ranks.all = NULL;
}

/* ---- collective -------------------------------------------------------------------------------------------------- */

void ranks_gather(const void *mine, size_t bytes, void *all) {
    if (ranks.comm)
        ranks_take(ranks.calls.all_gather(ranks.comm, mine, bytes, all), "ranks");
    else
        memcpy(all, mine, bytes);
}

static const uint64_t *gather_numbers(uint64_t mine) {
    if (!ranks.all)
        ranks.all = must_alloc(ranks.info.size, sizeof mine);
    ranks_gather(&mine, sizeof mine, ranks.all);
    return ranks.all;
}

ranks_sum ranks_add(uint64_t mine) {
    const uint64_t *all = gather_numbers(mine);
    ranks_sum sum = {0};
    for (unsigned r = 0; r < ranks.info.size; r++) {
        sum.before += r < ranks.info.rank ? all[r] : 0;
        sum.total += all[r];
    }
    return sum;
}

uint64_t ranks_min(uint64_t mine) {
    const uint64_t *all = gather_numbers(mine);
    uint64_t least = all[0];
    for (unsigned r = 1; r < ranks.info.size; r++)
        least = all[r] < least ? all[r] : least;
    return least;
}

bool ranks_has_first(uint64_t mine) {
    const uint64_t first = ranks_min(mine);
    if (first != UINT64_MAX && first != mine)
        ranks_add(0); /* ends here */
    return first != UINT64_MAX;
}

/* In slots of the largest size. */
void *ranks_collect(const void *mine, size_t bytes, size_t *total) {
    const size_t count = ranks.info.size;
    size_t *sizes = must_alloc(count, sizeof *sizes), room = 0;
    ranks_gather(&bytes, sizeof bytes, sizes);
    for (size_t r = 0; r < count; r++)
        room = sizes[r] > room ? sizes[r] : room;
    unsigned char *padded = must_alloc(room, 1), *all = must_alloc(room, count);
    if (bytes)
        memcpy(padded, mine, bytes);
    memset(padded + bytes, 0, room - bytes);
    ranks_gather(padded, room, all);
    *total = 0;
    for (size_t r = 0; r < count; *total += sizes[r++])
        memmove(all + *total, all + r * room, sizes[r]);
    free(padded);
    free(sizes);
    return all;
}

void *ranks_exchange(const void *data, const size_t *bytes, size_t *received) {
    const size_t count = ranks.info.size;
    size_t *all = must_alloc(count * count, sizeof *all), *from = must_alloc(count, sizeof *from);
    ranks_gather(bytes, count * sizeof *bytes, all);
    *received = 0;
    for (size_t r = 0; r < count; r++)
        *received += from[r] = all[r * count + ranks.info.rank];
    void *to = must_alloc(*received, 1);
    if (ranks.comm)
        ranks_take(ranks.calls.all_to_all(ranks.comm, data, bytes, to, from), "ranks");
    else if (*received)
        memcpy(to, data, *received);
    free(all);
    free(from);
    return to;
}

scan_status ranks_agree(scan_status status, const char *words) {
    return ranks.comm ? ranks.calls.agree(ranks.comm, status, words) : status;
}

ranks_part ranks_part_at(uint64_t n, unsigned rank) {
    const uint64_t each = n / ranks.info.size, more = n % ranks.info.size;
    return (ranks_part){rank * each + (rank < more ? rank : more), each + (rank < more)};
}

ranks_part ranks_part_of(uint64_t n) { return ranks_part_at(n, ranks.info.rank); }
