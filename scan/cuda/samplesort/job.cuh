/* SPDX-License-Identifier: MIT
 *
 * Sample sort: what its kernels share. They hand each other lists in the workspace; the host launches all that could
 * be needed and reads nothing back.
 *
 *     region   keys that are too many for a CTA's shared memory, neighbours in a buffer: at first all of them
 *     child    a bucket of a region: the keys between two of its splitters
 *     unit     a stretch of a region that a CTA counts and moves
 *     bucket   keys that have been split finely enough, for the local stage
 *
 *     level 0    in ──────> first      one region, units of it, children
 *     level 1    first ───> out        the children that are too large are regions now
 *     level 2    out ─────> first      ... where keys do not follow the sample, or are very many
 *     local      buckets of whichever buffer ──> out, at the same place
 *
 * A child's keys lie within its region's place, so every key below a level has its final bucket's place, whatever the
 * buffer. A child that one code alone belongs to is pure, and sorted.
 */
#ifndef SCAN_CUDA_SAMPLESORT_JOB_CUH
#define SCAN_CUDA_SAMPLESORT_JOB_CUH

#include <type_traits>

#include "../sort/job.cuh"

namespace scan_cuda {
namespace samplesort {

constexpr int threads = samplesort_threads, warps = threads / 32;
constexpr uint32_t most_children = samplesort_children; /* of a region; a digit of 8 bits numbers them */
constexpr uint32_t most_levels = 4;
static_assert(most_children <= radix && threads % 128 == 0, "children are ranked as digits are");

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* A tile of a unit and a bucket of the local stage have so many rows of a key for each thread. */
template <class K, int value_bytes> constexpr bool is_wide = sizeof(K) == 8 || value_bytes == 8;
constexpr int tile_rows_of(bool wide) { return wide ? 8 : 16; }
template <class K, int value_bytes> constexpr int tile_rows = tile_rows_of(is_wide<K, value_bytes>);
__host__ __device__ constexpr int local_rows_of(bool wide, bool roomy) { return (roomy ? 16 : 10) / (wide ? 2 : 1); }

#ifdef __CUDA_ARCH__
template <int value_bytes> constexpr bool has_room = samplesort_is_roomy(__CUDA_ARCH__ / 10, value_bytes);
#else
template <int value_bytes> constexpr bool has_room = samplesort_is_roomy(0, value_bytes); /* in the emulator */
#endif

/* ---- lists ------------------------------------------------------------------------------------------------------- */

struct region {
    uint64_t begin, size;
    uint64_t first_word;            /* of counts: units x children */
    uint64_t low;                   /* the first splitter's code, where the cells begin */
    uint32_t first_child, children; /* in the tables; at least 2 */
    uint32_t first_unit, units;
    uint32_t shift, cells; /* cell = (code - low) >> shift */
};

struct unit {
    uint32_t region, part;
};

struct bucket {
    uint64_t begin, size;
    uint32_t level;  /* how many levels its keys have passed: they are in that one's target */
    uint32_t sorted; /* a copy is enough; of 4 bytes, so that no byte of a bucket is undefined */
};

struct level_counts {
    unsigned long long words;
    uint32_t regions, units, children;
};

/* A phase whose tasks CTAs take one by one, see kernel.cuh. */
struct phase_counts {
    uint32_t taken, done; /* tasks */
};

/* Zero before each sort: by the host, or, before a planned one, by the survey. */
struct list_counts {
    level_counts level[most_levels + 1];
    phase_counts splitters[most_levels], places[most_levels];
    unsigned long long totals[most_children]; /* keys of the children of level 0 */
    uint32_t buckets;
    /* set before level 0 */
    const void *keys, *values; /* its source; values NULL: 0, 1, 2, ... */
    bool from_out, to_out;     /* whether that is `out`, and its target: as a rule the first buffer */
};

/* A count of the keys of a child in a unit; then where the first of them goes, with a bit that says into `out`. */
constexpr unsigned long long word_flag = 1ull << 63;

struct job {
    sort_job sort;
    uint32_t levels;        /* 0: all keys are one bucket */
    uint32_t most, target;  /* keys of a bucket, at most, and those that splitters are chosen for */
    uint64_t unit_keys;     /* of a unit: a multiple of a tile */
    bool in_place, planned; /* planned: the plan says whether anything is to be done, and where the keys are */
    list_counts *counts;
    region *regions[2]; /* of even levels, of odd ones */
    unit *units;
    void *splitters; /* of all children of a level: codes */
    uint8_t *cells;  /* 2 * cells_each for a child */
    unsigned long long *words;
    bucket *buckets;
};

constexpr uint32_t samples_each = 16, cells_each = 16; /* for a child */
constexpr uint32_t most_samples = samples_each * most_children, most_cells = cells_each * most_children;

/* ---- keys and buffers -------------------------------------------------------------------------------------------- */

/* K: the key's bits. That floats are floats is known at run time, the same for all keys. */
template <class K> __device__ K code_of(K key, const sort_job &job) {
    using F = std::conditional_t<sizeof(K) == 8, double, float>;
    return job.is_float ? sort_code<F>(key, job.order) : sort_code<K>(key, job.order);
}

template <int value_bytes> using value_type = std::conditional_t<value_bytes == 8, uint64_t, uint32_t>;

/* Whether keys that have passed so many levels, one at least, are in `out`, not in the first buffer. */
__device__ inline bool is_in_out(const job &j, uint32_t level) { return (level + j.counts->to_out) % 2 == 0; }

/* Where keys and values are that have passed so many levels. An argsort's keys may have no second buffer: then only
 * indices move from the second level on, and keys are read through them. */
template <class K, int value_bytes> struct source {
    using V = value_type<value_bytes>;
    const K *keys;
    const V *values; /* NULL: 0, 1, 2, ... */
    const bool indirect;

    __device__ source(const job &j, uint32_t level)
        : keys(static_cast<const K *>(keys_at(j, level))),
          values(static_cast<const V *>(level == 0            ? (j.levels ? j.counts->values : j.sort.values_in)
                                        : is_in_out(j, level) ? j.sort.values_out
                                                              : j.sort.values_first)),
          indirect(level > 1 && !j.sort.keys_out && !j.sort.keys_second) {}

    __device__ bool through() const { return value_bytes > 0 && indirect; } /* keys[values[i]] */
    __device__ K key(uint64_t i) const { return keys[through() ? uint64_t(values[i]) : i]; }
    __device__ V value(uint64_t i) const { return values ? values[i] : V(i); }

    /* Of the `count` elements from `begin` on, those at place, place + stride, ...; 0 where there are no more. */
    template <int stride, int rows>
    __device__ void load_keys(K (&key)[rows], uint64_t begin, uint32_t place, uint32_t count) const {
        const K *at = keys + begin + place; /* one address for all rows, as a rule */
        if (through())
#pragma unroll
            for (int r = 0; r < rows; r++)
                key[r] = place + r * stride < count ? this->key(begin + place + r * stride) : K(0);
        else
#pragma unroll
            for (int r = 0; r < rows; r++)
                key[r] = place + r * stride < count ? at[r * stride] : K(0);
    }
    template <int stride, int rows>
    __device__ void load_values(V (&value)[rows], uint64_t begin, uint32_t place, uint32_t count) const {
        if (values) {
            const V *at = values + begin + place;
#pragma unroll
            for (int r = 0; r < rows; r++)
                value[r] = place + r * stride < count ? at[r * stride] : V(0);
        } else {
#pragma unroll
            for (int r = 0; r < rows; r++)
                value[r] = V(begin + place + r * stride);
        }
    }

  private:
    static __device__ const void *keys_at(const job &j, uint32_t level) {
        if (level == 0)
            return j.levels ? j.counts->keys : j.sort.keys_in;
        const void *even = j.sort.keys_out ? j.sort.keys_out : j.sort.keys_second;
        if (level > 1 && !even)
            return j.sort.keys_in;
        return is_in_out(j, level) ? even : j.sort.keys_first;
    }
};

template <class K, int value_bytes> struct target {
    using V = value_type<value_bytes>;
    K *keys; /* NULL: keys stay behind */
    V *values;

    /* Of those that have passed so many levels, one at least. */
    __device__ target(const job &j, uint32_t level)
        : keys(static_cast<K *>(keys_at(j.sort, level, is_in_out(j, level)))),
          values(static_cast<V *>(is_in_out(j, level) ? j.sort.values_out : j.sort.values_first)) {}
    /* `out`. */
    __device__ explicit target(const sort_job &job)
        : keys(static_cast<K *>(job.keys_out)), values(static_cast<V *>(job.values_out)) {}

  private:
    static __device__ void *keys_at(const sort_job &job, uint32_t level, bool in_out) {
        void *even = job.keys_out ? job.keys_out : job.keys_second;
        return in_out ? even : level == 1 || even ? job.keys_first : nullptr;
    }
};

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
