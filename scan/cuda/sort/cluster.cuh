/* SPDX-License-Identifier: MIT
 *
 * Some ten thousand keys: one cluster of CTAs sorts them in one launch, with no state and no workspace.
 *
 * What is sorted are order codes (key_bits.cuh), each with a payload of 4 bytes: the key's index, or its value. CTA c
 * holds places [c * chunk, (c + 1) * chunk), in registers; a pass over a digit takes them where they belong:
 *
 *          CTA 0                      CTA 1                      ...
 *     rank rows, add up warps    rank rows, add up warps              how many keys of each digit, and of each warp
 *               \____________ counts to all ____________/              512 bytes to each CTA's shared memory
 *     sort the chunk             sort the chunk                       in the CTA's own shared memory
 *     -------------------------- barrier of the cluster --------------------------
 *     bases of the digits        bases of the digits                  from the counts of all CTAs
 *     codes, payloads  ------------- to the CTA and slot where they belong -------------
 *     -------------------------- barrier of the cluster --------------------------
 *     rows to registers          rows to registers
 *
 * Digits begin at the lowest bit in which codes differ, so narrow keys take few passes and equal ones none. How codes
 * and payloads come from keys and values, and what these are made from at the end, is in cluster_rows.cuh.
 *
 * Why the chunk is sorted first. A digit's keys of a chunk go to one place one after another, so sorted, neighbouring
 * lanes store to neighbouring words: a store of a warp is a few runs, not 32 words for 16 SMs.
 *
 * Why right. Each pass is stable: a key goes behind all keys of smaller digits, those of its digit in lower CTAs, and
 * those of its digit in front of it in its chunk (lower warps, earlier rows, lower lanes). What lies past n has the
 * greatest code and comes last, so every chunk is full and every slot is written once a pass.
 *
 * Why each buffer is there once. All threads arrive at the first barrier with their rows in registers: what follows it
 * may write the slots that rows came from. All arrive at the second having used the counts: what follows it may write
 * counts. A barrier of the cluster releases this thread's stores, remote ones too, and acquires those of the others. No
 * CTA stores to another before all have started (the first barrier of all, which waits while keys are loaded) or after
 * the last barrier of the last pass, so none ends too early. All keys have been read before the barrier that shares the
 * differing bits; where more is read at the end and the call is in place, a barrier comes before the first write.
 *
 * Traffic: a read and a write of keys and values; a pass moves a code and a payload in distributed shared memory and
 * has four barriers of the CTA and two of the cluster. Beside the passes: one and two, and one if in place.
 *
 * Work: about 90 instructions of a warp for a row of 32 4-byte codes with payloads and a pass, of them 37 to rank, 18
 * to sort the chunk, 28 to send; 120 a warp for counters and barriers; 160 of eight warps for the bases. 64 registers.
 */
#ifndef SCAN_CUDA_SORT_CLUSTER_CUH
#define SCAN_CUDA_SORT_CLUSTER_CUH

#include "../device/kernel.cuh"
#include "../device/order.cuh"
#include "cluster_rows.cuh"
#include "rank.cuh"

