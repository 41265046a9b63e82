/* SPDX-License-Identifier: MIT
 *
 * For ranks.c: whether a launcher started this process, and libscan_dist.
 */
#ifndef APPS_SUPPORT_RANKS_LOAD_H
#define APPS_SUPPORT_RANKS_LOAD_H

#include "ranks.h"

/* Returns how many processes a launcher started, as the environment says; 1: it started one, or there is none. */
unsigned ranks_launched(void);

/* Returns false, with the reason, if libscan_dist cannot be loaded or is of another version. */
enum { RANKS_REASON_BYTES = 512 };
bool ranks_load(ranks_calls *calls, char reason[RANKS_REASON_BYTES]);

#endif
