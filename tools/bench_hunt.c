/* SPDX-License-Identifier: MIT
 *
 * The hunt: sorts of random sets of keys (key_set.h), for cases where a sort is wrong or slower than a peer. A set is a
 * function of its seed alone: verb, type, n, direction, bits, keys. What the command line asks for (verb, types, range
 * of n, method) only skips sets. The first set has the seed that is given, so that --hunt 1 --seed S makes set S again.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench_hunt.h"

/* ---- one set ----------------------------------------------------------------------------------------------------- */

/* From 1 to 2^30. Every octave is alike, and flat inside; but one number in four is close to a power of two, or to one
 * and a half of it, where a sort may change its way. */
static uint64_t draw_n(uint64_t *random) {
    const uint64_t power = UINT64_C(1) << key_below(random, 30), near = key_below(random, 8);
    uint64_t n = power + key_below(random, power);
    if (near < 2)
        n = 2 * power - (near == 1 ? power / 2 : 0) + key_below(random, 5) - 2;
    return n == 0 ? 1 : n < HUNT_MAX_N ? n : HUNT_MAX_N;
}

static scan_type draw_type(uint64_t *random) {
    const scan_type type = (scan_type)(1 + key_below(random, SCAN_TYPE_COUNT));
    const uint64_t again = key_below(random, 2); /* types of 1 and 2 bytes, which have few codes, come half as often */
    return type_bytes(type) >= 4 || again == 0 ? type : (scan_type)(SCAN_U32 + key_below(random, 6));
}

static void draw_order(job *j, uint64_t *random) {
    const unsigned width = 8 * (unsigned)type_bytes(j->type);
    const bool is_float = type_class(j->type) == SCAN_FLOAT;
    j->descending = key_below(random, 3) == 0;
    const bool odd = key_below(random, 5) == 0;
    j->nan_first = odd && is_float;
    if (odd && !is_float) {
        j->begin_bit = (uint32_t)key_below(random, width);
        j->end_bit = j->begin_bit + 1 + (uint32_t)key_below(random, width - j->begin_bit);
    }
}

static bool is_wanted(const hunt *h, const job *j) {
    if (j->algorithm.sort == SCAN_SORT_SAMPLE && type_bytes(j->type) < 4)
        return false; /* which it does not serve */
    bool type_wanted = h->lists->type_count == 0;
    for (unsigned t = 0; t < h->lists->type_count; t++)
        type_wanted |= h->lists->types[t] == j->type;
    return type_wanted && (h->lists->verb == BENCH_VERB_COUNT || h->lists->verb == j->verb) && j->n >= h->min_n &&
           j->n <= h->max_n;
}

/* Draws the job of a seed, and its keys. False if it is not wanted. */
static bool draw_job(const hunt *h, uint64_t seed, job *j, key_set *keys) {
    static const bench_verb verbs[] = {BENCH_SORT, BENCH_PAIRS, BENCH_ARGSORT};
    static const unsigned threads[] = {1, 2, 3, 7};
    uint64_t random = seed;
    *j = (job){.seed = seed, .keys = keys, .threads = h->lists->threads, .algorithm = h->lists->algorithm};
    j->verb = verbs[key_below(&random, 3)];
    j->value_bytes = key_below(&random, 2) == 0 ? 4 : 8;
    j->type = j->out_type = draw_type(&random);
    j->n = draw_n(&random);
    draw_order(j, &random);
    const unsigned drawn_threads = threads[key_below(&random, 4)];
    if (h->check)
        j->threads = drawn_threads;
    if (!is_wanted(h, j))
        return false;
    key_set_draw(keys, j->type, j->n, &random);
    return true;
}

/* ---- what a set showed ------------------------------------------------------------------------------------------- */

/* Fills in the row: the best peer's time beside ours, out of place and in place. On a device the times are medians, on
 * the CPU the shortest: there other programs and the scheduler only ever add to them, and some sets have few rounds. */
static void compare(hunt_row *row, const result *results, size_t count, bool medians) {
    double copy = 0; /* bytes in a ns */
    for (size_t k = 0; k < count; k++) {
        const result *r = &results[k];
        const double ns = medians ? r->ns : r->best_ns;
        if (r->is_ours)
            row->ns[r->in_place] = ns, row->rate[r->in_place] = r->bytes / ns, row->ran = r->ran;
        else if (r->is_copy)
            copy = r->bytes / ns;
        else if (row->peer_ns <= 0 || ns < row->peer_ns) {
            row->peer_ns = ns;
            snprintf(row->peer, sizeof row->peer, "%s", r->name);
        }
    }
    for (unsigned m = 0; m < HUNT_MODES; m++) {
        row->share[m] = copy > 0 ? row->rate[m] / copy : 0;
        row->ratio[m] = row->ns[m] > 0 ? row->peer_ns / row->ns[m] : 0;
    }
}

static void print_row(const hunt_row *row) {
    if (row->peer_ns <= 0)
        return;
    printf(" ");
    for (unsigned m = HUNT_MODES; m-- > 0;)
        if (row->ratio[m] > 0)
            printf(" %s: %.2f (%.4g ms)", hunt_mode_names[m], row->ratio[m], row->ns[m] * 1e-6);
    printf(" by %s; %s: %.4g ms\n", row->ran, row->peer, row->peer_ns * 1e-6);
}

static void hunt_one(bench_settings *bench, job *j, hunt_row *row) {
    static result results[MAX_CONTENDERS];
    size_t count = 0;
    *row = (hunt_row){.seed = j->seed, .n = j->n, .verb = j->verb};
    describe_job(j, true, row->text, sizeof row->text);
    printf("%" PRIu64 ": %s\n", j->seed, row->text);
    fflush(stdout); /* a sort that ends the program or hangs is then the last one shown */
    if (job_open(j, bench)) {
        bench->failed = false;
        count = measure_job(bench, j, results);
        row->wrong = bench->failed;
    } else {
        printf("  not run: %s\n", j->wrong);
        row->wrong = true;
    }
    compare(row, results, count, bench->device != NULL);
    print_row(row);
    json_results(bench, j, results, count);
    if (bench->json != NULL)
        fflush(bench->json);
    job_close(j);
}

/* ---- the hunt ---------------------------------------------------------------------------------------------------- */

void run_hunt(bench_settings *bench, const hunt *h) {
    static key_set keys;
    hunt_row *rows = NULL;
    size_t count = 0, room = 0;
    uint64_t seed = bench->seed, state = bench->seed, start = now_ns();
    while (count < h->count && (h->minutes <= 0 || (double)(now_ns() - start) < h->minutes * 60e9)) {
        job j;
        if (draw_job(h, seed, &j, &keys)) {
            hunt_row *all = one_more(rows, count, &room, sizeof *rows);
            if (all == NULL)
                break;
            rows = all;
            hunt_one(bench, &j, &rows[count++]);
        }
        seed = splitmix64(&state);
    }
    bench->failed = hunt_summary(bench, h, rows, count) > 0;
    free(rows);
}
