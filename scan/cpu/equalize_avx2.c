/* SPDX-License-Identifier: MIT
 *
 * The inner loops of equalize and clahe for AVX2.
 */
#include "equalize_loops.h"

const scan_cpu_image_kernels scan_cpu_image_avx2 = {
    .map_u8 = loop_map_u8,
    .map_u16 = loop_map_u16,
    .take_u8 = loop_take_u8,
    .take_u16 = loop_take_u16,
    .put_u8 = loop_put_u8,
    .put_u16 = loop_put_u16,
    .luma_u8 = loop_luma_u8,
    .luma_u16 = loop_luma_u16,
    .replace_u8 = loop_replace_u8,
    .replace_u16 = loop_replace_u16,
    .rec709_u8 = loop_rec709_u8,
    .rec709_u16 = loop_rec709_u16,
    .blend_u8 = loop_blend_u8,
    .blend_u16 = loop_blend_u16,
    .entries = loop_entries,
};
