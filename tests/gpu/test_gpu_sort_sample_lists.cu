/* SPDX-License-Identifier: MIT
 *
 * The sample sort of keys that lie to it: those at the places where it samples say nothing of the others, which share a
 * child. The result is right, and the lists that the kernels leave in the workspace tell that the way to it was the one
 * that is meant: a child that is too large is split again, alone, and after the last level sorted by one CTA.
 * Also which keys the radix sort hands over to the sample sort.
 */
#include <algorithm>
#include <cstddef>
#include <vector>

#include "gpu_support.h"
#include "sampled_keys.cuh"
#include "scan/cuda/samplesort/layout.h"
#include "scan/cuda/samplesort/splitters.cuh"

using namespace scan_cuda::samplesort;

static uint64_t rng = 11;

/* ---- keys that lie ----------------------------------------------------------------------------------------------- */

/* Keys of which those that the levels before `lies` sample are spread widely, and all others lie between two of them.
 */
class lying_keys {
    std::vector<bool> known;
    std::vector<uint32_t> open; /* a region's keys, in order */
    uint64_t low = 0, high = 1ull << 62;

    void lie(const layout &l, uint32_t level) {
        const uint32_t children = children_of(open.size(), l.target), samples = samples_each * children;
        const uint64_t step = (high - low) / (samples + 2);
        std::vector<uint64_t> sample;
        for (uint32_t s = 0; s < samples; s++) {
            const uint32_t i = open[sample_place(s, samples, open.size(), level)];
            if (!known[i])
                keys[i] = low + (s + 1) * step;
            known[i] = true;
            sample.push_back(keys[i]);
        }
        std::sort(sample.begin(), sample.end());
        low = sample[samples_each * (children / 2) + samples_each / 2];
        high = low + step;
        const uint64_t from = sample[samples_each * (children / 2)], to = sample[samples_each * (children / 2 + 1)];
        std::vector<uint32_t> child;
        for (uint32_t i : open)
            if (!known[i] || (keys[i] >= from && keys[i] < to))
                child.push_back(i);
        open = child;
    }

  public:
    std::vector<uint64_t> keys;

    lying_keys(const layout &l, size_t n, uint32_t lies) : known(n), open(n), keys(n) {
        for (size_t i = 0; i < n; i++)
            open[i] = uint32_t(i);
        for (uint32_t level = 0; level < lies && open.size() > l.most; level++)
            lie(l, level);
        for (size_t i = 0; i < n; i++)
            if (!known[i])
                keys[i] = low + 1 + random_below(&rng, high - low - 1);
    }
};

/* ---- a sort in a workspace that is looked at --------------------------------------------------------------------- */

struct lists {
    list_counts counts;
    std::vector<bucket> buckets;
};

static char *scratch_of(char *workspace, size_t bytes) {
    return workspace + bytes / scan_cuda::state_share / 256 * 256;
}

static lists read_lists(const layout &l, char *workspace, size_t bytes) {
    char *scratch = scratch_of(workspace, bytes);
    lists found;
    gpu_ok(scan_download(gpu, &found.counts, scratch, sizeof found.counts));
    gpu_ok(scan_ctx_sync(gpu));
    found.buckets.resize(found.counts.buckets);
    gpu_ok(scan_download(gpu, found.buckets.data(), scratch + l.buckets, found.buckets.size() * sizeof(bucket)));
    gpu_ok(scan_ctx_sync(gpu));
    return found;
}

static layout layout_here(size_t value_bytes, size_t n, bool argsort) {
    const scan_cuda::context_state *context = scan_cuda::state_of(gpu);
    return lay_out(8, value_bytes, n, argsort, scan_cuda::samplesort_is_roomy(context->capability, value_bytes),
                   uint64_t(context->sm_count) * 2);
}

