/* SPDX-License-Identifier: MIT
 *
 * bench: rates of the library's verbs beside peers and beside the ceiling, all measured in the same run. Here: the
 * command line and the two tables; bench_run.c measures one job.
 */
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct row {
    bench_verb verb;
    scan_type type, out_type;
    scan_op op;
    const char *n, *distribution;
    double keep;
} row;

/* Everything in about two minutes. */
static const row standard_table[] = {
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_F32, SCAN_F32, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_COMPACT, SCAN_U32, 0, 0, "2^26", "uniform", 0.5},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^24", "uniform", 0},
    {BENCH_SORT, SCAN_U64, 0, 0, "2^24", "uniform", 0},
    {BENCH_PAIRS, SCAN_U32, 0, 0, "2^23", "uniform", 0},
    {BENCH_ARGSORT, SCAN_U32, 0, 0, "2^23", "uniform", 0},
    {BENCH_HISTOGRAM, SCAN_U8, 0, 0, "2^24", "normal", 0},
    {BENCH_EQUALIZE, SCAN_U8, 0, 0, "2^26", "normal", 0},
    {BENCH_CLAHE, SCAN_U8, 0, 0, "2^26", "normal", 0},
    {BENCH_TEXT, SCAN_I64, 0, 0, "1M", "uniform", 0},
};

static const row full_table[] = {
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_U64, SCAN_U64, SCAN_ADD, "2^25", "uniform", 0},
    {BENCH_PREFIX, SCAN_U8, SCAN_U8, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_I16, SCAN_I16, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_U8, SCAN_U32, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_U32, SCAN_U64, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_F32, SCAN_F32, SCAN_ADD, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_F64, SCAN_F64, SCAN_ADD, "2^25", "uniform", 0},
    {BENCH_PREFIX, SCAN_F32, SCAN_F64, SCAN_ADD, "2^25", "uniform", 0},
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_MUL, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_MAX, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_F32, SCAN_F32, SCAN_MUL, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_F32, SCAN_F32, SCAN_MIN, "2^26", "uniform", 0},
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_ADD, "2^12", "uniform", 0},
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_ADD, "2^16", "uniform", 0},
    {BENCH_PREFIX, SCAN_U32, SCAN_U32, SCAN_ADD, "2^20", "uniform", 0},
    {BENCH_COMPACT, SCAN_U32, 0, 0, "2^26", "uniform", 0.01},
    {BENCH_COMPACT, SCAN_U32, 0, 0, "2^26", "uniform", 0.1},
    {BENCH_COMPACT, SCAN_U32, 0, 0, "2^26", "uniform", 0.5},
    {BENCH_COMPACT, SCAN_U32, 0, 0, "2^26", "uniform", 0.9},
    {BENCH_COMPACT, SCAN_F64, 0, 0, "2^25", "uniform", 0.5},
    {BENCH_COMPACT, SCAN_U8, 0, 0, "2^26", "uniform", 0.5},
    {BENCH_UNIQUE, SCAN_U32, 0, 0, "2^26", "runs:4", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^24", "uniform", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "uniform", 0},
    {BENCH_SORT, SCAN_U64, 0, 0, "2^24", "uniform", 0},
    {BENCH_SORT, SCAN_U64, 0, 0, "2^26", "uniform", 0},
    {BENCH_SORT, SCAN_F32, 0, 0, "2^26", "uniform", 0},
    {BENCH_SORT, SCAN_F64, 0, 0, "2^25", "uniform", 0},
    {BENCH_SORT, SCAN_U16, 0, 0, "2^26", "uniform", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "bits:20", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "zipf", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "few", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "normal", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "sorted", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "reversed", 0},
    {BENCH_SORT, SCAN_U32, 0, 0, "2^26", "constant", 0},
    {BENCH_PAIRS, SCAN_U32, 0, 0, "2^24", "uniform", 0},
    {BENCH_PAIRS, SCAN_U64, 0, 0, "2^24", "uniform", 0},
    {BENCH_ARGSORT, SCAN_U32, 0, 0, "2^24", "uniform", 0},
    {BENCH_ARGSORT, SCAN_F64, 0, 0, "2^24", "uniform", 0},
    {BENCH_HISTOGRAM, SCAN_U8, 0, 0, "2^24", "normal", 0},
    {BENCH_HISTOGRAM, SCAN_U8, 0, 0, "2^26", "uniform", 0},
    {BENCH_HISTOGRAM, SCAN_U16, 0, 0, "2^24", "normal", 0},
    {BENCH_EQUALIZE, SCAN_U8, 0, 0, "2^26", "normal", 0},
    {BENCH_EQUALIZE, SCAN_U8, 0, 0, "2^26", "runs:8", 0},
    {BENCH_EQUALIZE, SCAN_U16, 0, 0, "2^25", "normal", 0},
    {BENCH_CLAHE, SCAN_U8, 0, 0, "2^26", "normal", 0},
    {BENCH_CLAHE, SCAN_U16, 0, 0, "2^24", "normal", 0},
    {BENCH_TEXT, SCAN_I64, 0, 0, "10M", "uniform", 0},
    {BENCH_TEXT, SCAN_F64, 0, 0, "5M", "uniform", 0},
    {BENCH_FILE, SCAN_U32, 0, 0, "2^24", "uniform", 0},
    {BENCH_FILE, SCAN_F64, 0, 0, "2^24", "uniform", 0},
};

