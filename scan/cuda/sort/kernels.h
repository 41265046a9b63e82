/* SPDX-License-Identifier: MIT
 *
 * The kernels of the radix sort, as the host launches them: sort.cu knows no types. Most exist once a kind of key and a
 * size of value; the keys are unsigned integers of four sizes (signed ones are unsigned with a bit flipped) and floats
 * of two.
 */
#ifndef SCAN_CUDA_SORT_KERNELS_H
#define SCAN_CUDA_SORT_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace scan_cuda {

/* The survey, and the kernel that makes a plan from it: one CTA, or two (sort_job.plan_ctas). */
struct sort_survey_kernel {
    const void *kernel, *plan_kernel;
    int threads, ctas; /* of an SM */
    int shared_bytes;
    uint64_t tile; /* elements of a CTA, at a time, at least */
};

struct sort_pass_cut {
    int shared_bytes, all_shared_bytes; /* dynamic ones; with static ones */
    uint64_t tile, portion;             /* elements */
    size_t state_bytes;                 /* of a tile */
};

/* Which passes a kernel does: all, those of keys as they are, or those of codes (sort_pass.coded). */
enum pass_kind { PASS_ANY, PASS_OF_KEYS, PASS_OF_CODES };

/* How large a pass's tiles are: small ones are for few keys of 1 and 2 bytes alone, and of 2 and 4 bytes with values
 * of 4 bytes or without, large ones for many keys of 4 and 8 bytes. */
enum pass_size { SMALL_TILES, MEDIUM_TILES, LARGE_TILES };

struct sort_pass_kernel {
    const void *kernel, *several;   /* of one pass; of one or more */
    const void *of_keys, *of_codes; /* of one pass of that kind, where they take less time for many keys; or NULL */
    int threads, ctas;              /* of a CTA; of an SM, which are launched */
    sort_pass_cut cut[2];           /* the second where is_roomy() */
};

struct sort_local_kernel {
    const void *kernel;
    int rows, element_bytes; /* of a thread; of a place in shared memory */
};

/* CTAs of the kernel that sorts runs, of an SM. */
constexpr int runs_ctas = 5;

struct sort_kernels {
    sort_survey_kernel survey[2];             /* the second is for many keys */
    sort_pass_kernel pass[3][3];              /* by pass_size and value bytes / 4; kernel NULL: there is none */
    sort_local_kernel local[3];               /* likewise; keys of 4 and 8 bytes only */
    const void *pack, *interval_codes, *runs; /* 8-byte keys only */
    const void *narrow_count, *narrow_fill;   /* integers of 4 and 8 bytes only */
};

/* X(name, key): the kinds of key */
#define SCAN_CUDA_SORT_INTEGERS(X) X(u8, uint8_t) X(u16, uint16_t) X(u32, uint32_t) X(u64, uint64_t)
#define SCAN_CUDA_SORT_FLOATS(X) X(f32, float) X(f64, double)

#define SCAN_CUDA_DECLARE(name, Key) extern const sort_kernels sort_##name;
SCAN_CUDA_SORT_INTEGERS(SCAN_CUDA_DECLARE)
SCAN_CUDA_SORT_FLOATS(SCAN_CUDA_DECLARE)
#undef SCAN_CUDA_DECLARE

/* The kernels that exist once. */
struct sort_common_kernels {
    const void *finish;
    int finish_threads;
    const void *large;
    int large_threads;
    const void *intervals;
    size_t intervals_static_bytes; /* of shared memory */
    int pack_threads, intervals_threads, interval_codes_threads, local_threads;

    struct {
        const void *kernel;
        uint32_t codes;
    } fill[2]; /* keys of 1 and 2 bytes */
    const void *fill_totals;
    int fill_threads, narrow_threads;
};
extern const sort_common_kernels sort_common;

} /* namespace scan_cuda */

#endif
