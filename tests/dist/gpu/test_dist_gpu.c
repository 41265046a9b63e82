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

#ifdef SCAN_EMULATED

typedef struct link_arrays {
    float *in, *out;
    uint32_t *keys;
} link_arrays;

enum { EACH = 1 << 16, VERBS = 3 };

static scan_status call_on_link(const dist_test *t, unsigned verb, const link_arrays *a) {
    const scan_prefix_desc prefix = {.struct_size = sizeof prefix, .type = SCAN_F32};
    const scan_sort_desc sort = {.struct_size = sizeof sort, .type = SCAN_U32, .value_bytes = 4};
    const size_t given = t->rank == 0 ? EACH * (size_t)t->size : 0; /* all on one rank, and then in equal shares */
    if (verb == 0)
        return scan_dist_prefix(t->comm, &prefix, a->in, a->out, EACH - 7 * (t->rank == 0));
    if (verb == 1)
        return scan_dist_sort(t->comm, &sort, a->keys, a->keys, a->in, a->out, EACH, EACH);
    return scan_dist_redistribute(t->comm, 4, a->in, given, a->out, EACH);
}

/* A link that fails on one rank, at its first exchange or at a later one: the call fails on all, and with another link,
 * or on the CPU, all goes on. */
static void link_failure(const dist_test *t) {
    scan_dist_info info = {.struct_size = sizeof info};
    const size_t bytes = EACH * 4 * (size_t)t->size;
    link_arrays a = {make_bytes(bytes), make_bytes(bytes), make_bytes(bytes)};
    if (t->size == 1)
        return;
    for (unsigned k = 0; k < VERBS * 2; k++) {
        const uint32_t loser = k % t->size;
        const unsigned after = k / VERBS % 2 && k % VERBS < 2; /* redistribution has one exchange */
        uint32_t cause = t->size;
        memset(a.in, 0, bytes);
        for (size_t i = 0; i < EACH; i++)
            a.keys[i] = (uint32_t)(i * 40503 + t->rank) % EACH;
        if (t->rank == loser)
            fork_link_break(after);
        CHECK_STATUS(call_on_link(t, k % VERBS, &a), t->rank == loser ? SCAN_ERR_DEVICE : SCAN_ERR_PEER);
        CHECK(scan_dist_cause(t->comm, &cause) == SCAN_ERR_DEVICE && cause == loser, "%u: %s", cause,
              scan_dist_detail(t->comm));
        CHECK(strstr(scan_dist_detail(t->comm), "the link is down"), "%s", scan_dist_detail(t->comm));
        CHECK_STATUS(scan_dist_comm_info(t->comm, &info), SCAN_OK);
        CHECK(!info.broken, "broken");
        CHECK_STATUS(call_on_link(t, k % VERBS, &a), SCAN_ERR_DEVICE);
        CHECK(strstr(scan_dist_detail(t->comm), "the link between devices has failed"), "%s",
              scan_dist_detail(t->comm));
        CHECK_STATUS(scan_dist_comm_use(t->comm, k % 2 ? t->ctx : t->whole), SCAN_OK);
        CHECK_STATUS(call_on_link(t, k % VERBS, &a), SCAN_OK);
        CHECK_STATUS(scan_dist_comm_use(t->comm, t->ctx), SCAN_OK);
    }
    large(t, 4);
    free_bytes(a.in);
    free_bytes(a.out);
    free_bytes(a.keys);
}

#else

static void link_failure(const dist_test *t) { (void)t; }

#endif

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
    link_failure(t);
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
