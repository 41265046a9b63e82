/* SPDX-License-Identifier: MIT
 *
 * One pass of the radix sort: keys move to where their digit says, stably, in one read and one write.
 *
 * Idea. Radix sort takes the keys by one digit after another, the least significant first. If every pass is stable,
 * keys that agree in a digit keep the order that the lower digits gave them. Where a key goes is
 *
 *     keys with smaller digits  +  keys of this digit in tiles before  +  keys of this digit before it in the tile
 *     (from the survey)            (look-back)                            (ranks)
 *
 * A tile, by 12 warps of up to 28 rows of 32 keys, and 4 warps that look back:
 *
 *     load     keys to registers; how many of each digit, counted in shared memory and published at once
 *       |
 *     rank     among the warp's own keys, row by row (rank.cuh)     | look-back warps: a digit a thread walks back over
 *       |                                                          | the tiles' counts until one has an inclusive one,
 *       |                                                          | and publishes its own; scan of the tile's digits
 *     place    first of the digit in the tile + warps before + rank
 *       |
 *     sort     the tile, in shared memory: now neighbours mostly go to neighbours
 *       |
 *     write    slot s to base[digit] + s; then the values the same way
 *
 * This is the one-sweep radix sort of Adinets and Merrill ("Onesweep: A Faster Least Significant Digit Radix Sort for
 * GPUs", 2022) with decoupled look-back (Merrill and Garland, 2016) done by warps of its own while the others rank.
 *
 * Why stable. Warps take the tile in order, rows in order within the warp, lanes in order within the row, and ranks
 * count exactly what comes before in that order; tiles add up in order. Only the first pass of keys alone may let equal
 * digits change places (sort_pass.any_order): the keys' other digits tell them apart later.
 *
 * Progress. Tiles are tickets (tickets.cuh): a tile waits only for counts of lower tickets, which CTAs that run publish
 * before they wait for anything. State words carry the epoch, so nothing is cleared. A grid smaller than the number of
 * tiles takes them one after another; a pass that the plan does not need returns at once.
 *
 * Traffic: a read and a write of the key and the value; 8 bytes of state a digit and tile, 5 % of that. Barriers: eight
 * a tile, twelve with values. Work: about 65 instructions of a warp for a row of 32 4-byte keys, 37 of them to rank.
 */
#ifndef SCAN_CUDA_SORT_PASS_CUH
#define SCAN_CUDA_SORT_PASS_CUH

#include <type_traits>

#include "../kernel.cuh"
#include "../tickets.cuh"
#include "rank.cuh"

