/* SPDX-License-Identifier: MIT
 *
 * Contenders that are processes: Python scripts behind a pair of pipes (a line in is one run, a line out its
 * nanoseconds), and whole programs from file to file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

extern char **environ;

static const char *scratch_folder(void) {
    const char *folder = getenv("TMPDIR");
    if (folder != NULL && folder[0] != '\0')
        return folder;
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* in memory if possible, without the noise of a disk */
}

static bool scratch_file(char *path, size_t path_bytes) {
    snprintf(path, path_bytes, "%s/scan-bench-XXXXXX", scratch_folder());
    int fd = mkstemp(path);
    if (fd < 0) {
        path[0] = '\0';
        return false;
    }
    close(fd);
    return true;
}

/* True if the program ends with code 0. Its output is discarded. */
static bool run_program(char *const *arguments) {
    posix_spawn_file_actions_t actions;
    pid_t process;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    bool right = posix_spawnp(&process, arguments[0], &actions, NULL, arguments, environ) == 0 &&
                 waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return right;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

bool files_open(job *j, uint64_t seed) {
    char program[600], n[32], seed_text[32], spec[48];
    snprintf(program, sizeof program, "%s/tools/make_data", j->folder);
    snprintf(n, sizeof n, "%" PRIu64, j->n);
    snprintf(seed_text, sizeof seed_text, "%" PRIu64, seed);
    snprintf(spec, sizeof spec, "%s", distribution_name(j->spread.kind));
    if (j->spread.parameter != 0)
        snprintf(spec, sizeof spec, "%s:%" PRIu64, distribution_name(j->spread.kind), j->spread.parameter);
    if (!scratch_file(j->path_in, sizeof j->path_in) || !scratch_file(j->path_out, sizeof j->path_out)) {
        j->wrong = "cannot make a scratch file (set TMPDIR)";
        return false;
    }
    char *arguments[] = {program,
                         "--type",
                         (char *)(uintptr_t)scan_type_name(j->type),
                         "--n",
                         n,
                         "--seed",
                         seed_text,
                         "--distribution",
                         spec,
                         "--format",
                         j->verb == BENCH_TEXT ? "text" : "npy",
                         j->path_in,
                         NULL};
    if (run_program(arguments)) {
        int fd = open(j->path_in, O_RDONLY | O_CLOEXEC);
        off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
        if (fd >= 0)
            close(fd);
        j->traffic_bytes = 2.0 * (double)bytes;
        return true;
    }
    j->wrong = "make_data could not write the input (is there room in TMPDIR?)";
    return false;
}

/* A hash over the numbers of the output: all of a text, what follows the header of a .npy. */
bool files_agree(job *j) {
    uint64_t hash = 1;
    FILE *file = fopen(j->path_out, "rb");
    if (file == NULL)
        return false;
    if (j->verb == BENCH_FILE)
        fseeko(file, -(off_t)(j->n * type_bytes(j->type)), SEEK_END);
    static unsigned char block[1 << 16];
    for (size_t bytes; (bytes = fread(block, 1, sizeof block, file)) > 0;)
        hash = fnv1a(hash, block, bytes);
    fclose(file);
    if (truncate(j->path_out, 0) != 0) /* the next contender must write it again */
        return false;
    return hash_agrees(j, hash);
}

static bool run_our_sort(job *j, contender *c) {
    (void)c;
    char program[600], threads[16];
    snprintf(program, sizeof program, "%s/bin/sort", j->folder);
    snprintf(threads, sizeof threads, "%u", j->threads);
    char *arguments[] = {program, "--threads", threads, "--device", "cpu", "-f", "-o", j->path_out, j->path_in, NULL};
    if (run_program(arguments))
        return true;
    j->wrong = "bin/sort failed";
    return false;
}

static char *gnu_sort_order(const job *j) { return scan_type_class(j->type) == SCAN_FLOAT ? "-g" : "-n"; }

static bool run_gnu_sort(job *j, contender *c) {
    (void)c;
    char parallel[32];
    snprintf(parallel, sizeof parallel, "--parallel=%u", j->threads);
    char *arguments[] = {"env", "LC_ALL=C", "sort", gnu_sort_order(j), parallel, "-o", j->path_out, j->path_in, NULL};
    if (run_program(arguments))
        return true;
    j->wrong = "sort(1) failed";
    return false;
}

size_t contenders_programs(const job *j, contender *list) {
    size_t count = 0;
    if (j->verb != BENCH_TEXT && j->verb != BENCH_FILE)
        return 0;
    list[count++] = (contender){.name = "scan: sort", .run = run_our_sort, .is_ours = true};
    if (j->verb == BENCH_TEXT) {
        contender *c = &list[count++];
        *c = (contender){.run = run_gnu_sort};
        snprintf(c->name, sizeof c->name, "GNU sort %s --parallel=%u", gnu_sort_order(j), j->threads);
    }
    return count;
}

/* ---- Python ------------------------------------------------------------------------------------------------------ */

/* A script (bench_peers.py, bench_torch.py) reads a line that describes a job, with tabs, and writes its name for it,
 * or an empty line if it cannot do it. From then on each empty line that it reads is a run, after which it writes the
 * nanoseconds taken. A further description replaces the first. */

static bool read_line(int from, char *line, size_t bytes) {
    size_t length = 0;
    while (length + 1 < bytes && read(from, &line[length], 1) == 1) {
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
        length++;
    }
    line[length] = '\0';
    return false;
}

static bool run_python(job *j, contender *c) {
    char answer[64];
    j->wrong = "the Python peer ended early";
    return write(c->to, "\n", 1) == 1 && read_line(c->from, answer, sizeof answer) &&
           sscanf(answer, "%" SCNu64, &j->reported_ns) == 1;
}

static void close_python(contender *c) {
    close(c->to);
    close(c->from);
    waitpid((pid_t)c->process, NULL, 0);
}

/* Starts a script with pipes to and from it. */
static bool start_python(contender *c, const char *python, const char *script) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0)
        return false;
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]), close(to[1]);
        return false;
    }
    char *arguments[] = {(char *)(uintptr_t)python, (char *)(uintptr_t)script, NULL};
    posix_spawn_file_actions_t actions;
    pid_t process;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    int failed = posix_spawnp(&process, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]), close(from[1]);
    if (failed) {
        close(to[1]), close(from[0]);
        return false;
    }
    *c = (contender){.run = run_python, .unchecked = true, .elsewhere = true, .process = process};
    c->to = to[1], c->from = from[0];
    return true;
}

