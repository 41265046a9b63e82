/* SPDX-License-Identifier: MIT
 *
 * The inner loops of equalize and clahe on any processor.
 */
#include "equalize_loops.h"

const scan_cpu_image_kernels scan_cpu_image_portable = {.map_u8 = loop_map_u8, .blend_u8 = loop_blend_u8, LOOP_KERNELS};
