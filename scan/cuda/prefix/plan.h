/* SPDX-License-Identifier: MIT
 *
 * What a prefix scan will launch, and what it needs of the workspace.
 */
#ifndef SCAN_CUDA_PREFIX_PLAN_H
#define SCAN_CUDA_PREFIX_PLAN_H

#include "../cuda.h"
#include "kernels.h"

namespace scan_cuda {

struct prefix_plan {
    const prefix_kernels *kernels;
    scan_grid grid;
    scan_block block;
    int ctas, chunks_per_cta;   /* of a scan by one CTA or one cluster, else 0 */
    uint64_t tiles, tile_words; /* of a single pass */
    uint32_t section;           /* of the teaching grids */
    size_t state_bytes;         /* of the workspace's state */
    size_t piece_bytes;         /* of its scratch: carry.cuh's struct piece, 0 without a carry */
    size_t rest_bytes;          /* carry.cuh's copy of input */
    size_t sums_bytes;          /* block sums */
};

/* Whether the wave runs on the context's GPU; sets what it takes. */
bool has_wave(const scan_ctx *ctx, const prefix_kernels *kernels, wave_launch *launch);

/* failing: the context that keeps the detail of a failure, or NULL. */
scan_status make_prefix_plan(scan_ctx *failing, const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n,
                             prefix_plan *plan);

} /* namespace scan_cuda */

#endif
