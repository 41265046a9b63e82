/* SPDX-License-Identifier: MIT
 *
 * The engine under compact and unique on CUDA: what scan_compact and scan_unique share, on both sides of a launch.
 *
 * Idea. A selector gives one bit an element. The set bits of a tile are listed as 16-bit positions in shared memory,
 * and every output is read off that list: kept elements, their indices, the lengths of runs; the clear bits, listed
 * behind the set ones, give the rejected elements. So there is one piece of code for any subset of outputs, element
 * sizes are the only types, and every store to global memory is a run of neighbours.
 *
 *   bits       1 0 0 1 1 0 1 0 | ...              a tile's count is all that other tiles need to know of it:
 *   list       0 3 4 6 | 1 2 5 7                  kept and rejected elements of a tile land at
 *   kept       in[0] in[3] in[4] in[6]                kept[before] ...    rejected[first - before] ...
 *   rejected   in[1] in[2] in[5] in[7]            where `before` elements are kept before the tile, whose first
 *   indices    first + 0, first + 3, ...          element is element `first`
 *
 * Two grids run it: the wave (wave.cuh, sm_90 and later) and look-back (look_back.cuh, any GPU).
 *
 * Traffic: each input once, each output once; 8 bytes of state a tile. In bytes an element of size s, with share k
 * kept: s + k * s for a predicate on the elements alone; + 1 for flags; + the sizes of other columns; + 4 * k or 8 * k
 * for indices; + (1 - k) * s for rejected elements.
 *
 * Progress: a tile waits for the counts of lower tickets only, which CTAs that run hold (tickets.cuh), and counting
 * waits for nothing but the tile's own input. Limits: 2^31 - 1 tiles of 2,048 to 24,576 elements.
 *
 * In place (kept == in). Elements move towards the front only, so tile u stores only to places that tiles t <= u have
 * read. A tile is read before its count is published, because outputs are taken from shared memory. Publishing has
 * release order, and folding a prefix from counts has acquire order (walk.cuh): once a tile knows its prefix, all tiles
 * before it have been read. scan_unique also reads the element before a tile, together with the tile. Earlier tiles
 * write to its place only if they kept every element so far, and then they write the value that is already there.
 *
 * Source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016, for one-pass
 * selection; Billeter, Olsson and Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures", 2009,
 * for staging a compacted tile in shared memory.
 */
#ifndef SCAN_CUDA_SELECT_SELECT_H
#define SCAN_CUDA_SELECT_SELECT_H

#include "../cuda.h"
#include "../device/tickets.cuh"

extern "C" {
#include "../../shared/predicate.h"
}

namespace scan_cuda {

/* The argument of the kernels; an output that is not wanted is NULL. */
struct select_job {
    const void *in;       /* elements: read by range and runs selectors, and the source of kept and rejected; or NULL */
    const uint8_t *flags; /* read by the flags selector */
    uint64_t n;
    const uint64_t *n_device; /* NULL: n itself */
    void *kept, *rejected, *indices, *run_lengths;
    uint64_t *count;
    uint64_t index_base;
    bool wide_indices; /* indices and run lengths are u64, else u32 */
    bool in_place;
    bool single; /* at most one tile: no state */
    scan_state state;
};

/* Words of the state for a group: its prefix, two numbers of 64 bits. */
constexpr uint64_t words_of_group = 4;

/* ---- arguments of the selectors ---------------------------------------------------------------------------------- */

/* lo <= x <= lo + width, modulo 2^bits: integers as they are, floats as sortable_bits (selectors.cuh), where NaN lies
 * outside every range. */
struct range_source {
    uint64_t lo, width;
    bool is_float, negate;
};

struct flags_source {
    bool negate;
};

struct runs_source {
    bool is_float;
};

enum column_kind { COLUMN_8, COLUMN_16, COLUMN_32, COLUMN_64, COLUMN_F32, COLUMN_F64, COLUMN_OF_INDICES };

/* A compiled predicate (predicate.h). */
struct program_source {
    uint32_t step_count; /* 0: `constant` for all */
    bool constant;
    struct column {
        const void *data;
        column_kind kind;
    } columns[SCAN_MAX_COLUMNS + 2]; /* also in and the index */
    struct step {
        uint64_t lo, width;
        uint8_t kind, column; /* scan_step_kind */
        bool negate;
    } steps[SCAN_MAX_TERMS];
};

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

constexpr size_t wave_static_bytes = 4096; /* of static shared memory that a CTA of the wave has, at most */

/* The kernels of one selector and element size. They take a select_job and the selector's source. */
struct select_kernels {
    const void *look_back, *wave;  /* wave may be NULL */
    int look_back_tile, wave_tile; /* elements */
    int look_back_threads, wave_threads;
    size_t wave_shared_bytes;
};

enum { ELEMENT_SIZES = 4 }; /* 1, 2, 4, 8 bytes */

extern const select_kernels range_kernels[ELEMENT_SIZES], flags_kernels[ELEMENT_SIZES], program_kernels[ELEMENT_SIZES],
    runs_kernels[ELEMENT_SIZES];

/* Launches the grid that is asked for, or the one that AUTO picks. Sets job.state and job.single. */
scan_status run_select(scan_ctx *ctx, const select_kernels &kernels, scan_grid grid, select_job &job, void *source);
size_t select_workspace(const scan_ctx *ctx, const select_kernels &kernels, scan_grid grid, uint64_t n);

} /* namespace scan_cuda */

#endif
