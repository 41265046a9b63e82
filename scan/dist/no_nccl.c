/* SPDX-License-Identifier: MIT
 *
 * In the place of nccl.c, device.cu and halves.cu in a build without NCCL.
 */
#include "dist.h"

bool scan_dist_has_link(void) { return false; }

scan_status scan_dist_open_link(scan_dist_comm *comm) {
    return scan_dist_fail(comm, SCAN_ERR_NO_BACKEND, "this build of scan_dist has no NCCL: it serves the CPU only");
}

static const char *const none = "no device";

const char *scan_dist_device_open(scan_dist_device **device, int ordinal) {
    (void)ordinal;
    *device = NULL;
    return none;
}

void scan_dist_device_close(scan_dist_device *device) { (void)device; }

const char *scan_dist_device_totals(scan_dist_device *device, const scan_prefix_desc *desc, const void *in, size_t n,
                                    void *memory, void *totals) {
    (void)device, (void)desc, (void)in, (void)n, (void)memory, (void)totals;
    return none;
}

size_t scan_dist_device_count_bytes(size_t count, uint64_t ranges) {
    (void)count, (void)ranges;
    return 0;
}

const char *scan_dist_device_counts(scan_dist_device *device, const scan_dist_codes *codes, const void *keys,
                                    const scan_dist_splitter *splitters, size_t count, uint64_t ranges, void *memory,
                                    uint64_t *counts) {
    (void)device, (void)codes, (void)keys, (void)splitters, (void)count, (void)ranges, (void)memory, (void)counts;
    return none;
}

const char *scan_dist_device_halve(scan_dist_device *device, const scan_dist_codes *codes, const void *keys, size_t n,
                                   scan_dist_halves to) {
    (void)device, (void)codes, (void)keys, (void)n, (void)to;
    return none;
}

const char *scan_dist_device_merge(scan_dist_device *device, const scan_dist_codes *codes, uint32_t value_bytes,
                                   const scan_dist_run *a, const scan_dist_run *b, void *keys_out, void *values_out,
                                   void *memory) {
    (void)device, (void)codes, (void)value_bytes, (void)a, (void)b, (void)keys_out, (void)values_out, (void)memory;
    return none;
}

size_t scan_dist_device_merge_bytes(size_t n) {
    (void)n;
    return 0;
}

const char *scan_dist_device_wait(scan_dist_device *device) {
    (void)device;
    return none;
}
