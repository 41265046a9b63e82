/* SPDX-License-Identifier: MIT
 *
 * bench: rates of the library's verbs beside peers and beside the ceiling, all measured in the same run. This file
 * reads the command line; bench_lists.c makes jobs of it and bench_run.c measures them. bench.h lists the parts.
 */
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const char usage[] =
    "Usage: tools/bench [OPTION]...\n"
    "\n"
    "  tools/bench                                   a small table, about two minutes\n"
    "  tools/bench --all --json out/bench.json       the full one\n"
    "  tools/bench --verb sort --type u64 --n 2^26 --distribution zipf\n"
    "  tools/bench --verb prefix --type f32 --op max --threads 1 --simd avx2\n"
    "  tools/bench --verb prefix --n 2^10..2^26 --plot prefix.svg\n"
    "  tools/bench --device cuda --verb prefix --algorithm all --type u32,f32 --plot prefix.svg\n"
    "  tools/bench --device cuda --verb compact --n 2^28 --keep 0.01,0.1,0.5,0.9\n"
    "\n"
    "Measures the library's verbs beside peers and beside a plain copy, in turns. Results are checked first.\n"
    "Where an option takes a LIST (a,b,c), every combination is measured. A row with --offset or --reverse shows its\n"
    "share of the rate of the same row without, where that came before: with --offset 0,1, in the full table.\n"
    "\n"
    "  --verb V            one of those below\n"
    "  --type LIST        " TYPE_WORDS " (u32; images: u8 or u16)\n"
    "  --out-type T        prefix: the accumulator (as --type)\n"
    "  --op O              prefix:" OP_WORDS " (add)\n"
    "  --exclusive         prefix: without the element itself\n"
    "  --reverse           prefix: from the last element to the first; no peers\n"
    "  --algorithm A       all, GRID, GRID/BLOCK, or a method of sorting (auto)\n"
    "  --n LIST            1000, 10M, 2^26, 2^26+1, 2^10..2^30, 1000..1M*10 (2^24; a GPU: 2^10..2^30*4)\n"
    "  --distribution LIST as in tools/make_data --help (uniform)\n"
    "  --keep LIST         compact and its like: the share that stays (0.5)\n"
    "  --value-bytes N     pairs: 4 or 8 (4)\n"
    "  --offset LIST       elements, below 256, from a boundary of 256 bytes to the begin of every array (0)\n"
    "  --nan SHARE         this share of a float array is NaN (0)\n"
    "  --seed S            another input of the same kind (1)\n"
    "  --threads N         of the library, the copy and the peers (all)\n"
    "  --device D          auto, cpu, cuda, cuda:N (cpu)\n"
    "  --simd LEVEL        portable, avx2 or avx512: no more than that\n"
    "  --rounds N          measured runs of each contender, at most 101 (11); slow ones get fewer\n"
    "  --no-peers          the library and the copy only\n"
    "  --torch             a GPU: PyTorch too, where python3 has it with CUDA; other rows lose up to 6 %\n"
    "  --additions         a GPU: only count the additions of the block scans\n"
    "  --all               the full table; with --verb its rows of that verb\n"
    "  --json FILE         the rows for machines too\n"
    "  --plot FILE         draw them over n, as SVG\n"
    "  --pack DIR          fill DIR with what another machine with a GPU needs to run this, and stop\n"
    "\n"
    "On a GPU a row shows the time of a call among others in a batch, the spread of that (between quartiles), the\n"
    "time of one call that begins on an idle GPU, and the time until a call returns; then rates, as GB/s of what any\n"
    "way to do the job must read and write, the share of the memcpy's rate, and how many times as fast as the fastest\n"
    "of CUB's rows, in a batch and alone.\n"
    "\n"
    "Verbs:\n";

__attribute__((noreturn)) static void wrong(const char *option, const char *value, const char *why) {
    fprintf(stderr, "bench: %s: '%s': %s\n", option, value, why);
    exit(2);
}

static uint64_t count_option(const char *option, const char *value, uint64_t max) {
    uint64_t count;
    if (!parse_count(value, &count) || count > max)
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

/* Ends the program if a list_* function returned what is wrong. */
static void check_list(const char *why, const char *option, const char *value) {
    if (why != NULL)
        wrong(option, value, why);
}

static scan_op op_option(const char *value) {
    for (int op = 0; scan_op_name((scan_op)op) != NULL; op++)
        if (strcmp(value, scan_op_name((scan_op)op)) == 0)
            return (scan_op)op;
    wrong("--op", value, "not an operator:" OP_WORDS);
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

/* The folder of this program (levels = 1), and the build's above it (levels = 2). */
static const char *own_folder(int levels) {
    static char folders[2][512];
    char *folder = folders[levels - 1];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folders[0] - 1);
    if (length <= 0)
        return ".";
    folder[length] = '\0';
    for (int level = 0; level < levels; level++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL)
            return ".";
        *slash = '\0';
    }
    return folder;
}

