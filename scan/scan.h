/* SPDX-License-Identifier: MIT
 *
 * scan: parallel prefix scan and what is built on it (stream compaction, radix sort, histogram equalization), with one
 * plain C ABI over two backends: CPU (threads and SIMD picked at run time) and CUDA.
 *
 *     scan_ctx *ctx;
 *     scan_prefix_desc sum = {.struct_size = sizeof sum, .type = SCAN_U32, .out_type = SCAN_U64};
 *     if (scan_ctx_create(&ctx, NULL) == SCAN_OK) {
 *         scan_prefix(ctx, &sum, in, out, n);            // out[i] = in[0] + ... + in[i]
 *         scan_ctx_destroy(ctx);
 *     }
 *
 * Conventions
 *   Memory     "Context memory" is memory that the context's backend can address: any host pointer on the CPU
 *              backend, device memory (scan_malloc, cudaMalloc) on CUDA. Unless an entry says otherwise every array
 *              is in context memory; descriptors, and what they point to as "host", are ordinary host memory, read
 *              before the call returns.
 *   Alignment  A pointer is aligned to its element, no more.
 *   Overlap    in == out is accepted where an entry says so. Every other overlap of an output with an input or with
 *              another output is SCAN_ERR_OVERLAP.
 *   n          counts elements, is a size_t, may exceed 2^32. n == 0 succeeds, and then array pointers may be NULL.
 *   n_device   in a descriptor, if not NULL: a count in context memory, read when the call executes; the call then
 *              works on min(*n_device, n) elements, so that the result of one call can be the size of the next without
 *              a host wait.
 *   Structs    begin with struct_size = sizeof the struct; a field that is zero means its default. Later versions
 *              append fields, so that programs and libraries of different versions work together: fields missing from
 *              a shorter struct are zero; a longer struct is accepted while the part unknown here is zero, else
 *              SCAN_ERR_VERSION (as is a struct shorter than in the first version that had it). In a struct that a
 *              call fills, the part unknown here becomes zero.
 *   Threads    One context per thread or stream. Different contexts are independent; there are no mutable globals. A
 *              context may go from thread to thread, and is in use while a call on it runs: another call returns
 *              SCAN_ERR_BUSY at once, does nothing, and leaves scan_ctx_detail to the call that runs. Calls without a
 *              status (scan_free, scan_free_host, scan_ctx_destroy) wait for it. scan_ctx_info and the *_workspace
 *              functions read what never changes, and serve any thread at any time. Hooks are called inside a call,
 *              and call nothing on its context.
 *   Errors     Nothing here prints, exits or aborts. Errors in arguments return at once and leave outputs untouched.
 *              When a device call fails (DEVICE, DEVICE_LOST) outputs hold anything, and in-place inputs are lost;
 *              what fails after the call has returned (CUDA) is returned by scan_ctx_sync. scan_ctx_detail has the
 *              reason in words.
 *   Order      CPU calls are synchronous. CUDA calls are ordered on the context's stream.
 *   Graphs     CUDA calls can be captured; the one exception, SCAN_GRID_HOST_SUMS, says so. What a captured call needs
 *              is reserved (scan_ctx_reserve) or lent before the capture, else the call returns SCAN_ERR_WORKSPACE and
 *              the capture goes on. A graph is valid as long as the context, whatever is called in between: a context
 *              keeps a workspace that was used in a capture, even when it grows. A graph works in the context's
 *              workspace: its launches and the context's other calls and graphs run one after another (as they do
 *              on one stream), not at the same time. Other contexts may run beside it.
 *   Streams    A kernel may start on the SMs while the launch before it on the stream ends, and waits there until that
 *              one is complete (programmatic dependent launch, sm_90 and later); launches before that one must not be
 *              overtaken in the same way by the caller's kernels, or scan_options.plain_start is set. In a captured
 *              graph these are programmatic edges, which cudaGraphGetEdges reports with their data only.
 *
 * Meaning of results, the same on both backends
 *   Integers wrap. Integer scans and all compaction, sort, histogram and equalize results are bit-identical everywhere.
 *   Float add and mul have ONE order of operations. It depends on the element's index alone; addresses, n, threads,
 *   SIMD, GPU, timing and the pieces that a long array is cut into (carry_in, carry_out) do not change it. With T the
 *   accumulator type (out_type), and for reverse scans the index counted from the end:
 *
 *     vector   16 bytes: E = 16 / sizeof(T) accumulators
 *     row      32 vectors       (512 bytes)
 *     chunk    8 rows           (4 KiB)
 *     tile     8 chunks         (32 KiB)
 *     group    32 tiles         (1 MiB)
 *
 *   The inclusive fold inside a vector is serial; over the 32 vector totals of a row and over the 32 tile totals of a
 *   group it is Kogge-Stone (for d = 1, 2, 4, 8, 16: z[l] = z[l-d] op z[l] for all l >= d at once); over the rows of
 *   a chunk and the chunks of a tile it is serial. A unit's total is its last inclusive fold. Groups fold serially
 *   from init: P[0] = init, or the identity (-0.0 for add, 1 for mul); P[g+1] = P[g] op total(group g). Then, with
 *   each term dropped where nothing precedes it in its unit,
 *
 *     before(i) = ((((P[group] op tiles before) op chunks before) op rows before) op vectors before) op elements before
 *     exclusive[i] = before(i)          inclusive[i] = before(i + 1)
 *
 *   so exclusive[i + 1] == inclusive[i] bit for bit. Exclusive without init writes the identity to out[0], +0 for add.
 *   Elements are converted to T first; no fused multiply-add. Which NaN comes out of float add and mul is unspecified.
 *   Teaching grids (SCAN_GRID_HOST_SUMS, SCAN_GRID_HIERARCHICAL) have another order, also the same in every run.
 *   Float min and max: from the first NaN on, every result is the quiet NaN 0x7fc00000 (f32) or 0x7ff8000000000000
 *   (f64); -0 < +0.
 *   Float order in sorts is NumPy's: -inf ... -0 and +0 equal ... +inf, NaN last, ties in input order; descending also
 *   keeps NaN last and ties in input order. Equality in unique: -0 equals +0, NaN equals NaN.
 */
