/* SPDX-License-Identifier: MIT
 *
 * The prefix verb: the carry, and how threads share one scan.
 *
 * A short array is scanned by the calling thread in one sweep. A long one is cut into blocks that fit in a core's
 * cache beside the next one. A thread takes the next block by ticket, reduces it, which brings it into its cache,
 * waits for its turn, in which it adds the block's total to the running fold of the scan, and then scans the block
 * from its cache. So memory is read once and written once, and the only thing that goes from block to block in order
 * is a turn of some nanoseconds. While it scans, a thread already fetches the block that it will take next if all go on
 * at one pace, so that reads and writes go on together. It takes the ticket only when it is free: a thread that is held
 * up in its long part, the scan, holds up nobody. A thread waits only for blocks whose tickets were taken before its
 * own, which always come to their turn.
 *
 * Float add and mul have their own order (order.c): blocks are then whole tiles, "total" is the totals of a
 * block's tiles, and the running fold is the state of that order; elements before the first and after the last whole
 * tile are scanned by the calling thread. Hence the same bits for any number of threads.
 */
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "assoc.h"

enum {
    PARALLEL_BYTES = 512 << 10, /* below this the pool costs more than it gains */
    BLOCK_BYTES = 256 << 10,
    STREAM_BYTES = 16 << 20,
    SPINS = 1000 /* some microseconds: how long a turn is waited for if all threads run */
};

#if defined(__x86_64__)
static scan_cpu_assoc_table *const assoc_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_assoc_portable, &scan_cpu_assoc_avx2,
                                                                     &scan_cpu_assoc_avx512};
static scan_cpu_rows_table *const rows_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_rows_portable, &scan_cpu_rows_avx2,
                                                                   &scan_cpu_rows_avx512};
#else
static scan_cpu_assoc_table *const assoc_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_assoc_portable};
static scan_cpu_rows_table *const rows_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_rows_portable};
#endif

typedef union fold {
    unsigned char bytes[8];
    uint64_t align;
} fold;

typedef struct job {
    scan_cpu_piece whole;
    size_t in_size, out_size;
    const scan_cpu_assoc_kernel *assoc;   /* one of assoc and rows */
    const scan_cpu_assoc_kernel *combine; /* the same operator, from accumulators */
    const scan_cpu_rows_kernel *rows;
    const scan_cpu_order_engine *engine;
    scan_op op;
    fold identity;
    size_t block; /* elements */
    size_t blocks;
    alignas(64) atomic_size_t ticket;
    pthread_mutex_t mutex;
    pthread_cond_t turn_ended;
    alignas(64) atomic_uint sleepers;
    atomic_size_t turn; /* the block that may use what follows */
    union {
        fold fold;
        scan_cpu_order order;
    } so_far;
} job;

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static scan_cpu_piece piece_of(const job *j, size_t begin, size_t n) {
    scan_cpu_piece piece = j->whole;
    ptrdiff_t at = piece.reverse ? -(ptrdiff_t)begin : (ptrdiff_t)begin;
    piece.in = (const char *)piece.in + at * (ptrdiff_t)j->in_size;
    piece.out = (char *)piece.out + at * (ptrdiff_t)j->out_size;
    piece.n = n;
    return piece;
}

/* The least that a thread takes, in elements, and what a block has a whole number of. */
static size_t tile_of(const job *j) { return SCAN_CPU_TILE_BYTES / j->out_size; }

static scan_cpu_piece block_of(const job *j, size_t block) {
    size_t begin = block * j->block;
    return piece_of(j, begin, j->whole.n - begin < j->block ? j->whole.n - begin : j->block);
}

/* ---- on all threads ---------------------------------------------------------------------------------------------- */

/* Spins as long as a wait takes when every thread has a processor, then sleeps: yielding would hand a whole time slice
 * to whoever else wants the processor. */
static void wait_for_turn(job *j, size_t block) {
    for (unsigned i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&j->turn, memory_order_acquire) == block)
            return;
        scan_pool_pause();
    }
    pthread_mutex_lock(&j->mutex);
    atomic_fetch_add(&j->sleepers, 1);
    while (atomic_load(&j->turn) != block)
        pthread_cond_wait(&j->turn_ended, &j->mutex);
    atomic_fetch_sub(&j->sleepers, 1);
    pthread_mutex_unlock(&j->mutex);
}

