/* SPDX-License-Identifier: MIT
 *
 * --stats, --json and the progress bar.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"
#include "output.h"
#include "ranks.h"
#include "report.h"
#include "utf8.h"

enum { MAX_FACTS = 32, BAR_COLUMNS = 24, BAR_AFTER_NS = 1000000000, BAR_EVERY_NS = 100000000 };

typedef struct fact {
    const char *key;
    enum { FACT_TEXT, FACT_NUMBER, FACT_FLAG } kind;
    char *text;
    uint64_t number;
} fact;

static struct {
    const cli_common *common; /* NULL: not started, nothing is reported */
    output *json;
    uint64_t start_ns;
    fact facts[MAX_FACTS];
    size_t fact_count;
    const char *stage; /* NULL: none */
    uint64_t stage_ns; /* when it began */
    uint64_t bar_ns;   /* when the bar was drawn last; 0: it is not on the screen */
} report;

/* A thread beside the main one says that a device has failed: of facts and the bar. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const phase_names[PHASE_COUNT] = {"other",   "open",     "read",  "upload",
                                                     "compute", "download", "write", "verify"};

void report_start(const cli_common *common) {
    report.common = common;
    report.start_ns = report_clock_start();
    if (common->json && ranks_own() == 0)
        report.json = output_open(common->json, common->force, false);
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static fact *fact_of(const char *key) {
    for (size_t i = 0; i < report.fact_count; i++)
        if (strcmp(report.facts[i].key, key) == 0)
            return &report.facts[i];
    if (report.fact_count == MAX_FACTS)
        return &report.facts[MAX_FACTS - 1];
    report.facts[report.fact_count].key = key;
    return &report.facts[report.fact_count++];
}

void report_text(const char *key, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(must_alloc(bytes, 1), text, bytes);
    pthread_mutex_lock(&lock);
    fact *f = fact_of(key);
    free(f->text);
    f->text = copy;
    f->kind = FACT_TEXT;
    pthread_mutex_unlock(&lock);
}

static void report_integer(const char *key, int kind, uint64_t number) {
    pthread_mutex_lock(&lock);
    fact *f = fact_of(key);
    f->kind = kind;
    f->number = number;
    pthread_mutex_unlock(&lock);
}

void report_number(const char *key, uint64_t number) { report_integer(key, FACT_NUMBER, number); }

void report_flag(const char *key, bool flag) { report_integer(key, FACT_FLAG, flag); }

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static bool bar_wanted(uint64_t now) {
    if (!report.common || report.common->progress == PROGRESS_NEVER || ranks_own() > 0)
        return false;
    if (report.bar_ns && now - report.bar_ns < BAR_EVERY_NS)
        return false;
    if (report.common->progress == PROGRESS_ALWAYS)
        return true;
    return now - report.start_ns > BAR_AFTER_NS && isatty(STDERR_FILENO);
}

void report_stage(const char *stage) {
    report.stage = stage;
    report.stage_ns = report_clock();
}

static void draw_bar(uint64_t now, uint64_t done, uint64_t total) {
    report.bar_ns = now;
    die_before_line(report_clear_bar);
    const char *stage = report.stage ? report.stage : "";
    const uint64_t ns = now - (report.stage ? report.stage_ns : report.start_ns) + 1;
    double rate = (double)done / (double)ns;
    if (!total) {
        fprintf(stderr, "\r%s: %s%.2f GB, %.2f GB/s ", program_name(), stage, (double)done / 1e9, rate);
        return;
    }
    double part = done < total ? (double)done / (double)total : 1;
    char bar[BAR_COLUMNS + 1] = "";
    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', (size_t)(part * BAR_COLUMNS));
    char left[32] = "";
    if (report.stage && part > 0)
        snprintf(left, sizeof left, ", %.0f s left", (double)ns * 1e-9 * (1 - part) / part);
    fprintf(stderr, "\r%s: %s[%s] %3.0f%% of %.2f GB, %.2f GB/s%s ", program_name(), stage, bar, part * 100,
            (double)total / 1e9, rate, left);
}

void report_progress(uint64_t done, uint64_t total) {
    uint64_t now = report_clock();
    pthread_mutex_lock(&lock);
    if (bar_wanted(now))
        draw_bar(now, done, total);
    pthread_mutex_unlock(&lock);
}

void report_clear_bar(void) {
    pthread_mutex_lock(&lock);
    if (report.bar_ns)
        fprintf(stderr, "\r%99s\r", "");
    report.bar_ns = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Gives every rank the totals of each, in memory to be freed, and returns their sum, of the time from start to stop the
 * longest. Collective. */
