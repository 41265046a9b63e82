/* SPDX-License-Identifier: MIT
 *
 * What every kernel of the radix sort is told: the job, which the host knows, and the plan, which the second kernel
 * makes on the device (plan.cuh), of a sort by one digit its pass (plan_passes.cuh), and the others follow. The
 * host launches all that could be needed and reads nothing back.
 */
#ifndef SCAN_CUDA_SORT_JOB_CUH
#define SCAN_CUDA_SORT_JOB_CUH

#include "../device/order.cuh"
#include "../device/tickets.cuh"
#include "../thresholds.h"
#include "key_bits.cuh"

namespace scan_cuda {

constexpr int digit_bits = 8;
constexpr int radix = 1 << digit_bits;
constexpr int max_digits = 8;
constexpr int counted_rows = max_digits + 2; /* of counts: digits of codes, then those of the even code */
constexpr uint32_t packed_passes = 4;        /* digits of a packed code, see pack.cuh */
constexpr uint32_t upper_passes = max_digits + packed_passes; /* where those over upper words are in sort_plan.pass */
constexpr int max_rows = counted_rows + packed_passes; /* and then those of codes by intervals, see intervals.cuh */
constexpr uint32_t sample_size = 2048;                 /* keys, see sample.cuh */
constexpr uint32_t larger_part = 1u << 12, larger_parts = 4; /* see larger_sample.cuh */
constexpr uint32_t wide_sample_size = 1u << 14;              /* see intervals.cuh */
constexpr uint32_t max_large_notes = 2 * sample_size;        /* see large.cuh */

/* Where a pass reads and writes. The plan names buffers, and the job has their addresses: the compiler then knows them
 * for global memory. */
enum sort_buffer { BUFFER_NONE, BUFFER_IN, BUFFER_OUT, BUFFER_FIRST, BUFFER_SECOND };

/* Which bits of 8-byte keys a pass of an argsort writes for the next one, which reads the same: later passes need
 * neither the digits that keys have been sorted by nor the bits below them. The upper 48 bits are an array of 32 bits
 * each and, from lower_16_at() bytes on, one of 16. */
enum key_part { WHOLE_KEYS, UPPER_48, UPPER_32 };

struct sort_pass {
    sort_buffer keys_from, keys_to;     /* to NONE: the last pass of an argsort needs no keys */
    sort_buffer values_from, values_to; /* from NONE: the values are 0, 1, 2, ... */
    sort_order order;
    uint32_t shift, digit_mask;  /* digit = code, or even code, >> shift & digit_mask */
    uint32_t row;                /* of sort_plan.before */
    bool any_order;              /* keys with the same digit may change places: what follows tells them apart */
    bool coded;                  /* floats as codes in registers: none shares its code, or it is an argsort */
    bool codes_from, codes_to;   /* what this pass reads, and writes, is so too */
    key_part part_from, part_to; /* of keys of 8 bytes; the upper 32 bits are read as keys of 4 */
};

/* ---- keys that are counted, see fill.cuh ------------------------------------------------------------------------- */

constexpr uint32_t fill_group = 256; /* codes */

/* Of each code and then of each group there is a count. */
__host__ __device__ constexpr uint32_t fill_groups(uint32_t codes) { return (codes + fill_group - 1) / fill_group; }
__host__ __device__ constexpr size_t fill_counts_bytes(uint32_t codes) {
    return (codes + fill_groups(codes)) * sizeof(unsigned long long);
}

constexpr uint32_t narrow_most_bits = narrow_counted_bits + digit_bits;

/* Keys are code << shift ^ rest. */
struct sort_narrow {
    uint32_t codes; /* a power of two; 0: keys are not counted */
    uint32_t shift; /* of the lowest digit that varies */
    uint64_t rest;  /* a key with the code 0 */
};

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

/* Of a part of a larger sample. */
struct larger_counts {
    uint32_t once, twice; /* values that it has once, and twice */
};

enum sort_finish { FINISH_NOTHING, FINISH_COPY, FINISH_VALUES, FINISH_REVERSE };

/* In the scratch part of the workspace. All that precedes the array `before` is zeroed first (survey_start.cuh). */
struct sort_plan {
    /* rows: the codes' digits, after them those of the even code, if there is one, and of codes by intervals */
    unsigned long long counts[max_rows][radix];
    uint32_t falls;          /* some key is less than the one before it: not sorted */
    uint32_t rises;          /* some key is greater than the one before it, or equal where that matters: not reversed */
    uint32_t done;           /* CTAs of the survey that have finished */
    uint32_t again;          /* the first passes are not enough: a bucket or a run is too long, or there are none. All
                              * digits take a pass then, or there is a sample sort */
    uint32_t odd;            /* some float shares its code with others */
    uint32_t repeats;        /* keys of the sample that are equal to the one before them in the input */
    uint32_t large_notes;    /* of the local stage, or of the kernel that sorts runs, for large.cuh */
    uint32_t crowded;        /* tiles of the local stage that bins did not sort */
    uint32_t intervals_done; /* CTAs that have made codes by intervals */
    uint32_t tiles_done[2 * max_digits]; /* of the passes, where a launch does several */
    bool counts_missing; /* of the codes' digits: if `again`, a second survey makes the rest of the plan */

