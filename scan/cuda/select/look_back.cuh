/* SPDX-License-Identifier: MIT
 *
 * The select engine by look-back: one pass, one CTA a tile, for any GPU.
 *
 *   1  the tile goes from global to shared memory, 16 bytes a thread      barrier
 *   2  each warp computes the bits of its unit and counts them            barrier
 *   3  warp 0 publishes the tile's status and looks back,
 *      while the other warps list their positions                         barrier
 *   4  each warp writes its part of every output
 *
 * The number of a CTA's ticket is its tile. A CTA thus waits for tiles of lower tickets only, and their CTAs already
 * run, whatever the order in which the GPU starts CTAs. An input of one tile needs no ticket and no state.
 */
#ifndef SCAN_CUDA_SELECT_LOOK_BACK_CUH
#define SCAN_CUDA_SELECT_LOOK_BACK_CUH

#include "selectors.cuh"
#include "walk.cuh"

namespace scan_cuda {

constexpr int look_back_select_warps = 8;
constexpr int look_back_select_threads = look_back_select_warps * 32;

/* At most 16 KiB of values and one unit a warp. */
template <class U>
using look_back_shape = unit_shape<sizeof(U) == 1 ? 8192 : 16384 / int(sizeof(U)), look_back_select_warps>;

template <class U> struct look_back_memory {
    using shape = look_back_shape<U>;
    alignas(16) char values[16 + shape::tile * sizeof(U) + 16]; /* aligned modulo 16 as in global memory */
    unit_words<shape::rows> words[shape::warps];
    uint16_t lists[shape::warps][shape::unit];
    uint32_t kept[shape::warps], last[shape::warps]; /* of each warp's unit; last: 1 + position in the tile */
    kept_prefix before;
};

/* Copies [from, end) of the CTA's tile; `to` and `from` agree modulo 16. */
template <class U> __device__ void stage_tile(char *to, const char *from, const char *end) {
    constexpr int vectors = 4; /* a thread's share, its reads in flight together */
    const uint32_t bytes = uint32_t(end - from), head = min(bytes, uint32_t(-uintptr_t(from) % 16));
    const uint32_t middle = (bytes - head) / 16, tail = head + middle * 16;
    for (uint32_t i = threadIdx.x * uint32_t(sizeof(U)); i < head; i += look_back_select_threads * sizeof(U))
        *(U *)(to + i) = *(const U *)(from + i);
    for (uint32_t i = tail + threadIdx.x * uint32_t(sizeof(U)); i < bytes; i += look_back_select_threads * sizeof(U))
        *(U *)(to + i) = *(const U *)(from + i);
    const uint4 *source = (const uint4 *)(from + head);
    uint4 *target = (uint4 *)(to + head), x[vectors];
#pragma unroll
    for (int k = 0; k < vectors; k++)
        if (threadIdx.x + k * look_back_select_threads < middle)
            x[k] = source[threadIdx.x + k * look_back_select_threads];
#pragma unroll
    for (int k = 0; k < vectors; k++)
        if (threadIdx.x + k * look_back_select_threads < middle)
            target[threadIdx.x + k * look_back_select_threads] = x[k];
}

/* before(status) is called by warp 0 and returns the tile's prefix. */
template <class Selector, class U, class Before>
__device__ void select_tile(const select_job &job, const typename Selector::source &source, uint64_t n, uint64_t t,
                            look_back_memory<U> &memory, Before before) {
    using shape = look_back_shape<U>;
    static_assert(shape::units == 1, "a warp keeps one word");
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
    const uint64_t first = t * shape::tile;
    tile_view<U> tile = {nullptr, Selector::reads_flags ? job.flags + first : nullptr, first,
                         uint32_t(min(n - first, uint64_t(shape::tile)))};
    if (job.in) {
        const char *from = static_cast<const char *>(job.in) + first * sizeof(U);
        char *to = memory.values + 16 + uintptr_t(from) % 16;
        const int earlier = Selector::reads_before && t > 0 ? int(sizeof(U)) : 0;
        stage_tile<U>(to - earlier, from - earlier, from + tile.count * sizeof(U));
        tile.values = reinterpret_cast<const U *>(to);
    }
    __syncthreads();

    const uint32_t begin = uint32_t(warp * shape::unit);
    const uint32_t word = unit_word<Selector, shape::rows>(source, tile, job.index_base, begin, lane);
    const uint32_t kept = keep_words(memory.words[warp], word, lane), last = job.run_lengths ? unit_last(word) : 0;
    if (lane == 0) {
        memory.kept[warp] = kept;
        memory.last[warp] = last ? begin + last : 0;
    }
    __syncthreads();

    const uint32_t kept_by = lane < shape::warps ? memory.kept[lane] : 0;
    const uint32_t last_by = lane < shape::warps ? memory.last[lane] : 0;
    if (warp == 0) {
        unsigned some = __ballot_sync(all_lanes, last_by != 0);
        const uint32_t tile_last = __shfl_sync(all_lanes, last_by, some ? 31 - __clz(int(some)) : 0);
        const uint32_t tile_kept = warp_sum(kept_by);
        const kept_prefix sum = before(tile_status::of(tile_kept, tile_last));
        if (lane == 0) {
            memory.before = sum;
            if (first + tile.count == n)
                put_end(job, n, sum.count + tile_kept, tile_last ? first + tile_last : sum.last);
        }
        __syncwarp();
    }
    listed_unit unit = {};
    if (has_arrays(job))
        unit = list_unit(memory.lists[warp], memory.words[warp], tile, begin, job.rejected != nullptr, lane);
    __syncthreads();

    const unsigned earlier_some = __ballot_sync(all_lanes, lane < warp && last_by != 0);
    const uint32_t earlier_last = __shfl_sync(all_lanes, last_by, earlier_some ? 31 - __clz(int(earlier_some)) : 0);
    const uint64_t begun = (earlier_some ? first + earlier_last : memory.before.last) - 1;
    const uint64_t kept_before = memory.before.count + warp_sum(lane < warp ? kept_by : 0);
    put_unit(job, tile, memory.lists[warp], unit, kept_before, begun, lane);
}

template <class Selector, class U>
__global__ void __launch_bounds__(look_back_select_threads, 4)
    look_back_select(const __grid_constant__ select_job job, const __grid_constant__ typename Selector::source source) {
    constexpr uint64_t tile = look_back_shape<U>::tile;
    __shared__ look_back_memory<U> memory;
    __shared__ ticket mine;
    grid_dependency_wait();
    const uint64_t n = element_count(job);
    if (threadIdx.x == 0) {
        mine = {0, 0};
        if (!job.single) {
            mine = take_ticket(job.state);
            if (mine.number == gridDim.x - 1)
                hand_over(job.state, mine.epoch);
        }
        if (n == 0 && mine.number == 0)
            put_end(job, 0, 0, 0);
    }
    __syncthreads();
    const uint32_t epoch = mine.epoch;
    const uint64_t t = mine.number;
    if (t * tile < n)
        select_tile<Selector, U>(job, source, n, t, memory, [&](tile_status status) {
            if (job.single)
                return kept_prefix{0, 0};
            const tile_walk<8> walk(job.state, epoch, int(tile), job.in_place);
            if (threadIdx.x == 0)
                walk.publish_tile(t, status);
            perturb();
            uint64_t from = 0;
            kept_prefix sum = {0, 0};
            walk.jump(t, from, sum);
            sum = sum + walk.between(from, t);
            walk.publish_prefix(t, sum);
            return sum;
        });
    if (!job.single)
        leave(job.state, epoch);
}

} /* namespace scan_cuda */

#endif
