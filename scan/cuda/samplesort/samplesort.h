/* SPDX-License-Identifier: MIT
 *
 * Sample sort, as sort.cu calls it.
 */
#ifndef SCAN_CUDA_SAMPLESORT_SAMPLESORT_H
#define SCAN_CUDA_SAMPLESORT_SAMPLESORT_H

#include "../cuda.h"
#include "../sort/job.cuh"

namespace scan_cuda {

inline bool samplesort_serves(size_t key_bytes) { return key_bytes == 4 || key_bytes == 8; }

/* Of scratch, for n keys and values, or the indices of an argsort. */
size_t samplesort_bytes(const scan_ctx *ctx, size_t key_bytes, size_t value_bytes, uint64_t n, bool argsort);

scan_status samplesort_open(scan_ctx *ctx);
scan_status samplesort_load(scan_ctx *ctx);

/* n is not zero. */
scan_status samplesort_run(scan_ctx *ctx, const sort_job &job, char *scratch, bool in_place);

} /* namespace scan_cuda */

#endif
