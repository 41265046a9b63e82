/* SPDX-License-Identifier: MIT
 *
 * The machine and the rows of a job, for people and for machines.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

const char *const verb_names[BENCH_VERB_COUNT] = {
#define NAME_ROW(ENUM, name, meaning) #name,
    BENCH_VERBS(NAME_ROW)
#undef NAME_ROW
};

/* Describes the machine in bench->machine. */
void find_machine(bench_settings *bench, unsigned threads) {
    char line[256], device[256] = "", date[16] = "", *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && name == NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "model name", 10) == 0 && (name = strchr(line, ':')) != NULL)
            name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    if (bench->device != NULL)
        bench->device->describe(device, sizeof device);
    scan_ctx *ctx;
    scan_info info = {.struct_size = sizeof info};
    if (scan_ctx_create(&ctx, NULL) == SCAN_OK && scan_ctx_info(ctx, &info) == SCAN_OK)
        snprintf(bench->machine, sizeof bench->machine, "scan %s, %s%s%s, %u threads,%s, %s", scan_version(), device,
                 device[0] != '\0' ? ", " : "", info.name, threads, name != NULL ? name + 1 : "", date);
    scan_ctx_destroy(ctx);
}

void print_machine(const bench_settings *bench) {
    puts(bench->machine);
    const char *lead = "Peers that this build lacks:";
    for (unsigned m = 0; bench->device == NULL && m < PEERS_MODULES; m++) {
        const peers_module *module = bench->peers_modules[m];
        const char *missing = module != NULL ? module->missing() : m == 0 ? " all sorts" : " all that do not sort";
        if (missing[0] != '\0')
            printf("%s%s", lead, missing), lead = "";
    }
    if (lead[0] == '\0')
        putchar('\n');
}

static bool keeps_a_share(bench_verb verb) {
    return verb == BENCH_COMPACT || verb == BENCH_FLAGGED || verb == BENCH_INDICES || verb == BENCH_PARTITION;
}

void describe_job(const job *j, bool with_n, char *text, size_t bytes) {
    char more[96] = "", odd[48] = "", spread[320], n[40] = "";
    if (j->verb == BENCH_PREFIX)
        snprintf(more, sizeof more, "%s%s %s%s%s", j->out_type != j->type ? " to " : "",
                 j->out_type != j->type ? scan_type_name(j->out_type) : "", scan_op_name(j->op),
                 j->kind == SCAN_EXCLUSIVE ? " exclusive" : "", j->reverse ? " reversed" : "");
    else if (keeps_a_share(j->verb))
        snprintf(more, sizeof more, " keep %g", j->keep);
    else if (j->verb == BENCH_PAIRS)
        snprintf(more, sizeof more, " + u%u", j->value_bytes * 8);
    snprintf(spread, sizeof spread, "%s", distribution_name(j->spread.kind));
    if (j->keys != NULL)
        key_set_describe(j->keys, spread, sizeof spread);
    else if (j->spread.parameter != 0)
        snprintf(spread, sizeof spread, "%s:%" PRIu64, distribution_name(j->spread.kind), j->spread.parameter);
    if (j->offset != 0)
        snprintf(odd, sizeof odd, ", offset %u", j->offset);
    if (j->end_bit != 0)
        snprintf(odd, sizeof odd, " bits %u..%u%s", j->begin_bit, j->end_bit, j->descending ? " descending" : "");
    else if (j->descending || j->nan_first)
        snprintf(odd, sizeof odd, "%s%s", j->nan_first ? " nan first" : "", j->descending ? " descending" : "");
    bool power = j->n != 0 && (j->n & (j->n - 1)) == 0;
    if (with_n && power)
        snprintf(n, sizeof n, ", n = 2^%d", __builtin_ctzll(j->n));
    else if (with_n)
        snprintf(n, sizeof n, ", n = %" PRIu64, j->n);
    snprintf(text, bytes, "%s %s%s%s%s, %s", verb_names[j->verb], scan_type_name(j->type), more, odd, n, spread);
}

/* ---- misaligned and reversed rows beside the plain ones ---------------------------------------------------------- */

typedef struct plain_row {
    char job[160], contender[48];
    double ns;
} plain_row;

static struct {
    plain_row *all;
    size_t count, room;
} plain;

void *one_more(void *all, size_t count, size_t *room, size_t bytes) {
    if (count < *room)
        return all;
    size_t larger = *room == 0 ? 256 : 2 * *room;
    void *moved = realloc(all, larger * bytes);
    if (moved != NULL)
        *room = larger;
    return moved;
}

static void remember(const char *text, const result *r) {
    plain_row *all = one_more(plain.all, plain.count, &plain.room, sizeof *all);
    if (all == NULL)
        return;
    plain.all = all;
    plain_row *p = &plain.all[plain.count++];
    snprintf(p->job, sizeof p->job, "%s", text);
    snprintf(p->contender, sizeof p->contender, "%s", r->name);
    p->ns = r->ns;
}

