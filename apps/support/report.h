/* SPDX-License-Identifier: MIT
 *
 * What a run did and how long it took: --stats for people, --json for machines, and the progress bar. The main thread's
 * clock runs from report_start to report_finish and always counts into one phase; input and output switch it by
 * themselves. What other threads do meanwhile they time themselves, and report_time adds it: phases then overlap, and
 * their times add up to more than the whole.
 */
#ifndef APPS_SUPPORT_REPORT_H
#define APPS_SUPPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"

typedef enum report_phase {
    PHASE_OTHER, /* parsing, formatting, whatever has no name of its own */
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

/* After the options are read. Opens the --json file, so that it is checked before any work. */
void report_start(const cli_common *common);

/* From now on the main thread's time counts into `phase`; answers the phase before, to go back to. Does nothing in a
 * thread that said report_aside. */
report_phase report_enter(report_phase phase);
void report_aside(void);

/* Bytes read and written: input and output count by themselves. In any thread. */
void report_bytes(size_t read, size_t written);

/* Bytes that a phase moved, and time spent on it that the main thread's clock did not count. report_overlap: threads
 * worked beside each other. Computing counts what a step takes and what it gives, elements, flags and indices, each
 * once, however often the step goes over them. In the main thread. */
void report_moved(report_phase phase, uint64_t bytes);
void report_time(report_phase phase, uint64_t ns);
void report_overlap(void);

/* Nanoseconds on a clock that never goes back. */
uint64_t report_clock(void);

/* Facts, shown in the order they are first set; setting a key again replaces its value. Keys are literals, in
 * snake_case; texts are copied. */
void report_text(const char *key, const char *text);
void report_number(const char *key, uint64_t number);
void report_flag(const char *key, bool flag);

/* Draws the bar if it is wanted and a second has passed. total 0: not known. */
void report_progress(uint64_t done, uint64_t total);

/* Removes the bar, if there is one, before something else is written on stderr. */
void report_clear_bar(void);

/* Writes the reports, then makes all outputs real (output_commit_all). The last call of a program that succeeds. */
void report_finish(void);

#endif
