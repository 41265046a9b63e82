/* SPDX-License-Identifier: MIT
 *
 * Arrays that host memory holds and a device does not: sorted on the device in parts, each while the next is read, and
 * merged from there, round by round: one is gathered, and sorted on the device, while the one before is written.
 *
 * Memory is that of the array and of one part more. A part is read to where the next one will be sorted to:
 *
 *     | part 0, sorted | part 1, as read | part 2, as read |         part 1 is sorted into the gap that its reading
 *                   <------------                                    has left, which is where part 0 was read to
 *
 * so its elements are still there if the device fails, and no result is copied.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/pipeline.h"
#include "apps/support/report.h"
#include "array_merge.h"
#include "row_sort.h"

/* Jobs up to this size are begun before it is known whether the device has the memory; if not, the CPU does them. To
 * know it takes as long as the device takes to open. */
#define UNASKED_BYTES ((uint64_t)4 << 30)
/* A round of the merge, and parts of the array that let reading and sorting overlap. */
enum { ROUND_BYTES = 256 << 20, MIN_ROUND_BYTES = 1 << 20, MIN_PARTS = 8, MIN_PART = 1 << 24, SLOTS = 3 };
enum { FEW = 1 << 10 }; /* elements that no device refuses for want of memory */

/* ---- what fits --------------------------------------------------------------------------------------------------- */

static size_t fitting_elements(sort_job *j, scan_type type, size_t n) {
    const order_key key = sort_key(j, type, NULL, NULL);
    while (n > FEW && !order_fits_device(&key, n, j->argsort, j->method, &j->session, j->device_memory))
        n = n / 2 + 1;
    return n;
}

void sort_limit_device(sort_job *j, scan_type type, uint64_t n) {
    if (j->check || (j->device_memory == SIZE_MAX && n * scan_type_size(type) <= UNASKED_BYTES))
        return;
    session_ready(&j->session);
    if (!j->session.on_host)
        j->device_elements = fitting_elements(j, type, n < SIZE_MAX ? (size_t)n : SIZE_MAX);
}

/* Elements of host memory beside the array; 0 if it does not hold the array and the least of a part and rounds. */
static size_t spare_elements(const sort_job *j, const array_reader *reader) {
    const uint64_t bytes = reader->header.count * reader->size;
    if (bytes >= j->memory || j->memory - bytes < 5 * (size_t)MIN_ROUND_BYTES)
        return 0;
    return (j->memory - (size_t)bytes) / reader->size;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* ---- parts ------------------------------------------------------------------------------------------------------- */

typedef struct slice {
    size_t first, n;
} slice;

typedef struct parts {
    sort_job *j;
    array_reader *reader;
    order_key key; /* all elements, and one part more */
    size_t most, next;
    slice slots[SLOTS];
    array_spool spool;
} parts;

/* Where element i goes; it is read to element i + most. */
static void *element(const parts *p, size_t i) { return (unsigned char *)p->key.data + i * p->reader->size; }

static bool read_part(void *arg, size_t slot) {
    parts *p = arg;
    const size_t count = (size_t)p->reader->header.count, left = count - p->next;
    order_key key = p->key;
    slice *to = &p->slots[slot];
    *to = (slice){p->next, left < p->most ? left : p->most};
    if (to->n == 0)
        return false;
    key.data = element(p, to->first + p->most);
    array_read(p->reader, key.data, to->n);
    sort_refuse_nan(p->j, p->reader, &key, to->n, to->first);
    p->next += to->n;
    return true;
}

/* Memory of the device that runs short makes the pieces smaller; so does a CPU that has taken over. */
static void sort_part(void *arg, size_t slot, unsigned worker) {
    parts *p = arg;
    sort_job *j = p->j;
    const slice *of = &p->slots[slot];
    order_key key = p->key;
    (void)worker;
    for (size_t done = 0; done < of->n;) {
        const size_t left = of->n - done, most = j->session.on_host ? p->spool.round : left;
        const size_t n = fitting_elements(j, key.type, most < left ? most : left);
        key.data = element(p, of->first + done + p->most);
        p->spool.hash += array_hash(j, key.type, key.data, NULL, n);
        order_sort_into(&key, element(p, of->first + done), n, j->method, &j->session, j->in.name);
        done += n;
        array_spool_add_end(&p->spool, of->first + done);
    }
}

static void finish_part(void *arg, size_t slot) {
    const parts *p = arg;
    report_progress((p->slots[slot].first + p->slots[slot].n) * p->reader->size / 2,
                    p->reader->header.count * p->reader->size);
}

bool sort_device_parts(sort_job *j, array_reader *reader) {
    const size_t count = (size_t)reader->header.count, spare = spare_elements(j, reader);
    if (j->session.on_host || j->argsort || count <= j->device_elements || spare == 0)
        return false;
    parts p = {.j = j, .reader = reader, .key = sort_key(j, reader->type, NULL, NULL)};
    const size_t even = count / MIN_PARTS + 1 > MIN_PART ? count / MIN_PARTS + 1 : MIN_PART;
    p.most = least(least(even, j->device_elements), spare / 5 * 2);
    const size_t round = least((spare - p.most) / 3, ROUND_BYTES / reader->size);
    p.key.data = must_alloc(count + p.most, reader->size);
    sort_expect_output(j, reader->header.count, reader->size);
    p.spool = (array_spool){.keys.fd = -1, .places.fd = -1, .memory = p.key.data, .round = round};
    report_number("elements", count);
    report_stage("sorting parts ");
    pipeline_run(&(pipeline){read_part, sort_part, finish_part, &p, .slots = SLOTS, .serial = true});
    report_number("parts", p.spool.count);
    array_merge_parts(j, reader, &p.spool, count);
    array_spool_close(&p.spool);
    free(p.key.data);
    return true;
}
