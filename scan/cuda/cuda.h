/* SPDX-License-Identifier: MIT
 *
 * What the CUDA verbs share on the host: the state of a context, errors, the workspace's two parts.
 *
 * The folders, in the order in which a call passes through them:
 *
 *   backend.cu      the table of the backend (scan/internal.h): launches, memory, errors
 *   context.cu      contexts: a device opened, made current, closed
 *   thresholds.h    where one way of doing a thing gives way to another
 *   prefix/         the prefix verb: operators and types, the choice of kernels, launches, and pieces of a long array
 *   select/         compaction and unique: one engine for every kind of selection
 *   sort/           radix sort and argsort
 *   cooperative/    the same of up to a million keys, by all SMs in one cooperative launch
 *   samplesort/     the same by a sample of the keys, for any distribution
 *   merge/          two sorted arrays into one
 *   image/          histograms, equalization, CLAHE
 *   grid/           how a prefix scan of a whole array is spread over CTAs, a file each
 *   block/          how a CTA scans a section, a file each
 *   device/         what kernels are made of, and no verb: elements and operators, vectors, the order of operations,
 *                   tiles, tickets, the ring, PTX
 *
 * Each verb has a host file named after it, which plans and launches, and kernels.h or the like, a table of kernels as
 * untyped values. Files of device/ include those of device/ alone.
 *
 * Words that are not CUDA's:
 *
 *   row, chunk, tile, group    units of the order of operations in scan.h: 32 vectors of 16 bytes, 8 rows, 8 chunks, 32
 *                              tiles (device/order.cuh)
 *   operand      an element as an operator folds it: extended to the accumulator, for some operators recoded
 *                (device/element.cuh)
 *   ticket       the number of a tile, drawn by the CTA that will process it (device/tickets.cuh)
 *   epoch        the number of a launch on one state; words of other epochs are stale (device/tickets.cuh)
 *   state        the tickets and the tagged words by which the CTAs of a launch and successive launches agree
 *   ring         the slots of shared memory through which a persistent CTA's tiles pass (device/ring.cuh)
 *   wave         the grid of persistent, warp-specialized CTAs that reduce tiles ahead of scanning them
 *                (grid/wave.cuh); never CUDA's wave of CTAs
 *   piece, carry a part of a long array that is scanned by calls in succession, and what one call leaves for the next
 *                (prefix/carry.cuh)
 *   teaching grids    hierarchical and host sums: the textbook's scans, in three kernels
 */
#ifndef SCAN_CUDA_CUDA_H
#define SCAN_CUDA_CUDA_H

#include <cuda.h>
#include <cuda_runtime_api.h>

extern "C" {
#include "../internal.h"
}

namespace scan_cuda {

/* Functions of the driver. cudaSetDevice cannot make a device current for a scope: to give the caller's device back it
 * would make a context there, if there is none. The last two are asked by every call: they need no current context and
 * take less time than the runtime's. */
struct driver_functions {
    CUresult (*device)(CUdevice *, int ordinal);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*release)(CUdevice);
    CUresult (*current)(CUcontext *);
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext *);
    CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus *);
    CUresult (*pointer_attributes)(unsigned count, CUpointer_attribute *, void **data, CUdeviceptr);
};

/* The driver's errors have the numbers of the runtime's. */
inline cudaError_t runtime_error(CUresult result) { return cudaError_t(result); }

struct context_state {
    int device;
    driver_functions driver;
    CUcontext primary; /* the device's primary context, which the runtime works in */
    cudaStream_t stream;
    bool owns_stream, lost, loaded;
    bool hung;                 /* lost, and calls that wait for the device would not return */
    uint64_t timeout_ns;       /* SCAN_DEVICE_TIMEOUT; 0: none */
    bool plain_start;          /* scan_options.plain_start */
    bool launched;             /* by the call that runs */
    bool reads_pageable;       /* the GPU reads ordinary host memory */
    int sm_count, capability;  /* SMs; 90 for 9.0, of the kernels if that is less than the GPU's */
    int cluster;               /* CTAs that a cluster of a prefix scan may have */
    int image_cluster;         /* CTAs that equalize a small image */
    int sort_small_cluster;    /* CTAs that sort in place by counting */
    int sort_large_cluster;    /* CTAs that sort a large bucket */
    int sort_cooperative_ctas; /* CTAs of a cooperative sort; 0: none */
    int count_ctas[4];         /* CTAs of the counting kernel that an SM runs at once, by channels - 1 */
    int count_cluster;         /* CTAs that add up their counts of 65,536 levels, 1 or 2 */
    int map_ctas[2][4];        /* of the mapping kernel, for bytes and for words */
    size_t shared_bytes;       /* that a CTA can have */
    char name[256];
    char ran[64];
    struct {
        int ctas;
        uint32_t chunk; /* elements a CTA; 0: no clusters */
    } sort_cluster[2];  /* for codes of 4 bytes, of 8 */
};

