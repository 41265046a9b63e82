/* SPDX-License-Identifier: MIT
 *
 * The programs' own threads, for parsing and gathering. Work is cut into parts, many more than there are threads; the
 * caller and its helpers take the next part until none is left. Helpers live for one call: starting one costs some
 * 20 us. If one cannot be started, fewer do the work.
 */
#ifndef APPS_SUPPORT_PARALLEL_H
#define APPS_SUPPORT_PARALLEL_H

#include <stddef.h>

/* Returns `asked`, or if that is 0 the number of CPUs that this process may run on. */
unsigned parallel_threads(unsigned asked);

/* Runs task(arg, part) for part = 0 ... parts - 1 on up to `threads` threads, the caller among them. Parts must not
 * depend on each other. Tasks must not end the program: they report to arg. */
typedef void parallel_task(void *arg, size_t part);
void parallel_for(unsigned threads, size_t parts, parallel_task *task, void *arg);

#endif
