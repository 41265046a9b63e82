/* SPDX-License-Identifier: MIT
 *
 * A job's arrays and context. All memory is written once before anything is timed, so that no contender pays for pages
 * that the system allocates at the first touch.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* ---- input ------------------------------------------------------------------------------------------------------- */

typedef struct span {
    void *memory;
    size_t bytes;
} span;

static void touch(void *argument, unsigned index, unsigned count) {
    const span *b = argument;
    size_t begin = part_begin(b->bytes, index, count);
    memset((char *)b->memory + begin, 0x5a, part_begin(b->bytes, index + 1, count) - begin);
}

enum { MAX_HASHED = 16384 };

enum array_slot { IN, OUT, VALUES_IN, VALUES_OUT, SLOTS };

/* How far after a boundary of 256 bytes an array begins. */
static size_t shift_bytes(const job *j, enum array_slot slot) {
    const size_t bytes[SLOTS] = {j->in_bytes, j->out_bytes, j->values_in_bytes, j->values_out_bytes};
    return j->offset * (slot == OUT && j->verb == BENCH_HISTOGRAM ? sizeof(uint64_t) : bytes[slot] / j->n);
}

static void *shifted(const job *j, enum array_slot slot, void *memory) { return (char *)memory + shift_bytes(j, slot); }

/* The memory that a shifted array lies in, as it was allocated. */
static void *unshifted(const job *j, enum array_slot slot, void *array) {
    return array != NULL ? (char *)array - shift_bytes(j, slot) : NULL;
}

/* Host arrays of the last job on a device, reused by the next one: new pages take long, and nothing is timed on them.
 */
static span kept[SLOTS];

static void *array(const job *j, enum array_slot slot, size_t bytes) {
    bytes += shift_bytes(j, slot);
    span *old = &kept[slot];
    if (j->on_device && old->memory != NULL && old->bytes >= bytes)
        return shifted(j, slot, old->memory);
    free(old->memory);
    *old = (span){0};
    span b = {.bytes = bytes > 0 ? bytes : 1};
    if (posix_memalign(&b.memory, 4096, b.bytes) != 0) {
        fprintf(stderr, "bench: no memory for an array of %zu bytes: choose a smaller --n\n", bytes);
        exit(3);
    }
    in_parallel(j->threads, touch, &b);
    if (j->on_device)
        *old = b;
    return shifted(j, slot, b.memory);
}

/* The number below which a share `keep` of a uniform array lies. */
static scan_value threshold(const job *j) {
    scan_value t = {0};
    unsigned width = (unsigned)(8 * type_bytes(j->type));
    double range = j->keep >= 1 ? 0x1p64 : j->keep * 0x1p64;
    uint64_t bits = range >= 0x1p64 ? UINT64_MAX : (uint64_t)range;
    switch (scan_type_class(j->type)) {
    case SCAN_UNSIGNED: t.u = bits >> (64 - width); break;
    case SCAN_SIGNED: t.i = (int64_t)(bits ^ (UINT64_C(1) << 63)) >> (64 - width); break;
    case SCAN_FLOAT: t.f = j->keep * 2 - 1; break;
    case SCAN_CLASS_NONE: break;
    }
    return t;
}

/* Replaces x by 1 + x / 2^20: a running product of numbers in [-1, 1) goes through slow denormals to zero within a few
 * hundred elements. */
static void near_one(job *j) {
    for (uint64_t i = 0; i < j->n; i++)
        if (j->type == SCAN_F32)
            ((float *)j->in)[i] = 1 + ((float *)j->in)[i] * 0x1p-20f;
        else
            ((double *)j->in)[i] = 1 + ((double *)j->in)[i] * 0x1p-20;
}

typedef struct filling {
    const job *j;
    generator start;
} filling;

static void fill(void *argument, unsigned index, unsigned count) {
    const filling *f = argument;
    generator g = f->start;
    uint64_t begin = part_begin(f->j->n, index, count), end = part_begin(f->j->n, index + 1, count);
    if (generator_skip(&g, begin))
        generator_fill(&g, (char *)f->j->in + begin * type_bytes(f->j->type), end - begin);
}

static void fill_keys(void *argument, unsigned index, unsigned count) {
    const job *j = argument;
    uint64_t begin = part_begin(j->n, index, count), end = part_begin(j->n, index + 1, count);
    key_set_fill(j->keys, begin, end - begin, (char *)j->in + begin * type_bytes(j->type));
}

