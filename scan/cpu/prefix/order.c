/* SPDX-License-Identifier: MIT
 *
 * Float add and mul in the order that scan.h fixes: a small state that can stop and go on at any element.
 *
 * The order is a tree over the element's index: vector, row, chunk, tile, group. before(i) needs one fold from every
 * level, so the state is those folds, plus the totals inside the current row and group that a Kogge-Stone fold still
 * looks back to. Single elements go through the state one by one; whole rows go to a kernel (rows_*.c), which is
 * given the folds above the row; whole tiles can be passed over when their totals are known, which is how threads share
 * a scan (prefix.c).
 *
 * "Dropped where nothing precedes it" is done with identities: x + -0.0 and x * 1 are x, bit for bit.
 */
#include <string.h>

#include "ordered.h"

#define IN float
#define T float
#define OP(x) scan_f32_##x
#define STATE scan_cpu_order_f32
#define NAME(x) f32_f32_##x
#include "order.inc"
#undef IN
#undef T
#undef OP
#undef STATE
#undef NAME

#define IN float
#define T double
#define OP(x) scan_f64_##x
#define STATE scan_cpu_order_f64
#define NAME(x) f32_f64_##x
#include "order.inc"
#undef IN
#undef T
#undef OP
#undef STATE
#undef NAME

#define IN double
#define T double
#define OP(x) scan_f64_##x
#define STATE scan_cpu_order_f64
#define NAME(x) f64_f64_##x
#include "order.inc"

#define ENGINE_UNSIGNED(...)
#define ENGINE_SIGNED(...)
#define ENGINE_FLOAT(IN, in, ENUM, name)                                                                               \
    [SCAN_##IN][SCAN_##ENUM] = {in##_##name##_begin, in##_##name##_run,      in##_##name##_pass,  in##_##name##_tiles, \
                                in##_##name##_shown, in##_##name##_position, in##_##name##_finish},
#define SAME(ENUM, name, ctype, CLASS) ENGINE_##CLASS(ENUM, name, ENUM, name)
#define WIDER(IN, in, ctype, ENUM, name, wide_ctype, CLASS) ENGINE_##CLASS(IN, in, ENUM, name)

const scan_cpu_order_engine scan_cpu_order_engines[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1] = {
    SCAN_TYPES(SAME) SCAN_WIDENINGS(WIDER)};