#ifndef SCAN_SCAN_H
#define SCAN_SCAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCAN_VERSION_MAJOR 0
#define SCAN_VERSION_MINOR 1
#define SCAN_VERSION_PATCH 0

#if defined(__GNUC__)
#define SCAN_API __attribute__((visibility("default")))
#else
#define SCAN_API
#endif

/* ---- status ------------------------------------------------------------------------------------------------------ */

typedef enum scan_status {
    SCAN_OK = 0,
    SCAN_ERR_ARGUMENT = 1,     /* a null pointer, an enum out of range, an impossible size */
    SCAN_ERR_TYPE = 2,         /* the verb does not serve this element type, accumulator or operator */
    SCAN_ERR_ALGORITHM = 3,    /* the algorithm asked for cannot serve this call on this backend */
    SCAN_ERR_VERSION = 4,      /* struct_size, or a field unknown to this library that is set: see "Structs" */
    SCAN_ERR_OVERLAP = 5,      /* arrays overlap in a way the verb does not allow */
    SCAN_ERR_ALIGNMENT = 6,    /* a pointer is not aligned to its element */
    SCAN_ERR_MEMORY = 7,       /* an allocation of host or device memory failed */
    SCAN_ERR_WORKSPACE = 8,    /* the lent memory, or inside a capture the reserved memory, is too small */
    SCAN_ERR_NO_BACKEND = 9,   /* this build or machine has no such backend */
    SCAN_ERR_DEVICE = 10,      /* a device call failed; the context is still usable */
    SCAN_ERR_DEVICE_LOST = 11, /* the device fails every call until the process ends, or does not answer in time */
    SCAN_ERR_BUSY = 12,        /* another call on this context has not returned: see "Threads" */
    SCAN_ERR_PEER = 13         /* scan_dist.h: another rank failed */
} scan_status;

/* Returns a short English phrase for a status, never NULL. Static storage. */
SCAN_API const char *scan_status_string(scan_status status);

/* "0.1.0". Static storage. */
SCAN_API const char *scan_version(void);

/* ---- types, operators, algorithms -------------------------------------------------------------------------------- */

typedef enum scan_type {
    SCAN_TYPE_NONE = 0,
    SCAN_U8 = 1,
    SCAN_I8 = 2,
    SCAN_U16 = 3,
    SCAN_I16 = 4,
    SCAN_U32 = 5,
    SCAN_I32 = 6,
    SCAN_U64 = 7,
    SCAN_I64 = 8,
    SCAN_F32 = 9,
    SCAN_F64 = 10
} scan_type;