inline context_state *state_of(const scan_ctx *ctx) { return static_cast<context_state *>(ctx->state); }

/* Whether a wave kernel for GPUs of a compute capability and later runs on the GPU: there are some with less shared
 * memory than a CTA of it takes. */
inline bool runs_wave(const context_state *s, int capability, size_t shared_bytes) {
    return s->capability >= capability && s->shared_bytes >= shared_bytes;
}

/* Returns SCAN_OK, or the status of a failed CUDA call, with its detail; notes when the device is lost. */
scan_status check(scan_ctx *ctx, cudaError_t error, const char *call);

/* Waits for the context's stream: as long as it takes, or for SCAN_DEVICE_TIMEOUT, after which the device is lost. */
scan_status wait_for_stream(scan_ctx *ctx);

scan_status upload(scan_ctx *ctx, void *to, const void *from, size_t bytes);
scan_status download(scan_ctx *ctx, void *to, const void *from, size_t bytes);

#define SCAN_CUDA_TRY(ctx, call) SCAN_TRY(scan_cuda::check(ctx, call, #call))

/* n / size, rounded up. */
template <class N, class Size> constexpr N ceil_div(N n, Size size) { return n / N(size) + (n % N(size) != 0); }

/* Parts of the workspace begin at multiples of 256 bytes. */
constexpr size_t workspace_alignment = 256;
constexpr size_t align_up(size_t bytes) { return ceil_div(bytes, workspace_alignment) * workspace_alignment; }

/* kernel: as address() of device/kernel.cuh returns it. arguments: a pointer to each, of exactly the parameter's type.
 */
scan_status launch(scan_ctx *ctx, const void *kernel, uint64_t blocks, int threads, void **arguments,
                   size_t shared_bytes);

/* launch() with programmatic dependent launch: the kernel starts on the SMs while the launch before it ends, which
 * saves most of a microsecond on an H200, or beside it (grid_dependents_launch() of device/ptx.cuh). Every thread of
 * the kernel must call grid_dependency_wait() of that file, as is said there. In clusters of `cluster` CTAs. */
scan_status launch_pdl(scan_ctx *ctx, const void *kernel, uint64_t blocks, int threads, void **arguments,
                       size_t shared_bytes, int cluster = 1);

/* launch() in clusters of `cluster` CTAs each. */
scan_status launch_clusters(scan_ctx *ctx, const void *kernel, int cluster, int ctas, int threads, void **arguments,
                            size_t shared_bytes);
/* launch() as one cluster. */
inline scan_status launch_cluster(scan_ctx *ctx, const void *kernel, int ctas, int threads, void **arguments,
                                  size_t shared_bytes) {
    return launch_clusters(ctx, kernel, ctas, ctas, threads, arguments, shared_bytes);
}

/* Returns the largest number of CTAs, a power of two up to max_ctas, that the device runs as one cluster of this
 * kernel; 1: it runs no clusters. More than 8 need the attribute NonPortableClusterSizeAllowed. */
int max_cluster_size(const scan_ctx *ctx, const void *kernel, int max_ctas, int threads, size_t shared_bytes);

/* Makes the context's device current for a scope, and then what was current before. error: it could not. */
class device_scope {
    const context_state *entered = nullptr;

  public:
    cudaError_t error;
    explicit device_scope(const context_state *s);
    ~device_scope();
};

/* Lets this thread allocate, copy and load code for a scope although another thread captures a stream in global mode.
 */
class relaxed_capture {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

