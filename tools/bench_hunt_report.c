/* SPDX-License-Identifier: MIT
 *
 * The summary of a hunt: how the library compares with the best peer of each set, over all sets, by verb and by size,
 * and the sets where it is worst, with the command that makes each again.
 *
 * On the CPU the peers sort in place: the library in place is compared with them on the same fresh copy, and out of
 * place with the same times. A sort out of place that runs at 0.85 of the rate of a plain copy by as many threads is at
 * the memory's bound, and is not counted as slow.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_hunt.h"

const char *const hunt_mode_names[HUNT_MODES] = {"out of place", "in place"};

static const double limits[] = {0.9, 0.95, 1.0, 1.2};
enum { LIMITS = sizeof limits / sizeof limits[0], WORST = 10 };
static const double bound_share = 0.85;

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct group {
    size_t sets, at_bound, below[LIMITS];
    double log_sum, worst;
} group;

static bool is_at_bound(const bench_settings *bench, const hunt_row *row, unsigned mode) {
    return bench->device == NULL && mode == 0 && row->share[mode] >= bound_share;
}

static void group_add(group *g, double ratio, bool at_bound) {
    g->worst = g->sets++ == 0 || ratio < g->worst ? ratio : g->worst;
    g->log_sum += log(ratio);
    g->at_bound += at_bound;
    for (unsigned k = 0; k < LIMITS; k++)
        g->below[k] += ratio < limits[k] && !at_bound;
}

static void print_group(const char *name, const group *g) {
    if (g->sets == 0)
        return;
    printf("  %-22s %6zu %8.2f %7.2f", name, g->sets, exp(g->log_sum / (double)g->sets), g->worst);
    for (unsigned k = 0; k < LIMITS; k++)
        printf(" %6zu", g->below[k]);
    printf(" %8zu\n", g->at_bound);
}

/* The sizes that are summed up apart. */
static const struct {
    const char *name;
    double begin, end;
} classes[] = {{"n < 10^5", 0, 1e5},
               {"10^5 <= n < 10^6", 1e5, 1e6},
               {"10^6 <= n < 10^7", 1e6, 1e7},
               {"10^7 <= n < 10^8", 1e7, 1e8},
               {"10^8 <= n", 1e8, 1e30}};
enum { CLASSES = sizeof classes / sizeof classes[0] };

static void print_table(const bench_settings *bench, const hunt_row *rows, size_t count, unsigned mode) {
    group all = {0}, verbs[BENCH_VERB_COUNT] = {{0}}, sizes[CLASSES] = {{0}};
    for (size_t r = 0; r < count; r++) {
        const double ratio = rows[r].ratio[mode];
        const bool at_bound = is_at_bound(bench, &rows[r], mode);
        if (ratio <= 0)
            continue;
        group_add(&all, ratio, at_bound);
        group_add(&verbs[rows[r].verb], ratio, at_bound);
        for (unsigned k = 0; k < CLASSES; k++)
            if ((double)rows[r].n >= classes[k].begin && (double)rows[r].n < classes[k].end)
                group_add(&sizes[k], ratio, at_bound);
    }
    if (all.sets == 0)
        return;
    printf("\n  %-22s   sets  geomean   worst  <0.90  <0.95  <1.00  <1.20 at bound\n", hunt_mode_names[mode]);
    print_group("all", &all);
    for (int v = 0; v < BENCH_VERB_COUNT; v++)
        print_group(verb_names[v], &verbs[v]);
    for (unsigned k = 0; k < CLASSES; k++)
        print_group(classes[k].name, &sizes[k]);
}

/* ---- the worst --------------------------------------------------------------------------------------------------- */

static void print_command(const bench_settings *bench, const hunt *h, const hunt_row *row) {
    printf("tools/bench --hunt 1 --seed %" PRIu64, row->seed);
    if (strcmp(bench->device_name, "cpu") != 0)
        printf(" --device %s", bench->device_name);
    else if (!h->check)
        printf(" --threads %u", h->lists->threads);
    if (h->check)
        printf(" --check");
    if (row->n > h->standard_max_n)
        printf(" --max-n %" PRIu64, row->n);
    if (row->n < h->standard_min_n)
        printf(" --min-n %" PRIu64, row->n);
    putchar('\n');
}

static void print_worst(const bench_settings *bench, const hunt *h, const hunt_row *rows, size_t count, unsigned mode) {
    double above = 0;
    for (unsigned printed = 0; printed < WORST; printed++) {
        const hunt_row *worst = NULL;
        for (size_t r = 0; r < count; r++)
            if (rows[r].ratio[mode] > above && !is_at_bound(bench, &rows[r], mode) &&
                (worst == NULL || rows[r].ratio[mode] < worst->ratio[mode]))
                worst = &rows[r];
        if (worst == NULL)
            return;
        above = worst->ratio[mode];
        if (printed == 0)
            printf("\nWorst %s:\n", hunt_mode_names[mode]);
        printf("  %.2f  %s\n        %.4g ms; %s: %.4g ms, %.3g G/s\n        ", above, worst->text,
               worst->ns[mode] * 1e-6, worst->peer, worst->peer_ns * 1e-6, (double)worst->n / worst->peer_ns);
        print_command(bench, h, worst);
    }
}

size_t hunt_summary(const bench_settings *bench, const hunt *h, const hunt_row *rows, size_t count) {
    size_t wrong = 0, compared = 0;
    for (size_t r = 0; r < count; r++) {
        wrong += rows[r].wrong;
        compared += rows[r].peer_ns > 0;
    }
    printf("\nHunt: %zu sets from seed %" PRIu64 ", %zu wrong, %zu compared with a peer\n", count, bench->seed, wrong,
           compared);
    for (unsigned m = HUNT_MODES; m-- > 0;)
        print_table(bench, rows, count, m);
    for (unsigned m = HUNT_MODES; m-- > 0;)
        print_worst(bench, h, rows, count, m);
    for (size_t r = 0; r < count; r++)
        if (rows[r].wrong) {
            printf("\nWrong: %s\n  ", rows[r].text);
            print_command(bench, h, &rows[r]);
        }
    return wrong;
}