typedef enum scan_class { SCAN_CLASS_NONE = 0, SCAN_UNSIGNED = 1, SCAN_SIGNED = 2, SCAN_FLOAT = 3 } scan_class;

/* XOR, AND and OR work bit by bit on integers; floats are SCAN_ERR_TYPE. Their identities are 0, all ones and 0. Wider
 * accumulators are those of ADD: any integer to the 64-bit integer of its sign, sign-extended. */
typedef enum scan_op {
    SCAN_ADD = 0,
    SCAN_MUL = 1,
    SCAN_MIN = 2,
    SCAN_MAX = 3,
    SCAN_XOR = 4,
    SCAN_AND = 5,
    SCAN_OR = 6
} scan_op;

/* How the blocks of a grid get their prefixes, and how a block is scanned. AUTO picks by backend, device, type and n.
 */
typedef enum scan_grid {
    SCAN_GRID_AUTO = 0,
    SCAN_GRID_HOST_SUMS = 1,    /* CUDA: block sums scanned on the host; waits for the device; ALGORITHM in a capture */
    SCAN_GRID_HIERARCHICAL = 2, /* CUDA: block scans, scan of block sums, add; about twice the traffic */
    SCAN_GRID_LOOKBACK = 3,     /* CUDA: one pass, decoupled look-back */
    SCAN_GRID_WAVE = 4,         /* CUDA, sm_80 and later: one pass, persistent, copies tiles ahead */
    SCAN_GRID_BLOCKED = 5       /* CPU: each thread reduces, then scans a piece that stays in its cache */
} scan_grid;

typedef enum scan_block {
    SCAN_BLOCK_AUTO = 0,
    SCAN_BLOCK_KOGGE_STONE = 1,
    SCAN_BLOCK_BRENT_KUNG = 2,
    SCAN_BLOCK_WARP = 3
} scan_block;

typedef struct scan_algorithm {
    scan_grid grid;
    scan_block block;
} scan_algorithm;

/* Names as the programs spell them: "u32", "add", "wave", "kogge-stone". NULL for a value outside the enum, so that a
 * loop from 0 (types: from 1) until NULL lists them all. scan_type_size is in bytes. Outside the enum it is 0, and the
 * class SCAN_CLASS_NONE. scan_op_takes is 1 if the operator is defined on elements of the type, else 0. */
SCAN_API const char *scan_type_name(scan_type type);
SCAN_API size_t scan_type_size(scan_type type);
SCAN_API scan_class scan_type_class(scan_type type);
SCAN_API const char *scan_op_name(scan_op op);
SCAN_API int scan_op_takes(scan_op op, scan_type type);
SCAN_API const char *scan_grid_name(scan_grid grid);
SCAN_API const char *scan_block_name(scan_block block);

/* One 64-bit immediate: u for unsigned, i for signed, f for float types. */
typedef union scan_value {
    uint64_t u;
    int64_t i;
    double f;
} scan_value;

/* ---- context ----------------------------------------------------------------------------------------------------- */

typedef struct scan_ctx scan_ctx; /* device + stream + workspace + threads; concurrent calls need one each */
struct CUstream_st;               /* cudaStream_t is a pointer to this */

typedef enum scan_backend {
    SCAN_BACKEND_CPU = 0,
    SCAN_BACKEND_CUDA = 1,
    SCAN_BACKEND_AUTO = 2 /* CUDA if the device answers and runs this library's code, else CPU */
} scan_backend;

typedef struct scan_options {
    uint32_t struct_size;
    scan_backend backend;
    int32_t device;             /* CUDA device ordinal */
    uint32_t threads;           /* CPU threads, at most 1024; 0: as many as this process may run on */
    struct CUstream_st *stream; /* CUDA; NULL: a stream of the context's own, which does not wait for the default stream
                                   (cudaStreamNonBlocking) */
    /* Workspace and scan_malloc come from here if alloc is not NULL (then free must not be). alloc returns context
     * memory aligned to 256 bytes, or NULL; stream is NULL on the CPU backend. free gets memory that no queued work of
     * the context uses any more, except inside a capture. */
    void *(*alloc)(size_t bytes, void *user, struct CUstream_st *stream);
    void (*free)(void *memory, size_t bytes, void *user, struct CUstream_st *stream);
    void *user;
    char *detail; /* host, detail_bytes long: the reason when scan_ctx_create fails, terminated; not for VERSION */
    size_t detail_bytes;
    uint32_t plain_start; /* CUDA: 1: the first kernel of a call starts when everything before it on the stream has
                             ended; costs about a microsecond a call. See "Streams" */
    uint32_t reserved;    /* 0 */
} scan_options;