void compare_with_aligned(const job *j, result *results, size_t count) {
    char text[160];
    job aligned = *j;
    aligned.offset = 0;
    aligned.reverse = false;
    describe_job(&aligned, true, text, sizeof text);
    bool is_plain = j->offset == 0 && !j->reverse;
    for (size_t k = 0; k < count; k++) {
        result *r = &results[k];
        for (size_t p = 0; !is_plain && p < plain.count; p++)
            if (strcmp(plain.all[p].job, text) == 0 && strcmp(plain.all[p].contender, r->name) == 0)
                r->aligned = plain.all[p].ns / r->ns; /* the last one stays */
        if (is_plain)
            remember(text, r);
    }
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static void print_end_of_row(const job *j, const result *r) {
    if (r->aligned > 0)
        printf("  %.2f of %s", r->aligned, j->offset == 0 ? "forward" : j->reverse ? "aligned, forward" : "aligned");
    if (r->ran[0] != '\0')
        printf("  (%s)", r->ran);
    puts(r->unchecked ? "  [unchecked]" : "");
}

static void print_host_row(const job *j, const result *r) {
    printf("  %-30s %9.3f ms (best %9.3f) %7.2f GB/s %7.3f G/s", r->name, r->ns * 1e-6, r->best_ns * 1e-6,
           r->bytes / r->ns, (double)j->n / r->ns);
    if (r->share > 0)
        printf("  %4.2f of copy", r->share);
    if (r->ratio > 0)
        printf("%s  scan is %.2f times as fast", r->share > 0 ? "" : "              ", r->ratio);
    print_end_of_row(j, r);
}

static void print_device_row(const job *j, const result *r) {
    char call[16] = "", host[16] = "", share[16] = "", times[16] = "", alone[16] = "";
    if (r->call_ns > 0)
        snprintf(call, sizeof call, "%.2f", r->call_ns * 1e-3);
    if (r->host_ns > 0)
        snprintf(host, sizeof host, "%.2f", r->host_ns * 1e-3);
    if (r->share > 0)
        snprintf(share, sizeof share, "%.3f", r->share);
    if (r->times > 0)
        snprintf(times, sizeof times, "%.2f", r->times);
    if (r->times_alone > 0)
        snprintf(alone, sizeof alone, "%.2f", r->times_alone);
    printf("  %-31s %11.2f %5.1f%% %11s %9s %9.1f %8.3f %7s %6s %6s", r->name, r->ns * 1e-3, r->spread * 100, call,
           host, r->bytes / r->ns, (double)j->n / r->ns, share, times, alone);
    print_end_of_row(j, r);
}

void print_results(const job *j, const result *results, size_t count) {
    if (j->device == NULL || j->d_in == NULL) {
        for (size_t k = 0; k < count; k++)
            print_host_row(j, &results[k]);
        return;
    }
    size_t bytes = j->in_bytes + j->out_bytes + j->values_in_bytes + j->values_out_bytes;
    size_t cache = j->device->cache_bytes();
    const char *where = bytes <= cache ? "in the L2 cache" : j->in_bytes < 2 * cache ? "partly in the L2 cache" : "";
    printf("  %-31s %11s %6s %11s %9s %9s %8s %7s %6s %6s\n", where, "us a call", "spread", "us alone", "us host",
           "GB/s", "G/s", "of copy", "x CUB", "alone");
    for (size_t k = 0; k < count; k++)
        print_device_row(j, &results[k]);
}

/* ---- for machines ------------------------------------------------------------------------------------------------ */

void json_results(bench_settings *bench, const job *j, const result *results, size_t count) {
    char text[512];
    describe_job(j, true, text, sizeof text);
    for (size_t k = 0; bench->json != NULL && k < count; k++) {
        const result *r = &results[k];
        fprintf(bench->json, "%s\n  {\"job\": \"%s\", \"verb\": \"%s\", \"type\": \"%s\", \"n\": %" PRIu64,
                bench->json_rows++ ? "," : "", text, verb_names[j->verb], scan_type_name(j->type), j->n);
        if (j->keys != NULL)
            fprintf(bench->json, ", \"seed\": %" PRIu64 ", \"in_place\": %s", j->seed, r->in_place ? "true" : "false");
        fprintf(bench->json, ", \"offset\": %u, \"reverse\": %s", j->offset, j->reverse ? "true" : "false");
        fprintf(bench->json, ", \"machine\": \"%s\", \"input_hash\": \"%016" PRIx64 "\"", bench->machine,
                j->input_hash);
        fprintf(bench->json, ", \"contender\": \"%s\", \"threads\": %u, \"runs\": %u, \"batch\": %u", r->name,
                j->threads, r->runs, r->batch);
        fprintf(bench->json, ", \"median_ns\": %.0f, \"best_ns\": %.0f, \"spread\": %.4f", r->ns, r->best_ns,
                r->spread);
        if (r->call_ns > 0)
            fprintf(bench->json, ", \"alone_ns\": %.0f, \"host_ns\": %.0f", r->call_ns, r->host_ns);
        fprintf(bench->json, ", \"bytes\": %.0f, \"gb_per_s\": %.4f, \"gelements_per_s\": %.5f", r->bytes,
                r->bytes / r->ns, (double)j->n / r->ns);
        if (r->share > 0)
            fprintf(bench->json, ", \"share_of_copy\": %.4f", r->share);
        if (r->ratio > 0)
            fprintf(bench->json, ", \"scan_is_times_as_fast\": %.4f", r->ratio);
        if (r->times > 0)
            fprintf(bench->json, ", \"times_cub\": %.4f, \"times_cub_alone\": %.4f", r->times, r->times_alone);
        if (r->aligned > 0)
            fprintf(bench->json, ", \"share_of_aligned\": %.4f", r->aligned);
        if (r->ran[0] != '\0')
            fprintf(bench->json, ", \"ran\": \"%s\"", r->ran);
        fputs("}", bench->json);
    }
}
