/* SPDX-License-Identifier: MIT
 *
 * The plans that are made from surveys of keys of every kind. A plan with more work than necessary still sorts, only
 * more slowly, and no comparison of results finds that.
 */
#include "sampled_keys.cuh"
#include "survey.cuh"

/* Enough keys to count codes of one bit more than a CTA counts. */
constexpr size_t n = GPU_EMULATED ? 60000 : narrow_copies << (narrow_counted_bits + 1);

static gpu_array d_keys, d_keys_out, d_counts;
static uint64_t rng;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* One key in so many lies outside clusters, KEYS_GAPS by four bytes; in clusters, KEYS_FEWER_GAPS. The emulator's n is
 * smaller, and so are its buckets. */
constexpr uint32_t few_spread = GPU_EMULATED ? 3 : 2, few_close = GPU_EMULATED ? 3 : 8;

enum key_kind {
    KEYS_UNIFORM,
    KEYS_RISING,
    KEYS_FALLING,
    KEYS_FEW,            /* of 16 values */
    KEYS_NARROW,         /* some bits from the second byte on vary */
    KEYS_CLUSTERS,       /* by their upper half, of `bits` keys each */
    KEYS_COPIES,         /* `bits` of each value */
    KEYS_HEAVY,          /* `bits` of 16 are rare, the others of 16 values */
    KEYS_STEPS,          /* the top `bits` bytes have two values each */
    KEYS_STEPS_CLUSTERS, /* the top four do, and `bits` keys share the next two */
    KEYS_REPEATED,       /* as KEYS_STEPS, with 500 copies of each */
    KEYS_GAPS, /* wide gaps between keys and narrow ones, where the top `bits` bytes make buckets: most if three */
    KEYS_FEWER_GAPS,    /* the same, with four, and fewer keys that lie close together */
    KEYS_HIDDEN,        /* one key in 32 has one upper half, none of the smaller sample */
    KEYS_HIDDEN_COPIES, /* `bits` of each value, but for those of that sample */
    KEYS_BUCKET,        /* one key in `bits` has one upper half */
    KEYS_BUCKET_OF_ONE, /* ... is one value */
    KEYS_BUCKET_OF_TWO, /* ... is one value, or, one of four of these, the next */
    KEYS_OFTEN,         /* all but eight are one value: three of any bits, five that differ in the lowest */
    KEYS_SPARSE,      /* constant bits between those that vary, so that bins by the bits below two digits stay empty */
    KEYS_VALUES,      /* 32 values, told apart by three digits */
    KEYS_RUNS,        /* `bits` of each value, one after the other */
    KEYS_FREQUENT,    /* one key in `bits` is one value */
    KEYS_HOLES,       /* 1,024 prefixes and 1,024 suffixes, and hardly anything between them */
    KEYS_LOG,         /* floats whose logarithms are even */
    KEYS_EVEN,        /* floats in [0, 1) */
    KEYS_EVEN_ODD,    /* and -0 among them */
    KEYS_EVEN_HEAP,   /* and a 24th of them close together */
    KEYS_EVEN_COPIES, /* of `bits` values */
    KEYS_EVEN_CROWDS, /* floats in [0, 1), `bits` neighbours together, far from the next ones */
    KEYS_EVEN_VALUES  /* 32 doubles, even ones, that vary in few bits, if `bits` are few, or in all */
};

/* Whether the smaller sample has key i. */
static bool is_sampled(size_t i) {
    static const std::vector<bool> sampled = sampled_keys(n);
    return sampled[i];
}