namespace scan_cuda {

/* How a tile is cut: `rank_warps` warps of `rows` rows of 32 keys. Shared memory is laid out for 64 KB, which is all
 * that sm_75 has. A tile holds at least 32 KB of keys and values together, so that its state words, 8 bytes a digit,
 * fit the sixteenth of the workspace that is theirs. */
template <class Key, int value_bytes> struct pass_shape {
    static constexpr int key_size = sizeof(key_bits<Key>);
    static constexpr int widest = key_size > value_bytes ? key_size : value_bytes;
    static constexpr bool narrow = widest <= 2;
    static constexpr int rank_warps = narrow ? 16 : 12;
    static constexpr int rows = narrow ? 32 : widest == 8 ? 14 : value_bytes ? 24 : 28; /* measured on an H200 */
    static constexpr int look_back_warps = 4;
    static constexpr int rank_threads = rank_warps * 32;
    static constexpr int threads = rank_threads + look_back_warps * 32;
    static constexpr int tile = rank_threads * rows;
    static constexpr int slots = (tile + threads - 1) / threads; /* of the sorted tile that a thread writes */
    static constexpr int shared_bytes = tile * widest > rank_warps *radix * 4 ? tile *widest : rank_warps *radix * 4;
};

/* Digits are counted in 31 bits of a state word, so a longer input is sorted in portions, a launch each: a portion adds
 * what it had of each digit to where the next one's keys begin. */
#ifdef SCAN_EMULATED
constexpr uint64_t most_portion_keys = 50000; /* so that small tests see portions */
#else
constexpr uint64_t most_portion_keys = 1u << 30;
#endif
template <class Shape> constexpr uint64_t portion_tiles = most_portion_keys / Shape::tile;

constexpr uint32_t inclusive_count = 1u << 31; /* in a state word: the tile's own keys and those of all before it */
constexpr int look_back_window = 4;            /* tiles asked for together */

template <class Shape> struct pass_shared {
    sort_pass pass;
    ticket taken;
    uint64_t base[radix];   /* where the digit's keys of this tile go, less their place in the sorted tile */
    uint32_t counts[radix]; /* of the tile */
    uint32_t first[radix];  /* place of the digit's first key in the sorted tile */
};

/* How many keys of a digit the tiles before `tile` have. words: the digit's own, in the state of this tile. */
__device__ inline uint32_t look_back(const uint64_t *words, uint32_t stride, uint32_t tile, uint32_t epoch) {
    uint32_t sum = 0;
    bool arrived = false;
    for (uint32_t back = 1; back <= tile && !arrived; back += look_back_window) {
        uint32_t count[look_back_window];
        bool there[look_back_window];
#pragma unroll
        for (int k = 0; k < look_back_window; k++) {
            count[k] = inclusive_count; /* before the first tile: nothing */
            there[k] = back + k > tile || peek(words - uint64_t(back + k) * stride, epoch, count[k]);
        }
#pragma unroll
        for (int k = 0; k < look_back_window; k++) {
            while (!there[k] && !arrived)
                there[k] = peek(words - uint64_t(back + k) * stride, epoch, count[k]);
            if (!arrived)
                sum += count[k] & ~inclusive_count;
            arrived = arrived || (count[k] & inclusive_count);
        }
    }
    return sum;
}

template <class Key, int value_bytes> class pass_tile {
    using K = key_bits<Key>;
    using V = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;
    using shape = pass_shape<Key, value_bytes>;
    static constexpr int rows = shape::rows;
    static constexpr bool even = shape::slots * shape::threads == shape::tile;

    const sort_job &job;
    pass_shared<shape> &shared;
    void *dynamic; /* the warps' counters, then the sorted tile */
    const int thread, warp;
    const sort_order order;
    const uint32_t shift, digit_mask;
    K key[rows];
    packed_u8<rows> digit;  /* of key[i] */
    packed_u16<rows> place; /* of key[i], in the warp and then in the tile */
    packed_u8<shape::slots> slot_digit;

  public:
    uint64_t first; /* elements before the tile */
    uint32_t count; /* elements in it */

    __device__ pass_tile(const sort_job &job, pass_shared<shape> &shared, void *dynamic)
        : job(job), shared(shared), dynamic(dynamic), thread(threadIdx.x), warp(warp_of_cta()),
          order(shared.pass.order), shift(shared.pass.shift), digit_mask(shared.pass.digit_mask) {}

    __device__ bool ranks() const { return warp < shape::rank_warps; }

  private:
    __device__ uint32_t *warp_counters(int warp) const { return static_cast<uint32_t *>(dynamic) + warp * radix; }
    __device__ uint32_t digit_of(K key) const { return uint32_t(raw_code<Key>(key, order) >> shift) & digit_mask; }
    /* Where this thread's rows begin in the tile. */
    __device__ int at() const { return warp * (32 * rows) + thread % 32; }
    __device__ bool there(int i) const { return at() + i * 32 < int(count); }
    __device__ bool whole() const { return count == shape::tile; }

    /* What lies past the tile's count has the last digit, so that it comes last; it is not counted. */
    template <bool whole> __device__ void load_rows() {
        const K *from = static_cast<const K *>(keys_source(job, shared.pass.keys_from)) + first + at();
#pragma unroll
        for (int i = 0; i < rows; i++)
            key[i] = whole || there(i) ? __ldcs(from + i * 32) : K(0);
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const uint32_t d = whole || there(i) ? digit_of(key[i]) : digit_mask;
            digit.set(i, d);
            if (whole || there(i))
                atomicAdd(&shared.counts[d], 1u);
        }
    }

