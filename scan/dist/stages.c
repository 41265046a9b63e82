/* SPDX-License-Identifier: MIT
 *
 * The exchange of a sort over ranks, in stages, and the merges of what arrives:
 *
 *     on the wire   | stage 0 | stage 1 | stage 2 |
 *     merged                  | stage 0 | stage 1 | stage 2 |
 *
 * While a stage is merged the next is on the wire, and on devices the one after it is handed to NCCL, so that the links
 * do not wait for this rank. What a stage has of a rank is a sorted run, and runs lie in the order of ranks, so that
 * merges that prefer the earlier run keep the sort stable. Runs are merged two by two, between two spares, the last
 * time into the output; this rank's own is merged from where it was sorted. More runs than MAX_RUNS are sorted
 * together, and so are all where only some bits of a key are compared, which a merge does not do.
 *
 * NCCL copies by 16 bytes where both sides are aligned, else byte by byte, many times slower. So a transfer begins
 * where 16 bytes do, with the few elements before a run, and is received with them.
 *
 * Integers of 4 bytes go from device to device as halves, without what they have in common with their neighbours
 * (halves.cu), where there are many of them for each upper half that the bucket can have.
 *
 * Work: n log2 ranks. Traffic: an element goes to another rank at most once, and is read and written log2 ranks times.
 */
#include "sort.h"

enum {
    CPU_STAGE_BYTES = 1 << 20, /* a stage has as many, or more */
    MAX_BUCKETS = 256,
    MAX_RUNS = 16,
    ALIGN = 16,
    HALVES_SHARE = 64, /* keys for each upper half, at least */
#ifdef SCAN_DIST_SMALL /* so that small tests cross these */
    CUDA_STAGE_BYTES = 8 << 10,
    HALVES_LEAST = 64
#else
    CUDA_STAGE_BYTES = 32 << 20,
    HALVES_LEAST = 1 << 24 /* keys of a run: with fewer the kernels take longer than the bytes that they save */
#endif
};

typedef scan_dist_sort_job job;
typedef scan_dist_pairs pairs;

typedef struct run {
    pairs at;
    size_t n;
    scan_dist_halves halves; /* of the keys, in their place; low NULL: there are none */
} run;

typedef struct runs {
    run list[MAX_RUNS];
    size_t count;
} runs;

