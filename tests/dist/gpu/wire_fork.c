/* SPDX-License-Identifier: MIT
 *
 * The wire of test_dist_gpu: ranks are processes that fork from one, and bytes go through memory that they share, so
 * that the library is tested on machines without MPI. In the emulator device memory is host memory, and the same wire
 * is the link between devices.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "wire_fork.h"

enum { RING = 1 << 16, LINKS = 16, MAX_ALARMS = 64 };

typedef struct ring {
    atomic_size_t written, read;
    char bytes[RING];
} ring;

typedef struct shared_alarm {
    atomic_bool told;
    scan_dist_alarm alarm;
} shared_alarm;

typedef struct shared {
    atomic_uint alarm_count;
    shared_alarm alarms[MAX_ALARMS];
    ring rings[]; /* from rank a to rank b at a * size + b; after those of the wire the same of each link */
} shared;

static shared *memory;
static uint32_t own_rank, all_ranks;
static unsigned heard_count;

/* Up to two batches are under way; a transfer knows its own. */
typedef struct fork_move {
    scan_dist_move move;
    unsigned batch;
} fork_move;

typedef struct fork_wire {
    fork_move *lists[2]; /* to receive and to send */
    size_t counts[2];
    unsigned first, next; /* batches from first to before next are under way */
    ring *rings;
} fork_wire;

bool fork_wire_create(uint32_t ranks) {
    const size_t bytes = sizeof *memory + (size_t)ranks * ranks * (1 + LINKS) * sizeof *memory->rings;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    all_ranks = ranks;
    return memory != MAP_FAILED;
}

void fork_wire_rank(uint32_t rank) { own_rank = rank; }

/* Moves what there is room or data for. */
static void advance(const fork_wire *w, scan_dist_move *m, bool sending) {
    ring *r = &w->rings[sending ? own_rank * all_ranks + m->peer : m->peer * all_ranks + own_rank];
    const size_t written = atomic_load(&r->written), read = atomic_load(&r->read);
    size_t count = sending ? RING - (written - read) : written - read;
    size_t at = (sending ? written : read) % RING;
    count = count < m->bytes ? count : m->bytes;
    count = count < RING - at ? count : RING - at;
    memcpy(sending ? r->bytes + at : m->at, sending ? m->at : r->bytes + at, count);
    atomic_fetch_add(sending ? &r->written : &r->read, count);
    m->at = (char *)m->at + count;
    m->bytes -= count;
}

static const char *fork_begin(void *state, scan_dist_moves sends, scan_dist_moves receives) {
    fork_wire *w = state;
    const scan_dist_moves given[2] = {receives, sends};
    for (int i = 0; i < 2; i++) {
        size_t kept = 0;
        for (size_t k = 0; k < w->counts[i]; k++)
            if (w->lists[i][k].move.bytes)
                w->lists[i][kept++] = w->lists[i][k];
        w->lists[i] = realloc(w->lists[i], (kept + given[i].count + 1) * sizeof *w->lists[i]);
        for (size_t k = 0; k < given[i].count; k++)
            if (given[i].list[k].peer != own_rank)
                w->lists[i][kept++] = (fork_move){given[i].list[k], w->next};
        w->counts[i] = kept;
    }
    w->next++;
    return NULL;
}

static const char *fork_test(void *state, bool *done) {
    fork_wire *w = state;
    *done = true;
    for (int sending = 0; sending < 2; sending++) {
        bool waiting[64] = {false}; /* transfers with a rank go one after another */
        for (size_t k = 0; k < w->counts[sending]; k++) {
            scan_dist_move *m = &w->lists[sending][k].move;
            if (m->bytes && !waiting[m->peer])
                advance(w, m, sending);
            waiting[m->peer] = waiting[m->peer] || m->bytes;
            *done = *done && (!m->bytes || w->lists[sending][k].batch != w->first);
        }
    }
    w->first += *done;
    return NULL;
}

static bool fork_hear(void *state, scan_dist_alarm *alarm) {
    (void)state;
    if (heard_count == MAX_ALARMS || !atomic_load(&memory->alarms[heard_count].told))
        return false;
    *alarm = memory->alarms[heard_count++].alarm;
    return alarm->rank != own_rank;
}

static void fork_tell(void *state, const scan_dist_alarm *alarm, double seconds) {
    (void)state, (void)seconds;
    const unsigned number = atomic_fetch_add(&memory->alarm_count, 1);
    if (number >= MAX_ALARMS)
        abort();
    memory->alarms[number].alarm = *alarm;
    atomic_store(&memory->alarms[number].told, true);
}

static void fork_close(void *state, bool broken) {
    fork_wire *w = state;
    (void)broken;
    free(w->lists[0]);
    free(w->lists[1]);
    free(w);
}

static const scan_dist_wire table = {
    .begin = fork_begin, .test = fork_test, .hear = fork_hear, .tell = fork_tell, .close = fork_close};

static fork_wire *new_wire(size_t set) {
    fork_wire *w = calloc(1, sizeof *w);
    w->rings = memory->rings + set * all_ranks * all_ranks;
    return w;
}

/* In the place of wire_mpi.c. */
scan_status scan_dist_open_mpi(scan_dist_comm *comm, const void *mpi_comm) {
    (void)mpi_comm;
    comm->wire = &table;
    comm->wire_state = new_wire(0);
    comm->rank = comm->local_rank = own_rank;
    comm->size = comm->local_size = all_ranks;
    return SCAN_OK;
}

#ifdef SCAN_EMULATED

/* ---- in the place of nccl.c -------------------------------------------------------------------------------------- */

static unsigned before_break; /* 0: it holds */

void fork_link_break(unsigned after) { before_break = after + 1; }

/* The lists have what a rank sends to itself in the same order. */
static const char *link_begin(void *state, scan_dist_moves sends, scan_dist_moves receives) {
    size_t s = 0;
    if (before_break > 0 && --before_break == 0)
        return "the link is down";
    for (size_t r = 0; r < receives.count; r++) {
        if (receives.list[r].peer != own_rank)
            continue;
        while (sends.list[s].peer != own_rank)
            s++;
        memcpy(receives.list[r].at, sends.list[s++].at, receives.list[r].bytes);
    }
    return fork_begin(state, sends, receives);
}

static const scan_dist_wire link_table = {.begin = link_begin, .test = fork_test, .close = fork_close};

bool scan_dist_has_link(void) { return true; }

scan_status scan_dist_open_link(scan_dist_comm *comm) {
    comm->link = &link_table;
    comm->link_state = new_wire(1 + comm->link_number % LINKS);
    return SCAN_OK;
}

#endif
