/* SPDX-License-Identifier: MIT
 *
 * The quicksort of quick_lanes.h, of floats in the order of their values: numbers, and zeros of one sign, in descending
 * order negated. Included once a width, which defines what differs from its integers: FLOAT() for NAME(), and the
 * comparisons.
 */
#define SIGN ((KEY)1 << (8 * sizeof(KEY) - 1))

#define NAME FLOAT
#define LEAST (SIGN | INFINITY_BITS)
#define MOST INFINITY_BITS
#define RANK(code) ((KEY)((code) ^ ((code)&SIGN ? (KEY)-1 : SIGN)))
#define BEFORE(code) ((KEY)((code)&SIGN ? (code) + 1 : (code) ? (code)-1 : SIGN + 1))
#define V_MIN V_FLOAT_MIN
#define V_MAX V_FLOAT_MAX
#define V_MIN_MAX V_FLOAT_MIN_MAX
#define V_MAX_MIN V_FLOAT_MAX_MIN
#define V_LOWS V_FLOAT_LOWS
#include "quick_lanes.h"
#undef NAME
#undef LEAST
#undef MOST
#undef RANK
#undef BEFORE
#undef V_MIN
#undef V_MAX
#undef V_MIN_MAX
#undef V_MAX_MIN
#undef V_LOWS
