/* SPDX-License-Identifier: MIT
 *
 * How much memory a job may use: -S.
 */
#ifndef APPS_SUPPORT_MEMORY_H
#define APPS_SUPPORT_MEMORY_H

#include <stddef.h>

/* -S takes no less. */
enum { MEMORY_MIN = 1 << 20 };

/* The value of -S as sort(1) writes it: a number of units of 1024 bytes, or with a suffix b (bytes), K, M, G, T, P, E
 * or % (of the machine's memory). */
size_t memory_of_option(const char *option, const char *text);

/* Half of the memory that is free, or that the process's control group has, where that is less. */
size_t memory_default(void);

/* From now on large blocks go back to the system when they are freed. malloc would otherwise keep some of a size that
 * it has seen, and parts of other sizes do not fit into the gaps. Of small blocks up to 8 MiB stay for the next. */
void memory_keep_none(void);

/* All freed blocks go back to the system now, small ones too. */
void memory_give_back(void);

#endif
