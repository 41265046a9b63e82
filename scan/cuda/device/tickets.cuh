/* SPDX-License-Identifier: MIT
 *
 * The state of single-pass kernels: tickets in order, words tagged with the launch's epoch, nothing to clear.
 *
 * A CTA takes tiles by tickets, which are handed out in increasing order: every tile that a CTA waits for then belongs
 * to a CTA that runs already. One word holds epoch and ticket, so that one atomicAdd returns both. A launch knows how
 * many tickets it takes; the thread that takes the last of them stores the next epoch with ticket 0, for no ticket of
 * this launch is left. Words that CTAs publish carry the epoch in their upper half (ptx.cuh): those of earlier launches
 * are stale by that alone, so launches follow each other with no clearing in between and may be replayed from a graph.
 *
 * Before the epoch wraps, once in some 2^32 launches, CTAs are counted as they end, and the last clears every word.
 *
 * Launches on one state must be ordered, as launches on one stream are. Two that overlap may share an epoch, if both
 * know how many tickets they take together.
 */
#ifndef SCAN_CUDA_DEVICE_TICKETS_CUH
#define SCAN_CUDA_DEVICE_TICKETS_CUH

#include "ptx.cuh"

namespace scan_cuda {

/* All zero before the first launch. */
struct scan_state {
    uint64_t *ticket; /* epochs used up << 32 | tickets taken in this one */
    uint64_t *left;   /* CTAs that have left, in the last epoch before the wrap */
    uint64_t *tiles;  /* tagged tile totals */
    uint64_t *groups; /* tagged folds before each group */
    uint64_t words;   /* from `tiles` to the end of the state, those of larger scans included: cleared at the wrap */
};

/* In memory: ticket and left, padded to a sector; the words of tiles; those of groups. */
constexpr uint64_t state_header_words = 8;

constexpr size_t scan_state_bytes(uint64_t tile_words, uint64_t group_words) {
    return (state_header_words + tile_words + group_words) * sizeof(uint64_t);
}

/* The state at `memory`, of at least scan_state_bytes(): calls of other sizes may share it and use more. */
inline scan_state make_scan_state(void *memory, size_t bytes, uint64_t tile_words) {
    uint64_t *header = static_cast<uint64_t *>(memory), *tiles = header + state_header_words;
    return {header, header + 1, tiles, tiles + tile_words, bytes / sizeof(uint64_t) - state_header_words};
}

/* From here on CTAs clear as they leave. A launch may use up some epochs, one after another. */
constexpr uint32_t max_launch_epochs = 16, last_epoch = 0xffffffffu - max_launch_epochs;

struct ticket {
    uint32_t epoch, number;
};

/* By one thread. */
__device__ inline ticket take_ticket(const scan_state &state) {
    uint64_t word = atomicAdd(reinterpret_cast<unsigned long long *>(state.ticket), 1ull);
    perturb();
    return {uint32_t(word >> 32) + 1, uint32_t(word)};
}

/* By the thread that took the launch's last ticket. epoch: the last one that the launch uses. */
__device__ inline void hand_over(const scan_state &state, uint32_t epoch) {
    if (epoch < last_epoch)
        *state.ticket = uint64_t(epoch) << 32;
}

/* By every thread of every CTA, once its work is done. epoch: likewise. tickets: of all CTAs that take one of
 * this epoch, if those of the next launch do too. */
__device__ inline void leave(const scan_state &state, uint32_t epoch, uint32_t tickets) {
    if (epoch < last_epoch)
        return;
    __syncwarp(); /* lanes may have waited each for itself */
    __syncthreads();
    bool last = false;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(reinterpret_cast<unsigned long long *>(state.left), 1ull) == tickets - 1;
        __threadfence();
    }
    if (!__syncthreads_or(last))
        return;
    for (uint64_t i = threadIdx.x; i < state.words; i += blockDim.x)
        state.tiles[i] = 0;
    if (threadIdx.x == 0) {
        *state.left = 0;
        *state.ticket = 0;
    }
}
__device__ inline void leave(const scan_state &state, uint32_t epoch) { leave(state, epoch, gridDim.x); }

} /* namespace scan_cuda */

#endif
