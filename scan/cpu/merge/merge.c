/* SPDX-License-Identifier: MIT
 *
 * scan_merge on the CPU: which kernel, and the shares of threads.
 */
#include "chains.h"

enum {
    ELEMENTS_PER_US = 500,   /* of one thread, about */
    THREADS_LEAST = 1 << 14, /* elements: fewer are merged by one thread */
    STREAM_BYTES = 8 << 20   /* an output as large as that leaves the caches before it is read */
};

size_t scan_merge_split(const scan_merge_job *job, size_t d) {
    const scan_sort_kind kind = job->kind;
    size_t low = d > job->b.n ? d - job->b.n : 0, high = d < job->a.n ? d : job->a.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint64_t a = scan_sort_load(job->a.keys, middle, kind.key_bytes),
                       b = scan_sort_load(job->b.keys, d - 1 - middle, kind.key_bytes);
        if (scan_sort_code(a, job->order, kind) <= scan_sort_code(b, job->order, kind))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Shares begin at lines of 64 bytes. */
static void merge_task(void *arg, unsigned index, unsigned count) {
    const scan_merge_job *job = arg;
    const size_t n = job->a.n + job->b.n, each = n / count;
    const unsigned bytes = job->kind.key_bytes;
    const size_t first = index ? scan_merge_line(job, index * each, n, bytes) : 0;
    job->kernel(job, first, index + 1 < count ? scan_merge_line(job, (index + 1) * each, n, bytes) : n);
}

static scan_merge_kernel *kernel_of(scan_simd simd, scan_sort_kind kind) {
    const int log2_bytes = __builtin_ctz(kind.key_bytes);
    scan_merge_kernel *kernel = NULL;
#if SCAN_HAS_SIMD
    if (!kind.is_float && !kind.value_bytes && simd != SCAN_SIMD_PORTABLE)
        kernel = (simd == SCAN_SIMD_AVX512 ? scan_merge_avx512 : scan_merge_avx2)[log2_bytes];
#else
    (void)simd;
#endif
    return kernel ? kernel : scan_merge_portable[log2_bytes][kind.is_float][kind.value_bytes / 4];
}

scan_status scan_cpu_merge(scan_ctx *ctx, const scan_merge_desc *desc, const scan_merge_in *a, const scan_merge_in *b,
                           void *keys_out, void *values_out) {
    scan_cpu_state *state = scan_cpu(ctx);
    const scan_sort_desc order = scan_merge_order(desc);
    scan_merge_job job = {.a = *a, .b = *b, .keys_out = keys_out, .values_out = values_out};
    job.order = scan_cpu_sort_order(&order);
    job.a.n = scan_cpu_count(a->n, desc->a_n_device);
    job.b.n = scan_cpu_count(b->n, desc->b_n_device);
    job.kind = (scan_sort_kind){(unsigned)scan_type_size(desc->type), scan_is_float(desc->type), desc->value_bytes};
    job.kernel = kernel_of(state->simd, job.kind);
    const size_t n = job.a.n + job.b.n;
    job.streams = n * job.kind.key_bytes >= STREAM_BYTES;
    scan_cpu_note(ctx, "merge path");
    if (n > 0)
        scan_pool_run(state->pool, n < THREADS_LEAST ? 1 : scan_pool_choose(state->pool, n / ELEMENTS_PER_US),
                      merge_task, &job);
    return SCAN_OK;
}

size_t scan_cpu_merge_workspace(const scan_ctx *ctx, const scan_merge_desc *desc, size_t n) {
    (void)ctx, (void)desc, (void)n;
    return 0;
}
