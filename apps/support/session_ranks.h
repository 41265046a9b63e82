/* SPDX-License-Identifier: MIT
 *
 * What session.c shares with session_ranks.c.
 */
#ifndef APPS_SUPPORT_SESSION_RANKS_H
#define APPS_SUPPORT_SESSION_RANKS_H

#include "session.h"

/* As session_fall_back; `says`: this process has a line about it. */
void session_fall_back_together(session *s, const char *subject, scan_status status, const char *detail, bool says);

/* Takes how this rank's device was opened. Returns the first failure on any rank, which s->opening.detail then says.
 * Collective at the first call. */
scan_status session_settle(session *s, scan_status status);

#endif
