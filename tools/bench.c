/* SPDX-License-Identifier: MIT
 *
 * bench: rates of the library's verbs beside peers and beside the ceiling, all measured in the same run. This file
 * reads the command line; bench_usage.c explains it. bench.h lists the parts.
 */
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

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

static double minutes_option(const char *value) {
    char *end;
    double minutes = strtod(value, &end);
    if (end == value || *end != '\0' || !(minutes > 0 && minutes < 1e6))
        wrong("--minutes", value, "not a number above 0");
    return minutes;
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
    X(PAUSE, "pause", 1)                                                                                               \
    X(NO_PEERS, "no-peers", 0)                                                                                         \
    X(TORCH, "torch", 0)                                                                                               \
    X(ADDITIONS, "additions", 0)                                                                                       \
    X(HUNT, "hunt", 1)                                                                                                 \
    X(MIN_N, "min-n", 1)                                                                                               \
    X(MAX_N, "max-n", 1)                                                                                               \
    X(MINUTES, "minutes", 1)                                                                                           \
    X(CHECK, "check", 0)                                                                                               \
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
    hunt hunt;
    bool all, torch, additions, rounds_given;
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
        case PAUSE: l->bench.pause_ms = (unsigned)count_option("--pause", optarg, 1000); break;
        case ROUNDS:
            l->bench.rounds = (unsigned)count_option("--rounds", optarg, MAX_ROUNDS);
            l->rounds_given = true;
            break;
        case NO_PEERS: l->bench.peers = false; break;
        case TORCH: l->torch = true; break;
        case ADDITIONS: l->additions = true; break;
        case HUNT:
            l->hunt.count = count_option("--hunt", optarg, UINT32_MAX);
            if (l->hunt.count == 0)
                wrong("--hunt", optarg, "at least one");
            break;
        case MIN_N: l->hunt.min_n = count_option("--min-n", optarg, HUNT_MAX_N); break;
        case MAX_N: l->hunt.max_n = count_option("--max-n", optarg, HUNT_MAX_N); break;
        case MINUTES: l->hunt.minutes = minutes_option(optarg); break;
        case CHECK: l->hunt.check = true; break;
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
}

/* What options say together. */
static void check_options(command_line *l) {
    const job_lists *lists = &l->lists;
    if (l->hunt.check && l->hunt.count == 0)
        wrong("--check", "", "goes with --hunt");
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

/* Fills in the options of a hunt that were not given, and refuses what it cannot serve. */
static void prepare_hunt(command_line *l) {
    hunt *h = &l->hunt;
    const bench_verb verb = l->lists.verb;
    h->lists = &l->lists;
    if (verb != BENCH_VERB_COUNT && verb != BENCH_SORT && verb != BENCH_PAIRS && verb != BENCH_ARGSORT)
        wrong("--hunt", verb_names[verb], "a hunt sorts: sort, pairs or argsort");
    h->standard_min_n = h->check ? 1 : 1000;
    h->standard_max_n = h->check ? 1 << 20 : l->bench.device != NULL ? HUNT_MAX_N : 1 << 25;
    h->min_n = h->min_n != 0 ? h->min_n : h->standard_min_n;
    h->max_n = h->max_n != 0 ? h->max_n : h->standard_max_n;
    if (h->min_n > h->max_n)
        wrong("--hunt", "--min-n", "above --max-n");
    l->bench.timed = !h->check;
    l->bench.peers &= !h->check;
    if (l->rounds_given)
        return;
    l->bench.rounds = MAX_ROUNDS; /* short calls vary more, and get more rounds */
    l->bench.min_rounds = 5;
    l->bench.patience_ns = l->bench.device != NULL ? 2e7 : 1e8; /* a GPU varies less */
    l->bench.warming_ns = 20000000;                             /* the set before kept it warm */
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

static void run_jobs(command_line *l) {
    fill_defaults(l);
    if (l->lists.verb != BENCH_VERB_COUNT && !l->all) {
        check_lists(&l->lists);
        run_lists(&l->bench, &l->lists);
    } else
        run_table(&l->bench, &l->lists, l->all);
}

int main(int argc, char **argv) {
    command_line l = {.bench = {.device_name = "cpu", .seed = 1, .rounds = 11, .peers = true, .timed = true},
                      .lists = {.verb = BENCH_VERB_COUNT, .value_bytes = 4, .folder = own_folder(2)}};
    bench_settings *bench = &l.bench;
    cpu_set_t cpus;
    bench->min_rounds = 1, bench->patience_ns = 2.5e9, bench->warming_ns = 100000000;
    l.lists.threads = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
    read_options(&l, argc, argv);
    check_options(&l);
    if (l.json_path != NULL && (bench->json = fopen(l.json_path, "w")) == NULL)
        wrong("--json", l.json_path, "cannot be opened for writing");
    if (bench->json != NULL)
        fputs("[", bench->json);
    signal(SIGPIPE, SIG_IGN); /* a Python peer that has ended is reported */

    open_device(bench);
    if (l.torch && bench->device == NULL)
        fputs("bench: PyTorch is measured on a GPU only: its rows are left out\n", stderr);
    for (unsigned m = 0; m < PEERS_MODULES; m++)
        bench->peers_modules[m] = module_peers(own_folder(1), m);
    find_machine(bench, l.lists.threads);
    print_machine(bench);
    if (l.additions)
        return count_additions(bench);
    if (l.hunt.count > 0) {
        prepare_hunt(&l);
        run_hunt(bench, &l.hunt);
    } else
        run_jobs(&l);
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
