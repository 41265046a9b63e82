/* SPDX-License-Identifier: MIT
 *
 * Runs a program and makes one of its system calls fail, or sends it a signal there. For faults.py.
 *
 *     calls [-c CLASS] [-a AT] [-k KIND] [-x] [-e] -r REPORT -- PROGRAM [ARGUMENT...]
 *
 *     -c CLASS    which calls are counted: a name of the table below, or "any"
 *     -a AT       the number of the call that fails, from 1 on; 0: none
 *     -k KIND     a number: the call is not made and gives that errno (close closes all the same, as Linux does);
 *                 "short": half of what it was asked for is read or written; "end": it is not made and gives 0, as a
 *                 read at the end of a file; "signal:N": the program gets that signal before the call, with -x after it
 *     -e          all later calls fail too
 *     -r REPORT   a file that receives a line for each class with the number of its calls (with -a and a class, only
 *                 its calls and openat are seen), "injected N", and "crashed N": the processes that the program started
 *                 and that a fault like SIGSEGV ended
 *
 * A filter of seccomp stops, for ptrace, the system calls of the program, of its threads and of its children, those
 * that the C library makes by itself included; with -a and a class, its calls and openat alone: a stop takes longer
 * than most calls. From such a stop PTRACE_SYSCALL leads to the exit of the call: so since Linux 4.8, before to its
 * entry. A process that asks not to be traced, as LeakSanitizer's does, cannot make calls: programs run without it.
 * Calls are counted from the program's first instruction on: what the dynamic loader does before is not the program's
 * work; neither is what gcov's runtime does from the moment on at which it opens a file of counts. Messages to stderr
 * are not counted. No class has the calls that cannot fail as programs make them (exit, sigaction, gettid and the
 * like), futex, on which the C library's locks rely, and brk, in whose place it then takes mmap. The exit code is the
 * program's; a signal that ended it ends this process too.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#error "registers are named for x86-64 only"
#endif

enum { MAX_IN_CLASS = 8, MAX_TASKS = 1 << 12, OPEN_FILES = 256 };

static const struct {
    const char *name;
    long calls[MAX_IN_CLASS]; /* 0 ends the list: read is the first of its own, where 0 counts */
} classes[] = {
    {"read", {SYS_read, SYS_readv}},
    {"pread", {SYS_pread64, SYS_preadv}},
    {"write", {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev}},
    {"open", {SYS_open, SYS_openat, SYS_openat2, SYS_creat}},
    {"close", {SYS_close, SYS_close_range}},
    {"sync", {SYS_fsync, SYS_fdatasync, SYS_sync_file_range}},
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2}},
    {"link", {SYS_link, SYS_linkat}},
    {"unlink", {SYS_unlink, SYS_unlinkat}},
    {"stat", {SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat, SYS_statx}},
    {"map", {SYS_mmap, SYS_mremap, SYS_mprotect, SYS_munmap}},
    {"resize", {SYS_ftruncate, SYS_fallocate}},
    {"seek", {SYS_lseek}},
    {"lock", {SYS_flock}},
    {"flags", {SYS_fcntl}},
    {"mode", {SYS_fchmod, SYS_fchmodat, SYS_chmod}},
    {"owner", {SYS_fchown, SYS_fchownat, SYS_chown}},
    {"attribute", {SYS_fgetxattr, SYS_fsetxattr, SYS_flistxattr, SYS_fremovexattr, SYS_getxattr, SYS_lgetxattr}},
    {"random", {SYS_getrandom}},
    {"clone", {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork}},
    {"pipe", {SYS_pipe, SYS_pipe2, SYS_socketpair, SYS_memfd_create}},
    {"message", {SYS_sendmsg, SYS_recvmsg}},
    {"poll", {SYS_poll, SYS_ppoll}},
    {"dup", {SYS_dup, SYS_dup2, SYS_dup3}},
    {"access", {SYS_access, SYS_faccessat, SYS_faccessat2}},
    {"readlink", {SYS_readlink, SYS_readlinkat}},
    {"limit", {SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_sched_getaffinity}},
    {"list", {SYS_getdents64}},
    {"system", {SYS_statfs, SYS_fstatfs, SYS_sysinfo, SYS_uname}},
    {"folder", {SYS_mkdir, SYS_mkdirat}},
    {"wait", {SYS_wait4, SYS_waitid}},
    {"process", {SYS_prctl, SYS_seccomp}},
    {"advise", {SYS_madvise, SYS_fadvise64, SYS_ioctl}},
};
enum { CLASSES = sizeof classes / sizeof classes[0], ANY = CLASSES, NONE = -1 };

