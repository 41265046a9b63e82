/* SPDX-License-Identifier: MIT
 *
 * Tens of thousands of keys to a million: all SMs sort them in one cooperative launch.
 *
 * CTA c holds positions [c * tile, (c + 1) * tile), and all CTAs run at the same time. A pass takes elements where a
 * digit says, from global memory to global memory, where they stay in L2:
 *
 *          CTA 0                      CTA 1                      ...
 *     sort the tile              sort the tile                          in the CTA's own shared memory (tile.cuh)
 *               \____________ counts of digits ______________/          512 bytes of each CTA, in global memory
 *     -------------------------- barrier of the grid --------------------------
 *     bases of the digits        bases of the digits                    from the counts of all CTAs (exchange.cuh)
 *     elements  -------------------- to where they belong --------------------
 *     -------------------------- barrier of the grid --------------------------
 *
 * There are three ways:
 *
 *     few bits     the first pass is over the lowest digit; the CTAs tell with their counts in which bits codes differ
 *                  and whether they come in order; then a pass over each digit that differs
 *     more bits    the CTAs look at their keys first; if few digits differ, a pass over each; else one pass whose
 *                  digits are buckets between splitters (splitters.cuh), of which a CTA then sorts one or two
 *                  (bucket.cuh), but for those of one value; if one is too large, which a sample makes improbable for
 *                  any keys, all digits
 *     in order     sorted, or reversed and not in place: the elements are copied
 *
 * So the time depends on n and on how many digits differ, and hardly on anything else. The passes are the radix sort of
 * Zagha and Blelloch ("Radix Sort for Vector Multiprocessors", 1991), except that each CTA adds up the counts of all
 * for itself. The buckets are the sample sort of Frazer and McKellar ("Samplesort", 1970), as one pass.
 *
 * Why right. Each pass is stable: a key goes behind all keys of smaller digits, those of its digit in lower CTAs, and
 * those of its digit in front of it in its tile (lower warps, earlier rows, lower lanes). What lies past the tile's
 * elements is ranked as the greatest digit, so behind all of them, and is neither counted for others nor written.
 *
 * Why two buffers. A pass writes to another buffer than it reads, so that a CTA may tell its counts before it has read
 * all elements; what is written in pass p + 1 has been read in pass p by all, which have told the counts of pass p + 1.
 * Where the input is also the output, the first pass tells them when it has read all.
 *
 * Progress. CTAs wait for each other, so all must run: a cooperative launch fails where they cannot.
 *
 * Traffic, in L2: a read of the keys to look at them; for a pass two reads of the keys, a read of the values, a write
 * of both, and for each CTA the counts of all, 67 KB on an H200; for a bucket a read and a write of keys and values.
 * Barriers of the grid: one, two for each pass, and the wait for the splitters.
 */
#ifndef SCAN_CUDA_COOPERATIVE_KERNEL_CUH
#define SCAN_CUDA_COOPERATIVE_KERNEL_CUH

#include "../device/kernel.cuh"
#include "bucket.cuh"
#include "splitters.cuh"

