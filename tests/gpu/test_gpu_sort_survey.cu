/* SPDX-License-Identifier: MIT
 *
 * What a survey finds of the order of its keys, and its counts, against a plain loop; where the keys of samples are,
 * and codes in intervals; and counts of a sample by its codes.
 */
#include <algorithm>
#include <utility>

#include "survey.cuh"

static gpu_array d_keys, d_keys_out;
static uint64_t rng = 47;

/* ---- order ------------------------------------------------------------------------------------------------------- */

constexpr size_t order_most = 20000;

/* Rising or falling keys, a few values often, two of which change places, or none do. */
static void fill_order(uint8_t *keys, size_t size, size_t count, bool descending, bool swapped) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = descending ? count - 1 - i : i, key = size == 1 ? at * 200 / count : at / 2;
        memcpy(keys + i * size, &key, size);
    }
    if (!swapped)
        return;
    const size_t at = random_below(&rng, count - 8), to = at + 1 + random_below(&rng, 7);
    for (size_t b = 0; b < size; b++)
        std::swap(keys[at * size + b], keys[to * size + b]);
}

/* What the survey says of order, and its counts of the last digit, are those of a plain loop. */
static void check_order(scan_type type, bool wide, int round) {
    static uint8_t keys[order_most * 8];
    const size_t size = scan_type_size(type), count = 9 + random_below(&rng, order_most - 9), from = round % 2;
    fill_order(keys, size, count, round & 2, round & 4);
    sort_job job = {};
    job.keys_in = gpu_put(&d_keys, keys, count, size, from);
    job.keys_out = gpu_put(&d_keys_out, NULL, count, size, from);
    job.n = count;
    job.ties = round & 8;
    job.order.begin = round & 16 ? 2 : 0;
    job.bits = uint32_t(8 * size) - job.order.begin;
    job.order.mask = ~0ull >> (64 - job.bits) << job.order.begin;
    job.order.flip = round & 32 ? 1ull << (8 * size - 1) : 0;
    job.key_bytes = uint32_t(size);
    static sort_plan plan;
    job.plan = any_plan(&plan);
    job.state = fresh_state();

    static unsigned long long counts[radix];
    memset(counts, 0, sizeof counts);
    uint64_t last = 0;
    bool falls = false, rises = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = 0;
        memcpy(&key, keys + i * size, size);
        const uint64_t code = ((key ^ job.order.flip) & job.order.mask) >> job.order.begin;
        counts[code % radix]++;
        falls |= i > 0 && code < last;
        rises |= i > 0 && (job.ties ? code >= last : code > last);
        last = code;
    }
    const sort_survey_kernel survey = wide ? survey_of_type<true>(type) : survey_of_type<false>(type);
    run_survey(survey, job, 3, size == 8 && round % 3 ? 2 : 1);
    gpu_get(&d_plan, &plan);
    if ((plan.falls != 0) != falls || (plan.rises != 0) != rises || memcmp(plan.counts[0], counts, sizeof counts) != 0)
        fail_msg("%s, round %d, %zu keys: falls %u, not %d, rises %u, not %d, or other counts", scan_type_name(type),
                 round, count, plan.falls, falls, plan.rises, rises);
}

