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

/* Of scratch, for n keys and values, or the indices of an argsort. Bytes; the buffers are the job's. */
struct samplesort_room {
    size_t lists, keys_first, keys_second, values;
};
samplesort_room samplesort_room_of(const scan_ctx *ctx, size_t key_bytes, size_t value_bytes, uint64_t n, bool argsort);

scan_status samplesort_open(scan_ctx *ctx);
scan_status samplesort_load(scan_ctx *ctx);

/* Bytes at the start of the lists that must be zero before a planned sort. */
size_t samplesort_zeroed_bytes(void);

/* n is not zero. planned: only if the plan says so on the device, and from where that says. */
scan_status samplesort_run(scan_ctx *ctx, const sort_job &job, char *lists, bool in_place, bool planned);

} /* namespace scan_cuda */

#endif
