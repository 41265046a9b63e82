/* SPDX-License-Identifier: MIT
 *
 * What the parts of the hunt share: bench_hunt.c draws and measures sets, bench_hunt_report.c sums up.
 */
#ifndef TOOLS_BENCH_HUNT_H
#define TOOLS_BENCH_HUNT_H

#include "bench.h"

enum { HUNT_MODES = 2 /* [0] out of place, [1] in place */ };
extern const char *const hunt_mode_names[HUNT_MODES];

/* What one set showed. */
typedef struct hunt_row {
    uint64_t seed, n;
    bench_verb verb;
    bool wrong;               /* a result was, or it could not be run */
    double ns[HUNT_MODES];    /* 0: not run that way */
    double rate[HUNT_MODES];  /* bytes in a ns */
    double share[HUNT_MODES]; /* of the copy's rate */
    double ratio[HUNT_MODES]; /* the best peer's time over ours, 0 without a peer */
    double peer_ns;
    const char *ran; /* the library's path, of the last row made */
    char peer[48], text[400];
} hunt_row;

/* Prints a table of the rows and the worst of them. Returns how many are wrong. */
size_t hunt_summary(const bench_settings *bench, const hunt *h, const hunt_row *rows, size_t count);

#endif
