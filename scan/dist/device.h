/* SPDX-License-Identifier: MIT
 *
 * What verbs over ranks compute on a device beside the verbs of scan.h: device.cu, and no_nccl.c where there is none.
 * The context's work on what is read here is complete before; a call returns when its result is on the host. Failures
 * are texts: NULL is success.
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

#ifdef __cplusplus
}
#endif

#endif
