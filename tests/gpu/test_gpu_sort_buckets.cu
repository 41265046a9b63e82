/* SPDX-License-Identifier: MIT
 *
 * Buckets that the local stage leaves, sorted by a CTA and by clusters of every size: shares that are uneven, empty and
 * of several tiles, notes of several buckets in any order, late CTAs, and delays wherever the order of events could
 * matter.
 */
#include <algorithm>
#include <numeric>
#include <vector>

#include "delays.cuh"
#include "scan/cuda/sort/large.cuh"

using namespace scan_cuda;

static uint64_t rng = 91;
static gpu_array d_keys, d_values, d_scratch_keys, d_scratch_values, d_plan;

/* ---- keys and their order ---------------------------------------------------------------------------------------- */

struct bucket_case {
    scan_type type;
    uint32_t value_bytes;
    bool descending;
    unsigned ctas; /* of a cluster */
    unsigned seed; /* of delays */
};

static bool is_less(const bucket_case &c, uint64_t a, uint64_t b) {
    if (!scan_is_float(c.type))
        return c.descending ? a > b : a < b;
    const auto value_of = [&](uint64_t key) {
        float single;
        double value;
        const uint32_t word = uint32_t(key);
        memcpy(&single, &word, sizeof word);
        memcpy(&value, &key, sizeof key);
        return c.type == SCAN_F32 ? double(single) : value;
    };
    const double x = value_of(a), y = value_of(b);
    return x != x || y != y ? y != y && x == x : c.descending ? x > y : x < y;
}

/* Keys with their values, which are numbers. */
struct elements {
    std::vector<uint64_t> keys, values;

    void sort(const bucket_case &c, size_t begin, size_t end) {
        std::vector<size_t> order(end - begin);
        std::iota(order.begin(), order.end(), begin);
        std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return is_less(c, keys[i], keys[j]); });
        const elements from = *this;
        for (size_t i = begin; i < end; i++) {
            keys[i] = from.keys[order[i - begin]];
            values[i] = from.values[order[i - begin]];
        }
    }
};

/* Some bytes of all keys are alike, others have few values. */
static elements draw(const bucket_case &c, size_t n) {
    const size_t bytes = scan_type_size(c.type);
    const uint64_t all = ~0ull >> (64 - 8 * bytes), alike = random_u64(&rng);
    uint64_t varying = 0, few = 0;
    for (size_t b = 0; b < bytes; b++)
        switch (random_below(&rng, 4)) {
        case 0: break;
        case 1: few |= 0x21ull << 8 * b; break;
        default: varying |= 0xffull << 8 * b;
        }
    elements e;
    for (size_t i = 0; i < n; i++) {
        const uint64_t odd = scan_is_float(c.type) ? random_below(&rng, 40) : 2;
        e.keys.push_back((odd == 0   ? 1ull << (8 * bytes - 1)
                          : odd == 1 ? all >> random_below(&rng, 2)
                                     : (alike & ~(varying | few)) | (random_u64(&rng) & (varying | few))) &
                         all);
        e.values.push_back(i * 0x9e3779b97f4a7c15u >> (c.value_bytes == 8 ? 0 : 32));
    }
    return e;
}

static void *put(gpu_array *array, const std::vector<uint64_t> *from, size_t n, size_t bytes) {
    std::vector<char> packed(n * bytes + 1);
    for (size_t i = 0; from && i < n; i++)
        memcpy(&packed[i * bytes], &(*from)[i], bytes);
    return gpu_put(array, from ? packed.data() : NULL, n, bytes, 0);
}

static void same(const bucket_case &c, const char *what, gpu_array *array, const std::vector<uint64_t> &want,
                 size_t bytes) {
    std::vector<char> got(want.size() * bytes + 1);
    gpu_get(array, got.data());
    for (size_t i = 0; i < want.size(); i++)
        if (memcmp(&got[i * bytes], &want[i], bytes) != 0)
            fail_msg("%s%s, values of %u, %u CTAs, delays %u, n %zu: %s %zu", scan_type_name(c.type),
                     c.descending ? " descending" : "", c.value_bytes, c.ctas, c.seed, want.size(), what, i);
}