static void order_and_counts(void **state) {
    (void)state;
    gpu_need();
    static const scan_type types[] = {SCAN_U8, SCAN_U16, SCAN_U32};
    int shared_bytes;
    cuda_ok(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    for (scan_type type : types)
        for (int round = 0; round < 64; round++) {
            check_order(type, false, round);
            if (survey_of_type<true>(type).shared_bytes + 4096 <= shared_bytes)
                check_order(type, true, round);
        }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static uint64_t any_distance(uint64_t size) {
    const uint64_t z = random_u64(&rng) >> random_below(&rng, 64);
    return size == ~0ull ? z : z % (size + 1);
}

/* Codes of an interval have places in their order, none beyond the last; of a small interval each has its own. */
static void places_in_intervals(void **state) {
    (void)state;
    for (int round = 0; round < 20000; round++) {
        const uint64_t size = round ? random_u64(&rng) >> random_below(&rng, 64) : ~0ull,
                       first = size == ~0ull ? 0 : any_distance(~0ull - size);
        const sort_interval interval = {first, first + size};
        assert_int_equal(interval.is_exact(), size < 1u << offset_bits);
        for (int pair = 0; pair < 8; pair++) {
            const uint64_t from = any_distance(size), near = any_distance(size - from) >> 8 * (pair % 4),
                           low = pair < 4 ? from : size - (from + near), high = low + near;
            const uint32_t place = interval.offset_of(first + low), next = interval.offset_of(first + high);
            if (place > next || next >> offset_bits || (interval.is_exact() && low < high && place == next))
                fail_msg("of an interval of %llu codes, %llu has place %u and %llu has %u", (unsigned long long)size,
                         (unsigned long long)low, place, (unsigned long long)high, next);
        }
        assert_int_equal(interval.offset_of(first), 0);
    }
}

/* Samples of any number of keys have them from everywhere, beyond 2^32 keys from places of every remainder too. */
static void places_of_samples(void **state) {
    (void)state;
    const uint64_t sizes[] = {1, 5, 1ull << 20, ~0u, 1ull << 32, (1ull << 32) + 1, 5ull << 32, 1ull << 40};
    for (uint64_t n : sizes) {
        const uint64_t step = (n >> 32) + 1;
        uint32_t parts[8] = {}, multiples = 0;
        for (uint32_t s = 0; s < sample_size; s++) {
            const uint64_t place = uniform_place(s, n);
            assert_true(place < n);
            parts[place / (n / 8 + 1)]++;
            multiples += place % step == 0;
        }
        for (uint32_t part : parts)
            if (n >= 1 << 20 && (part < sample_size / 8 - 64 || part > sample_size / 8 + 64))
                fail_msg("of %llu keys the sample has %u from an eighth", (unsigned long long)n, part);
        if (step > 1 && multiples > sample_size / step + 1)
            fail_msg("of %llu keys %u of the sample have places that are multiples of %llu", (unsigned long long)n,
                     multiples, (unsigned long long)step);
    }
}

/* ---- counts of a sample ------------------------------------------------------------------------------------------ */

constexpr uint32_t most_shifts = 64;

/* Of codes and of even codes by turns. */
static __host__ __device__ sample_codes which_codes(uint32_t i) { return i % 3 ? SAMPLE_CODES : SAMPLE_EVEN_CODES; }

static __global__ void __launch_bounds__(1024)
    count_kernel(const __grid_constant__ sort_job job, uint32_t shifts, sample_counts *counts) {
    for (uint32_t i = 0; i < 2 * shifts; i++) {
        const sample_counts own = count_sample(job.plan, which_codes(i), i / 2, dynamic_shared<uint32_t>());
        if (threadIdx.x == 0)
            counts[i] = own;
    }
}

/* By the bits from `shift` on, of codes in order. */
static sample_counts plain_counts(const uint64_t *codes, uint32_t shift, uint32_t repeats) {
    sample_counts counts = {};
    counts.repeats = repeats;
    for (uint32_t s = 0, end; s < sample_size; s = end) {
        for (end = s + 1; end < sample_size && codes[end] >> shift == codes[s] >> shift;)
            end++;
        const uint32_t agree = end - s, pairs = agree * (agree - 1) / 2;
        counts.pairs += pairs;
        counts.triples += pairs * (agree - 2);
        counts.singles += agree == 1;
        counts.doubles += agree == 2;
        counts.frequent += agree >= 12 ? agree : 0;
        if (agree > counts.most)
            counts.most = agree;
    }
    return counts;
}

/* Any bits, few values, one value, runs, all but one equal, short codes, bits at either end. */
static uint64_t sample_code(int pattern, uint32_t s, uint64_t mask) {
    const uint64_t any = random_u64(&rng);
    switch (pattern) {
    case 0: return any & mask;
    case 1: return any % 50 * 0x0101010101010101 & mask;
    case 2: return mask;
    case 3: return s / 16 * (mask / sample_size);
    case 4: return s == 1000 ? 5 & mask : 7 & mask;
    case 5: return (any & mask) >> any % 60;
    default: return (any % 3 ? any << 40 : any) & mask;
    }
}

/* Counts are those of a plain loop over the sorted sample, by the codes above each bit. */
static void counts_of_samples(void **state) {
    (void)state;
    gpu_need();
    static gpu_array d_counts;
    static sort_plan plan;
    static sample_counts counts[2 * most_shifts];
    for (int round = 0; round < (gpu_is_racecheck ? 4 : 28); round++) {
        const uint32_t bytes = round % 2 ? 8 : 4;
        static uint64_t codes[2][sample_size];
        memset(&plan, 0x5a, sizeof plan);
        for (uint32_t s = 0; s < sample_size; s++) {
            codes[SAMPLE_CODES][s] = sample_code(round / 2 % 7, s, bytes == 8 ? ~0ull : ~0u);
            codes[SAMPLE_EVEN_CODES][s] = sample_code((round / 2 + 1) % 7, s, ~0u);
        }
        memcpy(plan.sample, codes, sizeof codes);
        plan.repeats = uint32_t(round);
        sort_job job = {};
        job.plan = static_cast<sort_plan *>(gpu_put(&d_plan, &plan, 1, sizeof plan, 0));
        void *to_counts = gpu_put(&d_counts, NULL, 2 * most_shifts, sizeof *counts, 0);
        uint32_t shifts = 8 * bytes;
        void *arguments[] = {&job, &shifts, &to_counts};
        direct_launch(address(count_kernel), 1, round % 8 < 4 ? 512 : 1024, arguments, sample_slots * sizeof(uint32_t));
        gpu_get(&d_counts, counts);
        for (auto &which : codes)
            std::sort(which, which + sample_size);
        for (uint32_t i = 0; i < 2 * shifts; i++) {
            const sample_counts right = plain_counts(codes[which_codes(i)], i / 2, plan.repeats);
            if (memcmp(&right, &counts[i], sizeof right) != 0)
                fail_msg("round %d, above bit %u: %u pairs, %u triples, %u singles, %u doubles, %u most, %u frequent, "
                         "not %u, %u, %u, %u, %u, %u",
                         round, i / 2, counts[i].pairs, counts[i].triples, counts[i].singles, counts[i].doubles,
                         counts[i].most, counts[i].frequent, right.pairs, right.triples, right.singles, right.doubles,
                         right.most, right.frequent);
        }
    }
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {
        GPU_TEST(GPU_MATRIX | GPU_SMALL, order_and_counts),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, places_in_intervals),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, places_of_samples),
        GPU_TEST(GPU_MATRIX | GPU_SMALL, counts_of_samples),
    };
    return gpu_main("gpu_sort_survey", tests, sizeof tests / sizeof tests[0], argc, argv);
}
