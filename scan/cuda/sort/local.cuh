/* SPDX-License-Identifier: MIT
 *
 * The local stage: keys in order by their top digits are put in order by the rest, a few buckets at a time, in the
 * shared memory of a CTA. One read and one write take the place of a pass for every digit below.
 *
 *     positions   0         T         2T        3T        T = 5
 *     keys        a a a a b b b b c c c d d d d d d d e   equal top digits, a bucket: equal letters
 *     tiles       [ 0    ][ 1    ][ 2  ][ 3            ]  tile i: from the start of the bucket that position i T is in
 *                                                         to the start of the one that (i + 1) T is in
 *
 * The idea is the hybrid radix sort's (Stehle and Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs",
 * 2017): most significant digits first until a bucket fits a CTA. Here the buckets come from the
 * least-significant-first passes of pass.cuh over the top digits, so there is no table of buckets: eight lanes find
 * where one begins by an 8-way search of the keys before its position, for up to 31 tiles at once. Runs of tiles are
 * dealt out to the CTAs in turn, for those that take long lie together.
 *
 * A bucket that begins more than `reach` before position i T is too large, unless all of its keys are equal: then they
 * are where they belong. Each tile copies its stretch of such a bucket, and compares every key with one at a tile's
 * position; the tiles on both sides of a position compare with the same key, and so all are compared with each other.
 * If two differ, a cluster sorts the bucket afterwards (large.cuh), or, if there are too many keys for that, all digits
 * are sorted after all (plan.cuh), from the keys that were given.
 *
 *     load     the tile to registers
 *       |
 *     count    bins of equal width, about two for a key, two counters to a word: a key's rank in its bin is what the
 *       |      addition returns; then scan the counters
 *       |
 *     scatter  keys to shared memory, in order by bins, with where they came from if equal ones can be told apart
 *       |
 *     mend     bins with two keys and more: neighbours change places, in windows of slots, a thread each, and then at
 *       |      their borders, as often as the fullest bin has keys; of fuller bins, or with ties, by insertion
 *       |
 *     write    in order
 *       |
 *     values   copied to shared memory as they lie, then taken from there; with labels (local_bins.cuh) that is done
 *              while bins are mended, and keys and values are written together
 *
 * The order in a bin is that of (code, place before): stable, whatever order the additions were in. A bin of one code
 * needs no mending where equal keys are the same key. Floats alone of which some share a code, as -0 and NaNs do, are
 * sorted by codes but for the tiles that have such keys. Where a bin gets too many keys, the tile is sorted by the
 * digits in which its keys differ, least significant first, with stable ranks, all in shared memory. One of labels,
 * also where they lack the bits, is first taken again as keys. If there are many such tiles, the stage gives up, and
 * all digits are sorted.
 *
 * In place: source and target may be the same array. A CTA holds its keys in registers, and its values in shared
 * memory, before it writes any; it writes its own positions only, and of the others it looks at prefixes, which are the
 * same at every position before, while and after their owners sort them, and at keys of buckets that nobody changes.
 * A key is loaded and stored whole.
 *
 * Traffic: a read and a write of keys and values. Barriers: seven a tile, eight for 4-byte floats alone, nine with
 * labels, ten with other values.
 *
 * Work: about 80 instructions of a warp for a row of 32 4-byte keys alone, a quarter to count, a fifth to mend; 1.15 ms
 * for 2^28 keys on an H200, 1.8 ms by labels with values of 4 bytes. That is the work of a pass and more: what is
 * gained is the traffic of passes and their waiting for each other's counts, so the plan asks for two passes saved at
 * least, three with values but no labels. 64 registers: four CTAs of 256 threads share an SM, of at most 6,144 keys
 * each, or fewer and larger ones (sort.cu), and work while one waits at a barrier.
 */
#ifndef SCAN_CUDA_SORT_LOCAL_CUH
#define SCAN_CUDA_SORT_LOCAL_CUH

#include <type_traits>

#include "../device/vector.cuh"
#include "finish.cuh"
#include "local_bins.cuh"

