/* SPDX-License-Identifier: MIT
 *
 * The clock of a run.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "report_phase.h"

/* A thread's clock. */
typedef struct phase_clock {
    uint64_t last_ns;
    uint64_t phase_ns[PHASE_COUNT + 1]; /* and PHASE_WAIT */
    report_phase phase;
} phase_clock;

static struct {
    phase_clock clock; /* the main thread's */
    uint64_t start_ns;
    atomic_uint_fast64_t moved[PHASE_COUNT]; /* bytes; read and written are counted below */
    bool overlap;
    bool stopped;
    atomic_uint_fast64_t bytes_read;
    uint64_t bytes_written;
} counted;

static _Thread_local bool aside;
static _Thread_local phase_clock aside_clock;

uint64_t report_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

report_phase report_enter(report_phase phase) {
    phase_clock *clock = aside ? &aside_clock : &counted.clock;
    report_phase before = clock->phase;
    if (phase != before && (aside || !counted.stopped)) {
        uint64_t now = report_clock();
        clock->phase_ns[before] += now - clock->last_ns;
        clock->last_ns = now;
        clock->phase = phase;
    }
    return before;
}

void report_aside(void) {
    aside = true;
    aside_clock = (phase_clock){.last_ns = report_clock()};
}

void report_aside_times(uint64_t ns[PHASE_COUNT]) {
    for (int phase = PHASE_READ; phase < PHASE_COUNT; phase++)
        ns[phase] += aside_clock.phase_ns[phase];
}

void report_bytes(size_t read, size_t written) {
    if (read)
        atomic_fetch_add_explicit(&counted.bytes_read, read, memory_order_relaxed);
    if (written)
        counted.bytes_written += written;
}

void report_moved(report_phase phase, uint64_t bytes) {
    atomic_fetch_add_explicit(&counted.moved[phase], bytes, memory_order_relaxed);
}

void report_time(report_phase phase, uint64_t ns) { counted.clock.phase_ns[phase] += ns; }

void report_overlap(void) { counted.overlap = true; }

uint64_t report_clock_start(void) { return counted.start_ns = counted.clock.last_ns = report_clock(); }

report_totals report_clock_stop(void) {
    report_enter(PHASE_OTHER);
    uint64_t end_ns = report_clock();
    counted.clock.phase_ns[PHASE_OTHER] += end_ns - counted.clock.last_ns;
    counted.stopped = true;

    report_totals totals = {.ns = end_ns - counted.start_ns,
                            .bytes_read = counted.bytes_read,
                            .bytes_written = counted.bytes_written,
                            .overlap = counted.overlap};
    memcpy(totals.phase_ns, counted.clock.phase_ns, sizeof totals.phase_ns);
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        totals.bytes[phase] = counted.moved[phase];
    totals.bytes[PHASE_READ] = totals.bytes_read;
    totals.bytes[PHASE_WRITE] = totals.bytes_written;
    return totals;
}
