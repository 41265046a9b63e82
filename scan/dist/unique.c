/* SPDX-License-Identifier: MIT
 *
 * scan_dist_unique: a run belongs to the rank that has its first element.
 *
 *     rank 0  a a b | rank 1  b b b | rank 2 (empty) | rank 3  b c c
 *             a   b                                              c         kept
 *             2   1 + 3 + 1                                      2         lengths of runs
 *
 * Every rank tells its last element. One whose first element equals the last of the nearest rank before it that is not
 * empty goes on with a run: it finds how long, leaves that out, and tells the length to the rank that has the run.
 */
#include <string.h>

#include "dist.h"

enum { COUNTS = 2 /* in context memory */ };

typedef struct job {
    scan_dist_comm *comm;
    scan_unique_desc desc;
    scan_unique_out out;
    const char *in;
    size_t n, size;
    uint64_t first, last; /* elements of this rank */
    uint64_t *count;      /* context memory, for predicates */
    size_t lead;          /* elements that go on with a run of lower ranks */
    uint64_t runs;
} job;

/* ---- equality ---------------------------------------------------------------------------------------------------- */

static double as_double(scan_type type, uint64_t bits) {
    double f64;
    float f32;
    memcpy(&f64, &bits, sizeof f64);
    memcpy(&f32, &bits, sizeof f32); /* little endian */
    return type == SCAN_F32 ? (double)f32 : f64;
}

static bool equal(scan_type type, uint64_t a, uint64_t b) {
    if (scan_type_class(type) != SCAN_FLOAT)
        return a == b;
    const double x = as_double(type, a), y = as_double(type, b);
    return x == y || (x != x && y != y);
}

/* The predicate "differs from `element`". Returns the number of its terms. */
static uint32_t differs(scan_type type, uint64_t element, scan_term terms[2]) {
    const scan_class class = scan_type_class(type);
    const unsigned unused = 64 - 8 * (unsigned)scan_type_size(type);
    memset(terms, 0, 2 * sizeof *terms);
    if (class == SCAN_FLOAT && as_double(type, element) != as_double(type, element)) {
        terms[0].op = SCAN_TERM_ISNAN;
        terms[1].op = SCAN_TERM_NOT;
        return 2;
    }
    terms[0].op = SCAN_TERM_NE;
    if (class == SCAN_FLOAT) {
        terms[0].constant_type = SCAN_F64;
        terms[0].constant.f = as_double(type, element);
    } else if (class == SCAN_SIGNED) {
        terms[0].constant_type = SCAN_I64;
        terms[0].constant.i = (int64_t)(element << unused) >> unused;
    } else {
        terms[0].constant_type = SCAN_U64;
        terms[0].constant.u = element;
    }
    return 1;
}

/* Are the elements from `begin` to `end` all equal to the first? */
static scan_status all_equal(const job *j, size_t begin, size_t end, bool *equal) {
    scan_term terms[2];
    scan_compact_desc desc = {.struct_size = sizeof desc, .type = j->desc.type, .terms = terms};
    const scan_compact_out out = {.struct_size = sizeof out, .count = j->count};
    uint64_t different;
    desc.term_count = differs(j->desc.type, j->first, terms);
    SCAN_TRY(scan_dist_take(j->comm, j->comm->ctx,
                            scan_compact(j->comm->ctx, &desc, j->in + begin * j->size, &out, end - begin)));
    SCAN_TRY(scan_dist_download(j->comm, &different, j->count, sizeof different));
    *equal = different == 0;
    return SCAN_OK;
}

/* The length of the run that the share begins with: galloping, then bisection. */
static scan_status find_lead(job *j) {
    size_t low = 1, high = j->n < 1024 ? j->n : 1024; /* the first `low` elements are equal */
    bool same = true;
    while (low < high) {
        SCAN_TRY(all_equal(j, low, high, &same));
        if (!same)
            break;
        low = high;
        high = j->n / 16 < high ? j->n : 16 * high;
    }
    while (!same && high - low > 1) { /* of the first `high` elements one differs */
        const size_t middle = low + (high - low) / 2;
        bool lower;
        SCAN_TRY(all_equal(j, low, middle, &lower));
        if (lower)
            low = middle;
        else
            high = middle;
    }
    j->lead = low;
    return SCAN_OK;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static scan_status prepare(job *j, const scan_unique_desc *given, const scan_unique_out *given_out, bool asked) {
    scan_dist_comm *comm = j->comm;
    void *memory;
    SCAN_TRY(scan_dist_take_desc(comm, &j->desc, sizeof j->desc, given, "scan_unique_desc"));
    SCAN_TRY(scan_dist_take_desc(comm, &j->out, sizeof j->out, given_out, "scan_unique_out"));
    SCAN_TRY(scan_dist_take(comm, comm->ctx, scan_unique(comm->ctx, given, NULL, given_out, 0)));
    SCAN_TRY(scan_dist_take_count(comm, &j->desc.n_device, &j->n));
    if (!asked && !j->out.kept && !j->out.indices && !j->out.run_lengths && !j->out.count)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "scan_unique_out: every output is NULL");
    if (j->n && !j->in)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "in is NULL");
    if (j->n && j->out.kept == j->in)
        return scan_dist_fail(comm, SCAN_ERR_OVERLAP, "kept and in overlap");
    j->desc.struct_size = sizeof j->desc;
    j->out.struct_size = sizeof j->out;
    j->size = scan_type_size(j->desc.type);
    SCAN_TRY(scan_dist_workspace(comm, COUNTS * sizeof *j->count, &memory));
    j->count = memory;
    if (!j->out.count)
        j->out.count = j->count + 1;
    if (j->n == 0)
        return SCAN_OK;
    SCAN_TRY(scan_dist_download(comm, &j->first, j->in, j->size));
    return scan_dist_download(comm, &j->last, j->in + (j->n - 1) * j->size, j->size);
}