namespace scan_cuda {

template <class Key, int value_bytes, local_form form> class local_tile : local_bins<Key, value_bytes, form> {
    using K = key_bits<Key>;
    using V = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;
    using B = local_bins<Key, value_bytes, form>;
    static constexpr int rows = local_rows<Key, value_bytes>;
    static constexpr bool may_share = form == LOCAL_CODES && sort_key<Key>::is_float;
    using B::code, B::counts, B::job, B::key, B::lane, B::members, B::origin, B::restored, B::shared, B::sorted,
        B::stored, B::thread, B::ties, B::warp;

    K first_code;        /* labels: of the tile */
    uint32_t label_bits; /* for a place */

    __device__ const K *from() const { return static_cast<const K *>(shared.keys); }
    __device__ K ones() const { return K(shared.ones); } /* the bits that do not tell buckets apart */
    /* Of any key. That of a key that shares it is not what it is stored as. */
    __device__ K code_of(K key) const { return may_share ? sort_code<Key>(key, job.order) : code(stored(key)); }
    __device__ K code_at(uint64_t i) const { return code_of(__ldcg(from() + i)); }
    __device__ K bucket_of(K key) const {
        if constexpr (sort_key<Key>::is_float && !ties)
            if (shared.even.exists())
                return shared.even.template of<Key>(key) | ones();
        return code_of(key) | ones();
    }

    /* By eight lanes, each eight of the warp for themselves: the first of keys [low, high) from which on no bucket is
     * below this one, or, with `past`, all are above it; else high. */
    __device__ uint32_t search(const K *keys, uint32_t low, uint32_t high, K bucket, bool past) const {
        while (__any_sync(all_lanes, low < high)) {
            const uint32_t step = (high - low + 7) / 8, i = low + lane % 8 * step;
            bool there = true;
            if (i < high) {
                const K other = bucket_of(__ldcg(keys + i));
                there = past ? other > bucket : other >= bucket;
            }
            const uint32_t less = uint32_t(__popc(~__ballot_sync(all_lanes, there) >> lane / 8 * 8 & 0xff));
            if (less == 0) {
                high = low;
            } else {
                high = min(high, low + less * step);
                low += (less - 1) * step + 1;
            }
        }
        return low;
    }

    /* Keys between two limits, codes far apart: floats on both sides of 0, or near it, where codes crowd in no bins of
     * equal width but values do not. Their even code, as fine as can be. */
    __device__ void spread_values(K least, K greatest) {
        const K low = restored(least);
        const uint32_t range = shared.even.template of<Key>(restored(greatest)) - shared.even.template of<Key>(low);
        const double scale = shared.even.scale * double(1u << __clz(int(range | 1)));
        if (thread == 0)
            shared.spread = {scale, -double(__uint_as_float(low)) * scale};
    }

    /* Limits of what bins are made of: what the tile's buckets may have. For 4-byte floats alone the least and the
     * greatest code, for buckets of an even code do not tell. Answers how many bits at the bottom of them do not vary,
     * if that is known. */
    __device__ uint32_t find_bounds(const local_deal &deal, uint64_t first, K head, K &least, K &greatest) {
        if constexpr (sort_key<Key>::is_float && !ties && sizeof(K) == 4) {
            uint32_t low = ~0u, high = 0, varying = 0;
            each_row<rows>(deal, [&](int i) {
                if (deal.there(i)) {
                    const uint32_t own = stored(key[i]);
                    low = min(low, own);
                    high = max(high, own);
                    varying |= own ^ head;
                }
            });
            low = ~warp_max(~low);
            high = warp_max(high);
            varying = warp_or(varying);
            if (lane == 0) {
                atomicMin(&shared.least, low);
                atomicMax(&shared.greatest, high);
                atomicOr(&shared.varying, varying);
            }
            __syncthreads();
            least = shared.least;
            greatest = shared.greatest;
            return bits_of(shared.varying & (0 - shared.varying)) - (shared.varying != 0);
        } else {
            least = bucket_of(__ldcg(from() + first)) & ~ones();
            greatest = bucket_of(__ldcg(from() + first + members - 1));
            return 0;
        }
    }

    /* Labels: the values, as they lie, to where counters and origins were; they are there after copies_arrive(). */
    __device__ V *values_here() const { return reinterpret_cast<V *>(counts); }
    __device__ void fetch_values(const local_deal &deal) const {
        const V *values = static_cast<const V *>(values_source(job, job.plan->local_values)) + shared.first + deal.at;
        each_whole_batch<rows>(deal, [&](int b, auto there) {
#pragma unroll
            for (int i = b; i < b + local_batch; i++)
                if (there(i))
                    copy_to_shared(values_here() + deal.at + 32 * i, values + 32 * i);
        });
    }

    __device__ void write_labelled(const local_deal &deal) const {
        const uint64_t first = shared.first;
        K *keys = static_cast<K *>(job.keys_out) + first + deal.at;
        V *values = static_cast<V *>(job.values_out) + first + deal.at;
        const bool wanted = job.keys_out != nullptr;
        copies_arrive();
        __syncthreads();
        each_whole_batch<rows>(deal, [&](int b, auto there) {
#pragma unroll
            for (int i = b; i < b + local_batch; i++)
                if (there(i)) {
                    const K label = sorted[deal.at + 32 * i];
                    if (wanted)
                        keys[32 * i] = restored(first_code + (label >> label_bits));
                    values[32 * i] = values_here()[label & ((K(1) << label_bits) - 1)];
                }
        });
        __syncthreads();
    }

    __device__ void write(const local_deal &deal) {
        const uint64_t first = shared.first;
        if (value_bytes == 0 || job.keys_out) {
            K *keys = static_cast<K *>(job.keys_out) + first + deal.at;
            each_whole_batch<rows>(deal, [&](int b, auto there) {
#pragma unroll
                for (int i = b; i < b + local_batch; i++)
                    if (there(i))
                        keys[32 * i] = restored(sorted[deal.at + 32 * i]);
            });
        }
        if constexpr (value_bytes > 0) {
            const V *values = static_cast<const V *>(values_source(job, job.plan->local_values)) + first + deal.at;
            V *moved = reinterpret_cast<V *>(sorted), *out = static_cast<V *>(job.values_out) + first + deal.at;
            packed_u16<rows> source;
            each_row<rows>(deal, [&](int i) { source.set(i, deal.there(i) ? origin[deal.at + 32 * i] : 0); });
            __syncthreads();
            each_row<rows>(deal, [&](int i) {
                if (deal.there(i))
                    moved[deal.at + 32 * i] = __ldcg(values + 32 * i);
            });
            __syncthreads();
            each_row<rows>(deal, [&](int i) {
                if (deal.there(i))
                    out[32 * i] = moved[source.get(i)];
            });
            __syncthreads();
        }
    }

    /* Keys to shared memory in the order they came. Answers the bits in which their codes differ. */
    __device__ K gather(const local_deal &deal, uint64_t first) {
        const K *own = from() + first + deal.at;
        const K head = code_at(first);
        K differ = 0;
        __syncthreads(); /* the tile before has been written */
        if (thread == 0) {
            shared.first = first;
            shared.differ[0] = shared.differ[1] = 0;
        }
        __syncthreads();
        each_row<rows>(deal, [&](int i) {
            if (deal.there(i)) {
                const uint32_t slot = deal.at + 32 * i;
                const K key = stored(__ldcg(own + 32 * i));
                differ |= code(key) ^ head;
                sorted[slot] = key;
                if (ties)
                    origin[slot] = uint16_t(slot);
            }
        });
        differ = warp_or(differ);
        if (lane == 0) {
            atomicOr(&shared.differ[0], uint32_t(differ));
            if (sizeof(K) == 8)
                atomicOr(&shared.differ[1], uint32_t(uint64_t(differ) >> 32));
        }
        __syncthreads();
        return sizeof(K) == 8 ? K(shared.differ[0] | uint64_t(shared.differ[1]) << 32) : K(shared.differ[0]);
    }

    /* Whether some key of the tile shares its code with others. */
    __device__ bool shares(const local_deal &deal) const {
        bool found = false;
        each_row<rows>(deal, [&](int i) { found |= deal.there(i) && shares_code<Key>(key[i]); });
        return __syncthreads_or(found);
    }

    /* Answers whether it could: no bin was too crowded, labels had the bits, and codes tell the keys. */
    __device__ bool sort(uint64_t first, uint64_t end) {
        members = uint32_t(end - first);
        const local_deal deal(members, warp, lane);
        const K *own = from() + first + deal.at;
        const K head = stored(__ldcg(from() + first));
#pragma unroll
        for (int i = 0; i < rows; i++) /* all are set, or the compiler would take them for live between tiles */
            key[i] = 0;
        B::rank = {};
        each_whole_batch<rows>(deal, [&](int b, auto there) {
#pragma unroll
            for (int i = b; i < b + local_batch; i++)
                if (there(i))
                    key[i] = __ldcg(own + 32 * i);
        });
        if constexpr (may_share)
            if (shared.some_share && shares(deal.again()))
                return false;
        K least, greatest;
        uint32_t low = find_bounds(deal.again(), first, head, least, greatest);
        B::values = B::tries_values && shared.even.exists();
        if constexpr (B::tries_values && sizeof(K) == 4) {
            B::values &= greatest - least >= 4u << 23; /* more than four powers of two */
            if (B::values) {
                spread_values(least, greatest);
                least = 0;
                greatest = ~0u;
                low = 0;
            }
        }
        if constexpr (form == LOCAL_LABELS) {
            label_bits = bits_of(members - 1);
            if (bits_of(greatest - least) + label_bits > 8 * sizeof(K))
                return false;
            first_code = least;
            greatest = (greatest - least) << label_bits | ((K(1) << label_bits) - 1);
            least = 0;
        }
        B::clear(least, greatest, low);
        if (thread == 0) { /* all have read what was there */
            shared.first = first;
            shared.least = ~0u;
            shared.greatest = shared.varying = 0;
        }
        each_whole_batch<rows>(deal.again(), [&](int b, auto there) {
#pragma unroll
            for (int i = b; i < b + local_batch; i++) {
                if constexpr (form == LOCAL_LABELS)
                    key[i] = there(i) ? (stored(key[i]) - first_code) << label_bits | (deal.at + 32 * i) : 0;
                else
                    key[i] = there(i) ? stored(key[i]) : head;
            }
        });
        if (!B::count(deal.again())) {
            __syncthreads(); /* the next tile sets `most` */
            return false;
        }
        B::scan_bins();
        B::scatter(deal.again());
        if constexpr (form == LOCAL_LABELS) {
            if (!B::mend([&] { fetch_values(deal.again()); }))
                return false;
            write_labelled(deal.again());
        } else {
            if (!B::mend([] {}))
                return false;
            write(deal.again());
        }
        return true;
    }

    /* Part of a large bucket, whose codes should all be `one`. */
    __device__ void copy(uint64_t begin, uint64_t end, K one) const {
        const K *keys = from();
        K *to = static_cast<K *>(job.keys_out);
        bool same = true;
        for (uint64_t i = begin + thread; i < end; i += blockDim.x) {
            const K own = __ldcg(keys + i);
            same &= code_of(own) == one;
            if ((value_bytes == 0 || to) && to != keys)
                to[i] = own;
        }
        if constexpr (value_bytes > 0) {
            const V *values = static_cast<const V *>(values_source(job, job.plan->local_values));
            V *out = static_cast<V *>(job.values_out);
            for (uint64_t i = begin + thread; i < end && out != values; i += blockDim.x)
                out[i] = values[i];
        }
        expect(same, begin);
    }

    /* By the CTA: notes a position in a large bucket, unless all threads see the same code there (large.cuh). */
    __device__ void expect(bool same, uint64_t at) const {
        if (__syncthreads_and(same) || thread > 0)
            return;
        const uint32_t note = job.large_follows ? atomicAdd(&job.plan->large_notes, 1u) : max_large_notes;
        if (note < max_large_notes)
            job.plan->large_at[note] = at;
        else
            atomicOr(&job.plan->again, 1u);
    }

  public:
    using B::local_bins;

    /* By eight lanes, each eight for themselves: the bucket at position i, from `stride + reach` before to `stride`
     * after. */
    __device__ void find(uint64_t i, uint64_t n, local_cut *cut) const {
        const uint32_t stride = job.plan->local_stride, reach = job.plan->local_reach;
        const bool inside = i > 0 && i < n;
        const uint32_t back = inside ? uint32_t(min(i, uint64_t(stride + reach))) : 0;
        const K *keys = from() + i - back, bucket = inside ? bucket_of(__ldcg(from() + i)) : K(0);
        local_cut own = {i, i, i, false};
        own.begin = i - back + search(keys, 0, back, bucket, false);
        own.large = i - own.begin > reach;
        if (__any_sync(all_lanes, own.large)) {
            const uint32_t ahead = own.large ? uint32_t(min(n - i, uint64_t(stride + 1))) : 0;
            own.end = i + search(from() + i, 0, ahead, bucket, true);
        }
        if (lane % 8 == 0)
            *cut = own;
    }

    /* The tile between two positions, but for buckets that others have. Answers whether it need not be taken again. */
    __device__ bool take(const local_cut &low, const local_cut &high) {
        uint64_t begin = low.begin, own = begin;
        if (low.large) {
            const K one = code_at(low.at);
            begin = low.end;
            own = low.at;
            copy(own, min(begin, high.at), one);
            expect(begin <= high.at || code_at(high.at) == one, low.at);
        }
        if (high.large && !(low.large && begin >= high.at))
            copy(max(high.begin, own), high.at, code_at(high.at));
        return begin >= high.begin || sort(begin, high.begin);
    }

    /* The same tile if one was. */
    __device__ void take_crowded(const local_cut &low, const local_cut &high) {
        const uint64_t first = low.large ? low.end : low.begin;
        members = uint32_t(high.begin - first);
        const local_deal deal(members, warp, lane);
        const K differ = gather(deal, first);
        local_digits<Key, value_bytes, B::ties>(job.order, shared, sorted, origin, counts, members).sort(differ);
        write(deal);
    }
};

/* Called once for each tile that is to be taken again, which takes some five times as long by digits, twice where
 * labels lacked the bits. Where there are many, and few passes or a sample sort follow a bucket that is too large,
 * these take less time: returns whether it is so. */
__device__ inline bool gives_up(const sort_job &job, uint64_t tiles) {
    const uint32_t passes = job.plan->counts_missing ? job.key_bytes : job.plan->passes_again;
    if (!job.again_follows || passes > crowded_passes ||
        atomicAdd(&job.plan->crowded, 1u) <= uint32_t(tiles / crowded_share))
        return false;
    atomicOr(&job.plan->again, 1u);
    return true;
}

/* The tiles in runs of neighbours, as many for each CTA, and of nearly one length, no longer than max_length. Of few
 * tiles a CTA has one run, or as many as that takes; also where buckets of one digit are longer than a tile: those in
 * which a bucket begins would not fall to all CTAs alike. Of many it has local_runs at least, so that crowded tiles,
 * which lie together, fall to several CTAs: 33 million f64 took 1/0.94 of CUB's time with one, 1/1.5 with four
 * (H200, 2026-11-26: tools/bench --device cuda --hunt 1 --seed 2642562588147082251). */
struct local_deck {
    uint32_t runs, length, longer; /* of all CTAs; tiles of a run; in so many runs, the first ones, one more */