  public:
    __device__ void clear() {
        for (int i = thread; i < shape::rank_warps * radix; i += shape::threads)
            warp_counters(0)[i] = 0;
        for (int i = thread; i < radix; i += shape::threads)
            shared.counts[i] = 0;
    }

    __device__ void load() {
        if (whole())
            load_rows<true>();
        else
            load_rows<false>();
    }

    __device__ void rank() {
        const unsigned below = (1u << thread % 32) - 1;
        uint32_t *counters = warp_counters(warp);
        if (shared.pass.any_order && whole()) { /* what lies past the count has to come last */
#pragma unroll
            for (int i = 0; i < rows; i++)
                place.set(i, atomicAdd(counters + digit.get(i), 1u));
            return;
        }
#pragma unroll
        for (int i = 0; i < rows; i++)
            place.set(i, rank_row(counters, digit.get(i), below));
    }

    /* Each warp's counters become the places in the tile where its keys of a digit begin. */
    __device__ void place_warps() {
        for (int d = thread; d < radix; d += shape::threads) {
            uint32_t next = shared.first[d];
            shared.base[d] -= next;
#pragma unroll
            for (int w = 0; w < shape::rank_warps; w++) {
                uint32_t &begins = warp_counters(w)[d], own = begins;
                begins = next;
                next += own;
            }
        }
    }

    __device__ void place_keys() {
        const uint32_t *begins = warp_counters(warp);
#pragma unroll
        for (int i = 0; i < rows; i++)
            place.add(i, begins[digit.get(i)]);
    }

    __device__ void exchange_keys() {
        K *sorted = static_cast<K *>(dynamic);
#pragma unroll
        for (int i = 0; i < rows; i++)
            sorted[place.get(i)] = key[i];
    }

    __device__ void exchange_values() {
        const V *from = static_cast<const V *>(values_source(job, shared.pass.values_from)) + first + at();
        V *sorted = static_cast<V *>(dynamic), value[rows];
        if (shared.pass.values_from == BUFFER_NONE) {
#pragma unroll
            for (int i = 0; i < rows; i++)
                value[i] = V(first + at() + i * 32);
        } else if (whole()) {
#pragma unroll
            for (int i = 0; i < rows; i++)
                value[i] = __ldcs(from + i * 32);
        } else {
#pragma unroll
            for (int i = 0; i < rows; i++)
                value[i] = there(i) ? __ldcs(from + i * 32) : V(0);
        }
#pragma unroll
        for (int i = 0; i < rows; i++)
            sorted[place.get(i)] = value[i];
    }

  private:
    /* Slot s of the sorted tile goes to its digit's base + s: neighbours mostly go to neighbours. */
    template <bool whole, bool wanted> __device__ void write_key_slots() {
        const K *sorted = static_cast<const K *>(dynamic) + thread;
        K *to = static_cast<K *>(keys_target(job, shared.pass.keys_to)) + thread;
#pragma unroll
        for (int i = 0; i < shape::slots; i++) {
            const int s = i * shape::threads;
            if (whole ? even || thread + s < shape::tile : thread + s < int(count)) {
                const K k = sorted[s];
                const uint32_t d = digit_of(k);
                slot_digit.set(i, d);
                if (wanted)
                    to[int64_t(shared.base[d]) + s] = k;
            } else {
                slot_digit.set(i, 0);
            }
        }
    }

    template <bool whole> __device__ void write_value_slots() {
        const V *sorted = static_cast<const V *>(dynamic) + thread;
        V *to = static_cast<V *>(values_target(job, shared.pass.values_to)) + thread;
#pragma unroll
        for (int i = 0; i < shape::slots; i++) {
            const int s = i * shape::threads;
            if (whole ? even || thread + s < shape::tile : thread + s < int(count))
                to[int64_t(shared.base[slot_digit.get(i)]) + s] = sorted[s];
        }
    }