static sort_job put_job(const bucket_case &c, const elements &e) {
    const size_t n = e.keys.size(), bytes = scan_type_size(c.type);
    sort_job job = {};
    job.order.flip = c.descending ? ~0ull >> (64 - 8 * bytes) : 0;
    job.order.mask = job.order.nan = ~0ull >> (64 - 8 * bytes);
    job.n = n;
    job.key_bytes = uint32_t(bytes);
    job.value_bytes = c.value_bytes;
    job.is_float = scan_is_float(c.type);
    job.keys_out = put(&d_keys, &e.keys, n, bytes);
    job.keys_first = put(&d_scratch_keys, NULL, n, bytes);
    if (c.value_bytes) {
        job.values_out = put(&d_values, &e.values, n, c.value_bytes);
        job.values_first = put(&d_scratch_values, NULL, n, c.value_bytes);
    }
    return job;
}

static void check(const bucket_case &c, const elements &want) {
    same(c, "key", &d_keys, want.keys, scan_type_size(c.type));
    if (c.value_bytes)
        same(c, "value", &d_values, want.values, c.value_bytes);
}

static void launch_clusters(const bucket_case &c, const void *kernel, unsigned clusters, void **arguments) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = c.ctas;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config = {dim3(clusters * c.ctas), dim3(large_threads), 0,
                                       direct_stream,           &attribute,          c.ctas > 1};
    gpu_ok(scan_ctx_sync(gpu));
    cuda_ok(cudaLaunchKernelExC(&config, kernel, arguments));
    cuda_ok(cudaStreamSynchronize(direct_stream));
}

/* ---- one range --------------------------------------------------------------------------------------------------- */

template <class K>
static __global__ void __launch_bounds__(large_threads, 1)
    range_kernel(const __grid_constant__ sort_job job, uint32_t begin, uint32_t size) {
    __shared__ large_shared shared;
    const auto in = [&](void *keys, void *values) {
        return large_arrays{static_cast<char *>(keys) + begin * job.key_bytes,
                            static_cast<char *>(values) + begin * job.value_bytes};
    };
    large_passes<K, false> passes(job, shared);
    passes.be_in_cluster();
    passes.sort(in(job.keys_out, job.values_out), in(job.keys_first, job.values_first), size);
}

static void check_range(const bucket_case &c, uint32_t size) {
    uint32_t begin = 3;
    elements e = draw(c, begin + size + 5);
    sort_job job = put_job(c, e);
    void *arguments[] = {&job, &begin, &size};
    launch_clusters(c, job.key_bytes == 8 ? address(range_kernel<uint64_t>) : address(range_kernel<uint32_t>), 1,
                    arguments);
    e.sort(c, begin, begin + size);
    check(c, e);
}

static const scan_type types[] = {SCAN_U32, SCAN_U64, SCAN_F32, SCAN_F64};

