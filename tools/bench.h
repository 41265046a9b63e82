/* SPDX-License-Identifier: MIT
 *
 * The bench: what its parts share. A job is one workload (verb, type, n, distribution) with its arrays; a contender is
 * one way to do the job: the library, a plain copy, a peer. bench.c runs the contenders of a job in turn, round after
 * round, so that whatever slows the machine slows all of them.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <stdio.h>

#include "distributions.h"
#include "scan/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enum, name, what it measures) */
#define BENCH_VERBS(X)                                                                                                 \
    X(PREFIX, prefix, "prefix scan")                                                                                   \
    X(COMPACT, compact, "keep the elements below a threshold")                                                         \
    X(UNIQUE, unique, "first of each run of equal elements")                                                           \
    X(SORT, sort, "keys alone")                                                                                        \
    X(PAIRS, pairs, "keys with 4-byte values, stable")                                                                 \
    X(ARGSORT, argsort, "the stable permutation")                                                                      \
    X(HISTOGRAM, histogram, "256 or 65,536 bins")                                                                      \
    X(EQUALIZE, equalize, "global equalization of grey pixels")                                                        \
    X(CLAHE, clahe, "contrast-limited adaptive equalization, 8 x 8 tiles")                                             \
    X(COPY, copy, "the ceiling: every thread copies its share")                                                        \
    X(TEXT, text, "the sort program on a file of numbers, file to file")                                               \
    X(FILE, file, "the sort program on a .npy file, file to file")

typedef enum bench_verb {
#define VERB_ROW(ENUM, name, meaning) BENCH_##ENUM,
    BENCH_VERBS(VERB_ROW)
#undef VERB_ROW
        BENCH_VERB_COUNT
} bench_verb;

typedef struct job {
    bench_verb verb;
    scan_type type, out_type;
    scan_op op;
    scan_kind kind;
    distribution spread;
    uint64_t n;
    double keep; /* compact: the share that stays */
    unsigned threads;
    /* what job_open makes; on the CPU backend the host arrays are also the context's */
    scan_ctx *ctx;
    bool on_device;
    void *in, *out, *values_in, *values_out; /* host */
    void *d_in, *d_out, *d_values_in, *d_values_out;
    uint64_t *d_count;
    size_t in_bytes, out_bytes, values_in_bytes, values_out_bytes;
    uint64_t count; /* compact, unique: how many elements are right */
    scan_value threshold;
    size_t width, height;             /* clahe */
    const char *folder;               /* of the build: make_data is in tools/, the programs are in bin/ */
    char path_in[512], path_out[512]; /* text, file; input of a Python peer */
    double traffic_bytes;             /* what any way to do the job must read and write */
    uint64_t reported_ns;             /* a contender in another process says how long it took */
    uint64_t agreed_hash;             /* clahe, text, file: of the first result; 0 before that */
    const char *wrong;                /* set by whoever fails */
} job;

typedef struct contender contender;
struct contender {
    char name[48];
    bool (*prepare)(job *j); /* untimed, before each run; may be NULL */
    bool (*run)(job *j, contender *c);
    void (*close)(contender *c); /* may be NULL */
    bool is_copy;                /* the ceiling: its result is not the job's */
    bool is_ours;
    bool unchecked; /* its result stays in its own process, or no one can judge it */
    long process;   /* a coprocess and the pipes to and from it */
    int to, from;
};

enum { MAX_CONTENDERS = 8, MAX_ROUNDS = 101 };

/* How all jobs of one run of the bench are measured. */
typedef struct bench_settings {
    const char *device, *script; /* of the Python peers */
    uint64_t seed;
    unsigned rounds;
    bool peers;
    FILE *json; /* NULL: none */
    unsigned json_rows;
    bool failed; /* out: some result of the library was wrong */
} bench_settings;

/* Opens the job, checks and times its contenders in turn, prints their rows. */
void run_job(bench_settings *bench, const job *wanted);

extern const char *const verb_names[BENCH_VERB_COUNT];

/* Arrays, input and context of a job. False: j->wrong says why not. */
bool job_open(job *j, const char *device, uint64_t seed);
void job_close(job *j);

/* Compares what a contender left in the outputs with an independent computation. NULL, or what is wrong. */
const char *job_check(job *j);

/* The library and the copy; then peers written in C++, peers in Python, programs. Each returns how many it added. */
size_t contenders_here(const job *j, contender *list);
size_t contenders_cxx(const job *j, contender *list);
size_t contenders_python(job *j, contender *list, const char *script);
size_t contenders_programs(const job *j, contender *list);

/* text, file: writes the input with make_data, and compares what a contender wrote with what the first one wrote. */
bool files_open(job *j, uint64_t seed);
bool files_agree(job *j);
uint64_t fnv1a(uint64_t hash, const void *data, size_t bytes);
bool hash_agrees(job *j, uint64_t hash);

/* The peers this build lacks, "" if none. */
const char *peers_missing(void);

/* All threads copy a share each of `bytes` from one array to the other, by memcpy. */
bool parallel_copy(unsigned threads, void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
