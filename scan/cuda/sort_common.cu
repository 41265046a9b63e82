/* SPDX-License-Identifier: MIT
 *
 * The radix sort's kernels that know keys by their size only.
 */
#include "sort/fill.cuh"
#include "sort/finish.cuh"
#include "sort/local.cuh"
#include "sort/pack.cuh"
#include "sort_kernels.h"

namespace scan_cuda {

static __global__ void __launch_bounds__(finish_threads) finish_kernel(const __grid_constant__ sort_job job) {
    after_previous();
    finish_sort(job, sort_count(job), job.plan->again ? job.plan->finish_again : job.plan->finish);
}

#define FILL(K)                                                                                                        \
    {                                                                                                                  \
        address(fill_count_kernel<K>), address(fill_kernel<K>), int(fill_slice<K> * sizeof(uint32_t)), fill_codes<K>,  \
            fill_slices<K>, fill_tile<K>                                                                               \
    }

const sort_common_kernels sort_common = {
    address(finish_kernel),       finish_threads, pack_threads,        local_threads, {FILL(uint8_t), FILL(uint16_t)},
    address(fill_offsets_kernel), fill_threads,   fill_offset_threads,
};

} /* namespace scan_cuda */