/* Sorts u64 keys with their indices as values, or indices alone, and returns the lists. */
static lists sort_pairs(const layout &l, const std::vector<uint64_t> &keys, bool argsort) {
    static gpu_array d_keys, d_out, d_values, d_values_out;
    const size_t n = keys.size();
    std::vector<uint32_t> numbers(n), got(n), want(n);
    for (size_t i = 0; i < n; i++)
        numbers[i] = want[i] = uint32_t(i);
    std::stable_sort(want.begin(), want.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    scan_sort_desc d = {};
    d.struct_size = sizeof d;
    d.type = SCAN_U64;
    d.method = SCAN_SORT_SAMPLE;
    d.value_bytes = argsort ? 0 : 4;
    d.index_type = argsort ? SCAN_U32 : SCAN_TYPE_NONE;
    size_t bytes;
    gpu_ok((argsort ? scan_argsort_workspace : scan_sort_workspace)(gpu, &d, n, &bytes));
    void *workspace;
    gpu_ok(scan_malloc(gpu, bytes, &workspace));
    gpu_ok(scan_ctx_lend(gpu, workspace, bytes));
    void *in = gpu_put(&d_keys, keys.data(), n, 8, 0), *out = gpu_put(&d_out, NULL, n, 8, 0);
    void *values = gpu_put(&d_values, numbers.data(), n, 4, 0), *moved = gpu_put(&d_values_out, NULL, n, 4, 0);
    gpu_ok(argsort ? scan_argsort(gpu, &d, in, moved, n) : scan_sort(gpu, &d, in, out, values, moved, n));
    gpu_get(&d_values_out, got.data());
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("n %zu%s: element %zu", n, argsort ? ", argsort" : "", i);
    const lists found = read_lists(l, static_cast<char *>(workspace), bytes);
    gpu_ok(scan_ctx_lend(gpu, NULL, 0));
    scan_free(gpu, workspace);
    return found;
}

static uint64_t largest(const lists &found) {
    uint64_t size = 0;
    for (const bucket &b : found.buckets)
        size = b.sorted || b.size < size ? size : b.size;
    return size;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Keys that do not lie: buckets are filled as intended, none is split more often than it has to be. */
static void honest_keys(void **state) {
    (void)state;
    gpu_need();
    const size_t n = GPU_EMULATED ? 5000 : 300000;
    const layout l = layout_here(4, n, false);
    std::vector<uint64_t> keys(n);
    for (uint64_t &key : keys)
        key = random_mix(random_u64(&rng)) >> random_below(&rng, 60);
    const lists found = sort_pairs(l, keys, false);
    assert_int_equal(l.levels, 2);
    assert_int_equal(found.counts.level[1].regions, 0);
    assert_in_range(largest(found), 1, l.most);
}

/* One value has most keys: it is final after one level, and no list has it. */
static void heavy_value(void **state) {
    (void)state;
    gpu_need();
    const size_t n = GPU_EMULATED ? 5000 : 300000;
    const layout l = layout_here(4, n, false);
    std::vector<uint64_t> keys(n);
    for (uint64_t &key : keys)
        key = random_below(&rng, 8) ? 77 : random_u64(&rng);
    const lists found = sort_pairs(l, keys, false);
    uint64_t listed = 0;
    for (const bucket &b : found.buckets)
        listed += b.size;
    assert_int_equal(found.counts.level[1].regions, 0);
    assert_int_equal(listed, n - size_t(std::count(keys.begin(), keys.end(), 77u)));
}

static void lies_once(void **state) {
    (void)state;
    gpu_need();
    const size_t n = GPU_EMULATED ? 5000 : 300000;
    for (int argsort = 0; argsort < 2; argsort++) {
        const layout l = layout_here(4, n, argsort);
        const lists found = sort_pairs(l, lying_keys(l, n, 1).keys, argsort);
        assert_int_equal(found.counts.level[1].regions, 1);
        assert_in_range(largest(found), 1, l.most);
    }
}

/* At every level. The longer argsort reads keys through indices, in the emulator. */
static void lies_always(void **state) {
    (void)state;
    gpu_need();
    for (int argsort = 0; argsort < 2; argsort++) {
        const size_t n = GPU_EMULATED ? (argsort ? 16000 : 5000) : gpu_is_racecheck ? 400000 : 3000000;
        const layout l = layout_here(4, n, argsort);
        assert_true(!GPU_EMULATED || l.second_bytes == 0);
        const lists found = sort_pairs(l, lying_keys(l, n, l.levels).keys, argsort);
        assert_int_equal(found.counts.level[l.levels - 1].regions, 1);
        assert_true(largest(found) > l.most);
    }
}

/* ---- the radix sort ---------------------------------------------------------------------------------------------- */

/* What the plan and the sample sort's counts say after a radix sort. */
struct handed {
    bool again;
    uint32_t passes, regions;
};

enum radix_call { PAIRS, PAIRS_IN_PLACE, INDICES };

/* Leaves the keys sorted. */
static handed sort_by_radix(std::vector<double> &keys, radix_call call) {
    static gpu_array d_keys, d_out, d_values, d_values_out;
    const size_t n = keys.size();
    const bool in_place = call == PAIRS_IN_PLACE;
    std::vector<double> got(n);
    std::vector<uint32_t> indices(n);
    scan_sort_desc d = {};
    d.struct_size = sizeof d;
    d.type = SCAN_F64;
    d.value_bytes = 4; /* keys with values are not counted, so that the plan is the first in the scratch */
    size_t bytes;
    gpu_ok((call == INDICES ? scan_argsort_workspace : scan_sort_workspace)(gpu, &d, n, &bytes));
    void *workspace;
    gpu_ok(scan_malloc(gpu, bytes, &workspace));
    gpu_ok(scan_ctx_lend(gpu, workspace, bytes));
    void *in = gpu_put(&d_keys, keys.data(), n, 8, 0), *out = gpu_put(&d_out, NULL, n, 8, 0);
    void *values = gpu_put(&d_values, indices.data(), n, 4, 0), *moved = gpu_put(&d_values_out, NULL, n, 4, 0);
    if (call == INDICES) {
        gpu_ok(scan_argsort(gpu, &d, in, moved, n));
        gpu_get(&d_values_out, indices.data());
        for (size_t i = 0; i < n; i++) {
            assert_in_range(indices[i], 0, n - 1);
            assert_true(i == 0 || keys[indices[i]] != keys[indices[i - 1]] || indices[i] > indices[i - 1]);
            got[i] = keys[indices[i]];
        }
    } else {
        gpu_ok(scan_sort(gpu, &d, in, in_place ? in : out, values, in_place ? values : moved, n));
        gpu_get(in_place ? &d_keys : &d_out, got.data());
    }
    std::sort(keys.begin(), keys.end());
    assert_memory_equal(got.data(), keys.data(), n * 8);
    char *scratch = scratch_of(static_cast<char *>(workspace), bytes);
    using plan = scan_cuda::sort_plan; /* of which a sort writes what it needs */
    uint32_t again, passes;
    list_counts counts;
    gpu_ok(scan_download(gpu, &again, scratch + offsetof(plan, again), sizeof again));
    gpu_ok(scan_download(gpu, &passes, scratch + offsetof(plan, passes), sizeof passes));
    gpu_ok(scan_download(gpu, &counts, scratch + scan_cuda::align_up(sizeof(plan)), sizeof counts));
    gpu_ok(scan_ctx_sync(gpu));
    gpu_ok(scan_ctx_lend(gpu, NULL, 0));
    scan_free(gpu, workspace);
    return {again != 0, passes, counts.level[0].regions};
}

/* scan.h's bound on the workspace holds on every GPU, whichever this one is: lists take more where a CTA has less
 * shared memory. */
static void lists_are_within_bounds(void **state) {
    (void)state;
    if (GPU_EMULATED)
        skip(); /* its buckets are small, and lists of them large */
    for (int roomy = 0; roomy < 2; roomy++)
        for (size_t key_bytes = 4; key_bytes <= 8; key_bytes += 4)
            for (size_t value_bytes = 0; value_bytes <= 8; value_bytes += 4)
                for (uint64_t ctas = 32; ctas <= 512; ctas *= 2)
                    for (size_t n = 1; n < size_t(1) << 40; n = n * 9 / 8 + 7) {
                        const layout l = lay_out(key_bytes, value_bytes, n, false, roomy, ctas);
                        const size_t data = n * (key_bytes + value_bytes);
                        assert_in_range(scan_cuda::workspace_bytes(0, l.end + l.first_bytes + l.values_bytes), 1,
                                        data + data / 10 + (4 << 20));
                    }
}

/* A sample whose prefixes are multiples of a power of two would be looked for from one end of its table to the other if
 * they began at few slots of it. */
static void sample_hashes_spread(void **state) {
    (void)state;
    for (uint32_t shift = 0; shift <= 52; shift++) {
        bool slot[scan_cuda::sample_slots] = {};
        uint32_t slots = 0;
        for (uint64_t i = 0; i < scan_cuda::sample_size; i++) {
            const uint32_t own = scan_cuda::sample_hash(i << shift) % scan_cuda::sample_slots;
            slots += !slot[own];
            slot[own] = true;
        }
        assert_in_range(slots, scan_cuda::sample_size / 4, scan_cuda::sample_size);
    }
}

/* Keys of which half lie close together; a share of all has one of 20 values. */
static std::vector<double> half_close(size_t n, double share) {
    std::vector<double> keys(n);
    double often[20];
    for (double &value : often)
        value = ldexp(double(random_u64(&rng)), -30);
    for (double &key : keys)
        key = double(random_below(&rng, 1000)) < 1000 * share
                  ? often[random_below(&rng, 20)]
                  : ldexp(double(random_u64(&rng)), random_bool(&rng) ? 0 : -90) + 1;
    return keys;
}

/* Keys of few values, which two digits tell apart; but some that no sample has differ in the last bit. */
static std::vector<double> few_values(const std::vector<bool> &sampled, size_t odd) {
    constexpr uint64_t count = GPU_EMULATED ? 10 : 50; /* of which a cluster sorts none, see large_share */
    uint64_t values[count];
    for (uint64_t v = 0; v < count; v++)
        values[v] = (0x800 + 97 * v) << 48 | random_u64(&rng) >> 16;
    std::vector<double> keys(sampled.size());
    for (size_t i = 0; i < keys.size(); i++) {
        uint64_t v = random_below(&rng, count), bits = values[v];
        if (v == 0 && odd && !sampled[i])
            bits ^= 1, odd--;
        memcpy(&keys[i], &bits, 8);
    }
    return keys;
}

/* Keys of which half lie close together are handed over at once; keys that two digits spread are not, and in the
 * emulator all digits take a pass too where a bucket that no sample shows is too large for a cluster; but keys of few
 * values are handed over then. */
static void radix_hands_over(void **state) {
    (void)state;
    gpu_need();
    const size_t n = GPU_EMULATED ? 40000 : gpu_is_racecheck ? size_t(6) << 20 : size_t(1) << 24;
    const size_t large[] = {0, GPU_EMULATED ? 500 : n / 2000, GPU_EMULATED ? 1200 : n / 400,
                            GPU_EMULATED ? 2000 : n / 40};
    const std::vector<bool> sampled = sampled_keys(n);
    for (const radix_call call : {PAIRS, PAIRS_IN_PLACE}) {
        if (gpu_is_racecheck && call != PAIRS)
            break; /* a sort takes most of a minute */
        std::vector<double> keys = half_close(n, 0.4);
        const handed at_once = sort_by_radix(keys, call);
        assert_true(at_once.again);
        assert_int_equal(at_once.passes, 0);
        assert_int_equal(at_once.regions, 1);
        keys = half_close(n, 0);
        const handed rare = sort_by_radix(keys, call);
        assert_int_equal(rare.regions, 1);
        assert_int_equal(rare.passes, 0);
        for (size_t k = gpu_is_racecheck ? 3 : 0; k < sizeof large / sizeof *large; k++) {
            const bool again = k == 3;
            size_t left = large[k];
            for (size_t i = 0; i < n; i++) { /* all bits alike, but for NaN and infinities */
                uint64_t bits = random_u64(&rng);
                if (left && !sampled[i])
                    bits = 0x4012345600000000 | bits >> 32, left--;
                bits -= (bits >> 52 & 0x7ff) == 0x7ff ? 1ull << 52 : 0;
                memcpy(&keys[i], &bits, 8);
            }
            const handed later = sort_by_radix(keys, call);
            const bool shown = again && !GPU_EMULATED; /* the wide sample shows so large a bucket */
            assert_int_equal(later.passes, shown ? 0 : 2);
            assert_int_equal(later.again, again);
            assert_int_equal(later.regions, shown);
        }
        keys = few_values(sampled, n / (GPU_EMULATED ? 40 : 400));
        const handed copies = sort_by_radix(keys, call);
        assert_true(copies.again);
        assert_int_equal(copies.passes, 2);
        assert_int_equal(copies.regions, 1);
    }
}

/* An argsort's keys are handed over if most are of values that many have, or all of some hundred values; else codes by
 * intervals serve, or all digits take passes. */
static void radix_hands_over_copies(void **state) {
    (void)state;
    gpu_need();
    if (gpu_is_racecheck)
        skip(); /* takes minutes a sort; the kernels are those of the other tests */
    const size_t n = GPU_EMULATED ? 61000 : size_t(1) << 24;
    for (int many = 0; many < 2; many++) {
        std::vector<double> keys = half_close(n, many ? 0.95 : 0);
        const handed done = sort_by_radix(keys, INDICES);
        assert_int_equal(done.regions, many);
        assert_true(done.again || !many);
    }
    std::vector<double> values(n / 100000 + 300), keys(n);
    for (double &value : values)
        value = ldexp(double(random_u64(&rng)), int(random_below(&rng, 200)) - 100);
    for (double &key : keys)
        key = values[random_below(&rng, values.size())];
    assert_int_equal(sort_by_radix(keys, INDICES).regions, 1);
}

int main(int argc, char **argv) {
    const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, sample_hashes_spread),
        GPU_TEST(GPU_MATRIX, lists_are_within_bounds),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, honest_keys),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, heavy_value),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, lies_once),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, lies_always),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, radix_hands_over),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, radix_hands_over_copies),
    };
    return gpu_main("gpu_sort_sample_lists", tests, sizeof tests / sizeof tests[0], argc, argv);
}
