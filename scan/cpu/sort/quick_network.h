/* SPDX-License-Identifier: MIT
 *
 * A few codes in registers: columns are sorted by Green's network of 60 comparators, or smaller ones, then merged by
 * bitonic networks (Batcher, AFIPS 1968), then transposed by perfect shuffles. Included by quick_lanes.h once a width.
 */

SCAN_INLINE void NAME(in_order)(V *a, V *b) {
    V low = V_MIN(*a, *b);
    *b = V_MAX(*a, *b);
    *a = low;
}

#define IN_ORDER(a, b) NAME(in_order)(&v[a], &v[b])

/* Sorts each lane's column of `rows` registers. */
SCAN_INLINE void NAME(sort_columns)(V *v, unsigned rows) {
    if (rows == 2) {
        IN_ORDER(0, 1);
    } else if (rows == 4) {
        IN_ORDER(0, 2), IN_ORDER(1, 3);
        IN_ORDER(0, 1), IN_ORDER(2, 3);
        IN_ORDER(1, 2);
    } else if (rows == 8) {
        IN_ORDER(0, 2), IN_ORDER(1, 3), IN_ORDER(4, 6), IN_ORDER(5, 7);
        IN_ORDER(0, 4), IN_ORDER(1, 5), IN_ORDER(2, 6), IN_ORDER(3, 7);
        IN_ORDER(0, 1), IN_ORDER(2, 3), IN_ORDER(4, 5), IN_ORDER(6, 7);
        IN_ORDER(2, 4), IN_ORDER(3, 5);
        IN_ORDER(1, 4), IN_ORDER(3, 6);
        IN_ORDER(1, 2), IN_ORDER(3, 4), IN_ORDER(5, 6);
    } else if (rows == 16) {
        IN_ORDER(0, 1), IN_ORDER(2, 3), IN_ORDER(4, 5), IN_ORDER(6, 7);
        IN_ORDER(8, 9), IN_ORDER(10, 11), IN_ORDER(12, 13), IN_ORDER(14, 15);
        IN_ORDER(0, 2), IN_ORDER(1, 3), IN_ORDER(4, 6), IN_ORDER(5, 7);
        IN_ORDER(8, 10), IN_ORDER(9, 11), IN_ORDER(12, 14), IN_ORDER(13, 15);
        IN_ORDER(0, 4), IN_ORDER(1, 5), IN_ORDER(2, 6), IN_ORDER(3, 7);
        IN_ORDER(8, 12), IN_ORDER(9, 13), IN_ORDER(10, 14), IN_ORDER(11, 15);
        IN_ORDER(0, 8), IN_ORDER(1, 9), IN_ORDER(2, 10), IN_ORDER(3, 11);
        IN_ORDER(4, 12), IN_ORDER(5, 13), IN_ORDER(6, 14), IN_ORDER(7, 15);
        IN_ORDER(5, 10), IN_ORDER(6, 9), IN_ORDER(3, 12), IN_ORDER(13, 14), IN_ORDER(4, 8), IN_ORDER(7, 11);
        IN_ORDER(1, 2), IN_ORDER(1, 4), IN_ORDER(7, 13), IN_ORDER(2, 8), IN_ORDER(11, 14);
        IN_ORDER(2, 4), IN_ORDER(5, 6), IN_ORDER(9, 10), IN_ORDER(11, 13), IN_ORDER(3, 8), IN_ORDER(7, 12);
        IN_ORDER(6, 8), IN_ORDER(10, 12), IN_ORDER(3, 5), IN_ORDER(7, 9);
        IN_ORDER(3, 4), IN_ORDER(5, 6), IN_ORDER(7, 8), IN_ORDER(9, 10), IN_ORDER(11, 12);
        IN_ORDER(6, 7), IN_ORDER(8, 9);
    }
}

