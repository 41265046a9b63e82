/* SPDX-License-Identifier: MIT
 *
 * test_dist: all tests of libscan_dist in one process a rank, for `mpirun -n N test_dist` (test_dist.py).
 */
#include "dist_test.h"

void *make_bytes(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        abort();
    return memory;
}

void free_bytes(void *memory) { free(memory); }

int main(void) {
    dist_test tests = {0};
    const dist_test *t = &tests;
    const scan_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
    const scan_options two_threads = {.struct_size = sizeof two_threads, .threads = 2};
    scan_dist_info info = {.struct_size = sizeof info};
    char detail[256] = "";
    const scan_dist_options options = {.struct_size = sizeof options, .detail = detail, .detail_bytes = sizeof detail};

    if (scan_dist_comm_create(&tests.comm, &options) != SCAN_OK) {
        fprintf(stderr, "no communicator: %s\n", detail);
        return 1;
    }
    CHECK_STATUS(scan_dist_comm_info(t->comm, &info), SCAN_OK);
    tests.rank = info.rank;
    tests.size = info.size;
    CHECK(t->size <= MAX_RANKS, "too many ranks");
    CHECK_STATUS(scan_ctx_create(&tests.ctx, t->rank % 2 ? &one_thread : &two_threads), SCAN_OK);
    CHECK_STATUS(scan_ctx_create(&tests.whole, &one_thread), SCAN_OK);

    test_comm(t);
    test_prefix(t);
    test_histogram(t);
    test_compact(t);
    test_redistribute(t);
    test_unique(t);
    test_equalize(t);
    test_sort(t);
    test_workspace(t);

    scan_dist_comm_destroy(tests.comm);
    scan_ctx_destroy(tests.ctx);
    scan_ctx_destroy(tests.whole);
    if (info.rank == 0)
        printf("%u ranks: passed\n", info.size);
    return 0;
}