namespace scan_cuda {

/* Rows of 32 elements of a CTA's tile. */
__host__ __device__ inline uint32_t cooperative_tile_rows(uint64_t n, uint32_t ctas) {
    return uint32_t((n + 32 * uint64_t(ctas) - 1) / (32 * uint64_t(ctas)));
}
/* Of shared memory for an element of a tile: key, value, rank, digit of the sorted one. */
__host__ __device__ constexpr size_t cooperative_element_bytes(uint32_t key_bytes, uint32_t value_bytes) {
    return key_bytes + value_bytes + sizeof(uint32_t) + 1;
}
__host__ __device__ inline size_t cooperative_tile_bytes(uint64_t n, uint32_t ctas, uint32_t key_bytes,
                                                         uint32_t value_bytes) {
    const uint32_t rows = (cooperative_tile_rows(n, ctas) + cooperative_warps - 1) / cooperative_warps;
    return size_t(rows) * cooperative_threads * cooperative_element_bytes(key_bytes, value_bytes);
}
/* How many elements the largest bucket may have, at least: twice the mean. */
__host__ __device__ inline uint32_t cooperative_bucket_room(uint64_t n, uint32_t buckets) {
    return uint32_t(2 * n / buckets + 64);
}

template <class Code> struct cooperative_kernel_shared {
    cooperative_shared exchange;
    cooperative_counters counters;
    cooperative_splitters<Code> splitters;
};

template <class Code> __device__ cooperative_kernel_shared<Code> &kernel_shared() {
    __shared__ cooperative_kernel_shared<Code> shared;
    return shared;
}

/* How many elements a bucket has, of n. */
__device__ inline uint32_t bucket_size(const uint32_t *starts, uint32_t b, uint32_t n) {
    return (b + 1 < radix ? starts[b + 1] : n) - starts[b];
}

/* The CTA's buckets, but those of one value, from these arrays to the output. Called, so that passes keep their
 * registers. room: for so many elements there is dynamic shared memory. */
template <class Code>
__attribute__((noinline)) __device__ void sort_buckets(const sort_job &job, uint32_t buckets, uint32_t room,
                                                       const void *keys, const void *values) {
    cooperative_kernel_shared<Code> &shared = kernel_shared<Code>();
    const uint32_t *starts = shared.exchange.starts;
    for (uint32_t b = blockIdx.x; b < buckets; b += gridDim.x)
        if (!shared.splitters.of_one_value[b])
            bucket_sort<Code>(job, shared.exchange, shared.counters, dynamic_shared<char>(), room, starts[b],
                              bucket_size(starts, b, uint32_t(sort_count(job))))
                .sort(keys, values);
}

template <class Code> class cooperative_sort {
    const sort_job &job;
    cooperative_kernel_shared<Code> &shared;
    char *const dynamic;
    const int thread;
    const uint32_t n, first, count; /* the CTA's elements: positions first ... first + count */
    cooperative_exchange exchange;
    cooperative_tile tile;
    char *sorted_keys, *sorted_values;
    uint8_t *sorted_digits;
    const void *keys, *values; /* where the elements are; values NULL: their positions */

    struct view { /* of some codes: bits that are 1, 0 in one; whether one is less than that before it; greater */
        Code ones = 0, zeros = 0;
        bool falls = false, rises = false;
    };

    __device__ Code code_at(uint32_t position) const { return key_codes<Code>(job).at(keys, position); }

    __device__ bool is_in_order(const cooperative_look &all) const {
        return !all.falls || (!all.rises && !is_in_place(job));
    }

    /* Looks at a key, and the one before it. */
    __device__ void look(view &v, Code code, uint32_t position) const {
        v.ones |= code;
        v.zeros |= Code(~code);
        if (position > 0) {
            const Code last = code_at(position - 1);
            v.falls |= code < last;
            v.rises |= job.ties ? code >= last : code > last;
        }
    }

    /* ---- a pass -------------------------------------------------------------------------------------------------- */

    /* V: void if there are no values. */
    template <class T, class V> __device__ void place() const {
        const T *const source = static_cast<const T *>(keys) + first;
        T *const target = reinterpret_cast<T *>(sorted_keys);
        tile.for_slots([&](uint32_t slot) {
            if (slot < count) {
                const uint32_t at = tile.place_of(slot);
                target[at] = source[slot];
                sorted_digits[at] = uint8_t(tile.digit_of(slot));
                if constexpr (!std::is_void_v<V>)
                    reinterpret_cast<V *>(sorted_values)[at] =
                        values ? static_cast<const V *>(values)[first + slot] : V(first + slot);
            }
        });
    }

    /* Sorts the tile by the digits that it was ranked by, and waits until the counts of all CTAs are known. late: the
     * CTA says that it has counted only when it has read all elements, because others then may write there. digits:
     * elements have lesser ones. */
    __device__ void sort_tile(uint32_t pass, uint32_t digits, bool late) {
        const uint32_t past = tile.slots() - count;
        tile.add_up(shared.exchange.begins, [&](int digit, uint32_t counted) {
            exchange.give_count(pass, digit, digit == radix - 1 ? counted - past : counted);
        });
        if (!late)
            exchange.arrive();
        with_key_type<Code>(job, [&](auto t) {
            if (job.value_bytes == 4)
                place<decltype(t), uint32_t>();
            else if (job.value_bytes == 8)
                place<decltype(t), uint64_t>();
            else
                place<decltype(t), void>();
        });
        if (late)
            exchange.arrive();
        exchange.wait();
        exchange.find_bases(pass, digits, shared.counters.sums);
    }

    /* Elements go to where they belong: slot s of the sorted tile to its digit's base + s, so that neighbours mostly go
     * to neighbours, in array_of(digit); nowhere if that is NULL. */
    template <class T, class Array> __device__ void scatter(const char *sorted, Array array_of) const {
#pragma unroll 2
        for (uint32_t s = uint32_t(thread); s < count; s += cooperative_threads) {
            const uint32_t digit = sorted_digits[s];
            if (T *const to = static_cast<T *>(array_of(digit)))
                to[shared.exchange.base[digit] + s] = reinterpret_cast<const T *>(sorted)[s];
        }
    }
    /* keys_to NULL: keys are not needed any more. */
    __device__ void scatter_tile(void *keys_to, void *values_to) {
        if (keys_to)
            with_key_type<Code>(job,
                                [&](auto t) { scatter<decltype(t)>(sorted_keys, [=](uint32_t) { return keys_to; }); });
        with_value_type(job, [&](auto t) { scatter<decltype(t)>(sorted_values, [=](uint32_t) { return values_to; }); });
        keys = keys_to;
        values = values_to;
    }
    /* The same, of buckets: those of one value go to the output. */
    __device__ void scatter_buckets() const {
        const auto either = [&](void *to, void *out) {
            return [=](uint32_t bucket) { return shared.splitters.of_one_value[bucket] ? out : to; };
        };
        with_key_type<Code>(job,
                            [&](auto t) { scatter<decltype(t)>(sorted_keys, either(job.keys_first, job.keys_out)); });
        with_value_type(job,
                        [&](auto t) { scatter<decltype(t)>(sorted_values, either(job.values_first, job.values_out)); });
    }

    __device__ void meet() {
        exchange.arrive();
        exchange.wait();
    }

    /* ---- input in order ------------------------------------------------------------------------------------------ */

    template <class T> __device__ void copy_array(const void *from, void *to, bool reversed) const {
        const T *source = static_cast<const T *>(from);
        if (from != to)
            for (uint32_t i = first + uint32_t(thread); i < first + count; i += cooperative_threads)
                static_cast<T *>(to)[reversed ? n - 1 - i : i] = from ? source[i] : T(i);
    }
    __device__ void copy(bool reversed) const {
        if (job.keys_out)
            with_key_type<Code>(job, [&](auto t) { copy_array<decltype(t)>(job.keys_in, job.keys_out, reversed); });
        with_value_type(job, [&](auto t) { copy_array<decltype(t)>(job.values_in, job.values_out, reversed); });
    }

    /* ---- digits and buckets -------------------------------------------------------------------------------------- */

    /* Where elements go that `left` passes will still move after this one: in turns to two buffers, the last of which
     * is the output. An argsort moves no keys in the last pass. */
    __device__ void *keys_target(uint32_t left) const {
        void *const even = job.keys_out ? job.keys_out : left ? job.keys_second : nullptr;
        return left % 2 ? job.keys_first : even;
    }
    __device__ void *values_target(uint32_t left) const { return left % 2 ? job.values_first : job.values_out; }

    /* The tile is sorted by buckets. False if one has more than `room` elements to sort; then none has moved. */
    __device__ bool sort_by_buckets(uint32_t buckets, uint32_t room) {
        const uint32_t unsorted = thread < radix && !shared.splitters.of_one_value[thread]
                                      ? bucket_size(shared.exchange.starts, uint32_t(thread), n)
                                      : 0;
        if (__syncthreads_or(unsorted > room))
            return false;
        scatter_buckets();
        if (__syncthreads_or(unsorted > 0)) {
            meet();
            sort_buckets<Code>(job, buckets, room, job.keys_first, job.values_first);
        }
        return true;
    }

    /* Looks at all keys of the CTA, and gives a sample of them. */
    __device__ void look_first(view &seen) {
        tile.for_slots([&](uint32_t slot) {
            if (slot < count)
                look(seen, code_at(first + slot), first + slot);
        });
        __syncwarp();
        exchange.give_look(seen.ones, seen.zeros, seen.falls, seen.rises);
        if (count >= cooperative_samples)
            shared.splitters.give(exchange.boards[blockIdx.x], first, count, [&](uint32_t p) { return code_at(p); });
        meet();
    }

  public:
    __device__ cooperative_sort(const sort_job &job, cooperative_kernel_shared<Code> &shared, char *dynamic, uint32_t n,
                                uint32_t tile_elements)
        : job(job), shared(shared), dynamic(dynamic), thread(threadIdx.x), n(n),
          first(min(n, blockIdx.x * tile_elements)), count(min(n - first, tile_elements)),
          exchange(job, shared.exchange), tile(shared.counters), keys(job.keys_in), values(job.values_in) {
        tile.rows = (tile_elements / 32 + cooperative_warps - 1) / cooperative_warps;
        sorted_keys = dynamic;
        sorted_values = sorted_keys + size_t(tile.slots()) * job.key_bytes;
        tile.ranks = reinterpret_cast<uint32_t *>(sorted_values + size_t(tile.slots()) * job.value_bytes);
        sorted_digits = reinterpret_cast<uint8_t *>(tile.ranks + tile.slots());
        exchange.open();
    }

    /* sampled: CTAs that give samples. room: elements of a bucket. */
    __device__ void sort(uint32_t sampled, uint32_t room) {
        const uint32_t buckets = cooperative_bucket_room(n, gridDim.x) <= room ? gridDim.x : max_buckets;
        bool looked = false, by_buckets = false;
        uint64_t differ = radix - 1; /* bits of codes that differ and are not in order yet */
        view seen;
        if (job.bits > cooperative_passes * digit_bits) {
            look_first(seen);
            if (sampled)
                shared.splitters.fetch(exchange, sampled, reinterpret_cast<Code *>(dynamic));
            const cooperative_look all = exchange.look_of_all();
            if (is_in_order(all))
                return copy(all.falls);
            looked = true;
            differ = all.ones & all.zeros;
            by_buckets = digits_of(differ) > cooperative_passes && sampled * cooperative_samples >= 4 * buckets;
            if (by_buckets)
                shared.splitters.find(exchange, job.state, sampled, buckets, reinterpret_cast<Code *>(dynamic));
        }
        for (uint32_t pass = 0; differ; pass++) {
            const uint32_t shift = lowest_bit(differ);
            tile.rank([&](uint32_t slot) {
                if (slot >= count)
                    return uint32_t(radix - 1);
                const Code code = code_at(first + slot);
                if (!looked)
                    look(seen, code, first + slot);
                return by_buckets ? shared.splitters.bucket_of(code, first + slot)
                                  : uint32_t(code >> shift) & (radix - 1);
            });
            if (!looked)
                exchange.give_look(seen.ones, seen.zeros, seen.falls, seen.rises);
            sort_tile(pass, by_buckets ? buckets : radix, keys == job.keys_in && is_in_place(job));
            if (by_buckets) {
                if (sort_by_buckets(buckets, room))
                    return;
                by_buckets = false; /* nothing has moved */
                continue;
            }
            if (!looked) {
                const cooperative_look all = exchange.look_of_all();
                if (is_in_order(all))
                    return copy(all.falls);
                looked = true;
                differ = all.ones & all.zeros;
                if (!(differ & (radix - 1)))
                    continue;
            }
            differ = above_digit(differ, shift);
            scatter_tile(keys_target(digits_of(differ)), values_target(digits_of(differ)));
            if (differ)
                meet();
        }
    }

    __device__ void close() { exchange.close(); }
};

template <class Code>
__global__ void __launch_bounds__(cooperative_threads, 1)
    cooperative_kernel(const __grid_constant__ sort_job job, uint32_t dynamic_bytes) {
    const uint32_t n = uint32_t(sort_count(job)), tile = 32 * cooperative_tile_rows(n, gridDim.x);
    const uint32_t whole = tile ? n / tile : 0; /* CTAs with a whole tile */
    const uint32_t sampled = tile < cooperative_samples ? 0 : whole + (n - whole * tile >= cooperative_samples);
    cooperative_sort<Code> own(job, kernel_shared<Code>(), dynamic_shared<char>(), n, tile);
    own.sort(sampled, bucket_room<Code>(dynamic_bytes));
    own.close();
}

} /* namespace scan_cuda */

#endif
