/* SPDX-License-Identifier: MIT
 *
 * Split: radix sort one bit at a time, for teaching. It is what a scan is for.
 *
 *     bit             1 0 1 1 0 0 1 0        of each key, the least significant first
 *     ones before     0 1 1 2 3 3 3 4        exclusive scan
 *     destination     4 0 5 6 1 2 7 3        zero: i - ones before;  one: zeros in all + ones before
 *
 * Zeros move to the front, ones behind them, each in their order: the split is stable. That is why after the last bit
 * all is sorted: keys that agree in it lie as the lower bits have left them.
 *
 * Three launches a bit. Blocks count the ones of their section; the counts are scanned by scan_prefix; blocks scan
 * their section's bits (a block scan of the scan module) and move the keys. Only the counts are kept, one a section:
 * the whole array of ones-before would need more memory than the keys.
 *
 * Work: 3n a bit. Traffic: two reads and one write of the keys a bit, 32 bits of them; eight times what a digit of 8
 * bits needs (pass.cuh), and the writes of a warp go to two places, not 32: the simple scheme wastes passes, not bytes.
 *
 * Source: Blelloch, "Prefix Sums and Their Applications", 1990 (split); Harris, Sengupta, Owens, "Parallel Prefix Sum
 * (Scan) with CUDA", 2007.
 */
#include "../block/warp.cuh"
#include "../device/kernel.cuh"
#include "split.h"

namespace scan_cuda {

constexpr int split_section = warp_shuffle::max_section;
constexpr uint32_t split_no_bit = 64; /* every key has a zero there: nothing moves, which makes it a copy */

/* One bit's move. An argsort moves indices only and reads keys through them. */
struct split_move {
    const void *keys_from;
    void *keys_to;           /* NULL: argsort */
    const void *values_from; /* NULL: 0, 1, 2, ... */
    void *values_to;
    uint32_t bit;
    const uint64_t *ones_before; /* a section, and in all sections */
};

__device__ inline bool split_bit(const sort_job &job, const split_move &move, uint64_t i) {
    if (move.bit == split_no_bit)
        return false;
    if (!move.keys_to && move.values_from)
        i = load_bits(move.values_from, i, job.value_bytes);
    return code_of_bits(job, load_bits(move.keys_from, i, job.key_bytes)) >> move.bit & 1;
}

/* A block a section: how many ones it has. One block more than there are sections writes a zero. */
static __global__ void __launch_bounds__(split_section)
    split_count_kernel(const __grid_constant__ sort_job job, const __grid_constant__ split_move move, uint32_t *ones) {
    const uint64_t i = uint64_t(blockIdx.x) * split_section + threadIdx.x;
    const int count = __syncthreads_count(i < sort_count(job) && split_bit(job, move, i));
    if (threadIdx.x == 0)
        ones[blockIdx.x] = uint32_t(count);
}

/* sections: how many there are, of which some may lie past the count. */
static __global__ void __launch_bounds__(split_section)
    split_move_kernel(const __grid_constant__ sort_job job, const __grid_constant__ split_move move,
                      uint64_t sections) {
    __shared__ uint32_t scanned[split_section], totals[split_section / 32];
    const uint64_t i = uint64_t(blockIdx.x) * split_section + threadIdx.x, n = sort_count(job);
    const bool one = i < n && split_bit(job, move, i);
    scanned[threadIdx.x] = one;
    __syncthreads();
    warp_shuffle::inclusive<add<uint32_t>>(scanned, totals);
    if (i >= n)
        return;
    const uint64_t ones_before = move.ones_before[blockIdx.x] + scanned[threadIdx.x] - one;
    const uint64_t zeros = n - move.ones_before[sections];
    const uint64_t to = one ? zeros + ones_before : i - ones_before;
    if (move.keys_to)
        store_bits(move.keys_to, to, load_bits(move.keys_from, i, job.key_bytes), job.key_bytes);
    if (job.value_bytes)
        store_bits(move.values_to, to, move.values_from ? load_bits(move.values_from, i, job.value_bytes) : i,
                   job.value_bytes);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static const scan_prefix_desc ones_scan = {
    .struct_size = sizeof(scan_prefix_desc),
    .type = SCAN_U32,
    .out_type = SCAN_U64,
    .op = SCAN_ADD,
    .kind = SCAN_EXCLUSIVE,
};

static uint64_t sections_of(uint64_t n) { return ceil_div(n, split_section); }

size_t split_sections_bytes(uint64_t n) {
    const uint64_t counts = sections_of(n) + 1;
    return align_up(counts * sizeof(uint64_t)) + align_up(counts * sizeof(uint32_t));
}

size_t split_state_bytes(const scan_ctx *ctx, uint64_t n) {
    return prefix_workspace(ctx, &ones_scan, sections_of(n) + 1) / state_share;
}

scan_status split_load(scan_ctx *ctx) {
    SCAN_TRY(load_kernel(ctx, address(split_count_kernel)));
    return load_kernel(ctx, address(split_move_kernel));
}

/* A move a bit, of which the last lands in out; in place that takes an even number. */
scan_status split_sort(scan_ctx *ctx, sort_job job, char *sections_memory) {
    uint64_t sections = sections_of(job.n);
    uint64_t *ones_before = reinterpret_cast<uint64_t *>(sections_memory);
    uint32_t *ones = reinterpret_cast<uint32_t *>(sections_memory + align_up((sections + 1) * sizeof(uint64_t)));
    const void *count = address(split_count_kernel), *move_kernel = address(split_move_kernel);
    uint32_t moves = job.bits ? job.bits : 1;
    moves += is_in_place(job) && moves % 2;
    split_move move = {job.keys_in, nullptr, job.values_in, nullptr, 0, ones_before};
    for (uint32_t m = 0; m < moves; m++) {
        const bool to_out = (moves - m) % 2;
        move.bit = m < job.bits ? m : split_no_bit;
        move.keys_to = !job.keys_out ? nullptr : to_out ? job.keys_out : job.keys_first;
        move.values_to = to_out ? job.values_out : job.values_first;
        void *count_arguments[] = {&job, &move, &ones}, *move_arguments[] = {&job, &move, &sections};
        SCAN_TRY(launch(ctx, count, sections + 1, split_section, count_arguments, 0));
        SCAN_TRY(prefix(ctx, &ones_scan, ones, ones_before, sections + 1));
        SCAN_TRY(launch(ctx, move_kernel, sections, split_section, move_arguments, 0));
        if (job.keys_out)
            move.keys_from = move.keys_to;
        if (job.value_bytes)
            move.values_from = move.values_to;
    }
    return SCAN_OK;
}

} /* namespace scan_cuda */
