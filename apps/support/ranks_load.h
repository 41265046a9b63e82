/* SPDX-License-Identifier: MIT
 *
 * For ranks.c: whether a launcher started this process, and libscan_dist.
 */
#ifndef APPS_SUPPORT_RANKS_LOAD_H
#define APPS_SUPPORT_RANKS_LOAD_H

#include "ranks.h"

/* As the environment says. */
typedef struct ranks_launch {
    unsigned size; /* 1: there is no launcher, or it started one process */
    unsigned rank;
} ranks_launch;

ranks_launch ranks_find_launch(void);

/* Returns false, with the reason, if libscan_dist cannot be loaded or is of another version. */
enum { RANKS_REASON_BYTES = 512 };
bool ranks_load(ranks_calls *calls, char reason[RANKS_REASON_BYTES]);

#endif
