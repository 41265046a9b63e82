/* SPDX-License-Identifier: MIT
 *
 * The block loop of the select engine (select.h).
 *
 * Threads take blocks by ticket, so a slow thread takes fewer. A thread that has staged block b waits until block b - 1
 * has published its end, publishes the end of b, and copies after that: the chain of ends advances at the speed of
 * counting. The next ticket is taken before the copy, which prefetches that block's input.
 *
 * No deadlock: a thread waits only for blocks before its current one. The first unpublished block is the current block
 * of its thread, or that thread reaches it without waiting for it.
 *
 * In place, the output of block b overwrites input of blocks up to b. Blocks before b have published their ends by
 * then, but their successors may still read the last of their elements (unique compares with the predecessor). So a
 * copy that ends at element e waits until every block up to the one that holds e, b excepted, has been read. A block is
 * marked as read without a wait before, so this terminates too. Blocks before the first dropped element stay where
 * they are.
 */
#include <sched.h>
#include <string.h>

#include "select.h"

enum { ALIGN = 256, SLACK = 64, SPINS = 256, STREAM_BYTES = 8 << 20, POOL_BLOCKS = 8, ELEMENTS_PER_US = 2000 };

scan_lane scan_lane_of(scan_type type) {
#define INTEGER(ctype)                                                                                                 \
    (sizeof(ctype) == 1   ? SCAN_LANE_8                                                                                \
     : sizeof(ctype) == 2 ? SCAN_LANE_16                                                                               \
     : sizeof(ctype) == 4 ? SCAN_LANE_32                                                                               \
                          : SCAN_LANE_64)
#define LANE_UNSIGNED(ENUM, ctype) INTEGER(ctype)
#define LANE_SIGNED(ENUM, ctype) INTEGER(ctype)
#define LANE_FLOAT(ENUM, ctype) SCAN_LANE_##ENUM
#define ROW(ENUM, name, ctype, CLASS) [SCAN_##ENUM] = LANE_##CLASS(ENUM, ctype),
    static const uint8_t lanes[SCAN_TYPE_COUNT + 1] = {SCAN_TYPES(ROW)};
#undef ROW
    return lanes[type];
}