/* Merges sorted blocks of width / 2 columns into blocks of `width`: a block's order is column by column. */
SCAN_INLINE void NAME(merge_columns)(V *v, unsigned rows, unsigned width) {
    /* The second half reversed, in columns and rows, makes the block bitonic. */
    if (rows == 1)
        v[0] = V_MIN_MAX(v[0], V_EXCHANGE(v[0], width - 1), width / 2);
#pragma GCC unroll 8
    for (unsigned r = 0; r < rows / 2; r++) {
        V a = v[r], b = V_EXCHANGE(v[rows - 1 - r], width - 1);
        v[r] = V_MIN_MAX(a, b, width / 2);
        v[rows - 1 - r] = V_EXCHANGE(V_MAX_MIN(a, b, width / 2), width - 1);
    }
#pragma GCC unroll 4
    for (unsigned distance = width / 4; distance > 0; distance /= 2)
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            v[r] = V_MIN_MAX(v[r], V_EXCHANGE(v[r], distance), distance);
#pragma GCC unroll 4
    for (unsigned distance = rows / 2; distance > 0; distance /= 2)
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            if ((r & distance) == 0)
                IN_ORDER(r, r + distance);
}

/* From column by column to memory order. Interleaving the two halves of the registers rotates an element's position,
 * as a binary number, by one bit. */
SCAN_INLINE void NAME(transpose)(V *v, unsigned rows) {
    V w[MAX_ROWS];
#pragma GCC unroll 4
    for (unsigned round = 1; round < rows; round *= 2) {
#pragma GCC unroll 8
        for (unsigned r = 0; r < rows / 2; r++) {
            w[2 * r] = V_INTERLEAVE_LOW(v[r], v[r + rows / 2]);
            w[2 * r + 1] = V_INTERLEAVE_HIGH(v[r], v[r + rows / 2]);
        }
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            v[r] = w[r];
    }
}

/* Sorts n keys, least < n <= rows * LANES, from one array to another, inverting `flip` on the way out. Up to `room`
 * keys may be written: masked stores cost more than all the rest. */
SCAN_INLINE void NAME(network_of)(const KEY *from, KEY *to, size_t n, size_t room, V flip, unsigned rows,
                                  unsigned least) {
    const V count = V_SET1(n);
    V v[MAX_ROWS];
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
        v[r] = (r + 1) * LANES <= least ? V_LOAD(from + r * LANES)
                                        : V_MASK_LOAD(V_SET1(MOST), V_BELOW(count, r), from + r * LANES);
    NAME(sort_columns)(v, rows);
    NAME(merge_columns)(v, rows, 2);
    NAME(merge_columns)(v, rows, 4);
    if (LANES >= 8)
        NAME(merge_columns)(v, rows, 8);
    if (LANES >= 16)
        NAME(merge_columns)(v, rows, 16);
    if (LANES >= 32)
        NAME(merge_columns)(v, rows, 32);
    NAME(transpose)(v, rows);
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
        v[r] = V_XOR(v[r], flip);
    if (rows * LANES <= room) {
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            V_STORE(to + r * LANES, v[r]);
    } else {
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            V_MASK_STORE(to + r * LANES, V_BELOW(count, r), v[r]);
    }
}

#if MAX_ROWS == 16
QUICK_APART static void NAME(network_16)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 16, 8 * LANES);
}
#endif
QUICK_APART static void NAME(network_8)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 8, 4 * LANES);
}
QUICK_APART static void NAME(network_4)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 4, LANES);
}
QUICK_APART static void NAME(network_1)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
    NAME(network_of)(from, to, n, room, flip, 1, 0);
}

static void NAME(network)(const KEY *from, KEY *to, size_t n, size_t room, V flip) {
#if MAX_ROWS == 16
    if (n > 8 * LANES) {
        NAME(network_16)(from, to, n, room, flip);
        return;
    }
#endif
    if (n > 4 * LANES)
        NAME(network_8)(from, to, n, room, flip);
    else if (n > LANES)
        NAME(network_4)(from, to, n, room, flip);
    else
        NAME(network_1)(from, to, n, room, flip);
}

#undef IN_ORDER