namespace scan_cuda {

/* Row / chunk_rows by a multiplication with a rounded-up reciprocal: there are at most 16 * 256 rows, and the error of
 * the reciprocal is less than 256 / 2^20. */
constexpr int quotient_shift = 20;
static_assert(cluster_sort_most_ctas * (cluster_sort_most_chunk / 32) * (cluster_sort_most_chunk / 32) <=
                  1u << quotient_shift,
              "quotients would be wrong");

/* Dynamic shared memory: codes and payloads of a chunk, as they arrive and as the CTA has sorted them. */
template <class Code> constexpr uint32_t cluster_sort_element_bytes = 2 * (sizeof(Code) + sizeof(uint32_t));

constexpr int digit_pairs = radix / 2;
constexpr int pairs_per_warp = digit_pairs / cluster_sort_warps;      /* that a warp adds up */
constexpr int adding_groups = 32 / pairs_per_warp;                    /* of lanes, a pair each */
constexpr int counters_per_lane = cluster_sort_warps / adding_groups; /* that a lane adds up: a pair of as many warps */
constexpr int counter_words = digit_pairs + pairs_per_warp / counters_per_lane; /* lanes of all groups in 32 banks */
static_assert((counters_per_lane * counter_words - pairs_per_warp) % 32 == 0, "groups meet in a bank");

template <class Code> struct cluster_sort_shared {
    /* written by other CTAs */
    Code ones[cluster_sort_most_ctas], zeros[cluster_sort_most_ctas]; /* bits that are 1, 0 in a code of each */
    uint32_t counts[cluster_sort_most_ctas][digit_pairs];             /* of two digits, 16 bits each */

    Code warp_ones[cluster_sort_warps], warp_zeros[cluster_sort_warps];
    uint32_t counters[cluster_sort_warps][counter_words]; /* of two digits */
    uint32_t warp_totals[cluster_sort_warps];             /* keys of the digits that the warp adds up */
    uint32_t base[radix];                                 /* where the digit's keys go, less their place in the chunk */
    uint32_t base_totals[radix / 32];
};

/* ---- the sort ---------------------------------------------------------------------------------------------------- */

template <class Code, int rows> class cluster_sort : cluster_rows<Code, rows> {
    using base = cluster_rows<Code, rows>;
    using base::code, base::has_rows, base::indexed, base::job, base::payload, base::there;
    cluster_sort_shared<Code> &shared;
    const int thread, warp, lane;
    const uint32_t ctas, rank, chunk, cta_factor;
    const uint32_t slot; /* of this lane's first element in the chunk */
    Code *const arrived_codes, *const sorted_codes;
    uint32_t *const arrived_payloads, *const sorted_payloads;
    uint32_t place[rows];

    __device__ uint32_t digit(int r, int shift) const { return uint32_t(code[r] >> shift) & (radix - 1); }

    /* The bits in which codes of the cluster differ. Waits until all its CTAs have started. */
    __device__ Code differing() {
        for (uint32_t i = ctas * digit_pairs + uint32_t(thread); i < cluster_sort_most_ctas * digit_pairs;
             i += cluster_sort_threads)
            shared.counts[i / digit_pairs][i % digit_pairs] = 0; /* of CTAs that are not there */
        Code ones = 0, zeros = 0;
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (there(r)) {
                ones |= code[r];
                zeros |= Code(~code[r]);
            }
        ones = warp_or(ones);
        zeros = warp_or(zeros);
        if (lane == 0) {
            shared.warp_ones[warp] = ones;
            shared.warp_zeros[warp] = zeros;
        }
        __syncthreads();
        cluster_wait();
        if (warp == 0) {
            ones = warp_or(shared.warp_ones[lane]);
            zeros = warp_or(shared.warp_zeros[lane]);
            if (uint32_t(lane) < ctas) {
                cluster_store(&shared.ones[rank], unsigned(lane), ones);
                cluster_store(&shared.zeros[rank], unsigned(lane), zeros);
            }
            __syncwarp();
        }
        cluster_arrive();
        cluster_wait();
        ones = warp_or(uint32_t(lane) < ctas ? shared.ones[lane] : Code(0));
        zeros = warp_or(uint32_t(lane) < ctas ? shared.zeros[lane] : Code(0));
        return ones & zeros;
    }

    /* Each warp's counters become the places in the sorted chunk where its keys of a digit begin, less the keys of the
     * digits that lower warps add up here. The chunk's counts go to all CTAs. */
    __device__ void add_up() {
        const int group = lane / pairs_per_warp, pair = warp * pairs_per_warp + lane % pairs_per_warp;
        uint32_t own[counters_per_lane], sum = 0;
#pragma unroll
        for (int k = 0; k < counters_per_lane; k++)
            sum += own[k] = shared.counters[group * counters_per_lane + k][pair];
        uint32_t through = sum; /* of this group and those before it */
#pragma unroll
        for (int d = pairs_per_warp; d < 32; d *= 2) {
            const uint32_t before = __shfl_up_sync(all_lanes, through, d);
            if (lane >= d)
                through += before;
        }
        const uint32_t counts = __shfl_sync(all_lanes, through, 32 - pairs_per_warp + lane % pairs_per_warp);
#pragma unroll
        for (int cta = group; cta < cluster_sort_most_ctas + group; cta += adding_groups)
            if (uint32_t(cta) < ctas)
                cluster_store(&shared.counts[rank][pair], unsigned(cta), counts);
        const uint32_t low = counts & 0xffff, both = low + (counts >> 16);
        uint32_t digits = both; /* of this pair and those before it */
#pragma unroll
        for (int d = 1; d < pairs_per_warp; d *= 2) {
            const uint32_t before = __shfl_up_sync(all_lanes, digits, d, pairs_per_warp);
            if (lane % pairs_per_warp >= d)
                digits += before;
        }
        if (lane == pairs_per_warp - 1)
            shared.warp_totals[warp] = digits;
        uint32_t next = through - sum + ((digits - both) | (digits - both + low) << 16);
#pragma unroll
        for (int k = 0; k < counters_per_lane; k++) {
            shared.counters[group * counters_per_lane + k][pair] = next;
            next += own[k];
        }
    }

    __device__ void sort_chunk(int shift) {
        const uint32_t own = shared.warp_totals[lane];
        const uint32_t before = warp_inclusive<add<uint32_t>>(own, lane) - own;
        const uint16_t *counters = reinterpret_cast<const uint16_t *>(shared.counters[warp]);
        if (!has_rows)
            return;
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const uint32_t d = digit(r, shift);
            place[r] += counters[d] + __shfl_sync(all_lanes, before, int(d / (2 * pairs_per_warp)));
        }
#pragma unroll
        for (int r = 0; r < rows; r++)
            sorted_codes[place[r]] = code[r];
        if (indexed) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                sorted_payloads[place[r]] = payload[r];
        }
    }

    /* By the first warps, a digit a thread. Where a digit's keys of this chunk go:
     *     keys with smaller digits + keys of this digit in lower CTAs - keys with smaller digits in this chunk */
    __device__ void find_bases() {
        uint32_t base = 0;
        if (warp < radix / 32) {
            const uint16_t *counts = reinterpret_cast<const uint16_t *>(shared.counts[0]) + thread;
            uint32_t others = 0, lower = 0;
#pragma unroll
            for (uint32_t cta = 0; cta < cluster_sort_most_ctas; cta++) {
                const uint32_t count = counts[cta * radix];
                others += cta == rank ? 0 : count;
                lower += cta < rank ? count : 0;
            }
            const uint32_t through = warp_inclusive<add<uint32_t>>(others, lane);
            if (lane == 31)
                shared.base_totals[warp] = through;
            base = lower + through - others;
        }
        __syncthreads();
        if (warp < radix / 32) {
#pragma unroll
            for (int w = 0; w < radix / 32 - 1; w++)
                base += w < warp ? shared.base_totals[w] : 0;
            shared.base[thread] = base;
        }
        __syncthreads();
    }

    /* Slot s of the sorted chunk goes to its digit's base + s: neighbours mostly go to neighbours. */
    __device__ void send(int shift, bool codes) {
        uint32_t to[rows];
#pragma unroll
        for (int r = 0; r < rows; r++)
            code[r] = sorted_codes[slot + r * 32];
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const uint32_t global = shared.base[digit(r, shift)] + slot + uint32_t(r * 32);
            to[r] = (global >> 5) * cta_factor >> quotient_shift;
            place[r] = global - to[r] * chunk;
        }
        if (codes) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                cluster_store(arrived_codes + place[r], to[r], code[r]);
        }
        if (indexed) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                payload[r] = sorted_payloads[slot + r * 32];
