/* SPDX-License-Identifier: MIT
 *
 * scan_dist_prefix: reduce, chain, scan.
 *
 *     rank 0  | g0 | g1 | g2 |.g|       reduce: the total of every group of a rank
 *     rank 1                 |3.| g4 |  chain:  before(0) = init, before(r + 1) = before(r) op totals of rank r
 *                                       scan:   scan_prefix of a rank's groups with init = before(r)
 *
 * The order of float add and mul (scan.h) folds elements inside groups of 1 MiB of accumulators, and the groups'
 * totals serially from init. So a group is computed on one rank, the owner, which has its first element; ranks that
 * have others of it send them there and get their results back. A rank then begins at the start of a group, where
 * nothing but the fold so far is carried: its scan is an ordinary one, with that fold as init. The total of a group is
 * what a scan of it alone, without init, ends with, because init's place is then taken by the identity.
 *
 * Other operators give the same bits however elements are grouped: a group is one element, no border cuts one, and the
 * total of a share is folded from parts of any length.
 *
 * Positions count in the direction of the scan, and ranks are numbered in that direction too ("steps"): a reverse scan
 * begins on the last rank.
 *
 * All of it is one file, longer than others are: each step needs what the one before found of groups and owners.
 *
 * Work: 2 n operations instead of n. Depth: one small message from step to step, and a fold of the step's totals on the
 * host. Traffic: the input read twice. On a device all totals are one launch (device.cu).
 */
#include <stdlib.h>
#include <string.h>

#include "prefix.h"

enum { GROUP_BYTES = 1 << 20, PIECE_BYTES = 1 << 20 /* less is slower: 1.25 times as long for 256 KiB */ };

typedef scan_dist_prefix_job job;

typedef scan_dist_prefix_fold fold;

/* ---- reduce ------------------------------------------------------------------------------------------------------ */

static scan_status local(const job *j, const scan_prefix_desc *desc, const void *in, void *out, size_t n) {
    return scan_dist_take(j->comm, j->comm->ctx, scan_prefix(j->comm->ctx, desc, in, out, n));
}

static scan_prefix_desc reduction(const job *j) {
    scan_prefix_desc desc = j->desc;
    desc.init = desc.carry_in = NULL;
    desc.kind = SCAN_INCLUSIVE;
    return desc;
}

/* The total of an array on the CPU, in pieces, whose output nobody reads. */
static scan_status reduce_array(const job *j, const void *array, size_t n, size_t at, size_t count, char *total) {
    scan_prefix_desc desc = reduction(j);
    desc.carry_out = j->scratch + PIECE_BYTES;
    for (const size_t end = at + count; at < end; at += j->piece, desc.carry_in = desc.carry_out) {
        const size_t length = end - at < j->piece ? end - at : j->piece;
        SCAN_TRY(local(j, &desc, scan_dist_prefix_place(j, array, n, at, length, j->in_size), j->scratch, length));
    }
    memcpy(total, desc.carry_out, j->out_size);
    return SCAN_OK;
}

static scan_status reduce_groups(const job *j, const void *array, size_t n, char *totals) {
    for (size_t at = 0; at < n; at += (size_t)j->group, totals += j->out_size)
        SCAN_TRY(reduce_array(j, array, n, at, n - at < j->group ? n - at : (size_t)j->group, totals));
    return SCAN_OK;
}

static scan_status reduce_on_device(const job *j, const void *array, size_t n, void *totals) {
    const char *failed = scan_dist_device_totals(j->comm->device, &j->desc, array, n, j->scratch, totals);
    return failed ? scan_dist_fail(j->comm, SCAN_ERR_DEVICE, "%s", failed) : SCAN_OK;
}

static scan_status reduce_part(const job *j, const void *array, size_t n, void *totals) {
    if (j->comm->device)
        return reduce_on_device(j, array, n, totals);
    return j->ordered ? reduce_groups(j, array, n, totals) : reduce_array(j, array, n, 0, n, totals);
}

static bool is_last(const job *j) { return j->comm->starts[j->step + 1] == j->total; } /* nobody needs its total */

/* Elements of the main part that belong to a group of an earlier piece. */
static size_t first_rest(const job *j) {
    const size_t rest = (size_t)(j->group - j->past);
    return !j->opens ? 0 : rest < j->main ? rest : j->main;
}

