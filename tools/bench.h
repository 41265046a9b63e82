/* SPDX-License-Identifier: MIT
 *
 * The bench: what its parts share. A job is one workload (verb, type, n, distribution) with its arrays; a contender is
 * one way to do the job: the library, a plain copy, a peer. bench_run.c runs the contenders of a job in turn, round
 * after round, so that what slows the machine slows all of them.
 *
 *   bench.c, _usage.c  command line         bench_verbs.c      the library and the copy as contenders
 *   bench_lists.c      lists of jobs        bench_processes.c  Python and programs as contenders
 *   bench_hunt*.c      random sorts         key_set*.c         random sets of keys
 *   bench_job.c        a job's arrays       bench_modules.c    loads the modules, if they load:
 *   bench_run.c        measures one job       bench_peers.so     bench_peers.cpp: C++ libraries on the CPU
 *   bench_report.c     prints its rows        bench_sorts.so     bench_sorts.cpp: those that sort
 *   bench_plot.c       draws all rows         bench_cuda.so      bench_cuda.cu: the GPU's clock; bench_cub*.cu: CUB;
 *   bench_check*.c     right or wrong                            bench_sets.cu: a hunt's keys and checks;
 *   bench_threads.c    loops over threads                        bench_additions.cu: counts of additions
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <stdio.h>

#include "distributions.h"
#include "key_set.h"
#include "scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enum, name, what it measures) */
#define BENCH_VERBS(X)                                                                                                 \
    X(PREFIX, prefix, "prefix scan")                                                                                   \
    X(COMPACT, compact, "keep the elements below a threshold")                                                         \
    X(FLAGGED, flagged, "keep the elements whose flag is set: the same ones")                                          \
    X(INDICES, indices, "where they are, 4 bytes each")                                                                \
    X(PARTITION, partition, "keep them, and the others in an array of their own")                                      \
    X(UNIQUE, unique, "first of each run of equal elements")                                                           \
    X(LENGTHS, lengths, "the same, with the runs' lengths")                                                            \
    X(SORT, sort, "keys alone")                                                                                        \
    X(PAIRS, pairs, "keys with values, stable")                                                                        \
    X(ARGSORT, argsort, "the stable permutation")                                                                      \
    X(MERGE, merge, "two halves, each sorted, into one")                                                               \
    X(HISTOGRAM, histogram, "256 or 65,536 bins")                                                                      \
    X(EQUALIZE, equalize, "global equalization of grey pixels")                                                        \
    X(CLAHE, clahe, "contrast-limited adaptive equalization, 8 x 8 tiles")                                             \
    X(COPY, copy, "the ceiling")                                                                                       \
    X(TEXT, text, "the sort program on a file of numbers, file to file")                                               \
    X(FILE, file, "the sort program on a .npy file, file to file")

typedef enum bench_verb {
#define VERB_ROW(ENUM, name, meaning) BENCH_##ENUM,
    BENCH_VERBS(VERB_ROW)
#undef VERB_ROW
        BENCH_VERB_COUNT
} bench_verb;

/* Which of the library's algorithms a job is done by. */
typedef struct bench_algorithm {
    bool every; /* every one that serves */
    scan_algorithm prefix;
    scan_sort_method sort;
} bench_algorithm;

typedef struct bench_device bench_device;

typedef struct job {
    bench_verb verb;
    scan_type type, out_type;
    scan_op op;
    scan_kind kind;
    distribution spread;
    uint64_t n;
    double keep;          /* compact and its like: the share that stays */
    unsigned value_bytes; /* pairs */
    unsigned offset;      /* elements between a boundary of 256 bytes and the begin of every array */
    bool reverse;         /* prefix: from the last element to the first */
    /* sorts, as in scan_sort_desc */
    bool descending, nan_first;
    uint32_t begin_bit, end_bit;
    const key_set *keys; /* the input of a hunt; NULL: the distribution */
    uint64_t seed;       /* a hunt's, of this job alone */
    unsigned threads;
    bench_algorithm algorithm;
    /* what job_open makes; on the CPU backend the host arrays are also the context's */
    const bench_device *device; /* NULL: the host's clock measures */
    scan_ctx *ctx;
    bool on_device;
    void *in, *out, *values_in, *values_out; /* host; NULL where keys are made and checked on the device */
    void *d_in, *d_out, *d_values_in, *d_values_out;
    uint64_t *d_count;
    size_t in_bytes, out_bytes, values_in_bytes, values_out_bytes;
    uint64_t input_hash; /* of the first bytes of the input, the same wherever it was made */
    uint64_t count;      /* compact, unique: how many elements a contender kept ... */
    uint64_t kept;       /* ... and how many are right, once a check has counted them */
    scan_value threshold;
    size_t width, height;             /* clahe */
    const char *folder;               /* of the build: make_data is in tools/, the programs are in bin/ */
    char path_in[512], path_out[512]; /* text, file; input of a Python peer */
    double traffic_bytes;             /* what any way to do the job must read and write */
    uint64_t reported_ns;             /* a contender in another process says how long it took */
    uint64_t agreed_hash;             /* clahe, text, file: of the first result; 0 before that */
    bool unstable;                    /* the last contender may change the order of equal keys */
    scan_status status;               /* of the library's last call */
    const char *wrong;                /* why the last step failed */
} job;