static size_t align_up(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* ---- stages ------------------------------------------------------------------------------------------------------ */

uint32_t scan_dist_sort_stages(const scan_dist_comm *comm, uint64_t longest, size_t element_bytes) {
    const uint64_t least = comm->ctx_info.backend == SCAN_BACKEND_CUDA ? CUDA_STAGE_BYTES : CPU_STAGE_BYTES;
    const uint64_t wanted = longest / (least / element_bytes), most = MAX_BUCKETS / comm->size;
    const uint64_t stages = wanted < most ? wanted : most;
    return stages < 1 || comm->size == 1 ? 1 : stages < SCAN_DIST_MAX_STAGES ? (uint32_t)stages : SCAN_DIST_MAX_STAGES;
}

/* Elements before stage s in this rank's share. */
static size_t stage_begin(const job *j, uint32_t s) { return (size_t)scan_dist_sort_stage_of(j->out_n, s, j->stages); }

/* Where bucket b begins in the sorted share of a rank. */
static uint64_t cut(const job *j, uint32_t rank, size_t b) { return j->cuts[rank * (j->buckets + 1) + b]; }

static size_t bucket_length(const job *j, uint32_t rank, size_t b) {
    return (size_t)(cut(j, rank, b + 1) - cut(j, rank, b));
}

static pairs at(const job *j, pairs p, size_t i) {
    return (pairs){p.keys + i * j->key_bytes, p.values ? p.values + i * j->desc.value_bytes : NULL};
}

/* The bucket of this rank in a stage. */
static size_t own_bucket(const job *j, uint32_t s) { return (size_t)j->comm->rank * j->stages + s; }

/* This rank's run of a bucket. */
static run sorted_run(const job *j, size_t bucket) {
    const uint32_t me = j->comm->rank;
    return (run){.at = at(j, j->sorted, (size_t)cut(j, me, bucket)), .n = bucket_length(j, me, bucket)};
}

/* Whether a rank sorts a stage, not merges it: it then has it in `received` whole. */
static bool is_sorted_again(const job *j, uint32_t rank, uint32_t s) {
    const bool some_bits = j->desc.begin_bit > 0 || j->desc.end_bit < 8 * j->key_bytes;
    unsigned count = 0;
    for (uint32_t r = 0; r < j->comm->size; r++)
        count += bucket_length(j, r, (size_t)rank * j->stages + s) > 0;
    return count > (some_bits ? 1 : MAX_RUNS);
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

static bool may_be_halved(const job *j) {
    return j->comm->device && j->comm->size > 1 && j->key_bytes == 4 && !j->codes.is_float &&
           j->codes.end_bit - j->codes.begin_bit == 32;
}

/* Where the halves of a run are made that begins there in the sorted share: there is as much room for each. */
static size_t halves_before(uint64_t begin) {
    return begin * sizeof(uint16_t) + begin / HALVES_SHARE * sizeof(uint32_t);
}

size_t scan_dist_sort_halves_bytes(const job *j) { return may_be_halved(j) ? halves_before(j->n) : 0; }

size_t scan_dist_sort_merging_bytes(const job *j) {
    return may_be_halved(j) ? scan_dist_device_merge_bytes(j->out_n) : 0;
}

/* Halves of a bucket's run of n keys, in memory from `at` on: the splitters on both sides say which upper halves there
 * can be. */
static scan_dist_halves halves_of(const job *j, size_t bucket, size_t n, char *at) {
    const uint64_t first = bucket ? j->splitters[bucket - 1].low : 0;
    const uint64_t last = bucket + 1 < j->buckets ? j->splitters[bucket].low : UINT32_MAX;
    char *low = at + (ALIGN - (uintptr_t)at % ALIGN) % ALIGN, *begins = low + align_up(n * sizeof(uint16_t));
    return (scan_dist_halves){(uint16_t *)(void *)low, (uint32_t *)(void *)begins, (uint32_t)(first >> 16),
                              (uint32_t)((last >> 16) - (first >> 16) + 1)};
}

/* A merge reads whole words of `low`: from where that begins to where `begins` do, all in the memory of the run. */
_Static_assert(ALIGN % SCAN_DIST_HALVES_ALIGN == 0, "halves_of aligns `low` and `begins`");

/* What of that memory they take after its alignment: one transfer. */
static size_t halves_bytes(scan_dist_halves halves, size_t n) {
    return align_up(n * sizeof(uint16_t)) + halves.count * sizeof(uint32_t);
}

/* Whether a rank's run goes as halves. They fit where they are made and in the place of the keys, with room to align
 * them. */
static bool is_halved(const job *j, uint32_t rank, size_t bucket) {
    const size_t n = bucket_length(j, rank, bucket), spare = 2 * ALIGN / sizeof(uint32_t);
    return may_be_halved(j) && rank != bucket / j->stages && n >= HALVES_LEAST && n <= UINT32_MAX &&
           !is_sorted_again(j, (uint32_t)(bucket / j->stages), (uint32_t)(bucket % j->stages)) &&
           n / HALVES_SHARE >= halves_of(j, bucket, n, j->halves).count + spare;
}

/* ---- where runs are received ------------------------------------------------------------------------------------- */

/* Bytes of a run that begins at that element that lie before it in its transfer. */
static size_t lead_of(uint64_t begin, size_t size) { return (size_t)(begin * size % ALIGN); }

size_t scan_dist_sort_received_bytes(const job *j, size_t size) {
    return j->out_n * size + ((size_t)SCAN_DIST_MAX_STAGES * (j->comm->size + 1) + 1) * 2 * ALIGN;
}

/* Where the transfers of a stage begin in `received`. */
static pairs stage_area(const job *j, uint32_t s) {
    const size_t spare = (size_t)s * (j->comm->size + 1) * 2 * ALIGN, begin = stage_begin(j, s);
    pairs p = {j->received.keys + align_up(begin * j->key_bytes) + spare, NULL};
    if (j->received.values)
        p.values = j->received.values + align_up(begin * j->desc.value_bytes) + spare;
    return p;
}

/* The run of a rank in this rank's bucket. `area` is where the next transfer goes, and goes on. */
static run receive_run(const job *j, uint32_t rank, uint32_t s, bool together, pairs *area) {
    const size_t bucket = own_bucket(j, s), n = bucket_length(j, rank, bucket);
    const uint64_t begin = cut(j, rank, bucket);
    run r = {.at = *area, .n = n};
    if (!together)
        r.at.keys += lead_of(begin, j->key_bytes);
    if (is_halved(j, rank, bucket))
        r.halves = halves_of(j, bucket, n, r.at.keys);
    area->keys = r.at.keys + n * j->key_bytes;
    if (!together)
        area->keys = j->received.keys + align_up((size_t)(area->keys - j->received.keys));
    if (area->values == NULL)
        return r;
    if (!together)
        r.at.values += lead_of(begin, j->desc.value_bytes);
    area->values = r.at.values + n * j->desc.value_bytes;
    if (!together)
        area->values = j->received.values + align_up((size_t)(area->values - j->received.values));
    return r;
}

static scan_dist_halves sent_halves(const job *j, size_t bucket) {
    const uint32_t me = j->comm->rank;
    char *at = j->halves + halves_before(cut(j, me, bucket));
    return is_halved(j, me, bucket) ? halves_of(j, bucket, bucket_length(j, me, bucket), at)
                                    : (scan_dist_halves){.low = NULL};
}

static scan_status device_did(const job *j, const char *failed) {
    return failed ? scan_dist_fail(j->comm, SCAN_ERR_DEVICE, "%s", failed) : SCAN_OK;
}

/* Of the runs that this rank sends in stages from `first` to before `end`. */
static scan_status make_halves(const job *j, uint32_t first, uint32_t end) {
    if (!may_be_halved(j))
        return SCAN_OK;
    for (size_t b = 0; b < j->buckets; b++) {
        const uint32_t s = (uint32_t)(b % j->stages);
        const run own = sorted_run(j, b);
        const scan_dist_halves to = s >= first && s < end ? sent_halves(j, b) : (scan_dist_halves){.low = NULL};
        if (to.low)
            SCAN_TRY(device_did(j, scan_dist_device_halve(j->comm->device, &j->codes, own.at.keys, own.n, to)));
    }
    return device_did(j, scan_dist_device_wait(j->comm->device));
}

/* ---- exchange ---------------------------------------------------------------------------------------------------- */

typedef struct move_list {
    scan_dist_move *moves;
    size_t count;
} move_list;

/* Adds a run of which `begin` elements come before it where it was sorted. Its keys go as halves, if there are such. */
static void add(const job *j, move_list *l, run r, uint64_t begin, bool together, uint32_t peer) {
    const size_t key_lead = together ? 0 : lead_of(begin, j->key_bytes);
    const size_t value_lead = together ? 0 : lead_of(begin, j->desc.value_bytes);
    if (r.n == 0)
        return;
    l->moves[l->count++] = r.halves.low ? (scan_dist_move){r.halves.low, halves_bytes(r.halves, r.n), peer}
                                        : (scan_dist_move){r.at.keys - key_lead, key_lead + r.n * j->key_bytes, peer};
    if (r.at.values)
        l->moves[l->count++] = (scan_dist_move){r.at.values - value_lead, value_lead + r.n * j->desc.value_bytes, peer};
}

static scan_status begin_stage(const job *j, uint32_t s) {
    const scan_dist_comm *comm = j->comm;
    const uint32_t me = comm->rank;
    const bool together = is_sorted_again(j, me, s);
    move_list sends = {comm->moves, 0}, receives = {comm->moves + 2 * comm->size, 0};
    pairs area = stage_area(j, s);
    for (uint32_t r = 0; r < comm->size; r++) {
        const size_t bucket = (size_t)r * j->stages + s;
        if (r == me && !together)
            continue;
        run own = sorted_run(j, bucket);
        own.halves = sent_halves(j, bucket);
        add(j, &sends, own, cut(j, me, bucket), is_sorted_again(j, r, s), r);
        add(j, &receives, receive_run(j, r, s, together, &area), cut(j, r, own_bucket(j, s)), together, r);
    }
    return scan_dist_exchange_begin(j->comm, (scan_dist_moves){sends.moves, sends.count},
                                    (scan_dist_moves){receives.moves, receives.count});
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

static runs find_runs(const job *j, uint32_t s) {
    runs found = {.count = 0};
    pairs area = stage_area(j, s);
    for (uint32_t r = 0; r < j->comm->size; r++) {
        const run one = r == j->comm->rank ? sorted_run(j, own_bucket(j, s)) : receive_run(j, r, s, false, &area);
        if (one.n)
            found.list[found.count++] = one;
    }
    return found;
}

static scan_status merge_halves(const job *j, const run *a, const run *b, pairs to) {
    const scan_dist_run runs[2] = {{a->at.keys, a->at.values, a->n, a->halves},
                                   {b->at.keys, b->at.values, b->n, b->halves}};
    return device_did(j, scan_dist_device_merge(j->comm->device, &j->codes, j->desc.value_bytes, &runs[0], &runs[1],
                                                to.keys, to.values, j->merging));
}

/* Waits for merges of halves, and for those of the context. */
static scan_status settle(const job *j) {
    if (!may_be_halved(j))
        return SCAN_OK;
    SCAN_TRY(device_did(j, scan_dist_device_wait(j->comm->device)));
    return scan_dist_take(j->comm, j->comm->ctx, scan_ctx_sync(j->comm->ctx));
}

/* Merges neighbours, one after another, to `to`; a run without a neighbour is copied. */
static scan_status merge_neighbours(const job *j, runs *r, pairs to) {
    const scan_merge_desc desc = {.struct_size = sizeof desc,
                                  .type = j->desc.type,
                                  .descending = j->desc.descending,
                                  .nan_first = j->desc.nan_first,
                                  .value_bytes = j->desc.value_bytes};
    size_t merged = 0;
    for (size_t i = 0; i < r->count; i += 2) {
        const run a = r->list[i], b = i + 1 < r->count ? r->list[i + 1] : (run){.n = 0};
        if (a.halves.low || b.halves.low)
            SCAN_TRY(merge_halves(j, &a, &b, to));
        else
            SCAN_TRY(scan_dist_take(j->comm, j->comm->ctx,
                                    scan_merge(j->comm->ctx, &desc, a.at.keys, a.at.values, a.n, b.at.keys,
                                               b.n ? b.at.values : a.at.values, b.n, to.keys, to.values)));
        r->list[merged++] = (run){.at = to, .n = a.n + b.n};
        to = at(j, to, a.n + b.n);
    }
    r->count = merged;
    return SCAN_OK;
}

static scan_status finish_stage(const job *j, uint32_t s) {
    const size_t begin = stage_begin(j, s), n = stage_begin(j, s + 1) - begin;
    const pairs to = at(j, j->out, begin), from = stage_area(j, s);
    if (is_sorted_again(j, j->comm->rank, s))
        return scan_dist_take(j->comm, j->comm->ctx,
                              scan_sort(j->comm->ctx, &j->desc, from.keys, to.keys, from.values, to.values, n));
    runs r = find_runs(j, s);
    for (unsigned pass = 0; r.count > 2; pass++) {
        SCAN_TRY(settle(j));
        SCAN_TRY(merge_neighbours(j, &r, j->spare[pass % SCAN_DIST_SPARES]));
        SCAN_TRY(settle(j));
    }
    return merge_neighbours(j, &r, to);
}

/* A rank that has failed takes part in all stages, as long as the link holds. */
static scan_status exchange_stages(const job *j) {
    scan_status status = make_halves(j, 0, 1), moved = begin_stage(j, 0);
    if (status == SCAN_OK && moved == SCAN_OK)
        status = make_halves(j, 1, j->stages);
    for (uint32_t s = 0; s < j->stages && moved == SCAN_OK; s++) {
        if (s + 1 < j->stages)
            moved = begin_stage(j, s + 1);
        if (moved == SCAN_OK)
            moved = scan_dist_exchange_wait(j->comm);
        if (status == SCAN_OK && moved == SCAN_OK)
            status = finish_stage(j, s);
    }
    return status == SCAN_OK ? moved : status;
}

/* After an exchange that has failed no merge goes on in the caller's memory either. */
scan_status scan_dist_sort_exchange(job *j) {
    const scan_status status = exchange_stages(j), settled = settle(j);
    return status == SCAN_OK ? settled : status;
}