/* Creates a context. options NULL: CPU backend, all threads. On failure *ctx is NULL.
 * The environment variable SCAN_SIMD=avx512|avx2|portable caps the SIMD level of the CPU backend.
 *
 * SCAN_DEVICE_TIMEOUT=SECONDS limits each wait for a CUDA device. After it every call of the context is DEVICE_LOST,
 * and what the context and scan_malloc hold on the device stays there until the process ends. CUDA's own waits are not
 * limited: those of other contexts of the process on that device, those of a free hook or the caller, and that of
 * exit(), so that the process should leave by _exit(). With a limit all kernels are loaded here.
 *
 * Errors: ARGUMENT, VERSION, MEMORY, NO_BACKEND (no CUDA in this build, no driver, no device that answers and runs this
 * library's code), DEVICE. */
SCAN_API scan_status scan_ctx_create(scan_ctx **ctx, const scan_options *options);

/* Waits for the context's work and frees everything it owns, except the caller's scan_malloc memory. NULL is fine. */
SCAN_API void scan_ctx_destroy(scan_ctx *ctx);

/* Waits until everything queued on the context is done, and returns any failure since the last call.
 * Errors: DEVICE (also inside a capture, which goes on), DEVICE_LOST, BUSY. On the CPU backend there is nothing to wait
 * for. */
SCAN_API scan_status scan_ctx_sync(scan_ctx *ctx);

/* Returns the last failure of this context in words, "" if none; valid until the next call on it. While a call is
 * running, the words of BUSY. */
SCAN_API const char *scan_ctx_detail(const scan_ctx *ctx);

/* Returns the algorithm that the last verb ran, e.g. "blocked avx512" or "wave/warp"; valid until the next call on the
 * context. While a call is running, "". */
SCAN_API const char *scan_ctx_ran(const scan_ctx *ctx);

typedef struct scan_info {
    uint32_t struct_size; /* set by the caller */
    scan_backend backend; /* never AUTO */
    int32_t device;       /* CUDA ordinal, -1 on the CPU */
    uint32_t threads;     /* CPU threads that run, 0 on CUDA */
    const char *name;     /* "cpu avx512", or the device's name; lives as long as the context */
} scan_info;

SCAN_API scan_status scan_ctx_info(const scan_ctx *ctx, scan_info *info);

/* Workspace. By default the context's workspace grows when a verb needs more. After scan_ctx_reserve(bytes), calls that
 * need no more than that never allocate. scan_ctx_lend makes the context use the caller's memory (context memory,
 * aligned to 256 bytes) and nothing else until lent NULL; a call that needs more returns SCAN_ERR_WORKSPACE.
 * Requirements are reported by the *_workspace functions: for a given context they depend on the descriptor and n
 * alone. On CUDA both functions also load every kernel, once per context; otherwise the first call that runs a kernel
 * loads it. Errors: MEMORY, ARGUMENT, ALIGNMENT, WORKSPACE (to reserve more than is lent, or inside a capture more than
 * there is), DEVICE (to lend inside a capture). */
SCAN_API scan_status scan_ctx_reserve(scan_ctx *ctx, size_t bytes);
SCAN_API scan_status scan_ctx_lend(scan_ctx *ctx, void *memory, size_t bytes);

/* Context memory for backend-blind programs. scan_malloc(0) gives NULL and SCAN_OK; scan_free takes NULL. On the CPU
 * backend upload and download are memcpy. On CUDA they are ordered on the stream, asynchronous if the host side came
 * from scan_malloc_host. Errors: MEMORY, ARGUMENT, DEVICE, DEVICE_LOST. */
SCAN_API scan_status scan_malloc(scan_ctx *ctx, size_t bytes, void **memory);
SCAN_API void scan_free(scan_ctx *ctx, void *memory);
SCAN_API scan_status scan_malloc_host(scan_ctx *ctx, size_t bytes, void **memory); /* page-locked on CUDA */
SCAN_API void scan_free_host(scan_ctx *ctx, void *memory);
SCAN_API scan_status scan_upload(scan_ctx *ctx, void *to, const void *from_host, size_t bytes);
SCAN_API scan_status scan_download(scan_ctx *ctx, void *to_host, const void *from, size_t bytes);

