/* SPDX-License-Identifier: MIT
 *
 * Ends a width of quick_avx2.c or quick_avx512.c: forgets what it defines, so that the next width can define it.
 */
#undef SIGN
#undef KEY
#undef KEY_BITS
#undef LANES
#undef LEAST
#undef RANK
#undef BEFORE
#undef FLOAT
#undef V_FLOAT_MIN
#undef V_FLOAT_MAX
#undef V_FLOAT_MIN_MAX
#undef V_FLOAT_MAX_MIN
#undef V_FLOAT_LOWS
#undef MOST
#undef INFINITY_BITS
#undef NAME
#undef V_MASK
#undef V_BITS
#undef V_MIN
#undef V_MAX
#undef V_MIN_MAX
#undef V_MAX_MIN
#undef V_EXCHANGE
#undef V_INTERLEAVE_LOW
#undef V_INTERLEAVE_HIGH
#undef V_BELOW
#undef V_MASK_LOAD
#undef V_MASK_STORE
#undef V_SET1
#undef V_FIRST
#undef V_ROTATE
#undef V_LOWS
#undef V_COMPRESS
#undef V_FRONT
#undef V_BACK
#undef V_ADD
#undef V_EQUAL
#undef V_TALLY
#undef V_LOOK_UP
#undef V_MASK_OR
#undef V_UNSET
#undef V_GREATER
#undef V_NEGATIVE
#undef V_SELECT
