/* SPDX-License-Identifier: MIT
 *
 * One job of the bench-> Every contender runs once, unmeasured, and its result is checked; then the contenders take
 * turns, round after round, and the median of each is shown. A rate of a wrong result is never printed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static const double patience_ns = 2.5e9; /* of one contender in one job; after that it gets no further rounds */

const char *const verb_names[BENCH_VERB_COUNT] = {
#define NAME_ROW(ENUM, name, meaning) #name,
    BENCH_VERBS(NAME_ROW)
#undef NAME_ROW
};

/* ---- one contender, timed ---------------------------------------------------------------------------------------- */

typedef struct timing {
    uint64_t ns[MAX_ROUNDS];
    unsigned count;
    double total_ns;
} timing;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool run_once(job *j, contender *c, uint64_t *ns) {
    if (c->prepare != NULL && !c->prepare(j))
        return false;
    j->reported_ns = 0;
    uint64_t start = now_ns();
    bool right = c->run(j, c);
    *ns = now_ns() - start;
    if (j->reported_ns != 0)
        *ns = j->reported_ns;
    return right;
}

/* The unmeasured first run. NULL, or what is wrong with the result. */
static const char *warm_up(job *j, contender *c, uint64_t *ns) {
    if (j->out != NULL)
        memset(j->out, 0x5a, j->out_bytes);
    if (j->values_out != NULL)
        memset(j->values_out, 0x5a, j->values_out_bytes);
    j->count = UINT64_MAX;
    if (!run_once(j, c, ns))
        return j->wrong != NULL ? j->wrong : "it failed";
    if (c->is_copy)
        return NULL;
    if (c->unchecked)
        return NULL;
    if (c->is_ours && j->on_device &&
        (scan_download(j->ctx, j->out, j->d_out, j->out_bytes) != SCAN_OK ||
         scan_download(j->ctx, j->values_out, j->d_values_out, j->values_out_bytes) != SCAN_OK ||
         scan_download(j->ctx, &j->count, j->d_count, sizeof j->count) != SCAN_OK || scan_ctx_sync(j->ctx) != SCAN_OK))
        return "the result could not be downloaded";
    return job_check(j);
}

