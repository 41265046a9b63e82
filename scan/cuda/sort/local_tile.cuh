/* SPDX-License-Identifier: MIT
 *
 * A tile of the local stage (local.cuh): found, loaded, sorted by bins or by digits, and written.
 */
#ifndef SCAN_CUDA_SORT_LOCAL_TILE_CUH
#define SCAN_CUDA_SORT_LOCAL_TILE_CUH

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
        if (!__syncthreads_and(same) && thread == 0)
            note_large(job, at);
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

} /* namespace scan_cuda */

#endif