static scan_status reduce(job *j) {
    if (is_last(j) || j->n == 0)
        return SCAN_OK;
    if (j->comm->device)
        SCAN_TRY(scan_dist_take(j->comm, j->comm->ctx, scan_ctx_sync(j->comm->ctx)));
    const size_t rest = first_rest(j), whole = j->main - rest;
    if (rest)
        SCAN_TRY(scan_dist_prefix_open(j, scan_dist_prefix_place(j, j->in, j->n, 0, rest, j->in_size), rest,
                                       j->edge_out, &j->opened));
    if (whole)
        SCAN_TRY(reduce_part(j, scan_dist_prefix_place(j, j->in, j->n, j->head + rest, whole, j->in_size), whole,
                             j->totals));
    if (j->tail && j->opens && rest == 0)
        return scan_dist_prefix_open(j, j->edge_in, j->edge, j->edge_out, &j->opened);
    return j->tail ? reduce_part(j, j->edge_in, j->edge, &j->edge_total) : SCAN_OK;
}

/* ---- chain ------------------------------------------------------------------------------------------------------- */

static void fold_f32(scan_op op, void *before, const void *total) {
    float a, b;
    memcpy(&a, before, sizeof a);
    memcpy(&b, total, sizeof b);
    a = op == SCAN_ADD ? a + b : a * b;
    memcpy(before, &a, sizeof a);
}

static void fold_f64(scan_op op, void *before, const void *total) {
    double a, b;
    memcpy(&a, before, sizeof a);
    memcpy(&b, total, sizeof b);
    a = op == SCAN_ADD ? a + b : a * b;
    memcpy(before, &a, sizeof a);
}

/* before op each total in turn, which is the order of groups. */
static void add_groups(const job *j, fold *before, const char *totals, size_t count) {
    for (size_t g = 0; g < count; g++, totals += j->out_size) {
        if (!before->any)
            memcpy(&before->bits, totals, j->out_size);
        else if (j->desc.out_type == SCAN_F32)
            fold_f32(j->desc.op, &before->bits, totals);
        else
            fold_f64(j->desc.op, &before->bits, totals);
        before->any = 1;
    }
}

/* The same by the library, where any order gives it: a scan of the totals with `before` as init. */
static scan_status add_parts(const job *j, fold *before) {
    scan_prefix_desc desc = reduction(j);
    const uint64_t init = before->bits;
    const size_t count = j->total_count;
    desc.type = desc.out_type;
    desc.reverse = 0;
    desc.algorithm = (scan_algorithm){SCAN_GRID_AUTO, SCAN_BLOCK_AUTO};
    desc.init = before->any ? &init : NULL;
    before->any = 1;
    before->bits = 0;
    SCAN_TRY(scan_dist_take(j->comm, j->comm->host, scan_prefix(j->comm->host, &desc, j->totals, j->totals, count)));
    memcpy(&before->bits, j->totals + (count - 1) * j->out_size, j->out_size);
    return SCAN_OK;
}

/* Adds the totals of this rank's groups, of the one that goes on elsewhere if `edge` is set. */
static scan_status add_share(const job *j, fold *before, bool edge) {
    if (!j->ordered)
        return j->n > 0 ? add_parts(j, before) : SCAN_OK;
    if (j->opens && (j->main || edge))
        *before = (fold){1, j->opened};
    add_groups(j, before, j->totals, (j->main - first_rest(j)) / (size_t)j->group);
    if (edge && j->tail && !(j->opens && j->main == 0))
        add_groups(j, before, (const char *)&j->edge_total, 1);
    return SCAN_OK;
}

/* Receives what is before this rank's groups and passes on what is before the next rank's. A rank that has failed
 * passes on what it has. */
static scan_status chain(const job *j, fold *before, scan_status status) {
    const uint32_t last = j->comm->size - 1;
    scan_dist_move move = {before, sizeof *before, 0};
    *before = j->so_far;
    if (j->step > 0) {
        move.peer = scan_dist_prefix_rank(j, j->step - 1);
        SCAN_TRY(scan_dist_exchange_host(j->comm, (scan_dist_moves){NULL, 0}, (scan_dist_moves){&move, 1}));
    }
    fold after = *before;
    if (status == SCAN_OK && !is_last(j))
        status = add_share(j, &after, true);
    if (j->step < last) {
        move = (scan_dist_move){&after, sizeof after, scan_dist_prefix_rank(j, j->step + 1)};
        SCAN_TRY(scan_dist_exchange_host(j->comm, (scan_dist_moves){&move, 1}, (scan_dist_moves){NULL, 0}));
    }
    return status;
}