    __device__ local_deck(const sort_job &job, uint32_t tiles, uint32_t max_length) {
        const uint32_t ctas = gridDim.x, each = job.again_follows && tiles >= 2 * local_runs * ctas ? local_runs : 1;
        runs = ctas * max((tiles + max_length * ctas - 1) / (max_length * ctas), each);
        length = tiles / runs;
        longer = tiles - length * runs;
    }
    __device__ uint32_t begin(uint32_t run) const { return run * length + min(run, longer); }
};

template <class Key, int value_bytes, local_form form>
__device__ void sort_tiles(const sort_job &job, local_shared &shared) {
    using tile = local_tile<Key, value_bytes, form>;
    using key_tile = local_tile<Key, value_bytes, LOCAL_KEYS>;
    constexpr bool may_share = form == LOCAL_CODES && sort_key<Key>::is_float;
    const uint32_t stride = job.plan->local_stride;
    const uint32_t tiles = uint32_t((sort_count(job) + stride - 1) / stride);
    const uint32_t cuts = min(blockDim.x / 8, uint32_t(local_cuts));
    const local_deck deck(job, tiles, cuts - 1);
    const uint32_t cuts_of_run = deck.length + (deck.longer > 0) + 1, together = cuts / cuts_of_run; /* runs */
    if (threadIdx.x == 0) {
        shared.keys = keys_source(job, job.plan->local_keys);
        shared.ones = (uint64_t(1) << job.plan->local_shift) - 1;
        shared.even = job.plan->even;
        if (may_share)
            shared.some_share = job.plan->ties;
        shared.least = ~0u;
        shared.greatest = shared.varying = 0;
    }
    for (uint32_t first = blockIdx.x; first < deck.runs; first += together * gridDim.x) {
        /* Cut i is where a tile begins, or the run before ends. */
        const auto run_of = [&](uint32_t i) { return min(first + i / cuts_of_run * gridDim.x, deck.runs); };
        const auto tile_of = [&](uint32_t i) { return deck.begin(run_of(i)) + i % cuts_of_run; };
        __syncthreads();
        if (threadIdx.x == 0)
            shared.crowded = 0;
        if (warp_of_cta() < local_cuts / 4)
            tile(job, shared)
                .find(min(sort_count(job), uint64_t(tile_of(threadIdx.x / 8)) * stride), sort_count(job),
                      shared.cut + threadIdx.x / 8);
        __syncthreads();
        const uint32_t lane = threadIdx.x % 32, run = run_of(lane);
        bool some = false;
        if (lane < together * cuts_of_run && run < deck.runs && tile_of(lane) < deck.begin(run + 1)) {
            const local_cut &low = shared.cut[lane], &high = (&low)[1];
            some = low.large || high.large || low.begin < high.begin;
        }
        for (uint32_t left = __ballot_sync(all_lanes, some); left; left &= left - 1) {
            const uint32_t i = __ffs(int(left)) - 1;
            if (tile(job, shared).take(shared.cut[i], shared.cut[i + 1]))
                continue;
            if (threadIdx.x == 0) {
                shared.crowded |= 1u << i;
                shared.gives_up = gives_up(job, tiles);
            }
            __syncthreads();
            if (shared.gives_up)
                return;
        }
        __syncthreads();
        /* These come later, where the keys of others take no registers. */
        for (uint32_t left = shared.crowded; left; left &= left - 1) {
            const local_cut &low = shared.cut[__ffs(int(left)) - 1], &high = (&low)[1];
            if (form != LOCAL_LABELS && !(may_share && shared.some_share))
                tile(job, shared).take_crowded(low, high);
            else if (form != LOCAL_LABELS || !key_tile(job, shared).take(low, high))
                key_tile(job, shared).take_crowded(low, high);
        }
    }
}

template <class Key, int value_bytes>
__global__ void __launch_bounds__(local_most_threads, 1) local_kernel(const __grid_constant__ sort_job job) {
    __shared__ local_shared shared;
    grid_dependency_wait();
    if (job.plan->local_shift == 0) {
        if (!job.again_follows)
            finish_typed<key_bits<Key>, value_bytes>(job, sort_count(job), job.plan->finish);
        return;
    }
    if constexpr (local_labels<Key, value_bytes>)
        if (job.local.labels)
            return sort_tiles<Key, value_bytes, LOCAL_LABELS>(job, shared);
    if (value_bytes > 0 || (job.plan->ties && !sort_key<Key>::is_float)) {
        sort_tiles<Key, value_bytes, LOCAL_KEYS>(job, shared);
    } else {
        sort_tiles<Key, value_bytes, LOCAL_CODES>(job, shared);
    }
}

} /* namespace scan_cuda */

#endif
