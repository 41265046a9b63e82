/* SPDX-License-Identifier: MIT
 *
 * Decoding of untrusted images in processes that can only compute.
 */
#ifndef APPS_EQUALIZE_SANDBOX_H
#define APPS_EQUALIZE_SANDBOX_H

#include "decode.h"

/* Forks the helper that will fork one child per image. To be called first in main: before there are threads, files and
 * contexts, so that children hold nothing worth stealing. False, with errno, if the system refuses: then no image can
 * be read. */
bool sandbox_start(void);

/* Starts a child on the job in the shared memory file `memory`. Returns a descriptor for sandbox_wait, or -1 with
 * errno. Any thread may call it. */
int sandbox_decode(int memory);

/* Waits until the child has ended, at most `seconds`. False: it still runs, or waiting failed. Closes the descriptor.
 */
bool sandbox_wait(int child, uint32_t seconds);

#endif