/* ---- prefix ------------------------------------------------------------------------------------------------------ */

typedef enum scan_kind { SCAN_INCLUSIVE = 0, SCAN_EXCLUSIVE = 1 } scan_kind;

#define SCAN_CARRY_BYTES 1024

typedef struct scan_prefix_desc {
    uint32_t struct_size;
    scan_type type;     /* of in */
    scan_type out_type; /* of out, and of the accumulation; 0: type. Wider: any integer to the 64-bit integer of its
                           sign, u8 to u32, f32 to f64 */
    scan_op op;
    scan_kind kind;
    uint32_t reverse;         /* 1: from the last element to the first */
    scan_algorithm algorithm; /* 0: AUTO */
    const void *init;         /* host: one value of out_type, folded in before the first element; NULL: none */
    /* A long array in pieces, with the bits of one call: SCAN_CARRY_BYTES of context memory, aligned to 8. carry_in is
     * the carry_out of an earlier call with the same type, out_type, op, kind and reverse; init must then be NULL. The
     * two may be the same memory. A reverse scan takes its pieces from the last to the first. The first element of the
     * carry, of out_type, is the fold of everything so far. */
    const void *carry_in;
    void *carry_out;
    const uint64_t *n_device;
} scan_prefix_desc;

/* out[i] = in[0] op ... op in[i] (inclusive), or without in[i] (exclusive).
 * in, out: n elements of type, out_type. in == out allowed if type and out_type have the same size.
 * Deterministic: bit-identical results, see the order above. Errors: ARGUMENT, TYPE, ALGORITHM, VERSION, OVERLAP,
 * ALIGNMENT, MEMORY, WORKSPACE, DEVICE, DEVICE_LOST. */
SCAN_API scan_status scan_prefix(scan_ctx *ctx, const scan_prefix_desc *desc, const void *in, void *out, size_t n);
SCAN_API scan_status scan_prefix_workspace(const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n, size_t *bytes);

/* ---- compaction -------------------------------------------------------------------------------------------------- */

/* A predicate is a list of terms in postfix order: comparisons of a column with a constant, NaN tests, and the joins
 * that take one (NOT) or two (AND, OR) earlier results; exactly one result remains. Comparisons are exact: the element
 * against the constant as written, whatever their types (u64 against 4.5, f32 against the double 0.1). NaN compares
 * false except with NE. Column 0 is `in`; columns 1 ... are desc.columns; SCAN_COLUMN_INDEX is the element's index. */
typedef enum scan_term_op {
    SCAN_TERM_LT = 0,
    SCAN_TERM_LE = 1,
    SCAN_TERM_GT = 2,
    SCAN_TERM_GE = 3,
    SCAN_TERM_EQ = 4,
    SCAN_TERM_NE = 5,
    SCAN_TERM_ISNAN = 6,
    SCAN_TERM_ISFINITE = 7,
    SCAN_TERM_AND = 8,
    SCAN_TERM_OR = 9,
    SCAN_TERM_NOT = 10
} scan_term_op;

#define SCAN_MAX_TERMS 128
#define SCAN_MAX_COLUMNS 32
#define SCAN_COLUMN_INDEX 0xffffffffu

typedef struct scan_term {
    scan_term_op op;
    uint32_t column;         /* comparisons and tests: which column */
    scan_type constant_type; /* comparisons: SCAN_U64, SCAN_I64 or SCAN_F64 says which member of constant counts */
    uint32_t reserved;       /* 0 */
    scan_value constant;
} scan_term;

typedef struct scan_column {
    scan_type type;
    uint32_t reserved; /* 0 */
    const void *data;  /* n elements */
} scan_column;