static const char *fill_in(job *j, uint64_t seed) {
    filling f = {.j = j};
    if (j->keys != NULL) {
        in_parallel(j->threads, fill_keys, j);
        return NULL;
    }
    const char *wrong = generator_start(&f.start, &j->spread, j->type, j->n, seed);
    if (wrong != NULL)
        return wrong;
    generator try = f.start;
    in_parallel(generator_skip(&try, 1) ? j->threads : 1, fill, &f);
    return NULL;
}

/* Sorts the halves of a merge's input. */
static const char *sort_halves(job *j) {
    const size_t half = j->n / 2;
    char *const parts[] = {j->in, (char *)j->in + half * type_bytes(j->type)};
    const size_t lengths[] = {half, j->n - half};
    const scan_options options = {.struct_size = sizeof options, .threads = j->threads};
    const scan_sort_desc desc = {
        .struct_size = sizeof desc, .type = j->type, .descending = j->descending, .nan_first = j->nan_first};
    scan_ctx *cpu;
    scan_status status = scan_ctx_create(&cpu, &options);
    for (int p = 0; p < 2 && status == SCAN_OK; p++)
        status = scan_sort(cpu, &desc, parts[p], parts[p], NULL, NULL, lengths[p]);
    scan_ctx_destroy(cpu);
    return status == SCAN_OK ? NULL : scan_status_string(status);
}