  public:
    __device__ void write_keys() {
        if (value_bytes > 0 && shared.pass.keys_to == BUFFER_NONE)
            write_key_slots<false, false>();
        else if (whole())
            write_key_slots<true, true>();
        else
            write_key_slots<false, true>();
    }

    __device__ void write_values() {
        if (whole())
            write_value_slots<true>();
        else
            write_value_slots<false>();
    }
};

/* portion: which of the launches of this pass. */
template <class Key, int value_bytes>
__global__ void __launch_bounds__(pass_shape<Key, value_bytes>::threads, pass_shape<Key, value_bytes>::narrow ? 1 : 2)
    pass_kernel(const __grid_constant__ sort_job job, uint32_t which, uint32_t portion) {
    using shape = pass_shape<Key, value_bytes>;
    __shared__ pass_shared<shape> shared;
    after_previous();
    const uint64_t n = sort_count(job), portion_first = portion * portion_tiles<shape> * shape::tile;
    const sort_plan *plan = job.plan;
    if (which >= pass_end(plan, which) || portion_first >= n)
        return;
    if (threadIdx.x == 0)
        shared.pass = plan->pass[which];
    __syncthreads();
    const uint64_t left = n - portion_first;
    const bool full = left >= portion_tiles<shape> * shape::tile;
    const uint32_t tiles = uint32_t(full ? portion_tiles<shape> : (left + shape::tile - 1) / shape::tile);
    const uint32_t stride = shared.pass.digit_mask + 1;
    const uint64_t *before = portion ? plan->carry[portion % 2] : plan->before[shared.pass.row];
    const int thread = threadIdx.x;
    uint32_t epoch = 0;

    for (uint32_t round = 0; round <= tiles; round++) {
        pass_tile<Key, value_bytes> t(job, shared, dynamic_shared<void>());
        if (thread == 0)
            shared.taken = take_ticket(job.state);
        t.clear();
        __syncthreads();
        const uint32_t tile = shared.taken.number;
        epoch = shared.taken.epoch;
        if (tile >= tiles) { /* each CTA takes one ticket too many */
            if (thread == 0 && tile == tiles + gridDim.x - 1)
                hand_over(job.state, epoch);
            break;
        }
        t.first = portion_first + uint64_t(tile) * shape::tile;
        t.count = uint32_t(min(n - t.first, uint64_t(shape::tile)));
        if (t.ranks())
            t.load();
        __syncthreads();

        /* counts go out before anything else is done: the tiles that follow wait for them */
        uint64_t *words = job.state.tiles + uint64_t(tile) * stride;
        if (uint32_t(thread) < stride)
            publish(words + thread, epoch, shared.counts[thread] | (tile == 0 ? inclusive_count : 0));
        if (t.ranks()) {
            t.rank();
        } else {
            const int looker = thread - shape::rank_threads;
            if (looker < 32)
                begins_of_digits(shared.counts, shared.first, thread % 32);
            for (uint32_t d = looker; d < stride; d += shape::look_back_warps * 32) {
                const uint32_t sum = look_back(words + d, stride, tile, epoch), all = sum + shared.counts[d];
                if (tile > 0)
                    publish(words + d, epoch, all | inclusive_count);
                shared.base[d] = before[d] + sum;
                if (full && tile == tiles - 1)
                    job.plan->carry[(portion + 1) % 2][d] = before[d] + all;
            }
        }
        __syncthreads();

        t.place_warps();
        __syncthreads();
        if (t.ranks())
            t.place_keys();
        __syncthreads();
        if (t.ranks())
            t.exchange_keys();
        __syncthreads();
        t.write_keys();
        __syncthreads();
        if constexpr (value_bytes > 0) {
            if (t.ranks())
                t.exchange_values();
            __syncthreads();
            t.write_values();
            __syncthreads();
        }
    }
    leave(job.state, epoch);
}

} /* namespace scan_cuda */

#endif