typedef struct scan_compact_desc {
    uint32_t struct_size;
    scan_type type;       /* of in, kept and rejected */
    scan_type index_type; /* SCAN_U32 or SCAN_U64; 0: u32 if index_base + n < 2^32, else u64. ARGUMENT where
                             index_base + n - 1 does not fit, even if no index is asked for */
    uint32_t invert;      /* 1: keep the elements that the predicate or the flags reject */
    /* Exactly one of terms and flags. */
    const scan_term *terms; /* host */
    uint32_t term_count;
    uint32_t column_count;
    const scan_column *columns; /* host: columns 1 ... column_count, at most SCAN_MAX_COLUMNS */
    const uint8_t *flags;       /* n bytes, nonzero keeps */
    uint64_t index_base;        /* the index of in[0], for an array compacted in pieces */
    const uint64_t *n_device;
    scan_grid grid;    /* 0: AUTO. CUDA has LOOKBACK and, from sm_90 on, WAVE: for flags, and for terms that come to one
                          range, or all but one, of in or, where neither kept nor rejected is written, of any one column
                          (not the index). The CPU has BLOCKED. Others: ALGORITHM */
    uint32_t reserved; /* 0 */
} scan_compact_desc;

/* What to write; any field may be NULL, not all. Room for n elements is needed in each array. */
typedef struct scan_compact_out {
    uint32_t struct_size;
    void *kept;      /* kept elements, in input order */
    void *rejected;  /* the others, in input order */
    void *indices;   /* index of each kept element, of index_type */
    uint64_t *count; /* number of kept elements, context memory */
} scan_compact_out;

/* Stream compaction in one pass: writes the elements that a predicate or flags select, their indices, the others, the
 * count. in: n elements; it may be NULL if neither kept, rejected nor a term needs it (type is then ignored).
 * kept == in is allowed with no other array output and no further column read from in; nothing else may overlap. The
 * elements of an output from the count up to n are unspecified. Deterministic. Errors: as scan_prefix. */
SCAN_API scan_status scan_compact(scan_ctx *ctx, const scan_compact_desc *desc, const void *in,
                                  const scan_compact_out *out, size_t n);
SCAN_API scan_status scan_compact_workspace(const scan_ctx *ctx, const scan_compact_desc *desc, size_t n,
                                            size_t *bytes);

typedef struct scan_unique_desc {
    uint32_t struct_size;
    scan_type type;
    scan_type index_type; /* of indices and run_lengths; as in scan_compact_desc */
    scan_grid grid;       /* as in scan_compact_desc; WAVE for all types */
    uint64_t index_base;
    const uint64_t *n_device;
} scan_unique_desc;

typedef struct scan_unique_out {
    uint32_t struct_size;
    void *kept;        /* the first element of each run */
    void *indices;     /* index of the first element of each run, of index_type */
    void *run_lengths; /* length of each run, of index_type: ARGUMENT if that cannot hold n */
    uint64_t *count;   /* number of runs, context memory */
} scan_unique_out;

/* Like scan_compact, but keeps the first of each run of equal elements: -0 equals +0, NaN equals NaN.
 * kept == in is allowed with no other array output. */
SCAN_API scan_status scan_unique(scan_ctx *ctx, const scan_unique_desc *desc, const void *in,
                                 const scan_unique_out *out, size_t n);
SCAN_API scan_status scan_unique_workspace(const scan_ctx *ctx, const scan_unique_desc *desc, size_t n, size_t *bytes);

/* ---- sort -------------------------------------------------------------------------------------------------------- */

typedef enum scan_sort_method {
    SCAN_SORT_AUTO = 0,
    SCAN_SORT_RADIX = 1, /* histogram, scan, stable scatter for each digit, the least significant first; on the CPU in
                            cache, after one partition by the leading digit */
    SCAN_SORT_SPLIT = 2, /* CUDA, for teaching: one bit at a time, flags -> exclusive scan -> scatter */
    SCAN_SORT_QUICK = 3, /* CPU with AVX2 or AVX-512, keys of 4 or 8 bytes without values, all bits: radix partition,
                            then vectorized quicksort in cache */
    SCAN_SORT_SAMPLE = 4 /* CUDA, keys of 4 or 8 bytes: buckets of equal size, whatever the keys' distribution, by
                            splitters from a sorted sample; each is then sorted in shared memory */
} scan_sort_method;

SCAN_API const char *scan_sort_method_name(scan_sort_method method); /* as scan_grid_name */