static uint64_t call_of(const scan_unique_desc *desc) {
    const uint64_t fields[] = {desc->type, desc->index_type, desc->grid, desc->index_base};
    return scan_dist_hash_all('u', fields, sizeof fields / sizeof *fields);
}

/* The records have the lengths and the last elements of all ranks. */
static bool goes_on(const job *j) {
    uint32_t r = j->comm->rank;
    while (j->n && r-- > 0)
        if (j->comm->records[r].n)
            return equal(j->desc.type, j->comm->records[r].extra, j->first);
    return false;
}

static scan_status find_runs(job *j) {
    scan_dist_comm *comm = j->comm;
    const uint64_t total = comm->starts[comm->size];
    SCAN_TRY(scan_dist_settle_index(comm, &j->desc.index_type, &j->desc.index_base));
    if (j->out.run_lengths && j->desc.index_type == SCAN_U32 && total > UINT32_MAX)
        return scan_dist_fail(comm, SCAN_ERR_ARGUMENT, "run_lengths of u32 cannot hold %llu, the length of the array",
                              (unsigned long long)total);
    if (goes_on(j))
        SCAN_TRY(find_lead(j));
    j->desc.index_base += j->lead;
    SCAN_TRY(scan_dist_take(comm, comm->ctx,
                            scan_unique(comm->ctx, &j->desc, j->in + j->lead * j->size, &j->out, j->n - j->lead)));
    return scan_dist_download(comm, &j->runs, j->out.count, sizeof j->runs);
}

/* Adds to the last run of this rank what later ranks have of it. The records have their leads. */
static scan_status extend_last_run(const job *j) {
    const scan_dist_comm *comm = j->comm;
    const uint64_t *starts = comm->starts;
    const size_t size = scan_type_size(j->desc.index_type);
    uint64_t more = 0, length = 0;
    if (!j->out.run_lengths || j->runs == 0)
        return SCAN_OK;
    for (uint32_t r = comm->rank + 1; r < comm->size; r++) {
        more += comm->records[r].extra;
        if (comm->records[r].extra < starts[r + 1] - starts[r])
            break;
    }
    char *place = (char *)j->out.run_lengths + (j->runs - 1) * size;
    if (more == 0)
        return SCAN_OK;
    SCAN_TRY(scan_dist_download(j->comm, &length, place, size));
    length += more;
    return scan_dist_upload(j->comm, place, &length, size);
}

static scan_dist_place place_of(const job *j) {
    scan_dist_place place = {0, j->runs, 0};
    for (uint32_t r = 0; r < j->comm->size; r++) {
        place.before += r < j->comm->rank ? j->comm->records[r].n : 0;
        place.total += j->comm->records[r].n;
    }
    return place;
}

scan_status scan_dist_unique(scan_dist_comm *comm, const scan_unique_desc *desc, const void *in,
                             const scan_unique_out *out, size_t n, scan_dist_place *runs) {
    job j = {.comm = comm, .in = in, .n = n};
    if (!comm)
        return SCAN_ERR_ARGUMENT;
    const scan_status status = prepare(&j, desc, out, runs != NULL);
    SCAN_TRY(scan_dist_begin(comm, status, status == SCAN_OK ? call_of(&j.desc) : 0, j.n, j.last));
    scan_dist_find_starts(comm);
    const scan_status found = find_runs(&j);
    SCAN_TRY(scan_dist_begin(comm, found, 'u', j.runs, j.lead));
    const scan_dist_place place = place_of(&j);
    SCAN_TRY(scan_dist_end(comm, extend_last_run(&j)));
    if (runs)
        *runs = place;
    return SCAN_OK;
}

scan_status scan_dist_unique_workspace(const scan_dist_comm *comm, const scan_unique_desc *given, size_t n,
                                       size_t *bytes, size_t *ctx_bytes) {
    scan_unique_desc desc;
    scan_term terms[2];
    scan_compact_desc comparison = {.struct_size = sizeof comparison, .terms = terms};
    size_t least, wide = 0, compared;
    SCAN_TRY(scan_dist_copy_desc(comm, &desc, sizeof desc, given));
    SCAN_TRY(scan_unique_workspace(comm->ctx, given, n, &least));
    if (desc.index_type == SCAN_TYPE_NONE) { /* the whole array may be longer */
        desc.index_type = SCAN_U64;
        SCAN_TRY(scan_unique_workspace(comm->ctx, &desc, n, &wide));
    }
    comparison.type = desc.type;
    comparison.term_count = differs(desc.type, 0, terms);
    SCAN_TRY(scan_compact_workspace(comm->ctx, &comparison, n, &compared));
    return scan_dist_give_sizes(COUNTS * sizeof(uint64_t), bytes, scan_dist_max(compared, scan_dist_max(least, wide)),
                                ctx_bytes);
}