static void run_table(bench_settings *bench, const job *defaults, const row *rows, size_t count) {
    for (size_t r = 0; r < count; r++) {
        job j = *defaults;
        j.verb = rows[r].verb;
        j.type = rows[r].type;
        j.out_type = rows[r].out_type != 0 ? rows[r].out_type : rows[r].type;
        j.op = rows[r].op;
        j.keep = rows[r].keep;
        parse_count(rows[r].n, &j.n);
        distribution_parse(&j.spread, rows[r].distribution);
        run_job(bench, &j);
    }
}

/* ---- command line ------------------------------------------------------------------------------------------------ */

static const char usage[] =
    "Usage: tools/bench [OPTION]...\n"
    "\n"
    "  tools/bench                                   a small table, about two minutes\n"
    "  tools/bench --all --json out/bench.json       the full one\n"
    "  tools/bench --verb sort --type u64 --n 2^26 --distribution zipf\n"
    "  tools/bench --verb prefix --type f32 --op max --threads 1 --simd avx2\n"
    "\n"
    "Measures the library's verbs beside peers and beside a plain copy, in turns. Results are checked first.\n"
    "\n"
    "  --verb V            one of those below\n"
    "  --type T            u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 (u32; images: u8 or u16)\n"
    "  --out-type T        prefix: the accumulator (as --type)\n"
    "  --op O              prefix: add mul min max (add)\n"
    "  --exclusive         prefix: without the element itself\n"
    "  --n N               1000, 10M, 2^26, 2^26+1 (2^24)\n"
    "  --distribution D    as in tools/make_data --help (uniform)\n"
    "  --keep SHARE        compact: the share that stays (0.5)\n"
    "  --nan SHARE         this share of a float array is NaN (0)\n"
    "  --seed S            another input of the same kind (1)\n"
    "  --threads N         of the library, the copy and the peers (all)\n"
    "  --device D          auto, cpu, cuda, cuda:N (cpu)\n"
    "  --simd LEVEL        portable, avx2 or avx512: no more than that\n"
    "  --rounds N          measured runs of each contender, at most 101 (11); slow ones get fewer\n"
    "  --no-peers          the library and the copy only\n"
    "  --all               the full table\n"
    "  --json FILE         the rows for machines too\n"
    "\n"
    "Verbs:\n";

__attribute__((noreturn)) static void wrong(const char *option, const char *value, const char *why) {
    fprintf(stderr, "bench: %s: '%s': %s\n", option, value, why);
    exit(2);
}

static uint64_t count_option(const char *option, const char *value, uint64_t most) {
    uint64_t count;
    if (!parse_count(value, &count) || count > most)
        wrong(option, value, "not a count such as 1000, 10M or 2^26, or too large");
    return count;
}

static double share_option(const char *option, const char *value) {
    char *end;
    double share = strtod(value, &end);
    if (end == value || *end != '\0' || !(share >= 0 && share <= 1))
        wrong(option, value, "not a number from 0 to 1");
    return share;
}

static scan_type type_option(const char *option, const char *value) {
    scan_type type = parse_type(value);
    if (type == SCAN_TYPE_NONE)
        wrong(option, value, "not a type");
    return type;
}