typedef struct scan_sort_desc {
    uint32_t struct_size;
    scan_type type;          /* of the keys */
    uint32_t descending;     /* 1: largest first; equal keys keep their input order all the same */
    uint32_t nan_first;      /* 1: NaN before everything; 0: after everything, whatever the direction */
    uint32_t begin_bit;      /* integer keys: only bits [begin_bit, end_bit) are compared; end_bit 0: all bits. */
    uint32_t end_bit;        /* The sign bit of a signed type, if in the range, orders as a sign. */
    uint32_t value_bytes;    /* scan_sort: 0 (keys alone), 4 or 8 */
    scan_type index_type;    /* scan_argsort: SCAN_U32 or SCAN_U64; 0: u32 if n < 2^32, else u64 */
    scan_sort_method method; /* 0: AUTO */
    uint32_t reserved;       /* 0 */
    const uint64_t *n_device;
} scan_sort_desc;

/* Stable sort of keys, with values that move with their keys if value_bytes is 4 or 8 (aligned to that; else both
 * NULL). keys_in == keys_out and values_in == values_out are allowed. With begin_bit == end_bit != 0 every key is
 * equal: a copy. Workspace: at most 1.1 times the bytes of keys and values, plus 4 MiB. Deterministic. Errors: as
 * scan_prefix.
 */
SCAN_API scan_status scan_sort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys_in, void *keys_out,
                               const void *values_in, void *values_out, size_t n);
SCAN_API scan_status scan_sort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, size_t *bytes);

/* Like scan_sort, but leaves the keys as they are and writes the permutation: keys[indices[0]], keys[indices[1]], ...
 * is the stable order. keys and indices may not overlap. Workspace: at most 1.6 times (keys + indices), plus 4 MiB. */
SCAN_API scan_status scan_argsort(scan_ctx *ctx, const scan_sort_desc *desc, const void *keys, void *indices, size_t n);
SCAN_API scan_status scan_argsort_workspace(const scan_ctx *ctx, const scan_sort_desc *desc, size_t n, size_t *bytes);

/* ---- merge ------------------------------------------------------------------------------------------------------- */

typedef struct scan_merge_desc {
    uint32_t struct_size;
    scan_type type;      /* of the keys */
    uint32_t descending; /* the order in which both inputs lie, as in scan_sort_desc */
    uint32_t nan_first;
    uint32_t value_bytes;                    /* 0 (keys alone), 4 or 8 */
    uint32_t reserved;                       /* 0 */
    const uint64_t *a_n_device, *b_n_device; /* n_device of a_n and of b_n */
} scan_merge_desc;

/* Merges two arrays that are sorted by the order of scan_sort into one: of equal keys those of a come first, each in
 * its order, so that the result is what scan_sort makes of a followed by b. Values move with their keys if value_bytes
 * is 4 or 8 (aligned to that; else all NULL). a_keys, a_values: a_n elements; b_keys, b_values: b_n; keys_out,
 * values_out: a_n + b_n. Inputs may overlap one another, outputs overlap nothing. Inputs that are not sorted leave
 * outputs unspecified, and nothing else. Workspace: at most 1/64 of the bytes of the keys, plus 64 KiB. Deterministic.
 * Errors: as scan_prefix. */
SCAN_API scan_status scan_merge(scan_ctx *ctx, const scan_merge_desc *desc, const void *a_keys, const void *a_values,
                                size_t a_n, const void *b_keys, const void *b_values, size_t b_n, void *keys_out,
                                void *values_out);
SCAN_API scan_status scan_merge_workspace(const scan_ctx *ctx, const scan_merge_desc *desc, size_t a_n, size_t b_n,
                                          size_t *bytes);

/* ---- histogram, equalization ------------------------------------------------------------------------------------- */

/* Samples are u8 (256 bins) or u16 (65,536 bins). n counts pixels, each of `channels` interleaved samples. */
typedef struct scan_histogram_desc {
    uint32_t struct_size;
    scan_type type;      /* SCAN_U8 or SCAN_U16 */
    uint32_t channels;   /* 1 to 4; 0: 1 */
    uint32_t reserved;   /* 0 */
    const uint8_t *mask; /* n bytes: only pixels where it is nonzero count; NULL: all */
    const uint64_t *n_device;
} scan_histogram_desc;

/* bins: channels histograms of 256 or 65,536 counts, one after another. Errors: as scan_prefix. */
SCAN_API scan_status scan_histogram(scan_ctx *ctx, const scan_histogram_desc *desc, const void *in, uint64_t *bins,
                                    size_t n);
SCAN_API scan_status scan_histogram_workspace(const scan_ctx *ctx, const scan_histogram_desc *desc, size_t n,
                                              size_t *bytes);

