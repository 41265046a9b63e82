/* SPDX-License-Identifier: MIT
 *
 * Decoding of untrusted images in processes that can only compute.
 */
#ifndef APPS_EQUALIZE_SANDBOX_H
#define APPS_EQUALIZE_SANDBOX_H

#include "decode.h"

/* Forks the helper that will fork one child per image. To be called first in main: before there are threads, files and
 * contexts, so that children hold nothing worth stealing. The helper overwrites its copy of `arguments` (argv, or NULL)
 * and of the environment. False, with errno, if the system refuses: then no image can be read. */
bool sandbox_start(char **arguments);

/* Starts a child on the job in the shared memory file `memory`. Returns a descriptor for sandbox_wait, or -1 with
 * errno. Any thread may call it. */
int sandbox_decode(int memory);

typedef enum sandbox_end {
    SANDBOX_EXITED,     /* the job's state says with what result */
    SANDBOX_CRASHED,    /* by a fault of its own: the image is damaged, or hostile */
    SANDBOX_CPU_TIME,   /* the job's cpu_seconds, or the user's limit, are used up */
    SANDBOX_NO_PAGES,   /* no memory for the pixels */
    SANDBOX_KILLED,     /* by a signal from outside: a person, or the system when memory is short */
    SANDBOX_STOPPED,    /* by a signal, for five seconds in which this process ran */
    SANDBOX_SILENT,     /* neither ended nor stopped within the time */
    SANDBOX_NO_PROCESS, /* could not be started: *error_number says why */
} sandbox_end;

/* Waits until the child has ended, at most `seconds`. Closes the descriptor. */
sandbox_end sandbox_wait(int child, uint32_t seconds, int *error_number);

#endif