static report_totals add_ranks(const report_totals *own, report_totals **each) {
    report_totals sum = *own, *all = must_alloc(ranks_count(), sizeof *all);
    ranks_gather(own, sizeof *own, all);
    for (unsigned r = 0; r < ranks_count(); r++) {
        if (r == ranks_own())
            continue;
        sum.ns = all[r].ns > sum.ns ? all[r].ns : sum.ns;
        sum.bytes_read += all[r].bytes_read;
        sum.bytes_written += all[r].bytes_written;
        sum.overlap = true;
        for (int phase = 0; phase < PHASE_COUNT; phase++) {
            sum.phase_ns[phase] += all[r].phase_ns[phase];
            sum.bytes[phase] += all[r].bytes[phase];
        }
    }
    *each = all;
    return sum;
}

/* ---- the two reports --------------------------------------------------------------------------------------------- */

static double seconds(uint64_t ns) { return (double)ns * 1e-9; }

/* Bytes that one phase moved over its own time; 0 where they are not known. */
static double phase_rate(const report_totals *t, int phase) {
    return t->phase_ns[phase] ? (double)t->bytes[phase] / (double)t->phase_ns[phase] : 0;
}

/* Bytes moved at the two ends, over the time of the whole. */
static double gb_per_s(const report_totals *t) {
    return t->ns ? (double)(t->bytes_read + t->bytes_written) / (double)t->ns : 0;
}

static void print_rank(unsigned rank, const report_totals *t) {
    fprintf(stderr, "rank %-7u  %9.6f s", rank, seconds(t->ns));
    for (int p = PHASE_OPEN; p <= PHASE_COUNT; p++) {
        const int phase = p == PHASE_COUNT ? PHASE_OTHER : p;
        if (t->phase_ns[phase])
            fprintf(stderr, ", %s %.6f", phase_names[phase], seconds(t->phase_ns[phase]));
    }
    fputc('\n', stderr);
}

static void print_stats(const report_totals *t, const report_totals *each) {
    for (size_t i = 0; i < report.fact_count; i++) {
        const fact *f = &report.facts[i];
        fprintf(stderr, "%-12s  ", f->key);
        if (f->kind == FACT_TEXT) {
            utf8_make_showable(f->text);
            fprintf(stderr, "%s\n", f->text);
        } else if (f->kind == FACT_NUMBER) {
            fprintf(stderr, "%llu\n", (unsigned long long)f->number);
        } else {
            fprintf(stderr, "%s\n", f->number ? "yes" : "no");
        }
    }
    for (unsigned r = 0; ranks_several() && r < ranks_count(); r++)
        print_rank(r, &each[r]);
    for (int p = PHASE_OPEN; p <= PHASE_COUNT; p++) {
        int phase = p == PHASE_COUNT ? PHASE_OTHER : p;
        if (!t->phase_ns[phase])
            continue;
        double rate = phase_rate(t, phase);
        fprintf(stderr, "%-12s  %9.6f s", phase_names[phase], seconds(t->phase_ns[phase]));
        if (rate > 0)
            fprintf(stderr, "  %6.2f GB/s", rate);
        fputc('\n', stderr);
    }
    fprintf(stderr, "%-12s  %9.6f s  %6.2f GB/s%s\n", "total", seconds(t->ns), gb_per_s(t),
            t->overlap ? "  (phases overlap)" : "");
}