/* Describes the job to a script. False if the script cannot do it in this way. */
static bool describe_to(const job *j, contender *c, const char *way) {
    char text[1400], threshold[64];
    scan_class class = scan_type_class(j->type);
    snprintf(threshold, sizeof threshold, class == SCAN_FLOAT ? "%.17g" : "%.0f",
             class == SCAN_FLOAT      ? j->threshold.f
             : class == SCAN_UNSIGNED ? (double)j->threshold.u
                                      : (double)j->threshold.i);
    int length = snprintf(text, sizeof text, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", way, scan_type_name(j->type),
                          scan_type_name(j->out_type), scan_op_name(j->op), threshold, j->path_in, j->path_out);
    c->name[0] = '\0';
    return length > 0 && (size_t)length < sizeof text && write(c->to, text, (size_t)length) == length &&
           read_line(c->from, c->name, sizeof c->name) && c->name[0] != '\0';
}

static bool write_input(job *j) {
    FILE *file = NULL;
    if (j->path_in[0] != '\0')
        return true;
    bool written = scratch_file(j->path_in, sizeof j->path_in) && (file = fopen(j->path_in, "wb")) != NULL &&
                   fwrite(j->in, 1, j->in_bytes, file) == j->in_bytes;
    return (file == NULL || fclose(file) == 0) && written;
}

static void remove_input(job *j) {
    if (j->path_in[0] != '\0')
        unlink(j->path_in);
    j->path_in[0] = '\0';
}

size_t contenders_numpy(job *j, contender *list, const char *script) {
    static const char python[] = "/usr/bin/python3";
    static const char *const ways[BENCH_VERB_COUNT][2] = {
        [BENCH_PREFIX] = {"prefix"},   [BENCH_COMPACT] = {"compact"}, [BENCH_FLAGGED] = {"flagged"},
        [BENCH_INDICES] = {"indices"}, [BENCH_UNIQUE] = {"unique"},   [BENCH_SORT] = {"sort", "stable"},
        [BENCH_PAIRS] = {"pairs"},     [BENCH_ARGSORT] = {"argsort"}, [BENCH_HISTOGRAM] = {"histogram"},
        [BENCH_FILE] = {"file"},
    };
    size_t count = 0;
    if (script == NULL || access(python, X_OK) != 0 || ways[j->verb][0] == NULL || !write_input(j))
        return 0;
    for (int w = 0; w < 2 && ways[j->verb][w] != NULL; w++) {
        contender *c = &list[count];
        if (!start_python(c, python, script))
            continue;
        c->close = close_python;
        if (describe_to(j, c, ways[j->verb][w]))
            count++;
        else
            close_python(c);
    }
    if (j->verb != BENCH_FILE)
        remove_input(j); /* the script has read it */
    else if (count > 0)
        list[0].unchecked = false;
    return count;
}

static void forget_torch(contender *c) {
    if (write(c->to, "forget\n", 7) != 7)
        fputs("bench: the PyTorch peer ended early\n", stderr);
}

/* One process serves all jobs and ends with the bench: PyTorch takes seconds to start. */
size_t contenders_torch(job *j, contender *list, const char *script) {
    static const char *const ways[BENCH_VERB_COUNT] = {
        [BENCH_PREFIX] = "prefix",   [BENCH_COMPACT] = "compact", [BENCH_FLAGGED] = "flagged",
        [BENCH_INDICES] = "indices", [BENCH_UNIQUE] = "unique",   [BENCH_LENGTHS] = "lengths",
        [BENCH_SORT] = "sort",       [BENCH_ARGSORT] = "argsort", [BENCH_HISTOGRAM] = "histogram",
    };
    static contender started;
    static bool refused;
    if (script == NULL || refused || ways[j->verb] == NULL || !write_input(j))
        return 0;
    if (started.process == 0) {
        char ready[64];
        refused = !start_python(&started, "python3", script) || !read_line(started.from, ready, sizeof ready) ||
                  ready[0] == '\0';
        if (refused)
            fputs("bench: no PyTorch with CUDA in python3: its rows are left out\n", stderr);
    }
    *list = started;
    list->close = forget_torch;
    bool can = !refused && describe_to(j, list, ways[j->verb]);
    remove_input(j);
    return can;
}
