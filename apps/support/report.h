/* SPDX-License-Identifier: MIT
 *
 * What a run did and how long it took: --stats for people, --json for machines, and the progress bar. The times are
 * those of report_phase.h.
 */
#ifndef APPS_SUPPORT_REPORT_H
#define APPS_SUPPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"
#include "report_phase.h"

/* Called after the options are read. Opens the --json file, so that it is checked before any work. */
void report_start(const cli_common *common);

/* Facts, shown in the order they are first set; setting a key again replaces its value. Keys are literals, in
 * snake_case; texts are copied. */
void report_text(const char *key, const char *text);
void report_number(const char *key, uint64_t number);
void report_flag(const char *key, bool flag);

/* Draws the bar if --progress wants it by now. total 0: not known. */
void report_progress(uint64_t done, uint64_t total);

/* A job of several passes over its data: what this one is, before the bar, "merging ". The bar then says how long it
 * will take, too. A literal. */
void report_stage(const char *stage);

/* Removes the bar, if there is one, before something else is written on stderr. */
void report_clear_bar(void);

/* Writes the reports, then commits all outputs (output_commit_all). The last call of a program that succeeds. */
void report_finish(void);

#endif