static uint64_t bits_of_key(scan_type type, key_kind kind, uint32_t bits, size_t i) {
    const uint32_t width = uint32_t(8 * scan_type_size(type));
    const uint64_t z = random_u64(&rng), all = ~0ull >> (64 - width);
    switch (kind) {
    case KEYS_RISING: return i;
    case KEYS_FALLING: return n - i;
    case KEYS_FEW: return random_mix(random_below(&rng, 16)) & all;
    case KEYS_HEAVY: return (z % 16 < bits ? random_mix(z) : random_mix(z >> 60)) & all;
    case KEYS_COPIES: return random_mix(random_below(&rng, n / bits)) & all;
    case KEYS_CLUSTERS:
        return (random_mix(random_below(&rng, n / bits)) & all << width / 2 & all) | z >> (64 - width / 2);
    case KEYS_STEPS: return z & (all >> 8 * bits | 0x0101010101010101);
    case KEYS_STEPS_CLUSTERS:
        return (z & 0x0101010100000000) | (random_mix(random_below(&rng, n / 16 / bits)) & 0xffff0000) | z >> 48;
    case KEYS_SPARSE: return z & 0xf80f1f1fffffffff;
    case KEYS_VALUES: return (z & 0x0103030000000000) | random_mix(z & 0x0103030000000000) >> 24;
    case KEYS_RUNS: return random_mix(i / bits) & all;
    case KEYS_FREQUENT: return i % bits ? z : 0x12345678;
    case KEYS_GAPS:
        if (bits == 3)
            return z & (i % 8 ? 0x0101ff03010101ff : 0x0101ffffffffffff);
        return z & (i % few_spread ? 0x010101ff010101ff : 0x010101ffffffffff);
    case KEYS_FEWER_GAPS: return z & (i % few_close ? 0x010101ffffffffff : 0x010101ff010101ff);
    case KEYS_HIDDEN: return i % 32 || is_sampled(i) ? z : 0x1234567800000000 | z >> 32;
    case KEYS_HIDDEN_COPIES: {
        const uint64_t value = random_mix(random_below(&rng, n / bits));
        return is_sampled(i) ? z : value;
    }
    case KEYS_BUCKET: return i % bits ? z : (0x1234ull << width / 2) | z >> (64 - width / 2);
    case KEYS_BUCKET_OF_ONE:
    case KEYS_BUCKET_OF_TWO:
        if (i % bits)
            return (z & 0xffff0000) == 0x12340000 ? z ^ 1u << 31 : z; /* none of these in that bucket */
        return kind == KEYS_BUCKET_OF_ONE || i % (4 * bits) ? 0x12345678 : 0x12345679;
    case KEYS_OFTEN: return i % (n / 8) != n / 16 ? 0x12345678 : i < n / 3 ? z : 0x12345679;
    case KEYS_HOLES: return (z & 0x01010101fc0003ff) | (z >> 63 << 16);
    case KEYS_REPEATED: return random_mix(random_below(&rng, n / 500)) & (all >> 8 * bits | 0x0101010101010101);
    case KEYS_LOG: {
        const float single = exp2f(-60 * (float(z >> 40) * 0x1p-24f));
        uint32_t word;
        memcpy(&word, &single, sizeof word);
        return word;
    }
    case KEYS_NARROW: {
        const uint64_t varying = ((1ull << bits) - 1) << 8;
        return (z & varying) | (0x77ull << (width - 8) & ~varying);
    }
    case KEYS_EVEN:
    case KEYS_EVEN_ODD:
    case KEYS_EVEN_HEAP:
    case KEYS_EVEN_COPIES:
    case KEYS_EVEN_CROWDS:
    case KEYS_EVEN_VALUES: {
        if (kind == KEYS_EVEN_ODD && i % 1000 == 77)
            return 1ull << (width - 1);
        double share = double(z >> 11) * 0x1p-53;
        if (kind == KEYS_EVEN_HEAP && i % 24 == 7)
            share = 0.3 + share * 0x1p-20;
        if (kind == KEYS_EVEN_COPIES)
            share = floor(share * bits) / bits;
        if (kind == KEYS_EVEN_CROWDS)
            share = floor(share * double(n / bits)) / double(n / bits) + double(z % 64) * 0x1p-27;
        if (kind == KEYS_EVEN_VALUES)
            share = floor(share * 32) / 32 + (bits > 8 ? double(random_mix(z >> 59) >> 11) * 0x1p-61 : 0);
        const float single = float(share) < 1 ? float(share) : 0;
        uint32_t word;
        uint64_t words;
        memcpy(&word, &single, sizeof word);
        memcpy(&words, &share, sizeof words);
        return type == SCAN_F32 ? word : words;
    }
    default: return z & all;
    }
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

struct plan_case {
    const char *name;
    scan_type type;
    key_kind kind;
    uint32_t bits;      /* narrow keys: how many vary; clusters: keys in one; copies: of a value; steps: bytes */
    bool one_digit;     /* makes buckets for the local stage; else two do */
    uint32_t passes;    /* wanted */
    uint32_t shift;     /* of the local stage */
    uint32_t codes;     /* that are counted */
    bool even, again;   /* by even codes; falls back to all digits */
    sort_finish finish; /* without passes */
    bool sampled;       /* a sample sort may follow */
    bool labels;        /* the local stage's tiles may be of labels */
    uint32_t value_bytes;
    bool packed; /* an argsort by codes */
    bool wide;   /* in the survey of many keys only */
};

constexpr uint32_t counted = 1u << narrow_counted_bits;
/* A bucket of one value of which the sample has so many keys that it is too large, if it were of several; but so few
 * that their pairs do not refuse two digits: these are more where n is larger. */
constexpr uint32_t bucket_of_one = GPU_EMULATED ? 16 : 64;
/* Keys in a cluster that share few of the local stage's bins, which are narrower where n is larger. */
constexpr uint32_t few_in_bins = GPU_EMULATED ? 5 : 30;
/* Copies of a value that a sample takes for more than 12 and less than 24; a large share of the keys shows too many. */
constexpr uint32_t more_copies = 18;
/* Whether a sample sort may take less time than eight passes: in the emulator alone. */
constexpr bool many = n >= sampled_launches / 2, runs_are_sampled = n >= intervals_least;

static const plan_case cases[] = {
    {"one digit", SCAN_U32, KEYS_UNIFORM, 0, true, 1, 24, 0, false, false, FINISH_NOTHING},
    {"two digits", SCAN_U32, KEYS_UNIFORM, 0, false, 2, 16, 0, false, false, FINISH_NOTHING},
    {"one digit of eight", SCAN_U64, KEYS_UNIFORM, 0, true, 1, 56, 0, false, false, FINISH_NOTHING},
    {"two digits of eight", SCAN_U64, KEYS_UNIFORM, 0, false, 2, 48, 0, false, false, FINISH_NOTHING},
    {"one digit, copies", SCAN_U32, KEYS_COPIES, 40, true, 4, 0, 0, false, false, FINISH_NOTHING},
    {"one digit, 500 values", SCAN_U32, KEYS_COPIES, uint32_t(n / 500), true, 4, 0, 0, false, false, FINISH_NOTHING},
    {"one digit, few copies", SCAN_U32, KEYS_COPIES, 2, true, 1, 24, 0, false, false, FINISH_NOTHING},
    {"one digit, copies with values", SCAN_U32, KEYS_COPIES, 40, true, 4, 0, 0, false, false, FINISH_NOTHING, false,
     false, 4},
    {"one digit, clusters", SCAN_U32, KEYS_CLUSTERS, few_in_bins, true, 1, 24, 0, false, false, FINISH_NOTHING},
    {"one digit, clusters that crowd bins", SCAN_U64, KEYS_CLUSTERS, 100, true, 8, 0, 0, false, false, FINISH_NOTHING},
    {"sorted", SCAN_U32, KEYS_RISING, 0, false, 0, 0, 0, false, false, FINISH_NOTHING},
    {"sorted, with values", SCAN_U32, KEYS_RISING, 0, false, 0, 0, 0, false, false, FINISH_VALUES, false, false, 8},
    {"reversed", SCAN_U64, KEYS_FALLING, 0, false, 0, 0, 0, false, false, FINISH_REVERSE},
    {"few values", SCAN_U32, KEYS_FEW, 0, false, 1, 24, 0, false, false, FINISH_NOTHING},
    {"few values, with values", SCAN_U32, KEYS_FEW, 0, false, 1, 24, 0, false, false, FINISH_NOTHING, false, false, 4},
    {"few bits", SCAN_U32, KEYS_NARROW, narrow_counted_bits, false, 0, 0, counted, false, false, FINISH_NOTHING},
    {"few bits of eight bytes", SCAN_U64, KEYS_NARROW, 5, false, 0, 0, 32, false, false, FINISH_NOTHING},
    {"a bit more", SCAN_U32, KEYS_NARROW, narrow_counted_bits + 1, false, 1, 0, 2 * counted, false, false,
     FINISH_NOTHING},
    {"too many bits", SCAN_U32, KEYS_NARROW, narrow_most_bits + 1, false, 3, 0, 0, false, false, FINISH_NOTHING},
    {"small clusters", SCAN_U32, KEYS_CLUSTERS, 200, false, 2, 16, 0, false, false, FINISH_NOTHING},
    {"large clusters", SCAN_U32, KEYS_CLUSTERS, 1000, false, 4, 0, 0, false, false, FINISH_NOTHING},
    {"some copies", SCAN_U32, KEYS_COPIES, 3, false, 2, 16, 0, false, false, FINISH_NOTHING},
    {"copies that the larger sample has", SCAN_U32, KEYS_HIDDEN_COPIES, 40, false, 4, 0, 0, false, false,
     FINISH_NOTHING, false, false, 0, false, true},
    {"many copies", SCAN_U32, KEYS_COPIES, 60, false, 4, 0, 0, false, false, FINISH_NOTHING},
    {"even floats, one digit", SCAN_F32, KEYS_EVEN, 0, true, 1, 24, 0, true, false, FINISH_NOTHING},
    {"even floats that crowd bins", SCAN_F32, KEYS_EVEN_CROWDS, 200, true, 4, 0, 0, false, false, FINISH_NOTHING},
    {"even floats of 500 values", SCAN_F32, KEYS_EVEN_COPIES, 500, true, 4, 0, 0, false, false, FINISH_NOTHING},
    {"even floats, two digits", SCAN_F32, KEYS_EVEN, 0, false, 2, 16, 0, true, false, FINISH_NOTHING},
    {"even doubles", SCAN_F64, KEYS_EVEN, 0, false, 2, 16, 0, true, false, FINISH_NOTHING},
    {"even floats and -0", SCAN_F32, KEYS_EVEN_ODD, 0, false, 0, 0, 0, false, true, FINISH_NOTHING},
    {"floats of any bits", SCAN_F32, KEYS_UNIFORM, 0, false, 2, 16, 0, false, false, FINISH_NOTHING},
    {"four digits, no sample sort", SCAN_U64, KEYS_STEPS, 3, false, 4, 32, 0, false, false, FINISH_NOTHING, true},
    {"four digits that crowd tiles", SCAN_U64, KEYS_GAPS, 4, false, 8, 0, 0, false, false, FINISH_NOTHING, false, false,
     4},
    {"dozens of copies, not sampled", SCAN_U64, KEYS_COPIES, 40, false, 2, 48, 0, false, false, FINISH_NOTHING, true},
    {"copies, sampled where there are many", SCAN_U64, KEYS_REPEATED, 4, false, many ? 0 : 8, 0, 0, false, many,
     FINISH_NOTHING, true},
    {"rare keys, with values sampled where there are many", SCAN_U64, KEYS_STEPS, 4, false, many ? 0 : 8, 0, 0, false,
     many, FINISH_NOTHING, true, false, 8},
    {"rare keys alone, not sampled", SCAN_U64, KEYS_STEPS, 4, false, 8, 0, 0, false, false, FINISH_NOTHING, true},
    {"few values, sampled where there are many", SCAN_U64, KEYS_VALUES, 0, false, many ? 0u : 3u, many ? 0u : 40u, 0,
     false, many, FINISH_NOTHING, true},
    {"bins that stay empty", SCAN_U64, KEYS_SPARSE, 0, false, 8, 0, 0, false, false, FINISH_NOTHING},
    {"rare keys that crowd bins", SCAN_U64, KEYS_HOLES, 0, false, 8, 0, 0, false, false, FINISH_NOTHING, true},
    {"pairs, sample sort", SCAN_U32, KEYS_HEAVY, 1, false, 0, 0, 0, false, true, FINISH_NOTHING, true},
    {"pairs of rare keys", SCAN_U32, KEYS_HEAVY, 8, false, 4, 0, 0, false, false, FINISH_NOTHING, true},
    {"pairs, no sample sort", SCAN_F32, KEYS_HEAVY, 1, false, 4, 0, 0, false, false, FINISH_NOTHING},
    {"floats with even logarithms", SCAN_F32, KEYS_LOG, 0, false, 2, 16, 0, false, false, FINISH_NOTHING},
    {"clusters in a bin", SCAN_U64, KEYS_CLUSTERS, 100, false, 8, 0, 0, false, false, FINISH_NOTHING},
    {"a bucket that the sample shows", SCAN_U32, KEYS_BUCKET, 16, false, 4, 0, 0, false, false, FINISH_NOTHING},
    {"the same, of one value", SCAN_U32, KEYS_BUCKET_OF_ONE, bucket_of_one, false, 2, 16, 0, false, false,
     FINISH_NOTHING},
    {"the same, of one value and another", SCAN_U32, KEYS_BUCKET_OF_TWO, 16, false, 4, 0, 0, false, false,
     FINISH_NOTHING},
    {"a bucket that counts show", SCAN_U32, KEYS_OFTEN, 0, false, 4, 0, 0, false, false, FINISH_NOTHING},
    {"copies that bins tell apart", SCAN_U32, KEYS_COPIES, more_copies, false, 2, 16, 0, false, false, FINISH_NOTHING,
     false, false, 4},
    {"fewer that lie together", SCAN_U32, KEYS_RUNS, 18, false, 4, 0, 0, false, false, FINISH_NOTHING},
    {"a frequent value, and no clusters", SCAN_U32, KEYS_FREQUENT, bucket_of_one, false, 4, 0, 0, false, false,
     FINISH_NOTHING},
    {"as many, by labels", SCAN_U32, KEYS_COPIES, more_copies, false, 4, 0, 0, false, false, FINISH_NOTHING, false,
     true, 4},
    {"four digits that crowd tiles, without values", SCAN_U64, KEYS_GAPS, 4, false, 8, 0, 0, false, false,
     FINISH_NOTHING},
    {"the same, less close together", SCAN_U64, KEYS_FEWER_GAPS, 4, false, 4, 32, 0, false, false, FINISH_NOTHING},
    {"three digits that crowd tiles", SCAN_U64, KEYS_GAPS, 3, false, 8, 0, 0, false, false, FINISH_NOTHING},
    {"even doubles and a heap", SCAN_F64, KEYS_EVEN_HEAP, 0, false, 0, 0, 0, false, true, FINISH_NOTHING},
    {"even doubles of few digits", SCAN_F64, KEYS_EVEN_VALUES, 8, false, 0, 0, 0, false, true, FINISH_NOTHING, true},
    {"even doubles of all digits", SCAN_F64, KEYS_EVEN_VALUES, 64, false, 2, 16, 0, true, false, FINISH_NOTHING, true},
    {"runs, short", SCAN_U64, KEYS_UNIFORM, 0, false, 4, 32, 0, false, false, FINISH_NOTHING, false, false, 4, true},
    {"runs, long", SCAN_U64, KEYS_HIDDEN, 0, false, 4, runs_are_sampled ? 0 : 32, 0, false, false, FINISH_NOTHING,
     false, false, 4, true},
    {"rare keys in clusters, with values, not sampled", SCAN_U64, KEYS_STEPS_CLUSTERS, 10, false, 8, 0, 0, false, false,
     FINISH_NOTHING, true, false, 8},
    {"copies, with values", SCAN_U32, KEYS_COPIES, 12, false, 2, 16, 0, false, false, FINISH_NOTHING, false, false, 4},
    {"copies of eight bytes, alone", SCAN_U64, KEYS_COPIES, 60, false, 2, 48, 0, false, false, FINISH_NOTHING},
    {"copies, alone", SCAN_U32, KEYS_COPIES, 12, false, 4, 0, 0, false, false, FINISH_NOTHING},
};

/* What choose() of sort.cu says of such a job, with buckets that one digit of n keys makes or does not. */
static sort_job job_of(const plan_case *c, const void *in, void *out, sort_plan *plan) {
    const uint32_t size = uint32_t(scan_type_size(c->type));
    const bool is_float = gpu_is_float(c->type);
    sort_job job = {};
    job.keys_in = in;
    job.keys_out = out;
    job.n = n;
    job.bits = 8 * size;
    job.order.mask = job.order.nan = ~0ull >> (64 - job.bits);
    job.key_bytes = size;
    job.value_bytes = c->value_bytes;
    if (c->value_bytes) { /* nobody reads or writes them here, but they are not in place */
        job.values_in = c->packed ? NULL : in;
        job.values_out = out;
    }
    job.is_float = is_float;
    job.ties = is_float || c->value_bytes;
    /* where tiles are small, logarithms crowd parts of the range too much, not only its thousandths */
    job.local = {c->kind == KEYS_LOG ? 100u : 2000u, c->one_digit ? uint32_t(n / 64) : 150, 2, c->labels};
    job.again_follows = !c->one_digit;
    job.max_notes = c->kind == KEYS_BUCKET || c->kind == KEYS_BUCKET_OF_ONE || c->kind == KEYS_BUCKET_OF_TWO ||
                            (c->kind == KEYS_UNIFORM && is_float) /* one in 256 has the code of NaN */
                        ? max_large_notes
                        : 0;
    if (c->packed) {
        job.packed = true;
        job.keys_out = NULL;
        job.local = {};
    }
    job.sampled = c->sampled;
    job.narrow_codes = job.ties ? 0 : 1u << narrow_most_bits;
    job.narrow_counts = static_cast<unsigned long long *>(
        gpu_put(&d_counts, NULL, fill_counts_bytes(1u << narrow_most_bits) / 8, 8, 0));
    job.state = fresh_state();
    job.plan = plan;
    return job;
}

/* Passes over all eight digits of an argsort's keys, each of which hands on the bits that the others need. */
static bool plans_parts(const sort_plan *p) {
    static const key_part part_to[] = {WHOLE_KEYS, UPPER_48, UPPER_48, UPPER_32};
    bool good = p->passes_again == 4 && p->passes_upper == 4;
    for (int i = 0; i < 4; i++) {
        const sort_pass &whole = p->pass[max_digits + i], &upper = p->pass[upper_passes + i];
        good = good && whole.shift == uint32_t(8 * i) && whole.part_to == part_to[i] &&
               whole.part_from == (i ? part_to[i - 1] : WHOLE_KEYS) && upper.shift == uint32_t(8 * i) &&
               whole.values_to == (i % 2 ? BUFFER_OUT : BUFFER_FIRST) && upper.values_to == whole.values_to &&
               whole.keys_to == (i % 2 ? BUFFER_SECOND : BUFFER_FIRST) &&
               upper.keys_to == (i == 3 ? BUFFER_NONE : whole.keys_to);
    }
    return good;
}

static bool is_as_wanted(const plan_case *c, const sort_plan *p) {
    if (c->kind == KEYS_EVEN_VALUES)
        return p->counts_missing == (!many || c->bits == 8);
    return p->finish_again == FINISH_NOTHING && p->passes == c->passes && p->local_shift == c->shift &&
           p->narrow.codes == c->codes && (p->even.scale != 0) == c->even && (p->again != 0) == c->again &&
           p->finish == c->finish && p->intervals == (c->packed && c->shift == 0) && (!c->packed || plans_parts(p)) &&
           /* the local stage has room for most clusters, which digits do not show */
           (c->kind != KEYS_CLUSTERS || c->passes != 2 || p->local_reach >= c->bits * 5 / 4);
}

/* plan_ctas: see run_survey(). */
static bool check_plan(const plan_case *c, const sort_survey_kernel &survey, const char *how, bool wide,
                       uint32_t plan_ctas) {
    const size_t size = scan_type_size(c->type);
    char *keys = static_cast<char *>(malloc(n * size));
    sort_plan *plan = static_cast<sort_plan *>(malloc(sizeof *plan));
    assert_true(keys && plan);
    rng = 47;
    for (const char *at = c->name; *at; at++) /* the same keys whatever cases there are before */
        rng = random_mix(rng ^ uint64_t(*at));
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = bits_of_key(c->type, c->kind, c->bits, i);
        memcpy(keys + i * size, &bits, size);
    }
    sort_job job =
        job_of(c, gpu_put(&d_keys, keys, n, size, 0), gpu_put(&d_keys_out, NULL, n, size, 0), any_plan(plan));
    job.wide_survey = wide;
    /* four CTAs of the survey of many keys read late, if there is a larger sample, and one does not */
    run_survey(survey, job, 5, plan_ctas);
    gpu_get(&d_plan, plan);
    uint64_t counted = 0;
    for (int digit = 0; digit < radix; digit++)
        counted += plan->counts[0][digit];
    assert_true(counted == n || job.is_float); /* which may have even codes counted only */
    const bool good = is_as_wanted(c, plan);
    if (!good)
        print_error("%s%s: %u passes, local stage at bit %u, %u codes counted%s%s, finish %d\n", c->name, how,
                    plan->passes, plan->local_shift, plan->narrow.codes, plan->even.scale != 0 ? ", even" : "",
                    plan->again ? ", again" : "", int(plan->finish));
    free(keys);
    free(plan);
    return good;
}

static void every_way(void **state) {
    (void)state;
    gpu_need();
    int shared_bytes;
    cuda_ok(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    bool good = true;
    for (const plan_case &c : cases) {
        const sort_survey_kernel few = survey_of_type<false>(c.type), many = survey_of_type<true>(c.type);
        for (uint32_t ctas = 1; ctas <= (scan_type_size(c.type) == 8 ? 2 : 1); ctas++) {
            if (!c.wide)
                good &= check_plan(&c, few, ctas > 1 ? ", gaps ahead" : "", false, ctas);
            if (many.shared_bytes + 4096 <= shared_bytes &&
                !(c.even && c.one_digit) && /* it counts no digit of the even code beside the codes' */
                c.kind != KEYS_EVEN_VALUES) /* nor finds few values even */
                good &= check_plan(&c, many, ctas > 1 ? ", wide survey, gaps ahead" : ", wide survey", true, ctas);
        }
    }
    assert_true(good);
}

int main(int argc, char **argv) {
    static const gpu_test tests[] = {GPU_TEST(GPU_MATRIX | GPU_SMALL, every_way)};
    return gpu_main("gpu_sort_plan", tests, sizeof tests / sizeof tests[0], argc, argv);
}
