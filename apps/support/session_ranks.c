/* SPDX-License-Identifier: MIT
 *
 * Sessions of several ranks: all compute on devices, or all on the CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "die.h"
#include "ranks.h"
#include "report.h"
#include "session_ranks.h"

scan_status session_settle(session *s, scan_status status) {
    struct outcome {
        int32_t status;
        char detail[sizeof s->opening.detail];
    } mine = {.status = (int32_t)status}, *all;
    if (s->settled || !ranks_several())
        return status;
    s->settled = true;
    memcpy(mine.detail, s->opening.detail, sizeof mine.detail);
    all = must_alloc(ranks_count(), sizeof *all);
    ranks_gather(&mine, sizeof mine, all);
    for (unsigned r = 0; r < ranks_count() && status == SCAN_OK; r++)
        if (all[r].status != SCAN_OK) {
            status = (scan_status)all[r].status;
            snprintf(s->opening.detail, sizeof s->opening.detail, "rank %u: %.200s", r, all[r].detail);
        }
    free(all);
    return status;
}

/* What has failed on the lowest rank where something has; others have only heard of it. */
static scan_status find_failure(scan_status mine, char detail[256]) {
    struct outcome {
        int32_t status;
        char words[256];
    } outcome = {.status = (int32_t)(mine == SCAN_ERR_PEER ? SCAN_OK : mine)}, *all;
    snprintf(outcome.words, sizeof outcome.words, "%s", ranks_library()->detail(ranks_comm()));
    all = must_alloc(ranks_count(), sizeof *all);
    ranks_gather(&outcome, sizeof outcome, all);
    scan_status status = SCAN_OK;
    for (unsigned r = 0; r < ranks_count() && status == SCAN_OK; r++) {
        status = (scan_status)all[r].status;
        snprintf(detail, 256, "rank %u: %.230s", r, all[r].words);
    }
    free(all);
    return status;
}

void session_try_together(session *s, const char *subject, session_attempt *attempt, void *arg) {
    session_ready(s);
    report_phase before = report_enter(PHASE_COMPUTE);
    const size_t keep = session_taken(s);
    char detail[256];
    scan_status status = find_failure(attempt(arg, s), detail);
    if (status != SCAN_OK && !s->on_host && session_is_device_failure(status)) {
        session_give_back(s, keep);
        session_fall_back_together(s, subject, status, detail, ranks_own() == 0);
        status = find_failure(attempt(arg, s), detail);
    }
    if (status != SCAN_OK)
        die(session_exit_code(status), "%s: %s", subject, detail);
    session_give_back(s, keep);
    report_enter(before);
}
