/* SPDX-License-Identifier: MIT
 *
 * scan_unique on the CPU: the select engine with the bits "differs from its predecessor".
 */
#include "select.h"

static void select_first_of_runs(const scan_select_job *job, size_t first, size_t n, uint64_t *bits) {
    const scan_lane *lane = job->source;
    size_t size = job->size;
    const char *x = (const char *)job->in + first * size;
    if (first > 0) {
        job->kernels->differs[*lane](x, n, bits);
        return;
    }
    /* The first element has no predecessor: compare from the second on, and move the bits up by one. */
    size_t words = (n + 63) / 64;
    bits[words - 1] = 0;
    job->kernels->differs[*lane](x + size, n - 1, bits);
    for (size_t i = words; i-- > 1;)
        bits[i] = bits[i] << 1 | bits[i - 1] >> 63;
    bits[0] = bits[0] << 1 | 1;
}

scan_status scan_cpu_unique(scan_ctx *ctx, const scan_unique_desc *desc, const void *in, const scan_unique_out *out,
                            size_t n) {
    scan_lane lane = scan_lane_of(desc->type);
    scan_select_job job = {.select = select_first_of_runs,
                           .source = &lane,
                           .in = in,
                           .n = scan_cpu_count(n, desc->n_device),
                           .grid = desc->grid,
                           .size = scan_type_size(desc->type),
                           .index_type = desc->index_type,
                           .index_base = desc->index_base,
                           .kept = out->kept,
                           .indices = out->indices,
                           .run_lengths = out->run_lengths,
                           .count = out->count};
    scan_cpu_note(ctx, "blocks");
    return scan_select_run(ctx, &job);
}

size_t scan_cpu_unique_workspace(const scan_ctx *ctx, const scan_unique_desc *desc, size_t n) {
    return scan_select_workspace(ctx, scan_type_size(desc->type), desc->index_type, n);
}