static struct {
    int class;
    long at;
    bool ever, is_short, after;
    long result; /* of the call that fails: 0 or a negative error */
    int signal;
} fault = {.class = NONE};

static long counts[CLASSES + 1], injected, crashed;
static bool started; /* the program's own instructions run */

/* What is to be done when a task leaves the call that it is in. */
static struct task {
    pid_t id;
    bool replaced; /* the call gives fault.result */
    bool signal;   /* the signal is to be sent */
} tasks[MAX_TASKS];

static struct task *task_of(pid_t id) {
    for (size_t i = 0; i < MAX_TASKS; i++) {
        if (!tasks[i].id)
            tasks[i].id = id;
        if (tasks[i].id == id)
            return &tasks[i];
    }
    abort();
}

/* Whether a class has an i-th call. */
static bool has_call(int class, int i) {
    return i < MAX_IN_CLASS && (classes[class].calls[i] || (class == 0 && i == 0));
}

static int class_of(long call) {
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; has_call(c, i); i++)
            if (classes[c].calls[i] == call)
                return c;
    return NONE;
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Whether the call opens a file of gcov's counts, which is done when the program has ended. */
static bool opens_counts(pid_t id, const struct user_regs_struct *regs) {
    char path[512] = "";
    if (regs->orig_rax != SYS_openat)
        return false;
    for (size_t at = 0; at < sizeof path - sizeof(long) && !memchr(path, 0, at); at += sizeof(long)) {
        const long word = ptrace(PTRACE_PEEKDATA, id, regs->rsi + at, NULL);
        memcpy(path + at, &word, sizeof word);
    }
    path[sizeof path - 1] = 0;
    return strlen(path) > 5 && strcmp(path + strlen(path) - 5, ".gcda") == 0;
}

/* Counts the call and returns whether it is to fail. */
static bool is_hit(const struct user_regs_struct *regs) {
    const int class = class_of((long)regs->orig_rax);
    if (class != NONE && strcmp(classes[class].name, "write") == 0 && regs->rdi == STDERR_FILENO)
        return false;
    counts[ANY]++;
    if (class != NONE)
        counts[class]++;
    if (!fault.at || (fault.class != ANY && fault.class != class))
        return false;
    const long n = counts[fault.class];
    return n == fault.at || (fault.ever && n > fault.at);
}

static void enter(struct task *t, pid_t program) {
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, t->id, NULL, &regs) != 0)
        return;
    if (opens_counts(t->id, &regs))
        started = false;
    if (!started || !is_hit(&regs))
        return;
    if (fault.is_short && regs.rdx <= PIPE_BUF) /* as much comes whole, from pipes too */
        return;
    injected++;
    if (fault.signal && fault.after) {
        t->signal = true;
    } else if (fault.signal) {
        kill(program, fault.signal);
    } else {
        if (fault.is_short) {
            regs.rdx /= 2;
        } else {
            t->replaced = true;
            if (regs.orig_rax != SYS_close)
                regs.orig_rax = ~0ull; /* no call */
        }
        ptrace(PTRACE_SETREGS, t->id, NULL, &regs);
    }
}

static void leave(struct task *t, pid_t program) {
    struct user_regs_struct regs;
    if (t->replaced && ptrace(PTRACE_GETREGS, t->id, NULL, &regs) == 0) {
        regs.rax = (unsigned long long)fault.result;
        ptrace(PTRACE_SETREGS, t->id, NULL, &regs);
    }
    if (t->signal)
        kill(program, fault.signal);
    t->replaced = t->signal = false;
}

/* ---- the program's first instruction ----------------------------------------------------------------------------- */

static unsigned long entry;
static long instructions; /* what the breakpoint has replaced */
static bool reached;

/* Sets a breakpoint where the dynamic loader will jump to. */
static void break_at_entry(pid_t program) {
    char path[64];
    Elf64_auxv_t value;
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)program);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, &value, sizeof value) == sizeof value && value.a_type != AT_ENTRY)
        ;
    if (fd < 0 || value.a_type != AT_ENTRY)
        abort();
    close(fd);
    entry = value.a_un.a_val;
    errno = 0;
    instructions = ptrace(PTRACE_PEEKTEXT, program, entry, NULL);
    if (errno || ptrace(PTRACE_POKETEXT, program, entry, (instructions & ~0xffl) | 0xcc) != 0) /* int3 */
        abort();
}