/* JSON's escape of a character: beyond 16 bits two of them. Returns its length. */
static size_t json_escape(char escape[16], unsigned code) {
    if (code < 0x10000)
        return (size_t)snprintf(escape, 16, "\\u%04x", code);
    code -= 0x10000;
    return (size_t)snprintf(escape, 16, "\\u%04x\\u%04x", 0xd800 | code >> 10, 0xdc00 | (code & 0x3ff));
}

static void json_text(const char *text) {
    output_write(report.json, "\"", 1);
    for (const char *p = text; *p;) {
        unsigned code;
        size_t n = utf8_decode(p, &code);
        char escape[16];
        if (n == 0) {
            output_write(report.json, "\xef\xbf\xbd", 3);
            n = 1;
        } else if (*p == '"' || *p == '\\') {
            snprintf(escape, sizeof escape, "\\%c", *p);
            output_write(report.json, escape, 2);
        } else if (!utf8_is_showable(code)) {
            output_write(report.json, escape, json_escape(escape, code));
        } else {
            output_write(report.json, p, n);
        }
        p += n;
    }
    output_write(report.json, "\"", 1);
}

static void json_raw(const char *text) { output_write(report.json, text, strlen(text)); }

/* Bytes and times. */
static void json_totals(const report_totals *t, const char *indent) {
    char line[160];
    snprintf(line, sizeof line, "%s\"bytes_read\": %llu,%s\"bytes_written\": %llu,%s\"seconds\": {", indent,
             (unsigned long long)t->bytes_read, indent, (unsigned long long)t->bytes_written, indent);
    json_raw(line);
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        snprintf(line, sizeof line, "\"%s\": %.9f, ", phase_names[phase], seconds(t->phase_ns[phase]));
        json_raw(line);
    }
    snprintf(line, sizeof line, "\"total\": %.9f}", seconds(t->ns));
    json_raw(line);
}

static void json_ranks(const report_totals *each) {
    json_raw(",\n  \"ranks\": [");
    for (unsigned r = 0; r < ranks_count(); r++) {
        json_raw(r ? ",\n    {" : "\n    {");
        json_totals(&each[r], "");
        json_raw("}");
    }
    json_raw("\n  ]");
}

static void write_json(const report_totals *t, const report_totals *each) {
    char line[160];
    json_raw("{\n  \"program\": ");
    json_text(program_name());
    json_raw(",\n  \"version\": ");
    json_text(scan_version());
    for (size_t i = 0; i < report.fact_count; i++) {
        const fact *f = &report.facts[i];
        json_raw(",\n  ");
        json_text(f->key);
        json_raw(": ");
        snprintf(line, sizeof line, "%llu", (unsigned long long)f->number);
        if (f->kind == FACT_TEXT)
            json_text(f->text);
        else
            json_raw(f->kind == FACT_NUMBER ? line : f->number ? "true" : "false");
    }
    if (ranks_several())
        json_ranks(each);
    json_raw(",");
    json_totals(t, "\n  ");
    json_raw(",\n  \"phase_gb_per_s\": {");
    for (int phase = PHASE_READ; phase < PHASE_VERIFY; phase++) {
        snprintf(line, sizeof line, "%s\"%s\": %.6f", phase > PHASE_READ ? ", " : "", phase_names[phase],
                 phase_rate(t, phase));
        json_raw(line);
    }
    snprintf(line, sizeof line, "},\n  \"phases_overlap\": %s,\n  \"gb_per_s\": %.6f\n}\n",
             t->overlap ? "true" : "false", gb_per_s(t));
    json_raw(line);
}

void report_finish(void) {
    output_sync_all();
    const report_totals own = report_clock_stop();
    report_totals *each, totals = add_ranks(&own, &each); /* and all have synced their shares */
    report_clear_bar();
    if (report.json)
        write_json(&totals, each);
    output_commit_all();
    ranks_finish();
    if (report.common && report.common->stats && ranks_own() == 0)
        print_stats(&totals, each);
    free(each);
}
