/* SPDX-License-Identifier: MIT
 *
 * What the files of the sort share.
 */
#ifndef SCAN_CPU_SORT_H
#define SCAN_CPU_SORT_H

#include "cpu.h"
#include "sort_code.h"

/* Keys and the values that travel with them. */
typedef struct scan_sort_columns {
    void *keys;
    void *values; /* NULL as a source: the values are 0, 1, 2, ... */
} scan_sort_columns;

#endif