/* Either this sees the sleeper or the sleeper sees the turn: both orders are sequentially consistent. */
static void end_turn(job *j, size_t block) {
    atomic_store(&j->turn, block + 1);
    if (atomic_load(&j->sleepers) == 0)
        return;
    pthread_mutex_lock(&j->mutex);
    pthread_cond_broadcast(&j->turn_ended);
    pthread_mutex_unlock(&j->mutex);
}

static size_t next_ticket(job *j) { return atomic_fetch_add_explicit(&j->ticket, 1, memory_order_relaxed); }

/* Has a block fetched while this piece is scanned, if there is such a block. */
static void fetch(const job *j, scan_cpu_piece *piece, size_t block) {
    if (block >= j->blocks)
        return;
    scan_cpu_piece ahead = block_of(j, block);
    piece->fetch_next = (const char *)ahead.in - (ahead.reverse ? (ahead.n - 1) * j->in_size : 0);
}

static void assoc_task(void *arg, unsigned index, unsigned count) {
    (void)index;
    job *j = arg;
    for (size_t block; (block = next_ticket(j)) < j->blocks;) {
        scan_cpu_piece piece = block_of(j, block);
        fold total = j->identity;
        j->assoc->reduce(&piece, &total);

        wait_for_turn(j, block);
        fold before = j->so_far.fold;
        j->combine->reduce(&(scan_cpu_piece){.in = &total, .n = 1}, &j->so_far.fold);
        end_turn(j, block);

        fetch(j, &piece, block + count);
        j->assoc->scan(&piece, &before);
    }
}

static void order_task(void *arg, unsigned index, unsigned count) {
    (void)index;
    job *j = arg;
    const size_t tile = tile_of(j);
    for (size_t block; (block = next_ticket(j)) < j->blocks;) {
        scan_cpu_piece piece = block_of(j, block);
        double totals[BLOCK_BYTES / SCAN_CPU_TILE_BYTES], before[BLOCK_BYTES / SCAN_CPU_TILE_BYTES + 1];
        j->rows->totals(&piece, totals);

        wait_for_turn(j, block);
        j->engine->pass(&j->so_far.order, totals, piece.n / tile, before);
        end_turn(j, block);

        fetch(j, &piece, block + count);
        j->engine->tiles(j->op, &piece, before, j->rows);
    }
}

static fold identity_of(scan_type type, scan_op op) {
    fold identity = {.align = 0};
    scan_assoc_store(type, identity.bytes, scan_assoc_identity(type, op));
    return identity;
}

static void run_shared(job *j, scan_pool *pool, scan_task *task) {
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->turn_ended, NULL);
    scan_pool_run(pool, task, j);
    pthread_cond_destroy(&j->turn_ended);
    pthread_mutex_destroy(&j->mutex);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Cuts a piece that is worth sharing into blocks. */
static bool share(job *j, size_t threads) {
    size_t tile = tile_of(j), size = j->in_size > j->out_size ? j->in_size : j->out_size;
    if (threads == 1 || j->whole.n < PARALLEL_BYTES / size)
        return false;
    size_t most = BLOCK_BYTES / size, even = j->whole.n / (threads * 2);
    size_t block = even < most ? even : most;
    j->block = block < tile ? tile : block / tile * tile;
    j->blocks = (j->whole.n + j->block - 1) / j->block;
    return true;
}

static void share_assoc(job *j, scan_pool *pool, fold *so_far) {
    if (!share(j, scan_pool_threads(pool))) {
        j->assoc->scan(&j->whole, so_far);
        return;
    }
    j->so_far.fold = *so_far;
    run_shared(j, pool, assoc_task);
    *so_far = j->so_far.fold;
}

/* Elements up to the first tile's beginning and after the last tile's end are this thread's. */
static void share_ordered(job *j, scan_pool *pool) {
    const size_t tile = tile_of(j);
    scan_cpu_order *order = &j->so_far.order;
    const scan_cpu_piece whole = j->whole;
    size_t past = (size_t)(j->engine->position(order) % tile), n = whole.n;
    size_t head = past ? tile - past : 0;
    size_t tiles = n > head ? (n - head) / tile * tile : 0;

    j->whole = piece_of(j, head, tiles);
    if (tiles == 0 || !share(j, scan_pool_threads(pool))) {
        j->engine->run(order, &whole, j->rows);
        return;
    }
    scan_cpu_piece shared = j->whole;
    j->whole = whole;
    scan_cpu_piece first = piece_of(j, 0, head), last = piece_of(j, head + tiles, n - head - tiles);
    fold shown;
    j->engine->run(order, &first, j->rows);
    j->engine->shown(order, &shown);
    j->whole = shared;
    run_shared(j, pool, order_task);
    if (shared.exclusive)
        memcpy(shared.out, &shown, j->out_size);
    j->engine->run(order, &last, j->rows);
}