static const scan_select_kernels *kernels_of(scan_simd simd) {
    static const scan_select_kernels *const levels[SCAN_SIMD_LEVELS] = {
        [SCAN_SIMD_PORTABLE] = &scan_select_portable,
#if SCAN_HAS_SIMD
        [SCAN_SIMD_AVX2] = &scan_select_avx2,
        [SCAN_SIMD_AVX512] = &scan_select_avx512,
#endif
    };
    return levels[simd];
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static size_t align_up(size_t bytes) { return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static size_t blocks_of(size_t n) { return n / SCAN_SELECT_BLOCK + (n % SCAN_SELECT_BLOCK != 0); }

/* One staging area: values kept, values rejected, positions, lengths of runs. */
static size_t values_bytes(size_t size, size_t n) { return align_up(min_size(n, SCAN_SELECT_BLOCK) * size + SLACK); }

static size_t staging_bytes(size_t size, scan_type index_type, size_t n) {
    size_t index_size = scan_type_size(index_type);
    return 2 * values_bytes(size, n) + 2 * values_bytes(index_size, n);
}

size_t scan_select_workspace(const scan_ctx *ctx, size_t size, scan_type index_type, size_t n) {
    size_t blocks = blocks_of(n), threads = min_size(scan_pool_threads(scan_cpu(ctx)->pool), blocks);
    return align_up(blocks * sizeof(scan_select_block)) + threads * staging_bytes(size, index_type, n);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static inline void relax(int *spins) {
    if (++*spins < SPINS)
        scan_pool_pause();
    else
        sched_yield(); /* with more threads than processors the awaited one may not be running */
}

static uint64_t wait_end(scan_select_block *block) {
    uint64_t end;
    int spins = 0;
    while ((end = atomic_load_explicit(&block->end, memory_order_acquire)) == 0)
        relax(&spins);
    return end - 1;
}

static void wait_read(scan_select_block *block) {
    int spins = 0;
    while (!atomic_load_explicit(&block->read, memory_order_acquire))
        relax(&spins);
}

/* ---- one block --------------------------------------------------------------------------------------------------- */

/* A thread's staging area, and what it holds of the current block. */
typedef struct stage {
    char *kept, *rejected, *positions, *lengths;
    size_t block, first, n;
    size_t kept_count;
    scan_ahead ahead;
} stage;

static void stage_block(const scan_select_job *job, stage *s) {
    const scan_select_kernels *k = job->kernels;
    const char *in = job->in;
    size_t index_size = scan_type_size(job->index_type);
    unsigned width = job->size ? (unsigned)__builtin_ctzll(job->size) : 0;
    uint64_t bits[SCAN_SELECT_PIECE / 64];
    size_t kept = 0;
    for (size_t at = 0; at < s->n; at += SCAN_SELECT_PIECE) {
        size_t first = s->first + at, n = min_size(SCAN_SELECT_PIECE, s->n - at);
        const char *x = in ? in + first * job->size : NULL;
        job->select(job, first, n, bits);
        if (job->kept)
            k->compress[width](x, bits, 0, n, s->kept + kept * job->size);
        if (job->rejected)
            k->compress[width](x, bits, ~0ull, n, s->rejected + (at - kept) * job->size);
        if (job->indices || job->run_lengths)
            k->positions[job->index_type == SCAN_U64](job->index_base + first, bits, n,
                                                      s->positions + kept * index_size);
        kept += k->count(bits, n);
    }
    s->kept_count = kept;
}

static void put(const scan_select_job *job, stage *s, void *to, size_t offset, const char *from, size_t n,
                size_t size) {
    char *at = (char *)to + offset * size;
    if (job->streams)
        job->kernels->stream(at, from, n * size, &s->ahead);
    else
        memcpy(at, from, n * size);
}

/* Element i of positions or lengths. */
static uint64_t load_index(scan_type type, const void *array, size_t i) {
    return type == SCAN_U64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static void store_index(scan_type type, void *array, size_t i, uint64_t value) {
    if (type == SCAN_U64)
        ((uint64_t *)array)[i] = value;
    else
        ((uint32_t *)array)[i] = (uint32_t)value;
}

static void differences(scan_type type, const void *positions, size_t n, void *lengths) {
    if (type == SCAN_U64)
        for (size_t i = 0; i + 1 < n; i++)
            ((uint64_t *)lengths)[i] = ((const uint64_t *)positions)[i + 1] - ((const uint64_t *)positions)[i];
    else
        for (size_t i = 0; i + 1 < n; i++)
            ((uint32_t *)lengths)[i] = ((const uint32_t *)positions)[i + 1] - ((const uint32_t *)positions)[i];
}

/* A run ends where the next begins: the length of a block's last run is written by the next block that begins one. */
static void put_lengths(const scan_select_job *job, stage *s, size_t offset, uint64_t last_before) {
    scan_type type = job->index_type;
    if (s->kept_count == 0)
        return;
    if (offset > 0)
        store_index(type, job->run_lengths, offset - 1, load_index(type, s->positions, 0) - last_before);
    differences(type, s->positions, s->kept_count, s->lengths);
    put(job, s, job->run_lengths, offset, s->lengths, s->kept_count - 1, scan_type_size(type));
}

static void put_block(scan_select_job *job, stage *s, size_t *read_blocks) {
    scan_select_block *block = &job->blocks[s->block];
    if (job->in_place)
        atomic_store_explicit(&block->read, 1, memory_order_release);
    size_t offset = s->block ? (size_t)wait_end(block - 1) : 0;
    uint64_t last_before = s->block ? block[-1].last : 0;
    block->last =
        job->run_lengths && s->kept_count ? load_index(job->index_type, s->positions, s->kept_count - 1) : last_before;
    size_t end = offset + s->kept_count;
    atomic_store_explicit(&block->end, end + 1, memory_order_release);
    if (job->in_place) {
        if (offset == s->first && s->kept_count == s->n)
            return;
        for (; *read_blocks < s->block && *read_blocks <= end / SCAN_SELECT_BLOCK; ++*read_blocks)
            wait_read(&job->blocks[*read_blocks]);
    }
    if (job->kept)
        put(job, s, job->kept, offset, s->kept, s->kept_count, job->size);
    if (job->rejected)
        put(job, s, job->rejected, s->first - offset, s->rejected, s->n - s->kept_count, job->size);
    if (job->indices)
        put(job, s, job->indices, offset, s->positions, s->kept_count, scan_type_size(job->index_type));
    if (job->run_lengths)
        put_lengths(job, s, offset, last_before);
}

static size_t take_ticket(scan_select_job *job) {
    return atomic_fetch_add_explicit(&job->ticket, 1, memory_order_relaxed);
}

static scan_ahead input_of(const scan_select_job *job, size_t block) {
    if (block >= job->block_count || !job->in)
        return (scan_ahead){NULL, NULL};
    const char *in = job->in;
    size_t first = block * SCAN_SELECT_BLOCK, n = min_size(SCAN_SELECT_BLOCK, job->n - first);
    return (scan_ahead){in + first * job->size, in + (first + n) * job->size};
}

static void work(void *arg, unsigned index, unsigned threads) {
    (void)threads;
    scan_select_job *job = arg;
    if (index >= job->block_count)
        return;
    char *base = job->staging + index * job->staging_bytes;
    size_t values = values_bytes(job->size, job->n), positions = values_bytes(scan_type_size(job->index_type), job->n);
    stage s = {.kept = base,
               .rejected = base + values,
               .positions = base + 2 * values,
               .lengths = base + 2 * values + positions};
    size_t read_blocks = 0, next = take_ticket(job);
    while ((s.block = next) < job->block_count) {
        s.first = s.block * SCAN_SELECT_BLOCK;
        s.n = min_size(SCAN_SELECT_BLOCK, job->n - s.first);
        stage_block(job, &s);
        next = take_ticket(job);
        s.ahead = input_of(job, next);
        put_block(job, &s, &read_blocks);
    }
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

scan_status scan_select_run(scan_ctx *ctx, scan_select_job *job) {
    size_t n = job->n;
    if (job->grid != SCAN_GRID_AUTO && job->grid != SCAN_GRID_BLOCKED)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "desc.grid: the CPU backend has auto and blocked, not %s",
                         scan_grid_name(job->grid));
    if (n == 0) {
        if (job->count)
            *job->count = 0;
        return SCAN_OK;
    }
    void *workspace;
    SCAN_TRY(scan_workspace(ctx, scan_select_workspace(ctx, job->size, job->index_type, n), &workspace));
    job->kernels = kernels_of(scan_cpu(ctx)->simd);
    job->block_count = blocks_of(n);
    job->blocks = workspace;
    memset(job->blocks, 0, job->block_count * sizeof *job->blocks);
    job->staging = (char *)workspace + align_up(job->block_count * sizeof(scan_select_block));
    job->staging_bytes = staging_bytes(job->size, job->index_type, n);
    job->in_place = job->kept && job->kept == job->in;
    job->streams = n * (job->size ? job->size : 1) >= STREAM_BYTES;
    atomic_init(&job->ticket, 0);
    scan_pool *pool = scan_cpu(ctx)->pool;
    scan_pool_run(pool, job->block_count < POOL_BLOCKS ? 1 : scan_pool_choose(pool, n / ELEMENTS_PER_US), work, job);
    const scan_select_block *end = &job->blocks[job->block_count - 1];
    size_t kept = (size_t)atomic_load_explicit(&end->end, memory_order_acquire) - 1;
    if (job->run_lengths && kept)
        store_index(job->index_type, job->run_lengths, kept - 1, job->index_base + n - end->last);
    if (job->count)
        *job->count = kept;
    return SCAN_OK;
}