  public:
    relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode); }
    ~relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode); }
};

/* True if the context's stream is being captured. */
bool capturing(const scan_ctx *ctx);

scan_status open(scan_ctx *ctx, const scan_options *options);
void close(scan_ctx *ctx);
scan_status load(scan_ctx *ctx); /* all kernels, once a context */

/* The workspace has two parts. The first sixteenth holds words that scans tag with an epoch: it is zeroed when the
 * workspace is new and never used for anything else, so a stale word is never taken for a fresh one. The rest is
 * scratch. */
constexpr size_t state_share = 16;
inline size_t workspace_bytes(size_t state_bytes, size_t scratch_bytes) {
    const size_t state = state_bytes * state_share;
    const size_t scratch = scratch_bytes / (state_share - 1) * state_share + state_share * workspace_alignment;
    const size_t bytes = state > scratch || !scratch_bytes ? state : scratch;
    return ceil_div(bytes, state_share * workspace_alignment) * state_share * workspace_alignment;
}
scan_status take_workspace(scan_ctx *ctx, size_t state_bytes, size_t scratch_bytes, char **state, char **scratch);

/* Loads a kernel, if it is not NULL. CUDA does so at the first launch otherwise: that takes memory of the device, may
 * wait for it, and may come in the middle of a capture. */
scan_status load_kernel(scan_ctx *ctx, const void *kernel);

scan_status prefix_open(scan_ctx *ctx); /* sets the attributes of the kernels, once a context */
scan_status prefix_load(scan_ctx *ctx); /* loads the kernels */
scan_status prefix(scan_ctx *, const scan_prefix_desc *, const void *in, void *out, size_t n);
size_t prefix_workspace(const scan_ctx *, const scan_prefix_desc *, size_t n);
scan_status histogram_open(scan_ctx *ctx);
scan_status histogram_load(scan_ctx *ctx);
scan_status histogram(scan_ctx *, const scan_histogram_desc *, const void *in, uint64_t *bins, size_t n);
size_t histogram_workspace(const scan_ctx *, const scan_histogram_desc *, size_t n);
scan_status equalize_open(scan_ctx *ctx);
scan_status equalize_load(scan_ctx *ctx);
scan_status equalize(scan_ctx *, const scan_equalize_desc *, const void *in, void *out, void *luts, size_t n);
size_t equalize_workspace(const scan_ctx *, const scan_equalize_desc *, size_t n);
scan_status clahe_open(scan_ctx *ctx);
scan_status clahe_load(scan_ctx *ctx);
scan_status clahe(scan_ctx *, const scan_equalize_desc *, const void *in, void *out, size_t width, size_t height);
size_t clahe_workspace(const scan_ctx *, const scan_equalize_desc *, size_t width, size_t height);

scan_status select_open(scan_ctx *ctx); /* as prefix_open */
scan_status select_load(scan_ctx *ctx);
scan_status compact(scan_ctx *, const scan_compact_desc *, const void *in, const scan_compact_out *, size_t n);
size_t compact_workspace(const scan_ctx *, const scan_compact_desc *, size_t n);
scan_status unique(scan_ctx *, const scan_unique_desc *, const void *in, const scan_unique_out *, size_t n);
size_t unique_workspace(const scan_ctx *, const scan_unique_desc *, size_t n);

scan_status merge_load(scan_ctx *ctx);
scan_status merge(scan_ctx *, const scan_merge_desc *, const scan_merge_in *a, const scan_merge_in *b, void *keys_out,
                  void *values_out);
size_t merge_workspace(const scan_ctx *, const scan_merge_desc *, size_t n);

scan_status sort_open(scan_ctx *ctx); /* as prefix_open */
scan_status sort_load(scan_ctx *ctx);
scan_status sort(scan_ctx *, const scan_sort_desc *, const void *keys_in, void *keys_out, const void *values_in,
                 void *values_out, size_t n);
size_t sort_workspace(const scan_ctx *, const scan_sort_desc *, size_t n);
scan_status argsort(scan_ctx *, const scan_sort_desc *, const void *keys, void *indices, size_t n);
size_t argsort_workspace(const scan_ctx *, const scan_sort_desc *, size_t n);

} /* namespace scan_cuda */

#endif
