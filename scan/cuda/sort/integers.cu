/* SPDX-License-Identifier: MIT
 *
 * The radix sort's kernels for integer keys.
 */
#include "instance.cuh"

namespace scan_cuda {

#define DEFINE(name, Key) const sort_kernels sort_##name = sort_kernels_of<Key>();
SCAN_CUDA_SORT_INTEGERS(DEFINE)
#undef DEFINE

} /* namespace scan_cuda */
