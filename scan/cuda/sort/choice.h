/* SPDX-License-Identifier: MIT
 *
 * How a sort is done, as the host decides it from the description, n and the GPU alone (choice.cu), and what that needs
 * of the workspace. sort.cu launches what was chosen.
 */
#ifndef SCAN_CUDA_SORT_CHOICE_H
#define SCAN_CUDA_SORT_CHOICE_H

#include "../cuda.h"
#include "job.cuh"
#include "kernels.h"

namespace scan_cuda {

extern const sort_kernels *const sort_kernels_of_type[SCAN_TYPE_COUNT + 1];

/* Those that need no workspace come first. */
enum sort_path { PATH_SMALL, PATH_CLUSTER, PATH_FILL, PATH_RADIX, PATH_SPLIT, PATH_SAMPLE };

struct sort_choice {
    sort_path path;
    const sort_kernels *kernels; /* of the keys' type */
    const sort_pass_kernel *pass;
    const sort_pass_kernel *whole_pass; /* over whole keys, of a packed argsort by more than four digits, or NULL */
    uint32_t whole_digits;              /* of that many digits: those that begin in the lower word */
    const sort_local_kernel *local_kernel;
    sort_local local;
    int local_threads;
    uint32_t local_ctas; /* of an SM */
    size_t local_shared_bytes;
    bool cooperative; /* PATH_RADIX: where one cooperative launch of all SMs cannot be had */
    bool packed, ties, again_follows, sampled;
    uint64_t n;
    uint32_t bits, digits, value_bytes;
    uint32_t narrow_codes;
    /* Scratch, in this order; lists may reach into the second buffer. */
    size_t counts_bytes, plan_bytes, lists_bytes, second_bytes, first_bytes, values_bytes;
    size_t sections_bytes; /* split: ones before a section */
    size_t state_bytes;

    size_t scratch_bytes() const {
        return counts_bytes + plan_bytes + lists_bytes + second_bytes + first_bytes + values_bytes + sections_bytes;
    }
};

sort_choice choose_sort(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, bool argsort, bool in_place);

/* Of workspace. */
size_t choice_bytes(const sort_choice &c);

/* Of dynamic shared memory there is so much for each of so many CTAs of an SM. */
size_t sort_dynamic_room(const scan_ctx *ctx, size_t ctas = 1);

const sort_pass_cut &cut_of(const scan_ctx *ctx, const sort_pass_kernel &pass);

/* Whether there is such a kernel, it has code for the GPU, and the GPU has its shared memory. */
bool can_run(const scan_ctx *ctx, const sort_pass_kernel &pass, pass_size size);

} /* namespace scan_cuda */

#endif