static const char *input(job *j, uint64_t seed) {
    const char *wrong = fill_in(j, seed);
    if (wrong == NULL && j->verb == BENCH_MERGE)
        wrong = sort_halves(j);
    if (wrong != NULL)
        return wrong;
    if (j->verb == BENCH_PREFIX && j->op == SCAN_MUL && scan_type_class(j->type) == SCAN_FLOAT)
        near_one(j);
    if (j->verb == BENCH_FLAGGED)
        mark_below(j, j->values_in);
    for (uint64_t i = 0; j->verb == BENCH_PAIRS && i < j->n; i++)
        if (j->value_bytes == 8)
            ((uint64_t *)j->values_in)[i] = i;
        else
            ((uint32_t *)j->values_in)[i] = (uint32_t)i;
    return NULL;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void sizes(job *j) {
    size_t element = type_bytes(j->type);
    j->in_bytes = j->n * element;
    j->out_bytes = j->in_bytes;
    switch (j->verb) {
    case BENCH_PREFIX: j->out_bytes = j->n * type_bytes(j->out_type); break;
    case BENCH_FLAGGED: j->values_in_bytes = j->n; break;
    case BENCH_INDICES: j->out_bytes = j->n * 4; break;
    case BENCH_PARTITION: j->values_out_bytes = j->in_bytes; break;
    case BENCH_LENGTHS: j->values_out_bytes = j->n * 4; break;
    case BENCH_PAIRS: j->values_in_bytes = j->values_out_bytes = j->n * j->value_bytes; break;
    case BENCH_ARGSORT: j->out_bytes = j->n * (j->n < UINT64_C(1) << 32 ? 4 : 8); break;
    case BENCH_HISTOGRAM: j->out_bytes = sizeof(uint64_t) << (8 * element); break;
    case BENCH_CLAHE:
        j->width = j->n < 8192 ? j->n : 8192;
        j->height = j->width > 0 ? j->n / j->width : 0;
        j->n = j->width * j->height;
        j->in_bytes = j->out_bytes = j->n * element;
        break;
    default: break;
    }
    j->traffic_bytes = (double)(j->in_bytes + j->values_in_bytes + j->out_bytes + j->values_out_bytes);
    if (j->verb == BENCH_HISTOGRAM)
        j->traffic_bytes = (double)j->in_bytes;
}

/* ---- context ----------------------------------------------------------------------------------------------------- */

static bool device_arrays(job *j) {
    struct {
        void **device;
        const void *host;
        size_t bytes, room;
    } all[] = {
        {&j->d_in, j->in, j->in_bytes, j->in_bytes},
        {&j->d_out, NULL, 0, j->out_bytes > j->in_bytes ? j->out_bytes : j->in_bytes}, /* the copy writes here too */
        {&j->d_values_in, j->values_in, j->values_in_bytes, j->values_in_bytes},
        {&j->d_values_out, NULL, 0, j->values_out_bytes}};
    for (enum array_slot a = IN; a < SLOTS; a++) {
        void *memory;
        if (scan_malloc(j->ctx, all[a].room + shift_bytes(j, a), &memory) != SCAN_OK)
            return false;
        *all[a].device = memory != NULL ? shifted(j, a, memory) : NULL;
        if (all[a].host != NULL && scan_upload(j->ctx, *all[a].device, all[a].host, all[a].bytes) != SCAN_OK)
            return false;
    }
    void *count;
    if (scan_malloc(j->ctx, sizeof(uint64_t), &count) != SCAN_OK)
        return false;
    j->d_count = count;
    return scan_ctx_sync(j->ctx) == SCAN_OK;
}

static bool open_context(job *j, const char *device_name) {
    static char detail[256];
    scan_options options = {
        .struct_size = sizeof options, .threads = j->threads, .detail = detail, .detail_bytes = sizeof detail};
    if (strcmp(device_name, "cpu") != 0)
        options.backend = strcmp(device_name, "auto") == 0 ? SCAN_BACKEND_AUTO : SCAN_BACKEND_CUDA;
    if (strncmp(device_name, "cuda:", 5) == 0)
        options.device = atoi(device_name + 5);
    if (j->device != NULL)
        options.stream = j->device->stream();
    detail[0] = '\0';
    scan_status status = scan_ctx_create(&j->ctx, &options);
    if (status != SCAN_OK) {
        j->wrong = detail[0] != '\0' ? detail : scan_status_string(status);
        return false;
    }
    scan_info info = {.struct_size = sizeof info};
    scan_ctx_info(j->ctx, &info);
    j->on_device = info.backend == SCAN_BACKEND_CUDA;
    return true;
}

/* The host's arrays with the input; false: j->wrong says why not. */
static bool host_arrays(job *j, uint64_t seed) {
    j->in = array(j, IN, j->in_bytes);
    j->out = array(j, OUT, j->out_bytes > j->in_bytes ? j->out_bytes : j->in_bytes); /* the copy needs as much */
    j->values_in = array(j, VALUES_IN, j->values_in_bytes);
    j->values_out = array(j, VALUES_OUT, j->values_out_bytes);
    j->wrong = input(j, seed);
    const size_t hashed = j->in_bytes < MAX_HASHED ? j->in_bytes : MAX_HASHED;
    j->input_hash = fnv1a(1, j->in, hashed);
    return j->wrong == NULL;
}

/* Do the keys that the device made at `begin` agree with those that the host makes? */
static bool keys_agree(job *j, uint64_t begin, uint64_t count) {
    static char made[MAX_HASHED], right[MAX_HASHED];
    const size_t bytes = type_bytes(j->type);
    if (scan_download(j->ctx, made, (const char *)j->d_in + begin * bytes, count * bytes) != SCAN_OK ||
        scan_ctx_sync(j->ctx) != SCAN_OK)
        return false;
    key_set_fill(j->keys, begin, (size_t)count, right);
    if (begin == 0)
        j->input_hash = fnv1a(1, right, count * bytes);
    return memcmp(made, right, count * bytes) == 0;
}

/* A hunt's input, made on the device. */
static bool device_input(job *j) {
    const uint64_t most = MAX_HASHED / type_bytes(j->type), count = j->n < most ? j->n : most;
    if (j->device->make_sets(j) && keys_agree(j, 0, count) && keys_agree(j, j->n - count, count))
        return true;
    j->wrong = "the device did not make the keys of the set";
    return false;
}

bool job_open(job *j, const bench_settings *bench) {
    j->device = bench->device;
    if (!open_context(j, bench->device_name))
        return false;
    if (j->verb == BENCH_TEXT || j->verb == BENCH_FILE)
        return files_open(j, bench->seed);
    sizes(j);
    j->threshold = threshold(j);
    if (!is_made_on_device(j) && !host_arrays(j, bench->seed))
        return false;
    if (j->on_device && !device_arrays(j)) {
        j->wrong = scan_ctx_detail(j->ctx);
        return false;
    }
    if (is_made_on_device(j))
        return device_input(j);
    if (!j->on_device) {
        j->d_in = j->in, j->d_out = j->out, j->d_values_in = j->values_in, j->d_values_out = j->values_out;
        j->d_count = &j->count;
    }
    return true;
}

void job_close(job *j) {
    if (j->on_device) {
        scan_free(j->ctx, unshifted(j, IN, j->d_in));
        scan_free(j->ctx, unshifted(j, OUT, j->d_out));
        scan_free(j->ctx, unshifted(j, VALUES_IN, j->d_values_in));
        scan_free(j->ctx, unshifted(j, VALUES_OUT, j->d_values_out));
        scan_free(j->ctx, j->d_count);
    } else {
        free(unshifted(j, IN, j->in));
        free(unshifted(j, OUT, j->out));
        free(unshifted(j, VALUES_IN, j->values_in));
        free(unshifted(j, VALUES_OUT, j->values_out));
    }
    if (j->path_in[0] != '\0')
        unlink(j->path_in);
    if (j->path_out[0] != '\0')
        unlink(j->path_out);
    scan_ctx_destroy(j->ctx);
}