    uint32_t passes, passes_again;    /* 0: none in that part; the second are run if `again` */
    uint32_t passes_upper;            /* after the second ones: over the upper words of a packed argsort's keys */
    sort_finish finish, finish_again; /* after the passes */
    sort_narrow narrow;               /* after them, instead of a local stage */
    uint32_t local_shift; /* 0: no local stage, no runs by top digits (pack.cuh); else codes are in order but for the
                           * bits below */
    bool intervals;       /* the codes of the first passes are made by intervals, see intervals.cuh */
    uint32_t local_stride, local_reach;   /* of the local stage, see sort_local */
    even_code even;                       /* by which the keys are in order then, instead of codes */
    sort_buffer local_keys, local_values; /* its input */
    bool ties;                            /* keys of equal order can be told apart, or carry values */
    /* In order; those of `again` from max_digits on, those over upper words from upper_passes on. */
    sort_pass pass[2 * max_digits];
    alignas(16) uint64_t before[max_rows][radix]; /* keys whose digit is less */
    uint64_t carry[2][radix]; /* the same with the keys of earlier portions added, see pass_tiles.cuh */
    larger_counts larger[larger_parts];
    uint64_t splitters[sample_size];        /* where intervals begin, but the first; the last one is not used */
    uint64_t wide_sample[wide_sample_size]; /* codes, of many keys */
    union {
        uint64_t sample[2][sample_size];    /* codes, and even codes if there are such: by sample_codes */
        uint64_t large_at[max_large_notes]; /* when the plan has been made: positions in buckets that are too large */
    };
};

enum sample_codes { SAMPLE_CODES, SAMPLE_EVEN_CODES };

/* How the local stage is launched, see local.cuh. */
struct sort_local {
    uint32_t stride; /* positions from tile to tile; 0: no local stage */
    uint32_t reach;  /* keys in a bucket, at most */
    uint32_t cost;   /* passes that it has to save */
    bool labels;     /* tiles may be of labels, see local_bins.cuh */
};

/* What a CTA of so many threads has beside the keys: words of two bins, one that says where the last bin ends, and
 * spare places behind the keys. The words are also the warps' counters where a tile is sorted digit by digit. */
constexpr int local_spare = 32;
__host__ __device__ constexpr uint32_t local_words(uint32_t threads) { return 16 * threads; }
__host__ __device__ constexpr uint32_t local_counter_bytes(uint32_t threads) {
    return (local_words(threads) + 4) * sizeof(uint32_t);
}

struct sort_job {
    const void *keys_in;
    void *keys_out;        /* NULL: argsort */
    const void *values_in; /* NULL: argsort */
    void *values_out;
    void *keys_first, *keys_second; /* scratch: n keys, or packed codes, each; the second for argsort only, of a packed
                                     * one by more than four digits 6 bytes a key, see key_part */
    void *values_first;             /* scratch: n values */
    unsigned long long *narrow_counts; /* scratch: as fill.cuh has them; the survey zeroes them */
    uint32_t narrow_codes;             /* at most; 0: narrow keys are not counted */
    uint32_t lists_zeroed;             /* bytes of `lists` that the survey zeroes: if `sampled` */
    void *lists; /* scratch: the sample sort's; may reach into keys_second, see choose_sampled() */
    uint64_t n;
    const uint64_t *n_device; /* NULL: n itself */
    sort_order order;
    uint32_t bits; /* how many decide */
    uint32_t key_bytes, value_bytes;
    bool is_float;
    bool ties;          /* keys of equal order can be told apart, or carry values; of floats alone the survey says */
    sort_local local;   /* after passes over the top digits */
    bool again_follows; /* so a bucket may be too large: several top digits may be tried */
    uint32_t max_notes; /* up to so many notes, clusters sort the buckets and runs that are noted (large.cuh); of more,
                         * or if this is 0, all digits take passes */
    bool sampled;       /* a sample sort may follow: if `again`, and no passes do */
    uint32_t finishing; /* the launch of passes that end before this one does what is left after them; 0: none does */
    uint32_t plan_ctas; /* of the plan's launch: 1, or 2 if one finds the gaps of a sample (gaps.cuh); 0: one digit
                         * decides, and the launch of its pass makes the plan (plan_passes.cuh) */
    bool wide_survey;   /* the survey is that of many keys, and may take a larger sample (larger_sample.cuh) */
    bool packed;        /* argsort of 8-byte keys: by 4-byte codes made of the digits that vary, see pack.cuh */
    sort_plan *plan;
    scan_state state;
};

/* Whether keys, or values, are written where they are read. */
__host__ __device__ inline bool is_in_place(const sort_job &job) {
    return job.keys_in == job.keys_out || (job.value_bytes && job.values_in == job.values_out);
}

/* How far a large bucket may reach from a note. */
__device__ inline uint64_t large_reach(uint64_t n) { return min(n / large_share, large_most); }

/* Notes a position in a large bucket (large.cuh). By one thread. */
__device__ inline void note_large(const sort_job &job, uint64_t at) {
    const uint32_t note = job.max_notes ? atomicAdd(&job.plan->large_notes, 1u) : 0;
    if (note < job.max_notes)
        job.plan->large_at[note] = at;
    else
        atomicOr(&job.plan->again, 1u);
}

/* Which pass is the first that the plan does not need, in the part of plan->pass where `which` is. */
__device__ inline uint32_t pass_end(const sort_plan *plan, uint32_t which) {
    if (which < max_digits)
        return plan->passes;
    if (!plan->again)
        return 0;
    return which >= upper_passes && plan->passes_upper ? upper_passes + plan->passes_upper
                                                       : max_digits + plan->passes_again;
}

__device__ inline uint64_t sort_count(const sort_job &job) {
    return job.n_device && *job.n_device < job.n ? *job.n_device : job.n;
}

/* ---- elements of any size, where a kernel is not worth an instance for each -------------------------------------- */

__device__ inline uint64_t load_bits(const void *array, uint64_t i, uint32_t bytes) {
    switch (bytes) {
    case 1: return static_cast<const uint8_t *>(array)[i];
    case 2: return static_cast<const uint16_t *>(array)[i];
    case 4: return static_cast<const uint32_t *>(array)[i];
    default: return static_cast<const uint64_t *>(array)[i];
    }
}

__device__ inline void store_bits(void *array, uint64_t i, uint64_t x, uint32_t bytes) {
    switch (bytes) {
    case 1: static_cast<uint8_t *>(array)[i] = uint8_t(x); break;
    case 2: static_cast<uint16_t *>(array)[i] = uint16_t(x); break;
    case 4: static_cast<uint32_t *>(array)[i] = uint32_t(x); break;
    default: static_cast<uint64_t *>(array)[i] = x;
    }
}

/* The code of any key. Integers narrower than 8 bytes are masked to their width. */
__device__ inline uint64_t code_of_bits(const sort_job &job, uint64_t bits) {
    if (!job.is_float)
        return sort_code<uint64_t>(bits, job.order);
    if (job.key_bytes == 4)
        return sort_code<float>(uint32_t(bits), job.order);
    return sort_code<double>(bits, job.order);
}

/* How many bits x has from its highest 1 down. */
template <class K> __device__ uint32_t bits_of(K x) {
    return sizeof(K) == 8 ? 64 - uint32_t(__clzll((long long)(x))) : 32 - uint32_t(__clz(int(x)));
}

/* Of n keys of which the upper 48 bits are in an array: where the lower 16 of those are, in bytes. */
__host__ __device__ constexpr size_t lower_16_at(uint64_t n) { return (n + 3) / 4 * 16; }

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

__device__ inline const void *keys_source(const sort_job &job, sort_buffer b) {
    return b == BUFFER_IN      ? job.keys_in
           : b == BUFFER_OUT   ? job.keys_out
           : b == BUFFER_FIRST ? job.keys_first
                               : job.keys_second;
}
__device__ inline void *keys_target(const sort_job &job, sort_buffer b) {
    return b == BUFFER_OUT ? job.keys_out : b == BUFFER_FIRST ? job.keys_first : job.keys_second;
}
__device__ inline const void *values_source(const sort_job &job, sort_buffer b) {
    return b == BUFFER_IN ? job.values_in : b == BUFFER_OUT ? job.values_out : job.values_first;
}
__device__ inline void *values_target(const sort_job &job, sort_buffer b) {
    return b == BUFFER_OUT ? job.values_out : job.values_first;
}

} /* namespace scan_cuda */

#endif