typedef struct contender contender;
struct contender {
    char name[48];
    bool (*prepare)(job *j, contender *c); /* untimed, before each run; may be NULL */
    bool (*run)(job *j, contender *c);
    void (*settle)(job *j,
                   contender *c); /* brings its downloaded result into the job's form, for the check; may be NULL */
    void (*close)(contender *c);  /* may be NULL */
    bool is_copy;                 /* the ceiling: its result is not the job's */
    bool is_ours;
    bool is_optional; /* one of all algorithms: left out where it cannot serve */
    bool in_place;    /* it sorts a copy of the input where the output is; the copy is made untimed */
    bool unstable;    /* it may change the order of equal keys that can be told apart */
    bool unchecked;   /* its result stays in its own process, or there is nothing to compare it with */
    bool elsewhere;   /* it measures its own time: the device's clock does not see it */
    bench_algorithm algorithm;
    long process; /* a coprocess and the pipes to and from it */
    int to, from;
    void *memory; /* a peer's workspace */
    size_t memory_bytes;
};

enum { MAX_CONTENDERS = 32, MAX_ROUNDS = 101 };

/* What the bench needs of a device beside scan.h: a clock, plain copies, the device's peers. All of it is queued on the
 * one stream that contexts are created with. */
struct bench_device {
    bool (*open)(int ordinal, const char **wrong);
    void (*close)(void);
    struct CUstream_st *(*stream)(void);
    bool (*start)(void);
    bool (*stop)(uint64_t *ns); /* waits for all that was queued since start */
    bool (*copy)(void *to, const void *from, size_t bytes);
    bool (*fill)(void *to, int byte, size_t bytes);
    void (*describe)(char *text, size_t bytes);
    size_t (*cache_bytes)(void);
    size_t (*contenders)(const job *j, contender *list);
    bool (*additions)(void); /* prints the table of counted additions */
    /* Writes the keys of a hunt's job, and the values of pairs, to the device's arrays. */
    bool (*make_sets)(const job *j);
    /* As job_check, of a sort whose arrays are on the device alone. */
    const char *(*check_sort)(const job *j);
};

/* Whether the job is a hunt's on a device, where its keys are made and its results checked. */
static inline bool is_made_on_device(const job *j) { return j->device != NULL && j->on_device && j->keys != NULL; }

/* Peers on the CPU. */
enum { PEERS_MODULES = 2 };
typedef struct peers_module {
    size_t (*contenders)(const job *j, contender *list);
    const char *(*missing)(void); /* the peers it was built without, "" if none */
} peers_module;

/* How all jobs of one run of the bench are measured. */
typedef struct bench_settings {
    const char *device_name, *numpy_script, *torch_script; /* scripts: NULL for none */
    const bench_device *device;                            /* NULL: the CPU, or an emulated device */
    const peers_module *peers_modules[PEERS_MODULES];      /* NULL for one that is not there */
    uint64_t seed;
    unsigned rounds, min_rounds; /* as many rounds as that, or min_rounds if a contender takes longer than that: */
    double patience_ns;
    uint64_t warming_ns; /* for which a device runs before it is measured: its clocks rise */
    bool peers;
    bool timed; /* false: results are only checked */
    FILE *json; /* NULL: none */
    unsigned json_rows;
    const char *plot_path;
    char machine[512]; /* what it ran on, in a line */
    unsigned pause_ms; /* before a measured call */
    bool failed;       /* out: some result of the library was wrong */
} bench_settings;

/* ---- lists of jobs ----------------------------------------------------------------------------------------------- */

enum { MAX_LIST = 64 };

/* Jobs are all combinations of what the lists hold. The list_* functions fill a list from text; they return NULL, or
 * what is wrong with the text. */
typedef struct job_lists {
    bench_verb verb;
    scan_type types[MAX_LIST], out_type; /* NONE: as type */
    scan_op op;
    scan_kind kind;
    uint64_t n[MAX_LIST];
    distribution spreads[MAX_LIST];
    double keeps[MAX_LIST];
    unsigned offsets[MAX_LIST];
    unsigned type_count, n_count, spread_count, keep_count, offset_count; /* 0: the default */
    unsigned value_bytes, threads;
    bool reverse;
    double nan;
    bench_algorithm algorithm;
    const char *folder;
} job_lists;

const char *list_types(job_lists *l, const char *text);
const char *list_counts(job_lists *l, const char *text); /* 2^10,5000 or 2^10..2^30 or 2^10..2^30*4 */
const char *list_distributions(job_lists *l, const char *text);
const char *list_shares(job_lists *l, const char *text);
const char *list_offsets(job_lists *l, const char *text);
const char *list_algorithm(job_lists *l, const char *text); /* auto, all, GRID, GRID/BLOCK, a method of sorting */

