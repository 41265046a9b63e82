/* SPDX-License-Identifier: MIT
 *
 * One output in a process of its own in which calls of the system fail, and what it must leave.
 */
#ifndef TESTS_UNIT_OUTPUT_CASE_H
#define TESTS_UNIT_OUTPUT_CASE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "apps/support/die.h"
#include "apps/support/output.h"
#include "faulty_calls.h"
#include "support.h"

#define OLD "an old file"
#define FOREIGN "of another process"
#define HEAD "head"
#define LEFTOVER ".out.abcdef.scan-tmp"

#define IO "Input/output error"
#define NO_FAULT                                                                                                       \
    { NULL, 0, 0, NULL }
#define NAMED                                                                                                          \
    { "unnamed", ALWAYS, EOPNOTSUPP, NULL } /* as where there is no O_TMPFILE */

/* What is in the folder before. */
enum { OVER = 1 /* OLD is in out, with mode 0640 */, FORCE = 2, LEFT = 4 /* LEFTOVER */, WITH_HEAD = 8, ROOT = 16 };

typedef struct output_case {
    const char *title;
    unsigned setup;
    faulty_call calls[FAULTY_MAX];
    int code;            /* negative: a signal */
    const char *message; /* that the one line contains; NULL: nothing is said */
    const char *left;    /* the contents of out; NULL: there is none */
    unsigned mode;       /* of out, if not 0 */
    const char *also;    /* the start of the name of one more file that is left */
    void (*prepare)(void);
} output_case;

/* What is written: more than the buffer of an output holds. */
static inline const char *new_data(void) {
    static char data[600000];
    for (size_t i = 0; i + 1 < sizeof data; i++)
        data[i] = (char)('a' + i % 23);
    return data;
}

static inline void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

/* Returns NULL where there is no file. */
static inline char *read_file(const char *name) {
    static char text[800000];
    FILE *file = fopen(name, "r");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

/* The folder of a case is ./work; what programs say goes beside it. */
static inline void empty_folder(void) {
    DIR *list = opendir(".");
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            assert_int_equal(remove(entry->d_name), 0);
    closedir(list);
}

static inline int enter_folder(void **state) {
    char path[] = "/tmp/scan-output-XXXXXX";
    *state = mkdtemp(path) ? strdup(path) : NULL;
    return !*state || chdir(path) != 0 || mkdir("work", 0700) != 0 || chdir("work") != 0;
}

static inline int leave_folder(void **state) {
    empty_folder();
    int bad = chdir("..") != 0 || rmdir("work") != 0;
    remove("err");
    remove("out");
    bad |= chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return bad;
}

/* Runs `body` in a process whose calls fail. Returns its exit code, or minus the signal. */
static inline int run_child(const faulty_call *calls, void (*body)(const void *), const void *arg) {
    int err = open("../err", O_WRONLY | O_CREAT | O_TRUNC, 0600),
        out = open("../out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(err >= 0 && out >= 0);
    faulty_calls_set(calls);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        umask(022);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        program_set_name("test");
        faulty_calls_begin();
        body(arg);
        _exit(EXIT_DONE);
    }
    close(err);
    close(out);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void body_of_case(const void *arg) {
    const output_case *c = arg;
    output *out = output_open("out", c->setup & FORCE, true);
    if (c->setup & WITH_HEAD)
        output_reserve_head(out, strlen(HEAD));
    output_write(out, new_data(), strlen(new_data()));
    if (c->setup & WITH_HEAD)
        output_write_head(out, HEAD, strlen(HEAD));
    output_commit_all();
}

/* Says which case it is when a check fails. */
#define CHECK(c, condition)                                                                                            \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s: not %s (exit code %d, \"%s\")", (c)->title, #condition, code, said);                         \
    } while (0)

static inline void check_said(const output_case *c, int code) {
    const char *said = read_file("../err");
    CHECK(c, code == c->code);
    CHECK(c, faulty_calls_missing() == NULL);
    if (c->message) {
        CHECK(c, strncmp(said, "test: ", 6) == 0);
        CHECK(c, strstr(said, c->message) != NULL);
        CHECK(c, strchr(said, '\n') == said + strlen(said) - 1);
    } else {
        CHECK(c, said[0] == 0);
    }
}

static inline void check_left(const output_case *c, int code) {
    const char *said = "what is left";
    struct stat st;
    bool there = lstat("out", &st) == 0, also = false;
    CHECK(c, there == (c->left != NULL));
    if (there && S_ISREG(st.st_mode)) {
        const char *text = read_file("out"), *head = c->setup & WITH_HEAD && c->left == new_data() ? HEAD : "";
        CHECK(c, strncmp(text, head, strlen(head)) == 0);
        CHECK(c, strcmp(text + strlen(head), c->left) == 0);
        CHECK(c, c->mode == 0 || (st.st_mode & 07777) == c->mode);
    }
    DIR *list = opendir(".");
    for (struct dirent *entry; (entry = readdir(list));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "out") == 0)
            continue;
        CHECK(c, c->also && strncmp(name, c->also, strlen(c->also)) == 0);
        also = true;
    }
    closedir(list);
    CHECK(c, also == (c->also != NULL));
}

static inline void try_case(const output_case *c) {
    if (c->setup & ROOT && geteuid() != 0) {
        printf("left out, for it takes root: %s\n", c->title);
        return;
    }
    empty_folder();
    if (c->setup & OVER) {
        write_file("out", OLD);
        assert_int_equal(chmod("out", 0640), 0);
    }
    if (c->setup & LEFT)
        write_file(LEFTOVER, FOREIGN);
    if (c->prepare)
        c->prepare();
    int code = run_child(c->calls, body_of_case, c);
    check_said(c, code);
    check_left(c, code);
}

#define TRY_ALL(cases)                                                                                                 \
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases)[0]; i++)                                                      \
    try_case(&(cases)[i])

#endif