static scan_op op_option(const char *value) {
    for (int op = 0; scan_op_name((scan_op)op) != NULL; op++)
        if (strcmp(value, scan_op_name((scan_op)op)) == 0)
            return (scan_op)op;
    wrong("--op", value, "not an operator (add mul min max)");
}

static bench_verb verb_option(const char *value) {
    for (int verb = 0; verb < BENCH_VERB_COUNT; verb++)
        if (strcmp(value, verb_names[verb]) == 0)
            return (bench_verb)verb;
    wrong("--verb", value, "not a verb (see --help)");
}

static void print_usage(void) {
    fputs(usage, stdout);
#define USAGE_ROW(ENUM, name, meaning) printf("  %-19s %s\n", #name, meaning);
    BENCH_VERBS(USAGE_ROW)
#undef USAGE_ROW
}

static void print_machine(const job *j) {
    char line[256], *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && name == NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "model name", 10) == 0 && (name = strchr(line, ':')) != NULL)
            name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
    scan_ctx *ctx;
    scan_info info = {.struct_size = sizeof info};
    if (scan_ctx_create(&ctx, NULL) == SCAN_OK && scan_ctx_info(ctx, &info) == SCAN_OK)
        printf("scan %s, %s, %u threads,%s\n", scan_version(), info.name, j->threads, name != NULL ? name + 1 : "");
    scan_ctx_destroy(ctx);
    if (peers_missing()[0] != '\0')
        printf("Peers that this build lacks:%s\n", peers_missing());
}

/* The folder of the build, from build/tools/bench. */
static const char *build_folder(const char *program) {
    static char folder[512];
    snprintf(folder, sizeof folder, "%s", program);
    for (int level = 0; level < 2; level++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL)
            return "build";
        *slash = '\0';
    }
    return folder;
}

