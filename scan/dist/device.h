/* SPDX-License-Identifier: MIT
 *
 * What verbs over ranks compute on a device beside the verbs of scan.h: device.cu, halves.cu, and no_nccl.c where there
 * is none. The context's work on what is read here is complete before; a call returns when its result is on the host,
 * where nothing else is said. Failures are texts: NULL is success.
 */
#ifndef SCAN_DIST_DEVICE_H
#define SCAN_DIST_DEVICE_H

#include <stddef.h>

#include "codes.h"
#include "scan_dist.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct scan_dist_device scan_dist_device;

const char *scan_dist_device_open(scan_dist_device **device, int ordinal);
void scan_dist_device_close(scan_dist_device *device);

/* totals[g]: the fold of group g of 1 MiB of accumulators, in the order of scan.h, without init; those of out_type lie
 * one after another. The last group may have fewer elements. `in` has n elements; groups count in the direction of the
 * scan. memory: 8 bytes of context memory for each group, aligned to 8. totals: host. */
const char *scan_dist_device_totals(scan_dist_device *device, const scan_prefix_desc *desc, const void *in, size_t n,
                                    void *memory, void *totals);

/* counts[b * (ranges - 1) + k]: the elements of the sorted keys whose code is not above probe k of splitter b. memory:
 * scan_dist_device_count_bytes of context memory, aligned to 8. splitters and counts: host. */
const char *scan_dist_device_counts(scan_dist_device *device, const scan_dist_codes *codes, const void *keys,
                                    const scan_dist_splitter *splitters, size_t count, uint64_t ranges, void *memory,
                                    uint64_t *counts);
size_t scan_dist_device_count_bytes(size_t count, uint64_t ranges);

/* Sorted integers of 4 bytes as the lower halves of their codes, and where each upper half begins among them: of the
 * upper halves from `first` on, `count` of them, which are all that occur. Context memory. `low` is aligned to
 * SCAN_DIST_HALVES_ALIGN bytes and has room for whole words of as many: a merge reads such words, and does not use what
 * the last one holds after the last half. */
enum { SCAN_DIST_HALVES_ALIGN = 16 };

typedef struct scan_dist_halves {
    uint16_t *low;
    uint32_t *begins;
    uint32_t first, count;
} scan_dist_halves;

/* A sorted run of such keys: whole, or where halves.low is not NULL as halves. values NULL: there are none. */
typedef struct scan_dist_run {
    const void *keys, *values;
    size_t n; /* < 2^32 as halves */
    scan_dist_halves halves;
} scan_dist_run;

/* The first makes halves of keys, the second merges two runs as scan_merge does. They return when that has begun: what
 * they begin goes on one after another, and scan_dist_device_wait waits for it. memory: scan_dist_device_merge_bytes of
 * context memory for all outputs, aligned to 8. */
const char *scan_dist_device_halve(scan_dist_device *device, const scan_dist_codes *codes, const void *keys, size_t n,
                                   scan_dist_halves to);
const char *scan_dist_device_merge(scan_dist_device *device, const scan_dist_codes *codes, uint32_t value_bytes,
                                   const scan_dist_run *a, const scan_dist_run *b, void *keys_out, void *values_out,
                                   void *memory);
size_t scan_dist_device_merge_bytes(size_t n);
const char *scan_dist_device_wait(scan_dist_device *device);

#ifdef __cplusplus
}
#endif

#endif
