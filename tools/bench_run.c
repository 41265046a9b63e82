/* SPDX-License-Identifier: MIT
 *
 * One job of the bench. Every contender runs once, unmeasured, and its result is checked; then the contenders take
 * turns, round after round, and the median of each is shown. A rate of a wrong result is never printed.
 *
 * On the CPU a measurement is one call on the host's clock. On a device with a clock of its own a round measures two
 * things: one call that begins on an idle device, and a batch of calls that follow one another, long enough for the
 * clock; with the second, how long the host took to issue a call.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static const double batch_ns = 5e5; /* the length of a batch ... */
enum { MAX_BATCH = 50 };            /* ... of at most as many calls: a device's queue is finite */

/* ---- one contender, timed ---------------------------------------------------------------------------------------- */

static bool clock_starts(const job *j, uint64_t *start) {
    bool right = j->device == NULL || j->device->start();
    *start = now_ns();
    return right;
}

static bool clock_stops(job *j, uint64_t start, uint64_t *ns) {
    if (j->device != NULL) {
        if (j->device->stop(ns))
            return true;
        j->wrong = "the device failed";
        return false;
    }
    j->status = scan_ctx_sync(j->ctx);
    *ns = now_ns() - start;
    if (j->status != SCAN_OK)
        j->wrong = scan_ctx_detail(j->ctx);
    return j->status == SCAN_OK;
}

/* Runs a batch of calls. ns: the mean time of a call; host_ns: the host's mean time to issue one. */
static bool run_batch(job *j, contender *c, unsigned calls, uint64_t *ns, uint64_t *host_ns) {
    uint64_t start;
    if (c->prepare != NULL && !c->prepare(j, c))
        return false;
    j->reported_ns = 0;
    bool right = clock_starts(j, &start);
    for (unsigned k = 0; right && k < calls; k++)
        right = c->run(j, c);
    *host_ns = (now_ns() - start) / calls;
    if (!right || !clock_stops(j, start, ns))
        return false;
    *ns = j->reported_ns != 0 ? j->reported_ns : *ns / calls;
    return true;
}

/* Overwrites the outputs, so that the check finds what a contender does not write. */
static bool poison(job *j) {
    if (j->device != NULL && j->d_out != NULL)
        return j->device->fill(j->d_out, 0x5a, j->out_bytes) &&
               j->device->fill(j->d_values_out, 0x5a, j->values_out_bytes) &&
               j->device->fill(j->d_count, 0xff, sizeof *j->d_count);
    if (j->out != NULL)
        memset(j->out, 0x5a, j->out_bytes);
    if (j->values_out != NULL)
        memset(j->values_out, 0x5a, j->values_out_bytes);
    j->count = UINT64_MAX;
    return !j->on_device || j->out == NULL ||
           (scan_upload(j->ctx, j->d_out, j->out, j->out_bytes) == SCAN_OK &&
            scan_upload(j->ctx, j->d_values_out, j->values_out, j->values_out_bytes) == SCAN_OK &&
            scan_upload(j->ctx, j->d_count, &j->count, sizeof j->count) == SCAN_OK);
}

static bool downloaded(job *j) {
    return scan_download(j->ctx, j->out, j->d_out, j->out_bytes) == SCAN_OK &&
           scan_download(j->ctx, j->values_out, j->d_values_out, j->values_out_bytes) == SCAN_OK &&
           scan_download(j->ctx, &j->count, j->d_count, sizeof j->count) == SCAN_OK && scan_ctx_sync(j->ctx) == SCAN_OK;
}