/* Refuses what the verb cannot serve. */
static void check_lists(const job_lists *l) {
    if (l->reverse && l->verb != BENCH_PREFIX)
        wrong("--reverse", verb_names[l->verb], "prefix alone has a direction");
    for (unsigned o = 0; o < l->offset_count; o++)
        if (l->offsets[o] != 0 && (l->verb == BENCH_TEXT || l->verb == BENCH_FILE))
            wrong("--offset", verb_names[l->verb], "files have no alignment");
    for (unsigned t = 0; t < l->type_count; t++) {
        scan_type type = l->types[t];
        if (l->verb == BENCH_PREFIX && !scan_op_takes(l->op, l->out_type != SCAN_TYPE_NONE ? l->out_type : type))
            wrong("--op", scan_op_name(l->op), "not an operator of this --type");
        if (is_image_verb(l->verb) && type != SCAN_U8 && type != SCAN_U16)
            wrong("--type", scan_type_name(type), "image verbs take u8 or u16");
        if (l->verb == BENCH_TEXT && type_bytes(type) != 8)
            wrong("--type", scan_type_name(type), "text takes i64, u64 or f64: what the sort program reads it as");
    }
    for (unsigned i = 0; i < l->n_count; i++) {
        if (l->n[i] == 0 || l->n[i] > SIZE_MAX / 64)
            wrong("--n", "0", "the bench needs at least one element, and no more than memory holds");
        bool small_positions = (l->verb == BENCH_PAIRS && l->value_bytes == 4) || l->verb == BENCH_INDICES;
        if ((small_positions || l->verb == BENCH_LENGTHS) && l->n[i] > UINT32_MAX)
            wrong("--n", "more than 2^32 - 1", "positions are 4-byte values here");
    }
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* X(key, name, takes an argument) */
#define BENCH_OPTIONS(X)                                                                                               \
    X(VERB, "verb", 1)                                                                                                 \
    X(TYPE, "type", 1)                                                                                                 \
    X(OUT_TYPE, "out-type", 1)                                                                                         \
    X(OP, "op", 1)                                                                                                     \
    X(EXCLUSIVE, "exclusive", 0)                                                                                       \
    X(REVERSE, "reverse", 0)                                                                                           \
    X(ALGORITHM, "algorithm", 1)                                                                                       \
    X(N, "n", 1)                                                                                                       \
    X(SPREAD, "distribution", 1)                                                                                       \
    X(KEEP, "keep", 1)                                                                                                 \
    X(VALUE_BYTES, "value-bytes", 1)                                                                                   \
    X(OFFSET, "offset", 1)                                                                                             \
    X(NANS, "nan", 1)                                                                                                  \
    X(SEED, "seed", 1)                                                                                                 \
    X(THREADS, "threads", 1)                                                                                           \
    X(DEVICE, "device", 1)                                                                                             \
    X(SIMD, "simd", 1)                                                                                                 \
    X(ROUNDS, "rounds", 1)                                                                                             \
    X(NO_PEERS, "no-peers", 0)                                                                                         \
    X(TORCH, "torch", 0)                                                                                               \
    X(ADDITIONS, "additions", 0)                                                                                       \
    X(ALL, "all", 0)                                                                                                   \
    X(JSON, "json", 1)                                                                                                 \
    X(PLOT, "plot", 1)                                                                                                 \
    X(PACK, "pack", 1)                                                                                                 \
    X(NUMPY_SCRIPT, "numpy-script", 1)                                                                                 \
    X(TORCH_SCRIPT, "torch-script", 1)                                                                                 \
    X(HELP, "help", 0)

enum option_key {
    OPTION_NONE,
#define KEY_ROW(KEY, name, argument) KEY,
    BENCH_OPTIONS(KEY_ROW)
#undef KEY_ROW
};

static const struct option options[] = {
#define OPTION_ROW(KEY, name, argument) {name, argument, NULL, KEY},
    BENCH_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
        {NULL, 0, NULL, 0}};

typedef struct command_line {
    bench_settings bench;
    job_lists lists;
    const char *json_path, *torch_script;
    bool all, torch, additions;
} command_line;

static void read_options(command_line *l, int argc, char **argv) {
    job_lists *lists = &l->lists;
    for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (key) {
        case VERB: lists->verb = verb_option(optarg); break;
        case TYPE: check_list(list_types(lists, optarg), "--type", optarg); break;
        case OUT_TYPE: lists->out_type = type_option("--out-type", optarg); break;
        case OP: lists->op = op_option(optarg); break;
        case EXCLUSIVE: lists->kind = SCAN_EXCLUSIVE; break;
        case REVERSE: lists->reverse = true; break;
        case ALGORITHM: check_list(list_algorithm(lists, optarg), "--algorithm", optarg); break;
        case N: check_list(list_counts(lists, optarg), "--n", optarg); break;
        case SPREAD: check_list(list_distributions(lists, optarg), "--distribution", optarg); break;
        case KEEP: check_list(list_shares(lists, optarg), "--keep", optarg); break;
        case VALUE_BYTES:
            lists->value_bytes = (unsigned)count_option("--value-bytes", optarg, 8);
            if (lists->value_bytes != 4 && lists->value_bytes != 8)
                wrong("--value-bytes", optarg, "4 or 8");
            break;
        case OFFSET: check_list(list_offsets(lists, optarg), "--offset", optarg); break;
        case NANS: lists->nan = share_option("--nan", optarg); break;
        case SEED: l->bench.seed = count_option("--seed", optarg, UINT64_MAX); break;
        case THREADS: lists->threads = (unsigned)count_option("--threads", optarg, 64); break;
        case DEVICE: l->bench.device_name = optarg; break;
        case SIMD:
            if (strcmp(optarg, "portable") != 0 && strcmp(optarg, "avx2") != 0 && strcmp(optarg, "avx512") != 0)
                wrong("--simd", optarg, "not portable, avx2 or avx512");
            setenv("SCAN_SIMD", optarg, 1);
            break;
        case ROUNDS: l->bench.rounds = (unsigned)count_option("--rounds", optarg, MAX_ROUNDS); break;
        case NO_PEERS: l->bench.peers = false; break;
        case TORCH: l->torch = true; break;
        case ADDITIONS: l->additions = true; break;
        case ALL: l->all = true; break;
        case JSON: l->json_path = optarg; break;
        case PLOT: l->bench.plot_path = optarg; break;
        case PACK: wrong("--pack", optarg, "the script tools/bench does that");
        case NUMPY_SCRIPT: l->bench.numpy_script = optarg; break;
        case TORCH_SCRIPT: l->torch_script = optarg; break;
        case HELP: print_usage(); exit(0);
        default: exit(2);
        }
    if (optind < argc)
        wrong("operand", argv[optind], "the bench takes options only");
    if (lists->threads == 0 || l->bench.rounds == 0)
        wrong(lists->threads == 0 ? "--threads" : "--rounds", "0", "at least one");
    static char beside[600];
    snprintf(beside, sizeof beside, "%s/bench_torch.py", own_folder(1));
    if (l->torch)
        l->bench.torch_script = l->torch_script != NULL ? l->torch_script : beside;
}

/* Fills in the options that were not given. */
static void fill_defaults(command_line *l) {
    job_lists *lists = &l->lists;
    bool is_image = is_image_verb(lists->verb);
    if (lists->type_count == 0)
        list_types(lists, is_image ? "u8" : lists->verb == BENCH_TEXT ? "i64" : "u32");
    if (lists->spread_count == 0)
        list_distributions(lists, is_image ? "normal" : "uniform");
    if (lists->keep_count == 0)
        list_shares(lists, "0.5");
    if (lists->offset_count == 0)
        list_offsets(lists, "0");
    if (lists->n_count == 0)
        list_counts(lists, l->bench.device != NULL ? "2^10..2^30*4" : "2^24");
}

/* Loads the GPU's clock and peers where they are built and there is a GPU; else the library says why there is none. */
static void open_device(bench_settings *bench) {
    const char *name = bench->device_name, *why = "";
    if (strncmp(name, "cuda", 4) != 0 && strcmp(name, "auto") != 0)
        return;
    bench->device = module_device(own_folder(1));
    if (bench->device != NULL && !bench->device->open(strncmp(name, "cuda:", 5) == 0 ? atoi(name + 5) : 0, &why)) {
        if (strcmp(name, "auto") != 0)
            fprintf(stderr, "bench: %s\n", why);
        bench->device = NULL;
    }
}

static int count_additions(const bench_settings *bench) {
    if (bench->device != NULL)
        return bench->device->additions() ? 0 : 1;
    puts("Additions of the block scans: skipped, they are counted on a GPU (--device cuda)");
    return 0;
}

int main(int argc, char **argv) {
    command_line l = {.bench = {.device_name = "cpu", .seed = 1, .rounds = 11, .peers = true},
                      .lists = {.verb = BENCH_VERB_COUNT, .value_bytes = 4, .folder = own_folder(2)}};
    bench_settings *bench = &l.bench;
    cpu_set_t cpus;
    l.lists.threads = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
    read_options(&l, argc, argv);
    if (l.json_path != NULL && (bench->json = fopen(l.json_path, "w")) == NULL)
        wrong("--json", l.json_path, "cannot be opened for writing");
    if (bench->json != NULL)
        fputs("[", bench->json);
    signal(SIGPIPE, SIG_IGN); /* a Python peer that has ended is reported */

    open_device(bench);
    if (l.torch && bench->device == NULL)
        fputs("bench: PyTorch is measured on a GPU only: its rows are left out\n", stderr);
    bench->peers_module = module_peers(own_folder(1));
    find_machine(bench, l.lists.threads);
    print_machine(bench);
    if (l.additions)
        return count_additions(bench);
    fill_defaults(&l);
    if (l.lists.verb != BENCH_VERB_COUNT && !l.all) {
        check_lists(&l.lists);
        run_lists(bench, &l.lists);
    } else
        run_table(bench, &l.lists, l.all);
    if (bench->json != NULL)
        fputs("\n]\n", bench->json);
    if (bench->json != NULL && fclose(bench->json) != 0)
        wrong("--json", l.json_path, "could not be written");
    if (bench->plot_path != NULL && !plot_write(bench))
        wrong("--plot", bench->plot_path, "could not be written");
    if (bench->device != NULL)
        bench->device->close();
    return bench->failed;
}
