/* SPDX-License-Identifier: MIT
 *
 * The prefix verb: the carry, and how threads share one scan.
 *
 * The calling thread scans a short array in one sweep. A long array is cut into blocks; two fit in a core's cache. A
 * thread takes the next block by ticket and reduces it, which brings it into the cache. It waits for its turn, adds the
 * block's total to the running fold of the scan, and ends its turn. Then it scans the block from the cache. So memory
 * is read once and written once, and the serial part of a block is a turn of some nanoseconds.
 *
 * While a thread scans, it prefetches the block that it will take next if all threads keep the same pace, so that reads
 * and writes overlap. It takes the ticket only when the scan is done: a thread that is delayed in its long part, the
 * scan, delays no other. A thread waits only for blocks whose tickets were taken before its own, and their turns come.
 *
 * Float add and mul have their own order (order.c): blocks are then whole tiles, the reduction gives the totals of
 * their tiles, and the running fold is the state of that order. The calling thread scans the elements before the first
 * and after the last whole tile. Hence the same bits for any number of threads.
 */
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "assoc.h"

enum {
    PARALLEL_BYTES = 512 << 10, /* below this two threads are no faster */
    BYTES_PER_US = 32 << 10,    /* read and written by one thread, about, in a cache */
    BLOCK_BYTES = 256 << 10,
    STREAM_BYTES = 16 << 20,
    SPINS = 1000 /* some microseconds, which covers the wait for a turn while all threads run */
};

#if SCAN_HAS_SIMD
static scan_cpu_assoc_table *const assoc_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_assoc_portable, &scan_cpu_assoc_avx2,
                                                                     &scan_cpu_assoc_avx512};
static scan_cpu_rows_table *const rows_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_rows_portable, &scan_cpu_rows_avx2,
                                                                   &scan_cpu_rows_avx512};
#else
static scan_cpu_assoc_table *const assoc_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_assoc_portable};
static scan_cpu_rows_table *const rows_tables[SCAN_SIMD_LEVELS] = {&scan_cpu_rows_portable};
#endif

SCAN_ASSERT(SCAN_I8 == SCAN_U8 + 1 && SCAN_I16 == SCAN_U16 + 1 && SCAN_I32 == SCAN_U32 + 1 && SCAN_I64 == SCAN_U64 + 1,
            "a signed type follows the unsigned one of its size");

static bool compares(scan_op op) {
    switch (op) {
#define COMPARES_ORDERED false
#define COMPARES_COMPARED true
#define COMPARES_NONE false
#define ROW(OP, op, FLOATS, ...)                                                                                       \
    case SCAN_##OP: return COMPARES_##FLOATS;
        SCAN_OPS(ROW, )
#undef ROW
    }
    return false;
}

/* The kernels of the unsigned type serve the signed one too, where an operator does not compare. */
static const scan_cpu_assoc_kernel *assoc_of(scan_cpu_assoc_table *table, scan_type type, scan_type out_type,
                                             scan_op op) {
    if (type == out_type && scan_is_signed(type) && !compares(op))
        type = out_type = (scan_type)(type - 1);
    return &(*table)[type][out_type][op];
}

typedef union fold {
    unsigned char bytes[8];
    uint64_t align;
} fold;

