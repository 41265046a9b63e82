/* SPDX-License-Identifier: MIT
 *
 * What the host knows of operators: which kernels serve a scan, and the arguments that describe its types.
 */
#ifndef SCAN_CUDA_PREFIX_OPERATORS_H
#define SCAN_CUDA_PREFIX_OPERATORS_H

#include "../cuda.h"
#include "operator_code.h"

namespace scan_cuda {

#define SCAN_CUDA_COUNT(...) +1
constexpr int class_count = 0 SCAN_CUDA_CLASSES(SCAN_CUDA_COUNT);
#undef SCAN_CUDA_COUNT
extern const prefix_kernels *const all_kernels[class_count];

/* NULL if the operator does not take the types. */
const prefix_kernels *find_kernels(const scan_prefix_desc *desc);

} /* namespace scan_cuda */

#endif