/* ---- scan -------------------------------------------------------------------------------------------------------- */

/* A scan of this rank: from the carry if it begins inside a group, else from the fold before it. */
static scan_status scan_part(const job *j, bool opens, bool closes, const fold *before, const void *in, void *out,
                             size_t n) {
    scan_prefix_desc desc = j->desc;
    desc.init = before->any && !opens ? &before->bits : NULL;
    desc.carry_in = opens ? j->desc.carry_in : NULL;
    desc.carry_out = closes && j->carry_out ? j->carry : NULL;
    return local(j, &desc, in, out, n);
}

static scan_status scan_share(const job *j, fold before) {
    if (j->main)
        SCAN_TRY(scan_part(j, j->opens, j->closes && !j->tail, &before,
                           scan_dist_prefix_place(j, j->in, j->n, j->head, j->main, j->in_size),
                           scan_dist_prefix_place(j, j->out, j->n, j->head, j->main, j->out_size), j->main));
    if (j->tail == 0)
        return SCAN_OK;
    SCAN_TRY(add_share(j, &before, false));
    return scan_part(j, j->opens && j->main == 0, j->closes, &before, j->edge_in, j->edge_out, j->edge);
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static bool is_ordered(const scan_prefix_desc *desc) {
    return scan_type_class(desc->out_type) == SCAN_FLOAT && (desc->op == SCAN_ADD || desc->op == SCAN_MUL);
}

static void fill_defaults(job *j) {
    j->desc.struct_size = sizeof j->desc;
    if (j->desc.out_type == SCAN_TYPE_NONE)
        j->desc.out_type = j->desc.type;
    j->ordered = is_ordered(&j->desc);
    j->in_size = scan_type_size(j->desc.type);
    j->out_size = scan_type_size(j->desc.out_type);
    j->group = j->ordered ? GROUP_BYTES / j->out_size : 1;
}

/* What scan_prefix says of the descriptor, and what it does not know. */
static scan_status take_desc(job *j, const scan_prefix_desc *given) {
    scan_dist_comm *comm = j->comm;
    SCAN_TRY(scan_dist_take_desc(comm, &j->desc, sizeof j->desc, given, "scan_prefix_desc"));
    SCAN_TRY(local(j, given, NULL, NULL, 0));
    SCAN_TRY(scan_dist_take_count(comm, &j->desc.n_device, &j->n));
    fill_defaults(j);
    j->carry_out = j->desc.carry_out;
    j->desc.carry_out = NULL;
    SCAN_TRY(scan_dist_prefix_carry_in(j));
    if (j->ordered &&
        (j->desc.algorithm.grid == SCAN_GRID_HOST_SUMS || j->desc.algorithm.grid == SCAN_GRID_HIERARCHICAL))
        return scan_dist_fail(comm, SCAN_ERR_ALGORITHM,
                              "scan_dist_prefix: %s has its own order of float operations, which depends on the shares",
                              scan_grid_name(j->desc.algorithm.grid));
    return SCAN_OK;
}

/* Context memory of a call: scratch, and a group before and after its scan. Returns its bytes. */
static size_t place(job *j, char *memory) {
    const size_t group = GROUP_BYTES / j->out_size, edge = j->ordered ? GROUP_BYTES : 0;
    const bool device = j->comm->device;
    j->total_count = device || j->ordered ? j->n / group + (j->n % group != 0) : 1;
    const size_t total_bytes = (j->total_count * sizeof(uint64_t) + 255) / 256 * 256;
    const size_t scratch = device ? total_bytes + 256 : PIECE_BYTES + SCAN_CARRY_BYTES;
    if (memory) {
        j->scratch = memory;
        j->carry = memory + scratch;
        j->edge_in = j->carry + SCAN_CARRY_BYTES;
        j->edge_out = j->edge_in + edge;
    }
    return scratch + SCAN_CARRY_BYTES + 2 * edge;
}

/* All memory that the call needs, whatever other ranks have. */
static scan_status take_memory(job *j) {
    void *memory;
    j->piece = PIECE_BYTES / j->out_size;
    SCAN_TRY(scan_dist_workspace(j->comm, place(j, NULL), &memory));
    place(j, memory);
    j->totals = calloc(j->total_count + 1, sizeof(uint64_t));
    if (!j->totals)
        return scan_dist_fail(j->comm, SCAN_ERR_MEMORY, "no memory for the totals of groups");
    return SCAN_OK;
}

/* A call on no element of the arrays, which finds what is wrong with them. */
static scan_status check_arrays(const job *j) {
    scan_prefix_desc desc = j->desc;
    desc.n_device = j->comm->none;
    desc.carry_in = NULL;
    return local(j, &desc, j->in, j->out, j->n);
}

static scan_status prepare(job *j, const scan_prefix_desc *given) {
    SCAN_TRY(take_desc(j, given));
    SCAN_TRY(take_memory(j));
    return check_arrays(j);
}

static uint64_t call_of(const job *j) {
    const scan_prefix_desc *desc = &j->desc;
    const uint64_t fields[] = {desc->type,
                               desc->out_type,
                               desc->op,
                               desc->kind,
                               desc->reverse,
                               desc->algorithm.grid,
                               j->so_far.any,
                               j->so_far.bits,
                               desc->algorithm.block,
                               desc->carry_in != NULL,
                               j->count,
                               j->carry_out != NULL};
    return scan_dist_hash_all('p', fields, sizeof fields / sizeof *fields);
}

static scan_status run(job *j) {
    scan_dist_comm *comm = j->comm;
    fold before;
    scan_dist_prefix_groups(j);
    scan_status status = scan_dist_prefix_edges(j, false);
    if (status == SCAN_OK)
        status = reduce(j);
    if (comm->broken)
        return status;
    status = chain(j, &before, status);
    if (status == SCAN_OK)
        status = scan_share(j, before);
    if (comm->broken)
        return status;
    const scan_status moved = scan_dist_prefix_edges(j, true);
    if (comm->broken)
        return moved;
    if (status == SCAN_OK)
        status = moved;
    status = scan_dist_prefix_carry_out(j, status);
    if (comm->broken)
        return status;
    if (status == SCAN_OK)
        status = scan_dist_take(comm, comm->ctx, scan_ctx_sync(comm->ctx));
    return scan_dist_end(comm, status);
}

scan_status scan_dist_prefix(scan_dist_comm *comm, const scan_prefix_desc *desc, const void *in, void *out, size_t n) {
    job j = {.comm = comm, .in = in, .out = out, .n = n};
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    scan_status status = prepare(&j, desc);
    status = scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&j) : 0, j.n, 0);
    if (status == SCAN_OK)
        status = run(&j);
    scan_dist_free(comm, j.totals);
    return status;
}