static bool begins(pid_t program) {
    struct user_regs_struct regs;
    if (reached || ptrace(PTRACE_GETREGS, program, NULL, &regs) != 0 || regs.rip != entry + 1)
        return false;
    ptrace(PTRACE_POKETEXT, program, entry, instructions);
    regs.rip = entry;
    ptrace(PTRACE_SETREGS, program, NULL, &regs);
    reached = started = true;
    return true;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static bool is_crash(int signal) {
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT ||
           signal == SIGSYS || signal == SIGTRAP;
}

/* Lets a stopped task go on; returns the signal that it gets. */
static int after_stop(struct task *t, int status, pid_t program) {
    const int signal = WSTOPSIG(status);
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) {
        if (started)
            enter(t, program);
        return 0;
    }
    if (signal == (SIGTRAP | 0x80)) { /* the exit of a call */
        leave(t, program);
        return 0;
    }
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
        break_at_entry(t->id);
        return 0;
    }
    if (status >> 16 || (signal == SIGTRAP && begins(t->id)))
        return 0;
    return signal == SIGSTOP ? 0 : signal; /* new tasks begin with SIGSTOP */
}

/* Returns the program's wait status. */
static int run(pid_t program) {
    int status, result = 0;
    for (pid_t id; (id = waitpid(-1, &status, __WALL)) > 0;) {
        struct task *t = task_of(id);
        if (WIFSTOPPED(status)) {
            const int signal = after_stop(t, status, program);
            const bool stops_at_exit = t->replaced || t->signal;
            ptrace(stops_at_exit ? PTRACE_SYSCALL : PTRACE_CONT, id, NULL, signal);
            continue;
        }
        if (id == program)
            result = status;
        else
            crashed += WIFSIGNALED(status) && is_crash(WTERMSIG(status));
        t->replaced = t->signal = false; /* ids are not used again so soon */
    }
    return result;
}

static unsigned short add_stop(struct sock_filter *filter, unsigned short n, long call) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    return n;
}

/* From here on the calling process and those that it starts stop at the calls that are counted. */
static bool stop_at_calls(void) {
    const bool all = !fault.at || fault.class == ANY || fault.class == NONE;
    struct sock_filter filter[2 * (MAX_IN_CLASS + 1) + 2];
    unsigned short n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    if (!all)
        n = add_stop(filter, n, SYS_openat); /* see opens_counts() */
    for (int i = 0; !all && has_call(fault.class, i); i++)
        n = add_stop(filter, n, classes[fault.class].calls[i]);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, all ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW);
    const struct sock_fprog rules = {n, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &rules) == 0;
}

/* Where close_range() is made to fail, equalize closes all files that it may have open one by one: a stop for each. */
static void allow_few_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > OPEN_FILES) {
        files.rlim_cur = OPEN_FILES;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static pid_t start(char **command) {
    pid_t program = fork();
    if (program == 0) {
        allow_few_files();
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        if (stop_at_calls())
            execv(command[0], command);
        _exit(127);
    }
    int status;
    if (program < 0 || waitpid(program, &status, 0) != program || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, program, NULL,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) != 0 ||
        ptrace(PTRACE_CONT, program, NULL, NULL) != 0) {
        fprintf(stderr, "calls: cannot trace %s: %s\n", command[0], strerror(errno));
        exit(125);
    }
    return program;
}

static void set_kind(const char *kind) {
    fault.is_short = strcmp(kind, "short") == 0;
    if (strncmp(kind, "signal:", 7) == 0)
        fault.signal = atoi(kind + 7);
    else
        fault.result = strcmp(kind, "end") == 0 ? 0 : -atol(kind);
}

static void set_class(const char *name) {
    fault.class = ANY;
    for (int c = 0; c < CLASSES; c++)
        if (strcmp(classes[c].name, name) == 0)
            fault.class = c;
}

static void write_report(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file)
        exit(125);
    for (int c = 0; c <= CLASSES; c++)
        fprintf(file, "%s %ld\n", c < CLASSES ? classes[c].name : "any", counts[c]);
    fprintf(file, "injected %ld\ncrashed %ld\n", injected, crashed);
    fclose(file);
}

int main(int argc, char **argv) {
    const char *report = NULL;
    for (int option; (option = getopt(argc, argv, "+c:a:k:r:xe")) != -1;) {
        if (option == 'c')
            set_class(optarg);
        else if (option == 'a')
            fault.at = atol(optarg);
        else if (option == 'k')
            set_kind(optarg);
        else if (option == 'r')
            report = optarg;
        else if (option == 'x')
            fault.after = true;
        else if (option == 'e')
            fault.ever = true;
        else
            return 125;
    }
    if (!report || optind == argc)
        return 125;
    int status = run(start(argv + optind));
    write_report(report);
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 125;
}