#pragma unroll
            for (int r = 0; r < rows; r++)
                cluster_store(arrived_payloads + place[r], to[r], payload[r]);
        }
    }

    __device__ void receive(bool codes) {
        if (codes) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                code[r] = arrived_codes[slot + r * 32];
        }
        if (indexed) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                payload[r] = arrived_payloads[slot + r * 32];
        }
    }

    __device__ void pass(int shift, bool codes) {
#pragma unroll
        for (int i = 0; i < digit_pairs; i += 32)
            shared.counters[warp][i + lane] = 0;
        __syncwarp();
        if (has_rows) {
            uint16_t *counters = reinterpret_cast<uint16_t *>(shared.counters[warp]);
            const unsigned below = (1u << lane) - 1;
#pragma unroll
            for (int r = 0; r < rows; r++)
                place[r] = rank_row(counters, digit(r, shift), below);
        }
        __syncthreads();
        add_up();
        __syncthreads();
        sort_chunk(shift);
        __syncwarp();
        perturb();
        cluster_arrive();
        cluster_wait();
        find_bases();
        if (has_rows)
            send(shift, codes);
        __syncwarp();
        perturb();
        cluster_arrive();
        cluster_wait();
        if (has_rows)
            receive(codes);
    }

  public:
    __device__ cluster_sort(const sort_job &job, cluster_sort_shared<Code> &shared, void *dynamic, uint32_t n,
                            uint32_t chunk_rows)
        : base(job, n, cluster_rank() * chunk_rows * 32 + uint32_t(warp_of_cta() * rows * 32) + threadIdx.x % 32,
               uint32_t(warp_of_cta() * rows) < chunk_rows),
          shared(shared), thread(threadIdx.x), warp(warp_of_cta()), lane(threadIdx.x % 32), ctas(cluster_size()),
          rank(cluster_rank()), chunk(chunk_rows * 32),
          cta_factor(((1u << quotient_shift) + chunk_rows - 1) / chunk_rows), slot(uint32_t(warp * rows * 32 + lane)),
          arrived_codes(static_cast<Code *>(dynamic)), sorted_codes(arrived_codes + chunk),
          arrived_payloads(reinterpret_cast<uint32_t *>(sorted_codes + chunk)),
          sorted_payloads(arrived_payloads + chunk) {}

    __device__ void sort() {
        base::load();
        for (Code differ = differing(); differ;) {
            const int shift = sizeof(Code) == 8 ? __ffsll((long long)(differ)) - 1 : __ffs(int(differ)) - 1;
            differ &= Code(~(Code(radix - 1) << shift));
            pass(shift, differ != 0 || (base::decodes && job.keys_out));
        }
        base::finish();
    }
};

template <class Code>
__global__ void __launch_bounds__(cluster_sort_threads) cluster_sort_kernel(const __grid_constant__ sort_job job) {
#if __CUDA_ARCH__ >= 900
    __shared__ cluster_sort_shared<Code> shared;
    cluster_arrive_relaxed();
    const uint32_t n = uint32_t(sort_count(job));
    const cluster_share share = share_out(n, cluster_size());
    void *dynamic = dynamic_shared<void>();
    switch (share.rows) {
    case 1: cluster_sort<Code, 1>(job, shared, dynamic, n, share.chunk_rows).sort(); break;
    case 2: cluster_sort<Code, 2>(job, shared, dynamic, n, share.chunk_rows).sort(); break;
    case 4: cluster_sort<Code, 4>(job, shared, dynamic, n, share.chunk_rows).sort(); break;
    default: cluster_sort<Code, 8>(job, shared, dynamic, n, share.chunk_rows).sort();
    }
#endif
}

} /* namespace scan_cuda */

#endif