/* Implementation to reproduce bit for bit. With h the histogram, C its inclusive scan, N their total, B the number of
 * bins:
 *
 *   opencv       m = first bin with h > 0; unchanged if h[m] == N; else L[m] = 0 and for i > m
 *                L[i] = round-half-even(float(C[i] - h[m]) * ((B-1).f / (N - h[m]))), saturated
 *   pillow       step = (N - h[last nonzero]) / (B-1) in integers; unchanged if one level or step == 0; else
 *                L[i] = min(B-1, (step / 2 + C[i-1]) / step)
 *   imagemagick  on 65,536 bins (8-bit samples times 257): q = floor(65535 * (C[i] - C[0]) / (C[65535] - C[0]) + .5),
 *                unchanged if C[65535] == C[0]; 8-bit result q / 257, truncated
 *   vips         floor(float(M / N) * float(C[i])), M = 255, or for 16 bits the largest sample of the image
 *   skimage      (B-1) * C[i] / N in double, rounded half to even
 */
typedef enum scan_like {
    SCAN_LIKE_OPENCV = 0,
    SCAN_LIKE_PILLOW = 1,
    SCAN_LIKE_IMAGEMAGICK = 2,
    SCAN_LIKE_VIPS = 3,
    SCAN_LIKE_SKIMAGE = 4
} scan_like;

SCAN_API const char *scan_like_name(scan_like like); /* as scan_grid_name */

/* Colour images: LUMA equalizes the luma (imagemagick: one table from Rec. 709 luma, applied to R, G and B; others: the
 * Y of OpenCV's fixed-point YCrCb), CHANNELS each of R, G and B by itself. AUTO: channels for pillow and vips, else
 * luma. */
typedef enum scan_color { SCAN_COLOR_AUTO = 0, SCAN_COLOR_LUMA = 1, SCAN_COLOR_CHANNELS = 2 } scan_color;

typedef struct scan_equalize_desc {
    uint32_t struct_size;
    scan_type type;    /* SCAN_U8 or SCAN_U16 */
    uint32_t channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; 0: 1. Alpha is copied */
    scan_like like;    /* scan_equalize only */
    scan_color color;  /* 3 and 4 channels only */
    uint32_t tiles_x;  /* scan_clahe only: tiles across and down; 0: 8 */
    uint32_t tiles_y;
    uint32_t reserved;   /* 0 */
    double clip;         /* scan_clahe only: the clip limit; 0: 2.0; negative: no limit */
    const uint8_t *mask; /* scan_equalize only: one byte a pixel; the histogram counts pixels where it is nonzero, every
                            pixel is mapped; NULL: all */
    /* scan_equalize only: tables for several images, or for one in parts. Context memory, scan_equalize_bins counts. */
    const uint64_t *bins_in; /* the histograms that tables are made of; this image is not counted */
    uint64_t *bins_out;      /* receives the histograms; out may then be NULL, and luts too: nothing is mapped */
} scan_equalize_desc;

/* Histogram, its scan, the look-up table, the map. in, out: n pixels of interleaved samples; in == out allowed.
 * luts, if not NULL: receives the tables used, 256 (u8) or 65,536 (u16) entries of type each: one for grey and luma,
 * three for channels. Errors: as scan_prefix. */
SCAN_API scan_status scan_equalize(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, void *luts,
                                   size_t n);
SCAN_API scan_status scan_equalize_workspace(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t n,
                                             size_t *bytes);

/* *count: the length of bins_in and bins_out. Histograms of several images are added number by number, for the same
 * type, channels, like and color: the sum gives the tables of all of them together. Errors: ARGUMENT, TYPE, VERSION. */
SCAN_API scan_status scan_equalize_bins(const scan_equalize_desc *desc, size_t *count);

/* Contrast-limited adaptive equalization, for grey images bit for bit OpenCV's CLAHE. in, out: width * height pixels,
 * rows one after another; in == out allowed. Errors: as scan_prefix. */
SCAN_API scan_status scan_clahe(scan_ctx *ctx, const scan_equalize_desc *desc, const void *in, void *out, size_t width,
                                size_t height);
SCAN_API scan_status scan_clahe_workspace(const scan_ctx *ctx, const scan_equalize_desc *desc, size_t width,
                                          size_t height, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