/* Scans of the share, of a group, of which later ranks may have more than the share is long, and on the CPU of pieces
 * of which each goes on with the one before. */
scan_status scan_dist_prefix_workspace(const scan_dist_comm *comm, const scan_prefix_desc *given, size_t n,
                                       size_t *bytes, size_t *ctx_bytes) {
    job j = {.comm = (scan_dist_comm *)(uintptr_t)comm, .n = n};
    size_t needed, most = 0;
    SCAN_TRY(scan_dist_copy_desc(comm, &j.desc, sizeof j.desc, given));
    SCAN_TRY(scan_prefix_workspace(comm->ctx, given, n, &needed));
    fill_defaults(&j);
    const size_t group = GROUP_BYTES / j.out_size, lengths[] = {n, n < group && !(j.ordered && n) ? n : group};
    for (int carries = 0; carries < 2; carries++) {
        if (carries) {
            j.desc.init = NULL;
            j.desc.carry_in = j.desc.carry_out = comm->none;
        }
        for (int i = 0; i < 2; i++) {
            SCAN_TRY(scan_prefix_workspace(comm->ctx, &j.desc, lengths[i], &needed));
            most = scan_dist_max(most, needed);
        }
    }
    return scan_dist_give_sizes(place(&j, NULL), bytes, most, ctx_bytes);
}
