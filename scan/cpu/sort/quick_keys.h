/* SPDX-License-Identifier: MIT
 *
 * Integers alone: codes are keys with bits inverted. Included after quick_lanes.h once a width.
 */

static void NAME(quick_integers)(const scan_sort_local *l) {
    atomic_uint unfinished = 0;
    const quick_job job = {(KEY)l->order.flip ^ LEAST, LEAST, false, l, &unfinished};
    NAME(quick_keys)(&job, l->from.keys, l->to.keys, l->spare.keys, l->n, l->sorted_n);
}