static int compare_ns(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double median(timing *t) {
    qsort(t->ns, t->count, sizeof t->ns[0], compare_ns);
    return t->count % 2 ? (double)t->ns[t->count / 2]
                        : ((double)t->ns[t->count / 2 - 1] + (double)t->ns[t->count / 2]) / 2;
}

/* ---- one job ----------------------------------------------------------------------------------------------------- */

static void describe(const job *j, char *text, size_t bytes) {
    char more[96] = "", spread[48];
    if (j->verb == BENCH_PREFIX)
        snprintf(more, sizeof more, "%s%s %s%s", j->out_type != j->type ? " to " : "",
                 j->out_type != j->type ? scan_type_name(j->out_type) : "", scan_op_name(j->op),
                 j->kind == SCAN_EXCLUSIVE ? " exclusive" : "");
    else if (j->verb == BENCH_COMPACT)
        snprintf(more, sizeof more, " keep %g", j->keep);
    snprintf(spread, sizeof spread, "%s", distribution_name(j->spread.kind));
    if (j->spread.parameter != 0)
        snprintf(spread, sizeof spread, "%s:%" PRIu64, distribution_name(j->spread.kind), j->spread.parameter);
    bool power = j->n != 0 && (j->n & (j->n - 1)) == 0;
    if (power)
        snprintf(text, bytes, "%s %s%s, n = 2^%d, %s", verb_names[j->verb], scan_type_name(j->type), more,
                 __builtin_ctzll(j->n), spread);
    else
        snprintf(text, bytes, "%s %s%s, n = %" PRIu64 ", %s", verb_names[j->verb], scan_type_name(j->type), more, j->n,
                 spread);
}

static void json_row(bench_settings *bench, const job *j, const contender *c, timing *t, double traffic, double share,
                     double ratio) {
    if (bench->json == NULL)
        return;
    char text[256];
    double ns = median(t);
    describe(j, text, sizeof text);
    fprintf(bench->json, "%s\n  {\"job\": \"%s\", \"verb\": \"%s\", \"type\": \"%s\", \"n\": %" PRIu64,
            bench->json_rows++ ? "," : "", text, verb_names[j->verb], scan_type_name(j->type), j->n);
    fprintf(bench->json, ", \"contender\": \"%s\", \"threads\": %u, \"runs\": %u", c->name, j->threads, t->count);
    fprintf(bench->json, ", \"median_ns\": %.0f, \"best_ns\": %" PRIu64, ns, t->ns[0]);
    fprintf(bench->json, ", \"bytes\": %.0f, \"gb_per_s\": %.4f, \"gelements_per_s\": %.5f", traffic, traffic / ns,
            (double)j->n / ns);
    if (share > 0)
        fprintf(bench->json, ", \"share_of_copy\": %.4f", share);
    if (ratio > 0)
        fprintf(bench->json, ", \"scan_is_times_as_fast\": %.4f", ratio);
    fputs("}", bench->json);
}

static void print_rows(bench_settings *bench, job *j, contender *list, timing *times, size_t count) {
    double ours = 0, ceiling = 0, medians[MAX_CONTENDERS] = {0};
    for (size_t c = 0; c < count; c++) {
        if (times[c].count == 0)
            continue;
        medians[c] = median(&times[c]);
        if (list[c].is_ours)
            ours = medians[c];
        if (list[c].is_copy)
            ceiling = 2 * (double)j->in_bytes / medians[c];
    }
    for (size_t c = 0; c < count; c++) {
        if (times[c].count == 0)
            continue;
        double traffic = list[c].is_copy ? 2 * (double)j->in_bytes : j->traffic_bytes, rate = traffic / medians[c];
        double share = ceiling > 0 && !list[c].is_copy ? rate / ceiling : 0;
        double ratio = ours > 0 && !list[c].is_copy && !list[c].is_ours ? medians[c] / ours : 0;
        printf("  %-30s %9.3f ms (best %9.3f) %7.2f GB/s %7.3f G/s", list[c].name, medians[c] * 1e-6,
               (double)times[c].ns[0] * 1e-6, rate, (double)j->n / medians[c]);
        if (share > 0)
            printf("  %4.2f of copy", share);
        if (ratio > 0)
            printf("%s  scan is %.2f times as fast", share > 0 ? "" : "              ", ratio);
        if (list[c].is_ours && j->in != NULL)
            printf("  (%s)", scan_ctx_ran(j->ctx));
        puts(list[c].unchecked ? "  [unchecked]" : "");
        json_row(bench, j, &list[c], &times[c], traffic, share, ratio);
    }
}

void run_job(bench_settings *bench, const job *wanted) {
    job j = *wanted;
    char text[256];
    contender list[MAX_CONTENDERS];
    static timing times[MAX_CONTENDERS];
    bool open = job_open(&j, bench->device, bench->seed);
    describe(&j, text, sizeof text);
    printf("%s\n", text);
    if (!open) {
        printf("  not run: %s\n", j.wrong);
        bench->failed = true;
        job_close(&j);
        return;
    }
    size_t count = contenders_here(&j, list) + contenders_programs(&j, list);
    if (bench->peers) {
        count += contenders_cxx(&j, list + count);
        count += contenders_python(&j, list + count, bench->script);
    }
    memset(times, 0, sizeof times);
    bool out[MAX_CONTENDERS] = {false};
    unsigned judged = 0;
    for (size_t c = 0; c < count; c++) {
        uint64_t ns;
        const char *wrong = warm_up(&j, &list[c], &ns);
        times[c].total_ns = (double)ns;
        judged += !list[c].unchecked && !list[c].is_copy;
        if (wrong != NULL) {
            printf("  %-34s wrong: %s\n", list[c].name, wrong);
            out[c] = true;
            bench->failed |= list[c].is_ours;
        }
    }
    bool only_compared = j.verb == BENCH_CLAHE || j.verb == BENCH_TEXT || j.verb == BENCH_FILE;
    for (size_t c = 0; only_compared && judged < 2 && c < count; c++)
        list[c].unchecked = true;
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t c = 0; c < count; c++) {
            uint64_t ns;
            if (out[c] || (times[c].count > 0 && times[c].total_ns > patience_ns))
                continue;
            if (!run_once(&j, &list[c], &ns)) {
                printf("  %-34s failed: %s\n", list[c].name, j.wrong != NULL ? j.wrong : "no reason given");
                out[c] = true;
                bench->failed |= list[c].is_ours;
                continue;
            }
            times[c].ns[times[c].count++] = ns;
            times[c].total_ns += (double)ns;
        }
    print_rows(bench, &j, list, times, count);
    fflush(stdout);
    for (size_t c = 0; c < count; c++)
        if (list[c].close != NULL)
            list[c].close(&list[c]);
    job_close(&j);
}
