/* SPDX-License-Identifier: MIT
 *
 * What the parts of the module bench_cuda.so share.
 */
#ifndef TOOLS_BENCH_CUDA_H
#define TOOLS_BENCH_CUDA_H

#include <cuda_runtime_api.h>

#include "bench.h"

namespace bench_cuda {

extern cudaStream_t stream; /* everything is queued here */

/* CUB. Both are empty in an emulated build. */
const char *cub_version();
size_t contenders(const job *j, contender *list);

/* Sorts, for contenders(). */
size_t sort_contenders(const job *j, contender *list);

/* A bare loop of shared atomics over 16-bit samples. Returns 1: one contender. */
size_t add_bare_histogram(contender *c);

bool additions();

/* A hunt's sets, see bench_device. */
bool make_sets(const job *j);
const char *check_sort(const job *j);

/* Writes 0, 1, 2, ... */
bool write_positions(void *to, unsigned bytes, uint64_t n);

/* Sorts the positions 0, 1, 2, ... stably by their numbers. */
size_t stable_sort_bytes(uint64_t n);
bool stable_sort(const uint64_t *numbers, uint64_t *numbers_out, uint32_t *positions, uint32_t *positions_out,
                 void *workspace, size_t bytes, uint64_t n);

/* A peer is a function like CUB's: without memory it returns how much it needs, else it queues its work. */
using peer_call = cudaError_t (*)(const job *j, void *memory, size_t &bytes);

/* Runs the peer. */
template <peer_call call> bool run_peer(job *j, contender *c) {
    size_t bytes = c->memory_bytes;
    cudaError_t error = call(j, c->memory, bytes);
    j->wrong = cudaGetErrorString(error);
    return error == cudaSuccess;
}

/* Makes a contender of a peer. Returns how many it added: 0 if its memory cannot be allocated. */
size_t add_peer(const job *j, contender *c, const char *name, peer_call call, bool (*run)(job *, contender *));

} /* namespace bench_cuda */

#endif
