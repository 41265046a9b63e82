/* SPDX-License-Identifier: MIT
 *
 * The arguments of every grid of a prefix scan, and what follows from them on the device.
 */
#ifndef SCAN_CUDA_GRID_JOB_CUH
#define SCAN_CUDA_GRID_JOB_CUH

#include "../device/order.cuh"
#include "../device/tickets.cuh"

namespace scan_cuda {

constexpr int max_chunks_per_cta = 16; /* of a cluster scan */

/* Tiles of a scan's state beyond those of the input: those of the first group that lie in earlier pieces, and those
 * that are read ahead (look_back_walk.cuh). */
constexpr int spare_tiles = 9 * tiles_per_group;

struct scan_job {
    const void *in;
    void *out;
    uint64_t n;
    const uint64_t *n_device; /* NULL: n itself */
    uint64_t init;            /* bits of an output element */
    uint64_t identity_bits;   /* bits of out[0] if writes_identity */
    uint32_t in_size;         /* bytes of an input element: one kernel serves every input type of an operator */
    bool has_init, exclusive, reverse;
    bool writes_identity; /* an exclusive scan with nothing before it: out[0] is the identity */
    element_code code;
    const void *piece; /* what carry_begin_kernel has left for the grid, or NULL */
    scan_state state;
};

__device__ inline uint64_t job_count(const scan_job &job) {
    return job.n_device && *job.n_device < job.n ? *job.n_device : job.n;
}

/* The fold before the first element. */
template <class Op> __device__ typename Op::type job_first(const scan_job &job) {
    using T = typename Op::type;
    if (!job.has_init)
        return Op::identity();
    return encode<Op>(from_bits<T>(job.init), job.code);
}

/* ---- pieces, see prefix/carry.cuh -------------------------------------------------------------------------------- */

/* All folds are operands, except `total`. What lies beyond `position` in its unit is not set. */
template <class T> struct carry {
    T total; /* the fold of everything so far, as an output element */
    alignas(8) uint64_t position;
    T group;                  /* fold before the group */
    T chunks, rows, vector;   /* folds inside the tile, the chunk, the vector */
    T tiles[tiles_per_group]; /* totals of the group's tiles */
    T lanes[32];              /* totals of the row's vectors */
};

/* What carry_begin_kernel leaves for the grid and for carry_end_kernel, in the workspace. */
template <class T> struct piece {
    carry<T> at;    /* at a tile boundary, or at the end of a piece that reaches none */
    uint64_t taken; /* elements that carry_begin_kernel has done */
};

/* Where the grid's part of a job begins. */
template <class T> struct grid_part {
    const void *in;
    void *out;
    uint64_t n;
    uint64_t first_tile; /* its place in its group, and so the tiles of the group that lie in earlier pieces */
    T group;             /* fold before the group */
    const T *tiles;      /* totals of those tiles */
};

template <class Op> __device__ grid_part<typename Op::type> job_grid_part(const scan_job &job) {
    using T = typename Op::type;
    if (!job.piece)
        return {job.in, job.out, job_count(job), 0, job_first<Op>(job), nullptr};
    const piece<T> *p = static_cast<const piece<T> *>(job.piece);
    const uint64_t skip = job.reverse ? 0 : p->taken;
    return {static_cast<const char *>(job.in) + skip * job.in_size,
            static_cast<T *>(job.out) + skip,
            job_count(job) - p->taken,
            p->at.position / tile_elements<T> % tiles_per_group,
            p->at.group,
            p->at.tiles};
}

/* Writes out[0] of an exclusive scan, by the warp that has written the elements around it. */
template <class T> __device__ void put_first(const scan_job &job, const grid_part<T> &part, int lane) {
    if (!job.writes_identity)
        return;
    __syncwarp(); /* another lane may have written there */
    if (lane == 0)
        static_cast<T *>(part.out)[job.reverse ? part.n - 1 : 0] = from_bits<T>(job.identity_bits);
}

/* The lowest address that a full tile t would have in an array of n. */
template <class E> __device__ char *tile_address(const void *array, uint64_t n, uint64_t t, int tile, bool reverse) {
    int64_t first = reverse ? int64_t(n) - int64_t(t + 1) * tile : int64_t(t) * tile;
    return const_cast<char *>(static_cast<const char *>(array)) + first * int64_t(sizeof(E));
}

} /* namespace scan_cuda */

#endif