/* By clusters of every size that the device has; modes of delays in turn. */
static void ranges(void **state) {
    (void)state;
    gpu_need();
    const unsigned most = direct_device(address(range_kernel<uint32_t>)).capability >= 90 ? large_ctas : 1;
    unsigned call = 0;
    for (unsigned ctas = gpu_is_racecheck ? most : 1; ctas <= most; ctas *= 2) {
        const uint32_t tile = large_tile::elements, sizes[] = {1,
                                                               ctas - 1,
                                                               ctas + 1,
                                                               33,
                                                               tile,
                                                               tile + 1,
                                                               ctas * tile - 1,
                                                               ctas * tile + 1,
                                                               (2 * ctas + 1) * tile + 7};
        for (const uint32_t size : sizes) {
            if (size == 0)
                continue;
            for (unsigned repeat = 0; repeat < (gpu_is_small ? 1 : 12); repeat++, call++) {
                bucket_case c = {types[call % 4], 4 * (call / 4 % 3), random_bool(&rng), ctas, call};
                if (!gpu_is_racecheck)
                    set_delays(call % 3, call, call / 3 % ctas);
                check_range(c, size);
            }
        }
    }
    set_delays(NO_DELAYS, 0, 0);
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

template <class K>
static __global__ void __launch_bounds__(large_threads, 1) notes_kernel(const __grid_constant__ sort_job job) {
    __shared__ large_shared shared;
    sort_large_buckets<K, false>(job, shared);
}

/* A key of bucket b: floats of 4 and 8 bytes lie in [b, b + 1), integers have b as their top 16 bits. */
static uint64_t key_in_bucket(const bucket_case &c, uint64_t key, size_t b) {
    const uint32_t shift = uint32_t(8 * scan_type_size(c.type)) - 16;
    if (!scan_is_float(c.type))
        return (key & ((1ull << shift) - 1)) | uint64_t(b) << shift;
    const double value = double(b) + double(key % 64) / 64; /* exact as a float too */
    const float single = float(value);
    uint32_t word;
    memcpy(&key, &value, sizeof key);
    memcpy(&word, &single, sizeof word);
    return c.type == SCAN_F32 ? word : key;
}

/* Buckets of these sizes, the even ones noted, at some of their positions. Keys of the third are equal. */
static void check_notes(const bucket_case &c, size_t n, const std::vector<size_t> &sizes, unsigned clusters) {
    std::vector<uint64_t> notes;
    std::vector<size_t> ends;
    sort_plan *plan = static_cast<sort_plan *>(calloc(1, sizeof *plan));
    elements e = draw(c, n);
    size_t begin = 0;
    for (size_t b = 0; begin < n; b++) {
        const size_t size = b < sizes.size() ? sizes[b] : 100, end = std::min(n, begin + size);
        for (size_t i = begin; i < end; i++)
            e.keys[i] = key_in_bucket(c, e.keys[b == 2 ? 0 : i], b);
        if (b < sizes.size())
            ends.push_back(end);
        for (size_t i = begin; b % 2 == 0 && b < sizes.size() && i < end; i += 1 + random_below(&rng, 300))
            notes.push_back(i);
        begin = end;
    }
    for (size_t i = notes.size(); i > 1; i--)
        std::swap(notes[i - 1], notes[random_below(&rng, i)]);
    notes.resize(std::min(notes.size(), size_t(max_large_notes)));
    plan->local_shift = scan_is_float(c.type) ? 16 : uint32_t(8 * scan_type_size(c.type)) - 16;
    plan->even.scale = scan_is_float(c.type) ? 1 << 16 : 0;
    plan->local_keys = BUFFER_OUT;
    plan->large_notes = uint32_t(notes.size());
    memcpy(plan->large_at, notes.data(), notes.size() * 8);
    sort_job job = put_job(c, e);
    job.plan = static_cast<sort_plan *>(gpu_put(&d_plan, plan, 1, sizeof *plan, 0));
    void *arguments[] = {&job};
    launch_clusters(c, job.key_bytes == 8 ? address(notes_kernel<uint64_t>) : address(notes_kernel<uint32_t>), clusters,
                    arguments);
    gpu_get(&d_plan, plan);
    const bool too_large = *std::max_element(sizes.begin(), sizes.end()) > n / large_share;
    assert_int_equal(plan->again, too_large);
    for (size_t b = 0; b < sizes.size() && !too_large; b += 2)
        e.sort(c, b ? ends[b - 1] : 0, ends[b]);
    check(c, e);
    free(plan);
}

/* A cluster has several buckets, small ones and others, and more rounds than one; or one bucket is too large. */
static void notes(void **state) {
    (void)state;
    gpu_need();
    const unsigned most = direct_device(address(notes_kernel<uint32_t>)).capability >= 90 ? large_ctas : 1;
    const size_t n = large_share * large_alone * 3, reach = n / large_share;
    unsigned call = 0;
    for (unsigned ctas = gpu_is_racecheck ? most : 1; ctas <= most; ctas *= 2)
        for (unsigned clusters = 1; clusters <= (gpu_is_racecheck ? 1 : 3); clusters += 2, call++) {
            std::vector<size_t> sizes = {large_alone, 77, large_alone + 1, 50,  reach - 1, 1,
                                         2,           1,  3 * reach / 4,   900, 900};
            if (call % 4 == 3)
                sizes[8] = reach + 400;
            bucket_case c = {types[call % 4], 4 * (call % 3), false, ctas, call};
            if (!gpu_is_racecheck)
                set_delays(call % 3, call, call % ctas);
            check_notes(c, n, sizes, clusters);
        }
    set_delays(NO_DELAYS, 0, 0);
}

int main(int argc, char **argv) {
    const gpu_test tests[] = {
        GPU_TEST(GPU_STRESS | GPU_SMALL, ranges),
        GPU_TEST(GPU_STRESS | GPU_SMALL, notes),
    };
    return gpu_main("gpu_sort_buckets", tests, sizeof tests / sizeof tests[0], argc, argv);
}