bool is_image_verb(bench_verb verb);
void run_lists(bench_settings *bench, const job_lists *lists);
void run_table(bench_settings *bench, const job_lists *defaults, bool full); /* rows of defaults->verb, if it is one */

void print_usage(void);

/* ---- the hunt ---------------------------------------------------------------------------------------------------- */

enum { HUNT_MAX_N = 1 << 30 };

/* Which random sorts are run. */
typedef struct hunt {
    uint64_t count; /* of sets; 0: no hunt */
    double minutes; /* after these no further set begins; 0: no limit */
    bool check;     /* results are only checked, with another number of threads for each set */
    uint64_t min_n, max_n, standard_min_n, standard_max_n;
    const job_lists *lists; /* verb and types: only those; threads, algorithm */
} hunt;

void run_hunt(bench_settings *bench, const hunt *h);

/* ---- one job ----------------------------------------------------------------------------------------------------- */

typedef struct timing {
    uint64_t ns[MAX_ROUNDS];      /* a call: the one of a round, or the mean of those that follow one another */
    uint64_t call_ns[MAX_ROUNDS]; /* devices: from an idle device to the end of one call */
    uint64_t host_ns[MAX_ROUNDS]; /* devices: until the call returns */
    unsigned count, batch;
    double total_ns;
} timing;

/* A measured contender, as tables, JSON and plots show it. */
typedef struct result {
    const char *name;
    bool is_copy, is_ours, in_place, unchecked;
    unsigned runs, batch;
    double ns, best_ns, spread; /* median, minimum; (third quartile - first quartile) / median */
    double call_ns, host_ns;    /* medians; 0 on the CPU */
    double bytes, share, ratio; /* share of the copy; the library against this peer */
    double aligned;             /* share of the rate of the same row on aligned arrays, forward */
    double times, times_alone;  /* this row against CUB: ns, call_ns */
    const char *ran;            /* the library: what it ran; else "" */
} result;

/* Checks and times the contenders of an open job in turn. Returns how many results there are. */
size_t measure_job(bench_settings *bench, job *j, result *results); /* room for MAX_CONTENDERS */

/* Opens the job, measures it, prints its rows. */
void run_job(bench_settings *bench, const job *wanted);

extern const char *const verb_names[BENCH_VERB_COUNT];
void describe_job(const job *j, bool with_n, char *text, size_t bytes);

void find_machine(bench_settings *bench, unsigned threads); /* what everything runs on, in a line */
void print_machine(const bench_settings *bench);
void compare_with_aligned(const job *j, result *results, size_t count); /* rows are remembered for later jobs */
void print_results(const job *j, const result *results, size_t count);
void json_results(bench_settings *bench, const job *j, const result *results, size_t count);

/* Returns the array `all` with room for one element more, NULL without memory: the array is then as it was. */
void *one_more(void *all, size_t count, size_t *room, size_t bytes);

/* plot_results keeps the rows, plot_write draws them. False: errno says why. */
void plot_results(const bench_settings *bench, const job *j, const result *results, size_t count);
bool plot_write(const bench_settings *bench);

/* Arrays, input and context of a job. False: j->wrong says why not. */
bool job_open(job *j, const bench_settings *bench);
void job_close(job *j);

/* Compares what a contender left in the host's outputs with an independent computation. job_check and check_prefix
 * return NULL, or what is wrong. */
const char *job_check(job *j);
const char *check_prefix(const job *j);
bool check_kept(job *j); /* sets j->kept */
bool check_sorted(const job *j);
void mark_below(const job *j, uint8_t *flags); /* which elements lie below the threshold */

/* ---- contenders: each function returns how many it added ----------------------------------------------------------
 */

size_t contenders_here(const job *j, bool timed, contender *list); /* the library and the copy */
size_t contenders_numpy(job *j, contender *list, const char *script);
size_t contenders_torch(job *j, contender *list, const char *script);
size_t contenders_programs(const job *j, contender *list);

/* The modules beside this program, NULL for one that is not there or does not load. */
const peers_module *module_peers(const char *folder, unsigned number);
const bench_device *module_device(const char *folder);

/* text, file: writes the input with make_data, and compares what a contender wrote with what the first one wrote. */
bool files_open(job *j, uint64_t seed);
bool files_agree(job *j);
uint64_t fnv1a(uint64_t hash, const void *data, size_t bytes);
bool hash_agrees(job *j, uint64_t hash);

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Calls work(argument, index, count) for every index below count, each on a thread of its own. Returns count, which is
 * `threads`, or less where threads cannot be started. */
typedef void thread_work(void *argument, unsigned index, unsigned count);
unsigned in_parallel(unsigned threads, thread_work *work, void *argument);

/* Where part `index` of `count` nearly equal parts of 0 ... n begins. */
static inline uint64_t part_begin(uint64_t n, unsigned index, unsigned count) {
    return n / count * index + (n % count < index ? n % count : index);
}

uint64_t now_ns(void);

#ifdef __cplusplus
}
#endif

#endif