typedef struct job {
    scan_cpu_piece whole;
    size_t in_size, out_size;
    const scan_cpu_assoc_kernel *assoc;   /* empty if rows is not */
    const scan_cpu_assoc_kernel *combine; /* the same operator, from accumulators */
    const scan_cpu_rows_kernel *rows;
    const scan_cpu_order_engine *engine;
    scan_op op;
    fold identity;
    size_t block; /* elements */
    size_t blocks;
    unsigned threads;
    alignas(64) atomic_size_t ticket;
    pthread_mutex_t mutex;
    pthread_cond_t turn_ended;
    alignas(64) atomic_uint sleepers;
    atomic_size_t turn; /* the block that may use `running` */
    union {
        fold fold;
        scan_cpu_order order;
    } running; /* fold of all blocks before `turn` */
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

/* Elements of a tile. A block is a whole number of tiles. */
static size_t tile_of(const job *j) { return SCAN_CPU_TILE_BYTES / j->out_size; }

static scan_cpu_piece block_of(const job *j, size_t block) {
    size_t begin = block * j->block;
    return piece_of(j, begin, j->whole.n - begin < j->block ? j->whole.n - begin : j->block);
}

/* ---- on all threads ---------------------------------------------------------------------------------------------- */

/* Spins for as long as a wait takes when every thread has a processor, then sleeps. Yielding instead would give a whole
 * time slice to another process. */
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

/* Either this thread sees the sleeper or the sleeper sees the turn: all four accesses are sequentially consistent. */
static void end_turn(job *j, size_t block) {
    atomic_store(&j->turn, block + 1);
    if (atomic_load(&j->sleepers) == 0)
        return;
    pthread_mutex_lock(&j->mutex);
    pthread_cond_broadcast(&j->turn_ended);
    pthread_mutex_unlock(&j->mutex);
}

static size_t next_ticket(job *j) { return atomic_fetch_add_explicit(&j->ticket, 1, memory_order_relaxed); }

/* Lets the scan of this piece prefetch a block, if there is such a block. */
static void prefetch(const job *j, scan_cpu_piece *piece, size_t block) {
    if (block >= j->blocks)
        return;
    scan_cpu_piece ahead = block_of(j, block);
    piece->prefetch = (const char *)ahead.in - (ahead.reverse ? (ahead.n - 1) * j->in_size : 0);
}

static void assoc_task(void *arg, unsigned index, unsigned count) {
    (void)index;
    job *j = arg;
    for (size_t block; (block = next_ticket(j)) < j->blocks;) {
        scan_cpu_piece piece = block_of(j, block);
        fold total = j->identity;
        j->assoc->reduce(&piece, &total);

        wait_for_turn(j, block);
        fold before = j->running.fold;
        j->combine->reduce(&(scan_cpu_piece){.in = &total, .n = 1}, &j->running.fold);
        end_turn(j, block);

        prefetch(j, &piece, block + count);
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
        j->engine->pass(&j->running.order, totals, piece.n / tile, before);
        end_turn(j, block);

        prefetch(j, &piece, block + count);
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
    scan_pool_run(pool, j->threads, task, j);
    pthread_cond_destroy(&j->turn_ended);
    pthread_mutex_destroy(&j->mutex);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Cuts the array into blocks. False: one thread scans it faster. */
static bool share(job *j, scan_pool *pool) {
    size_t tile = tile_of(j), size = j->in_size > j->out_size ? j->in_size : j->out_size, n = j->whole.n;
    if (n < PARALLEL_BYTES / size)
        return false;
    j->threads = scan_pool_choose(pool, n / BYTES_PER_US * (j->in_size + j->out_size));
    if (j->threads == 1)
        return false;
    size_t max_block = BLOCK_BYTES / size, even = n / (j->threads * (size_t)2);
    size_t block = even < max_block ? even : max_block;
    j->block = block < tile ? tile : block / tile * tile;
    j->blocks = (n + j->block - 1) / j->block;
    return true;
}

static void share_assoc(job *j, scan_pool *pool, fold *before) {
    if (!share(j, pool)) {
        j->assoc->scan(&j->whole, before);
        return;
    }
    j->running.fold = *before;
    run_shared(j, pool, assoc_task);
    *before = j->running.fold;
}

/* The calling thread scans the elements before the first and after the last whole tile. */
static void share_ordered(job *j, scan_pool *pool) {
    const size_t tile = tile_of(j);
    scan_cpu_order *order = &j->running.order;
    const scan_cpu_piece whole = j->whole;
    size_t past = (size_t)(j->engine->position(order) % tile), n = whole.n;
    size_t head = past ? tile - past : 0;
    head = head < n ? head : n; /* no address past the array, which may be NULL if n is 0 */
    size_t tiles = (n - head) / tile * tile;

    j->whole = piece_of(j, head, tiles);
    if (tiles == 0 || !share(j, pool)) {
        j->engine->run(order, &whole, j->rows);
        return;
    }
    scan_cpu_piece shared = j->whole;
    j->whole = whole;
    scan_cpu_piece first = piece_of(j, 0, head), last = piece_of(j, head + tiles, n - head - tiles);
    fold first_out;
    j->engine->run(order, &first, j->rows);
    j->engine->next(order, &first_out);
    j->whole = shared;
    run_shared(j, pool, order_task);
    if (shared.exclusive)
        memcpy(shared.out, &first_out, j->out_size);
    j->engine->run(order, &last, j->rows);
}

static uint64_t call_of(const scan_prefix_desc *desc) {
    const uint64_t magic = UINT64_C(0x7363616e) << 32;
    return magic | (uint64_t)desc->type << 16 | (uint64_t)desc->out_type << 8 | (uint64_t)desc->op << 4 |
           (uint64_t)desc->kind << 1 | desc->reverse;
}

static void call_assoc(scan_ctx *ctx, job *j, const scan_prefix_desc *desc, const scan_cpu_carry *from,
                       scan_cpu_carry *to) {
    fold before = j->identity;
    if (from)
        memcpy(&before, from->fold, sizeof before);
    else if (desc->init)
        memcpy(&before, desc->init, j->out_size);
    j->combine->reduce(&(scan_cpu_piece){.n = 0}, &before); /* makes a NaN in init the quiet NaN */
    share_assoc(j, scan_cpu(ctx)->pool, &before);
    memcpy(to->fold, &before, sizeof before);
    to->position = (from ? from->position : 0) + j->whole.n;
}

static void call_ordered(scan_ctx *ctx, job *j, const scan_prefix_desc *desc, const scan_cpu_carry *from,
                         scan_cpu_carry *to) {
    j->engine->begin(&j->running.order, desc->op, from, desc->init);
    share_ordered(j, scan_cpu(ctx)->pool);
    j->engine->finish(&j->running.order, to);
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
        .assoc = assoc_of(assoc_tables[simd], desc->type, desc->out_type, desc->op),
        .combine = assoc_of(&scan_cpu_assoc_portable, desc->out_type, desc->out_type, desc->op),
        .rows = &(*rows_tables[simd])[desc->type][desc->out_type][desc->op],
        .engine = &scan_cpu_order_engines[desc->type][desc->out_type],
        .op = desc->op,
        .identity = identity_of(desc->out_type, desc->op),
    };
    j.whole.stream = in != out && n >= STREAM_BYTES / j.out_size;
    j.whole.from_memory = j.whole.stream || desc->carry_out; /* a piece of a long array */
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

/* All temporaries are on the stack of the call. */
size_t scan_cpu_prefix_workspace(const scan_ctx *ctx, const scan_prefix_desc *desc, size_t n) {
    (void)ctx, (void)desc, (void)n;
    return 0;
}
