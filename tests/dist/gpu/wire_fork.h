/* SPDX-License-Identifier: MIT */
#ifndef TESTS_DIST_GPU_WIRE_FORK_H
#define TESTS_DIST_GPU_WIRE_FORK_H

#include "scan/dist/dist.h"

/* Before the processes fork, and in each of them. */
bool fork_wire_create(uint32_t ranks);
void fork_wire_rank(uint32_t rank);

/* Emulated links: the exchange of this rank fails that comes after `after` others. */
void fork_link_break(unsigned after);

#endif
