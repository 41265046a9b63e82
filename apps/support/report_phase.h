/* SPDX-License-Identifier: MIT
 *
 * The clock of a run. The main thread's clock runs from report_start to report_finish (report.h) and always counts into
 * one phase; input and output switch it by themselves. Other threads time their own work, and report_time adds it:
 * phases then overlap, and their times add up to more than the whole.
 */
#ifndef APPS_SUPPORT_REPORT_PHASE_H
#define APPS_SUPPORT_REPORT_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum report_phase {
    PHASE_OTHER, /* parsing, formatting, all that has no name of its own */
    PHASE_OPEN,  /* the device: its context, memory that it shares with the program */
    PHASE_READ,
    PHASE_UPLOAD,
    PHASE_COMPUTE,
    PHASE_DOWNLOAD,
    PHASE_WRITE,
    PHASE_VERIFY,
    PHASE_COUNT,
    PHASE_WAIT = PHASE_COUNT /* for other threads: counts nowhere */
} report_phase;

/* From now on the thread's time counts into `phase`; returns the phase before, to go back to. */
report_phase report_enter(report_phase phase);

/* Gives a thread that is not the main one a clock of its own. report_aside_times adds what it says of the phases that
 * have names, for the main thread to pass on to report_time. */
void report_aside(void);
void report_aside_times(uint64_t ns[PHASE_COUNT]);

/* Bytes read and written: input and output count by themselves. In any thread. */
void report_bytes(size_t read, size_t written);

/* Bytes that a phase moved, and time spent on it that the main thread's clock did not count. report_overlap: threads
 * worked beside each other. For PHASE_COMPUTE the bytes are those of a step's input and output (elements, flags and
 * indices), each counted once, however often the step goes over them. report_moved: in any thread; the others in the
 * main thread. */
void report_moved(report_phase phase, uint64_t bytes);
void report_time(report_phase phase, uint64_t ns);
void report_overlap(void);

/* Nanoseconds on a clock that never goes back. */
uint64_t report_clock(void);

/* ---- for report.c ------------------------------------------------------------------------------------------------ */

typedef struct report_totals {
    uint64_t ns;                    /* from start to stop */
    uint64_t phase_ns[PHASE_COUNT]; /* of each phase */
    uint64_t bytes[PHASE_COUNT];    /* that each phase moved; 0: not known */
    uint64_t bytes_read, bytes_written;
    bool overlap; /* other threads' times are among phase_ns */
} report_totals;

/* Starts the clock; returns the time. */
uint64_t report_clock_start(void);

/* Stops it for good, in PHASE_OTHER. */
report_totals report_clock_stop(void);

#endif
