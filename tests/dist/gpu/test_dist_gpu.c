/* SPDX-License-Identifier: MIT
 *
 * test_dist_gpu [RANKS]...: the tests of libscan_dist on devices, without MPI: for each number of ranks (1, 2 and 3)
 * that many processes, on the devices of this machine in turns. Where ranks share a device NCCL is told that they are
 * on different machines, and goes through the loopback interface. Arrays are in managed memory, which tests read and
 * write as they do on the host.
 */
#include <signal.h>
#include <sys/wait.h>

#include <cuda_runtime_api.h>

#include "tests/dist/dist_test.h"
#include "wire_fork.h"

void *make_bytes(size_t bytes) {
    void *memory = NULL;
    if (cudaMallocManaged(&memory, bytes ? bytes : 1, cudaMemAttachGlobal) != cudaSuccess)
        abort();
    return memory;
}

void free_bytes(void *memory) { cudaFree(memory); }

#ifdef SCAN_EMULATED
enum { MANY = 1 << 16 };
#else
enum { MANY = 5 << 20 };
#endif

/* Pairs, or keys alone, that go in many chunks; many are equal. Sums of hashes say that none is lost. */
static void large(const dist_test *t, uint32_t value_bytes) {
    const size_t n = MANY;
    const scan_sort_desc desc = {.struct_size = sizeof desc, .type = SCAN_U32, .value_bytes = value_bytes};
    uint64_t rng = 53 + t->rank, sums[2] = {0, 0}, all[2 * MAX_RANKS];
    uint32_t *keys = make_bytes(n * 4), *values = make_bytes(n * 4), *sorted = make_bytes(n * 4 * t->size);
    uint32_t *moved = make_bytes(n * 4 * t->size);
    for (size_t i = 0; i < n; i++) {
        keys[i] = (uint32_t)(random_u64(&rng) % (1u << 20));
        values[i] = keys[i] * 7;
        sums[0] += random_mix(keys[i]);
    }
    CHECK_STATUS(
        scan_dist_sort(t->comm, &desc, keys, sorted, value_bytes ? values : NULL, value_bytes ? moved : NULL, n, n),
        SCAN_OK);
    for (size_t i = 0; i < n; i++) {
        CHECK((value_bytes == 0 || moved[i] == sorted[i] * 7) && (i == 0 || sorted[i - 1] <= sorted[i]), "element %zu",
              i);
        sums[1] += random_mix(sorted[i]);
    }
    CHECK_STATUS(scan_dist_all_gather(t->comm, sums, sizeof sums, all), SCAN_OK);
    for (uint32_t r = 1; r < t->size; r++) {
        all[0] += all[2 * r];
        all[1] += all[2 * r + 1];
    }
    CHECK(all[0] == all[1], "other elements");
    free_bytes(keys);
    free_bytes(values);
    free_bytes(sorted);
    free_bytes(moved);
}

/* A rank that fails on its device is heard of by those that wait for it. */
static void failure(const dist_test *t) {
    scan_dist_info info = {.struct_size = sizeof info};
    float *values = make_bytes(4 << 20);
    const scan_prefix_desc desc = {.struct_size = sizeof desc, .type = SCAN_F32};
    memset(values, 0, 4 << 20);
    if (t->size == 1)
        return;
    if (t->rank == 0)
        scan_dist_abort(t->comm, SCAN_ERR_DEVICE_LOST, "the device is on fire");
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, values, values, 1 << 20), SCAN_ERR_PEER);
    CHECK(scan_dist_cause(t->comm, NULL) == SCAN_ERR_DEVICE_LOST, "%s", scan_dist_detail(t->comm));
    CHECK_STATUS(scan_dist_comm_info(t->comm, &info), SCAN_OK);
    CHECK(info.broken, "not broken");
}

static void run(dist_test *t, int devices) {
    const scan_options cuda = {
        .struct_size = sizeof cuda, .backend = SCAN_BACKEND_CUDA, .device = (int)t->rank % devices};
    CHECK(scan_dist_comm_create(&t->comm, NULL) == SCAN_OK, "no communicator");
    CHECK_STATUS(scan_ctx_create(&t->ctx, &cuda), SCAN_OK);
    CHECK_STATUS(scan_ctx_create(&t->whole, NULL), SCAN_OK);
    t->on_device = true;
    cudaSetDevice(cuda.device);
    test_comm(t);
    test_redistribute(t);
    test_histogram(t);
    test_equalize(t);
    test_compact(t);
    test_unique(t);
    test_sort(t);
    test_prefix(t);
    test_workspace(t);
    large(t, 4);
    large(t, 0);
    failure(t);
    scan_dist_comm_destroy(t->comm);
    scan_ctx_destroy(t->ctx);
    scan_ctx_destroy(t->whole);
}

/* The device is first touched in the children: CUDA does not survive a fork. */
static bool run_ranks(uint32_t size) {
    pid_t children[MAX_RANKS];
    bool passed = fork_wire_create(size);
    for (uint32_t rank = 0; rank < size; rank++) {
        children[rank] = fork();
        if (children[rank] == 0) {
            dist_test t = {.rank = rank, .size = size};
            char name[32];
            int devices = 0;
            if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
                _exit(77);
            snprintf(name, sizeof name, "rank-%u", rank);
            if ((uint32_t)devices < size) {
                setenv("NCCL_HOSTID", name, 1);
                setenv("NCCL_SOCKET_IFNAME", "lo", 1);
            }
            fork_wire_rank(rank);
            run(&t, devices);
            _exit(0);
        }
    }
    int status, code = 0;
    for (uint32_t left = size; left > 0; left--) {
        const pid_t ended = wait(&status);
        if (status != 0 && code == 0)
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        for (uint32_t rank = 0; rank < size; rank++)
            if (children[rank] == ended)
                children[rank] = 0;
            else if (code != 0 && children[rank] > 0) /* it may wait for the one that has failed */
                kill(children[rank], SIGKILL);
    }
    passed = passed && code == 0;
    if (code == 77) {
        printf("no device: skipped\n");
        exit(77);
    }
    printf("%u ranks: %s\n", size, passed ? "passed" : "FAILED");
    fflush(stdout);
    return passed;
}

int main(int argc, char **argv) {
    bool passed = true;
    for (int i = 1; i < argc; i++)
        passed = run_ranks((uint32_t)atoi(argv[i])) && passed;
    for (uint32_t size = 1; argc == 1 && size <= 3; size++)
        passed = run_ranks(size) && passed;
    return passed ? 0 : 1;
}