/* The unmeasured first run. Returns NULL, or what is wrong with the result. */
static const char *warm_up(job *j, contender *c, uint64_t *ns) {
    uint64_t host_ns;
    j->wrong = NULL;
    j->status = SCAN_OK;
    j->unstable = c->unstable;
    if (!poison(j))
        return "the outputs could not be overwritten";
    if (!run_batch(j, c, 1, ns, &host_ns))
        return j->wrong != NULL ? j->wrong : "it failed";
    if (c->is_copy || c->unchecked)
        return NULL;
    if (j->on_device && j->out != NULL && !downloaded(j))
        return "the result could not be downloaded";
    if (c->settle != NULL)
        c->settle(j, c);
    return is_made_on_device(j) ? j->device->check_sort(j) : job_check(j);
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

static int compare_ns(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double median(uint64_t *ns, unsigned count) {
    qsort(ns, count, sizeof *ns, compare_ns);
    return count % 2 ? (double)ns[count / 2] : ((double)ns[count / 2 - 1] + (double)ns[count / 2]) / 2;
}

/* Sets the bytes that any way to do the job must read and write, now that the number of kept elements is known. */
static void settle_traffic(job *j) {
    double element = (double)type_bytes(j->type), in = (double)(j->in_bytes + j->values_in_bytes);
    switch (j->verb) {
    case BENCH_COMPACT:
    case BENCH_FLAGGED:
    case BENCH_UNIQUE: j->traffic_bytes = in + (double)j->kept * element; break;
    case BENCH_INDICES: j->traffic_bytes = in + (double)j->kept * 4; break;
    case BENCH_PARTITION: j->traffic_bytes = in + (double)j->in_bytes; break;
    case BENCH_LENGTHS: j->traffic_bytes = in + (double)j->kept * (element + 4); break;
    default: break;
    }
}

static size_t summarize(const job *j, const contender *list, timing *times, size_t count, result *results) {
    double ours = 0, copy = 0, peer = 0, peer_alone = 0;
    size_t rows = 0;
    for (size_t c = 0; c < count; c++) {
        timing *t = &times[c];
        if (t->count == 0)
            continue;
        result *r = &results[rows++];
        *r = (result){.name = list[c].name, .is_copy = list[c].is_copy, .is_ours = list[c].is_ours};
        r->in_place = list[c].in_place;
        r->unchecked = list[c].unchecked;
        r->runs = t->count, r->batch = t->batch;
        r->ns = median(t->ns, t->count);
        r->best_ns = (double)t->ns[0];
        r->spread = ((double)t->ns[t->count * 3 / 4] - (double)t->ns[t->count / 4]) / r->ns;
        r->bytes = r->is_copy ? 2 * (double)j->in_bytes : j->traffic_bytes;
        if (j->device != NULL && !list[c].elsewhere) {
            r->call_ns = median(t->call_ns, t->count);
            r->host_ns = median(t->host_ns, t->count);
        }
        if (r->is_ours && ours <= 0)
            ours = r->ns; /* the first contender is the algorithm that AUTO chooses */
        if (r->is_copy)
            copy = r->bytes / r->ns;
        if (strncmp(r->name, "CUB ", 4) == 0) { /* the fastest one counts */
            peer = peer > 0 && peer < r->ns ? peer : r->ns;
            peer_alone = peer_alone > 0 && peer_alone < r->call_ns ? peer_alone : r->call_ns;
        }
    }
    for (size_t k = 0; k < rows; k++) {
        result *r = &results[k];
        if (copy > 0 && !r->is_copy)
            r->share = r->bytes / r->ns / copy;
        if (ours > 0 && !r->is_copy && !r->is_ours)
            r->ratio = r->ns / ours;
        if (peer > 0)
            r->times = peer / r->ns;
        if (peer_alone > 0 && r->call_ns > 0)
            r->times_alone = peer_alone / r->call_ns;
    }
    return rows;
}

/* ---- one job ----------------------------------------------------------------------------------------------------- */

typedef struct running {
    contender list[MAX_CONTENDERS];
    timing times[MAX_CONTENDERS];
    char ran[MAX_CONTENDERS][64];
    bool out[MAX_CONTENDERS]; /* wrong, failed, or not there */
    size_t count;
} running;

static void find_contenders(const bench_settings *bench, job *j, running *r) {
    r->count = contenders_here(j, bench->timed, r->list);
    if (!j->on_device)
        r->count += contenders_programs(j, r->list + r->count);
    if (!bench->peers || j->reverse) /* the peers' scans go forward */
        return;
    if (j->device != NULL)
        r->count += j->device->contenders(j, r->list + r->count);
    if (j->on_device) {
        if (j->keys == NULL)
            r->count += contenders_torch(j, r->list + r->count, bench->torch_script);
        return;
    }
    for (unsigned m = 0; m < PEERS_MODULES; m++)
        if (bench->peers_modules[m] != NULL)
            r->count += bench->peers_modules[m]->contenders(j, r->list + r->count);
    if (j->keys == NULL)
        r->count += contenders_numpy(j, r->list + r->count, bench->numpy_script);
}

static void drop(bench_settings *bench, job *j, running *r, size_t c, const char *how, const char *why) {
    r->out[c] = true;
    if (r->list[c].is_ours && j->status == SCAN_ERR_ALGORITHM && r->list[c].is_optional)
        return;
    if (r->list[c].is_ours && j->status == SCAN_ERR_NO_BACKEND) {
        printf("  %-30s not run: %s\n", r->list[c].name, why);
        return;
    }
    printf("  %-30s %s: %s\n", r->list[c].name, how, why);
    bench->failed |= r->list[c].is_ours;
}

/* Sets how many calls are timed together if one takes `ns`. */
static void set_batch(const job *j, const contender *c, timing *t, uint64_t ns) {
    const bool alone = j->device == NULL || c->elsewhere || c->prepare != NULL;
    const double calls = alone || ns == 0 ? 1 : batch_ns / (double)ns;
    t->batch = calls < 1 ? 1 : calls > MAX_BATCH ? MAX_BATCH : (unsigned)calls;
}

static void check_all(bench_settings *bench, job *j, running *r) {
    unsigned judged = 0;
    for (size_t c = 0; c < r->count; c++) {
        uint64_t ns = 0;
        const char *wrong = warm_up(j, &r->list[c], &ns);
        r->times[c].total_ns = (double)ns;
        set_batch(j, &r->list[c], &r->times[c], ns);
        snprintf(r->ran[c], sizeof r->ran[c], "%s", r->list[c].is_ours && j->d_in != NULL ? scan_ctx_ran(j->ctx) : "");
        judged += wrong == NULL && !r->list[c].unchecked && !r->list[c].is_copy;
        if (wrong != NULL)
            drop(bench, j, r, c, "wrong", wrong);
    }
    bool only_compared = j->verb == BENCH_TEXT || j->verb == BENCH_FILE || (j->verb == BENCH_CLAHE && !j->on_device);
    for (size_t c = 0; only_compared && judged < 2 && c < r->count; c++)
        r->list[c].unchecked = true;
    settle_traffic(j);
}

/* Runs every contender once. A round that does not count (`keep` false) sets the batch from the time of a warm call. */
static void run_round(bench_settings *bench, job *j, running *r, bool keep) {
    for (size_t c = 0; c < r->count; c++) {
        timing *t = &r->times[c];
        uint64_t ns = 0, call_ns = 0, host_ns = 0;
        if (r->out[c] || (t->count >= bench->min_rounds && t->total_ns > bench->patience_ns))
            continue;
        bool both = t->batch > 1;
        nanosleep(&(struct timespec){.tv_sec = bench->pause_ms / 1000, .tv_nsec = bench->pause_ms % 1000 * 1000000L},
                  NULL);
        if (!run_batch(j, &r->list[c], 1, &call_ns, &host_ns) ||
            (both && !run_batch(j, &r->list[c], t->batch, &ns, &host_ns))) {
            drop(bench, j, r, c, "failed", j->wrong != NULL ? j->wrong : "no reason given");
            continue;
        }
        if (!keep) {
            set_batch(j, &r->list[c], t, both ? ns : call_ns);
            continue;
        }
        t->ns[t->count] = both ? ns : call_ns;
        t->call_ns[t->count] = call_ns;
        t->host_ns[t->count++] = host_ns;
        t->total_ns += (double)call_ns + (double)ns * t->batch;
    }
}

size_t measure_job(bench_settings *bench, job *j, result *results) {
    static running r; /* the names in the results are its own */
    memset(&r, 0, sizeof r);
    find_contenders(bench, j, &r);
    check_all(bench, j, &r);
    if (bench->timed) {
        for (uint64_t start = now_ns(); j->device != NULL && now_ns() - start < bench->warming_ns;)
            run_round(bench, j, &r, false);
        for (unsigned round = 0; round < bench->rounds; round++)
            run_round(bench, j, &r, true);
    }
    size_t rows = summarize(j, r.list, r.times, r.count, results);
    for (size_t k = 0; k < rows; k++)
        for (size_t c = 0; c < r.count; c++)
            if (results[k].name == r.list[c].name)
                results[k].ran = r.ran[c];
    for (size_t c = 0; c < r.count; c++)
        if (r.list[c].close != NULL)
            r.list[c].close(&r.list[c]);
    return rows;
}

void run_job(bench_settings *bench, const job *wanted) {
    job j = *wanted;
    char text[256];
    static result results[MAX_CONTENDERS];
    bool open = job_open(&j, bench);
    describe_job(&j, true, text, sizeof text);
    printf("%s\n", text);
    if (!open) {
        printf("  not run: %s\n", j.wrong);
        bench->failed = true;
        job_close(&j);
        return;
    }
    size_t rows = measure_job(bench, &j, results);
    compare_with_aligned(&j, results, rows);
    print_results(&j, results, rows);
    json_results(bench, &j, results, rows);
    plot_results(bench, &j, results, rows);
    if (bench->plot_path != NULL)
        plot_write(bench);
    if (bench->json != NULL)
        fflush(bench->json);
    fflush(stdout); /* so that what is measured is shown even if the next job hangs */
    job_close(&j);
}