static uint64_t call_of(const scan_prefix_desc *desc) {
    const uint64_t magic = UINT64_C(0x7363616e) << 32;
    return magic | (uint64_t)desc->type << 16 | (uint64_t)desc->out_type << 8 | (uint64_t)desc->op << 4 |
           (uint64_t)desc->kind << 1 | desc->reverse;
}

static void call_assoc(scan_ctx *ctx, job *j, const scan_prefix_desc *desc, const scan_cpu_carry *from,
                       scan_cpu_carry *to) {
    fold so_far = j->identity;
    if (from)
        memcpy(&so_far, from->fold, sizeof so_far);
    else if (desc->init)
        memcpy(&so_far, desc->init, j->out_size);
    j->combine->reduce(&(scan_cpu_piece){.n = 0}, &so_far); /* gives NaN its one form */
    share_assoc(j, scan_cpu(ctx)->pool, &so_far);
    memcpy(to->fold, &so_far, sizeof so_far);
    to->position = (from ? from->position : 0) + j->whole.n;
}

static void call_ordered(scan_ctx *ctx, job *j, const scan_prefix_desc *desc, const scan_cpu_carry *from,
                         scan_cpu_carry *to) {
    j->engine->begin(&j->so_far.order, desc->op, from, desc->init);
    share_ordered(j, scan_cpu(ctx)->pool);
    j->engine->finish(&j->so_far.order, to);
}

scan_status scan_cpu_prefix(scan_ctx *ctx, const scan_prefix_desc *desc, const void *in, void *out, size_t n) {
    if ((desc->algorithm.grid != SCAN_GRID_AUTO && desc->algorithm.grid != SCAN_GRID_BLOCKED) ||
        desc->algorithm.block != SCAN_BLOCK_AUTO)
        return scan_fail(ctx, SCAN_ERR_ALGORITHM, "scan_prefix: the CPU backend has blocked/auto, not %s/%s",
                         scan_grid_name(desc->algorithm.grid), scan_block_name(desc->algorithm.block));
    const scan_cpu_carry *from = desc->carry_in;
    if (from && from->call != call_of(desc))
        return scan_fail(ctx, SCAN_ERR_ARGUMENT,
                         "scan_prefix: carry_in was not left by a call with this type, out_type, op, kind and reverse");

    n = scan_cpu_count(n, desc->n_device);
    scan_simd simd = scan_cpu(ctx)->simd;
    job j = {
        .whole = {.in = in, .out = out, .n = n, .exclusive = desc->kind == SCAN_EXCLUSIVE, .reverse = desc->reverse},
        .in_size = scan_type_size(desc->type),
        .out_size = scan_type_size(desc->out_type),
        .assoc = &(*assoc_tables[simd])[desc->type][desc->out_type][desc->op],
        .combine = &scan_cpu_assoc_portable[desc->out_type][desc->out_type][desc->op],
        .rows = &(*rows_tables[simd])[desc->type][desc->out_type][desc->op],
        .engine = &scan_cpu_order_engines[desc->type][desc->out_type],
        .op = desc->op,
        .identity = identity_of(desc->out_type, desc->op),
    };
    j.whole.stream = in != out && n >= STREAM_BYTES / j.out_size;
    if (desc->reverse && n) {
        j.whole.in = (const char *)in + (n - 1) * j.in_size;
        j.whole.out = (char *)out + (n - 1) * j.out_size;
    }

    if (!j.rows->scan && !(j.assoc->scan && j.combine->reduce))
        return scan_fail(ctx, SCAN_ERR_TYPE, "scan_prefix: the CPU backend has no %s of %s accumulated in %s",
                         scan_op_name(desc->op), scan_type_name(desc->type), scan_type_name(desc->out_type));

    scan_cpu_carry carry = {.call = call_of(desc)};
    (j.rows->scan ? call_ordered : call_assoc)(ctx, &j, desc, from, &carry);
    if (desc->carry_out)
        memcpy(desc->carry_out, &carry, sizeof carry);
    scan_cpu_note(ctx, "blocked");
    return SCAN_OK;
}

/* Everything fits on the stack of the call. */
size_t scan_cpu_prefix_workspace(const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n) {
    (void)ctx, (void)desc, (void)n;
    return 0;
}