/* A measurement that the verb cannot serve is refused here, in words. */
static void check_job(const job *j) {
    bool is_image = j->verb == BENCH_HISTOGRAM || j->verb == BENCH_EQUALIZE || j->verb == BENCH_CLAHE;
    if (is_image && j->type != SCAN_U8 && j->type != SCAN_U16)
        wrong("--type", scan_type_name(j->type), "image verbs take u8 or u16");
    if (j->verb == BENCH_TEXT && type_bytes(j->type) != 8)
        wrong("--type", scan_type_name(j->type), "text takes i64, u64 or f64: what the sort program reads it as");
    if (j->n == 0 || j->n > SIZE_MAX / 64)
        wrong("--n", "0", "the bench needs at least one element, and no more than memory holds");
    if (j->verb == BENCH_PAIRS && j->n > UINT32_MAX)
        wrong("--n", "more than 2^32 - 1", "pairs carry their position as a 4-byte value");
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

enum option_key {
    VERB = 1,
    TYPE,
    OUT_TYPE,
    OP,
    EXCLUSIVE,
    N,
    SPREAD,
    KEEP,
    NANS,
    SEED,
    THREADS,
    DEVICE,
    SIMD,
    ROUNDS,
    NO_PEERS,
    ALL,
    JSON,
    SCRIPT,
    HELP
};

static const struct option options[] = {{"verb", 1, NULL, VERB},
                                        {"type", 1, NULL, TYPE},
                                        {"out-type", 1, NULL, OUT_TYPE},
                                        {"op", 1, NULL, OP},
                                        {"exclusive", 0, NULL, EXCLUSIVE},
                                        {"n", 1, NULL, N},
                                        {"distribution", 1, NULL, SPREAD},
                                        {"keep", 1, NULL, KEEP},
                                        {"nan", 1, NULL, NANS},
                                        {"seed", 1, NULL, SEED},
                                        {"threads", 1, NULL, THREADS},
                                        {"device", 1, NULL, DEVICE},
                                        {"simd", 1, NULL, SIMD},
                                        {"rounds", 1, NULL, ROUNDS},
                                        {"no-peers", 0, NULL, NO_PEERS},
                                        {"all", 0, NULL, ALL},
                                        {"json", 1, NULL, JSON},
                                        {"python-peers", 1, NULL, SCRIPT},
                                        {"help", 0, NULL, HELP},
                                        {NULL, 0, NULL, 0}};

typedef struct command_line {
    bench_settings bench;
    job j;
    const char *json_path;
    bool all, spread; /* given */
} command_line;

static void read_options(command_line *l, int argc, char **argv) {
    const char *why;
    for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (key) {
        case VERB: l->j.verb = verb_option(optarg); break;
        case TYPE: l->j.type = type_option("--type", optarg); break;
        case OUT_TYPE: l->j.out_type = type_option("--out-type", optarg); break;
        case OP: l->j.op = op_option(optarg); break;
        case EXCLUSIVE: l->j.kind = SCAN_EXCLUSIVE; break;
        case N: l->j.n = count_option("--n", optarg, UINT64_MAX); break;
        case SPREAD:
            if ((why = distribution_parse(&l->j.spread, optarg)) != NULL)
                wrong("--distribution", optarg, why);
            l->spread = true;
            break;
        case KEEP: l->j.keep = share_option("--keep", optarg); break;
        case NANS: l->j.spread.nan = share_option("--nan", optarg); break;
        case SEED: l->bench.seed = count_option("--seed", optarg, UINT64_MAX); break;
        case THREADS: l->j.threads = (unsigned)count_option("--threads", optarg, 64); break;
        case DEVICE: l->bench.device = optarg; break;
        case SIMD:
            if (strcmp(optarg, "portable") != 0 && strcmp(optarg, "avx2") != 0 && strcmp(optarg, "avx512") != 0)
                wrong("--simd", optarg, "not portable, avx2 or avx512");
            setenv("SCAN_SIMD", optarg, 1);
            break;
        case ROUNDS: l->bench.rounds = (unsigned)count_option("--rounds", optarg, MAX_ROUNDS); break;
        case NO_PEERS: l->bench.peers = false; break;
        case ALL: l->all = true; break;
        case JSON: l->json_path = optarg; break;
        case SCRIPT: l->bench.script = optarg; break;
        case HELP: print_usage(); exit(0);
        default: exit(2);
        }
    if (optind < argc)
        wrong("operand", argv[optind], "the bench takes options only");
    if (l->j.threads == 0 || l->bench.rounds == 0)
        wrong(l->j.threads == 0 ? "--threads" : "--rounds", "0", "at least one");
}

/* The types and the distribution that were not given. */
static void fill_defaults(command_line *l) {
    job *j = &l->j;
    bool is_image = j->verb == BENCH_HISTOGRAM || j->verb == BENCH_EQUALIZE || j->verb == BENCH_CLAHE;
    if (j->type == SCAN_TYPE_NONE)
        j->type = is_image ? SCAN_U8 : j->verb == BENCH_TEXT ? SCAN_I64 : SCAN_U32;
    if (j->out_type == SCAN_TYPE_NONE)
        j->out_type = j->type;
    if (is_image && !l->spread)
        j->spread.kind = DISTRIBUTION_NORMAL;
}

int main(int argc, char **argv) {
    command_line l = {
        .bench = {.device = "cpu", .script = "tools/bench_peers.py", .seed = 1, .rounds = 11, .peers = true},
        .j = {.verb = BENCH_VERB_COUNT, .n = 1 << 24, .keep = 0.5, .folder = build_folder(argv[0])}};
    bench_settings *bench = &l.bench;
    cpu_set_t processors;
    l.j.threads = sched_getaffinity(0, sizeof processors, &processors) == 0 ? (unsigned)CPU_COUNT(&processors) : 1;
    read_options(&l, argc, argv);
    if (l.json_path != NULL && (bench->json = fopen(l.json_path, "w")) == NULL)
        wrong("--json", l.json_path, "cannot be opened for writing");
    if (bench->json != NULL)
        fputs("[", bench->json);
    signal(SIGPIPE, SIG_IGN); /* a Python peer that ended is said so, not died of */

    print_machine(&l.j);
    fill_defaults(&l);
    if (l.j.verb != BENCH_VERB_COUNT) {
        check_job(&l.j);
        run_job(bench, &l.j);
    } else if (l.all)
        run_table(bench, &l.j, full_table, sizeof full_table / sizeof full_table[0]);
    else
        run_table(bench, &l.j, standard_table, sizeof standard_table / sizeof standard_table[0]);
    if (bench->json != NULL)
        fputs("\n]\n", bench->json);
    if (bench->json != NULL && fclose(bench->json) != 0)
        wrong("--json", l.json_path, "could not be written");
    return bench->failed;
}
