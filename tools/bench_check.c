/* SPDX-License-Identifier: MIT
 *
 * Checks of results: no rate is shown without a right result. Each verb is computed again, as plainly as it can be
 * written, and compared with what a contender left in the outputs. This file has the verbs over images and job_check;
 * bench_check_prefix.c, bench_check_kept.c and bench_check_sort.c have the verbs over arrays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

static uint64_t sample(const job *j, const void *at, uint64_t i) {
    return j->type == SCAN_U8 ? ((const uint8_t *)at)[i] : ((const uint16_t *)at)[i];
}

static uint64_t *count_bins(const job *j, size_t bins) {
    uint64_t *h = calloc(bins, sizeof *h);
    for (uint64_t i = 0; h != NULL && i < j->n; i++)
        h[sample(j, j->in, i)]++;
    return h;
}

static bool check_histogram(const job *j) {
    size_t bins = j->out_bytes / sizeof(uint64_t);
    uint64_t *h = count_bins(j, bins);
    bool right = h != NULL && memcmp(h, j->out, j->out_bytes) == 0;
    free(h);
    return right;
}

static bool check_equalize(const job *j) {
    size_t bins = (size_t)1 << (8 * type_bytes(j->type)), first = 0;
    uint64_t *h = count_bins(j, bins), sum = 0;
    bool right = h != NULL;
    while (right && first + 1 < bins && h[first] == 0)
        first++;
    if (right && h[first] < j->n) {
        float scale = (float)(bins - 1) / (float)(j->n - h[first]);
        for (size_t b = first + 1; b < bins; b++) {
            sum += h[b];
            float level = rintf((float)sum * scale);
            h[b] = level > (float)(bins - 1) ? bins - 1 : (uint64_t)level;
        }
        h[first] = 0;
    } else
        for (size_t b = 0; right && b < bins; b++)
            h[b] = b;
    for (uint64_t i = 0; right && i < j->n; i++)
        right = sample(j, j->out, i) == h[sample(j, j->in, i)];
    free(h);
    return right;
}

uint64_t fnv1a(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *byte = data;
    for (size_t b = 0; b < bytes; b++)
        hash = (hash ^ byte[b]) * 0x100000001b3u;
    return hash;
}

bool hash_agrees(job *j, uint64_t hash) {
    if (j->agreed_hash == 0)
        j->agreed_hash = hash;
    return hash == j->agreed_hash;
}

/* Sets the hash that a device must agree with: that of the CPU backend's pixels. */
static bool agree_with_cpu(job *j) {
    scan_ctx *cpu;
    scan_options options = {.struct_size = sizeof options, .threads = j->threads};
    scan_equalize_desc desc = {.struct_size = sizeof desc, .type = j->type};
    void *out = malloc(j->out_bytes);
    bool right = out != NULL && scan_ctx_create(&cpu, &options) == SCAN_OK;
    if (right) {
        right = scan_clahe(cpu, &desc, j->in, out, j->width, j->height) == SCAN_OK;
        scan_ctx_destroy(cpu);
    }
    if (right)
        j->agreed_hash = fnv1a(1, out, j->out_bytes);
    free(out);
    return right;
}

static bool check_clahe(job *j) {
    if (j->on_device && j->agreed_hash == 0 && !agree_with_cpu(j))
        return false;
    return hash_agrees(j, fnv1a(1, j->out, j->out_bytes));
}

const char *job_check(job *j) {
    switch (j->verb) {
    case BENCH_PREFIX: return check_prefix(j);
    case BENCH_COMPACT:
    case BENCH_FLAGGED:
    case BENCH_INDICES:
    case BENCH_PARTITION:
    case BENCH_UNIQUE:
    case BENCH_LENGTHS: return check_kept(j) ? NULL : "what is kept is not what a loop keeps";
    case BENCH_SORT:
    case BENCH_MERGE:
    case BENCH_PAIRS:
    case BENCH_ARGSORT: return check_sorted(j) ? NULL : "not sorted, not stable, or not the same elements";
    case BENCH_HISTOGRAM: return check_histogram(j) ? NULL : "the counts are not those of a loop";
    case BENCH_EQUALIZE: return check_equalize(j) ? NULL : "the pixels are not those of the formula";
    case BENCH_TEXT:
    case BENCH_FILE: return files_agree(j) ? NULL : "the sorted files differ";
    case BENCH_CLAHE: return check_clahe(j) ? NULL : "the contenders' pixels differ";
    case BENCH_COPY:
    case BENCH_VERB_COUNT: break;
    }
    return NULL;
}
