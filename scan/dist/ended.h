/* SPDX-License-Identifier: MIT
 *
 * Ranks on one machine watch each other's processes.
 */
#ifndef SCAN_DIST_ENDED_H
#define SCAN_DIST_ENDED_H

#include "dist.h"

/* A process, and where its number means it: the machine since it was started, and a namespace. */
typedef struct scan_dist_process {
    int64_t id;
    char place[120]; /* "": not known */
} scan_dist_process;

typedef struct scan_dist_ended scan_dist_ended;

scan_dist_process scan_dist_own_process(void);

/* Watches those of `size` processes that this one can see. NULL if it cannot. */
scan_dist_ended *scan_dist_watch(const scan_dist_process *all, uint32_t rank, uint32_t size);
void scan_dist_unwatch(scan_dist_ended *ended);

bool scan_dist_watches(const scan_dist_ended *ended, uint32_t rank);

/* Looks a few times a second, and sets *rank if one has ended. */
bool scan_dist_find_ended(scan_dist_ended *ended, uint32_t *rank);

#endif
