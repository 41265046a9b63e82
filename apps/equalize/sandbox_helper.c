/* SPDX-License-Identifier: MIT
 *
 * The decoding helper.
 *
 *   program ---- socket: (memory, pipe) ----> helper --- fork ---> keeper --- fork ---> child: decodes in `memory`
 *      ^                                                             |
 *      +------------------- pipe: notes on the child, end of file --+
 *
 * The program sends two descriptors for each image: the shared memory with the file, and the writing end of a pipe. The
 * helper forks a keeper, and that the child. The keeper waits for the child and writes into the pipe how it ended, or
 * that it was stopped or continued; the child has no end of the pipe and cannot forge that. So the program knows a
 * child that crashed, which is the image's fault, from one that was killed, stopped or ran out of time, which is not.
 * It needs no process ids but the helper's, no signals and no table of children.
 *
 * The helper overwrites what the system gave the program at its start, arguments and environment, before there is a
 * child. The child closes all descriptors, limits its CPU time, and lets seccomp kill it for any system call but exit
 * (without a filter for this architecture: but read, write, exit and sigreturn). From there a decoder that was taken
 * over can burn bounded time and fill bounded memory. It cannot allocate, open, connect, or wait, and there is nothing
 * to read in its memory but the image. The program reads the shared memory after the child's death.
 *
 * The helper ends when the program does (end of file on the socket, and a signal), and keepers and children with it.
 */
#include "sandbox_helper.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/support/die.h"

void helper_note(int pipe_end, note_kind kind, int value) {
    note n = {.kind = kind, .value = value};
    ssize_t ignored = write(pipe_end, &n, sizeof n);
    (void)ignored;
}

decode_job *helper_map_job(int memory, size_t *bytes) {
    off_t size = lseek(memory, 0, SEEK_END);
    if (size < (off_t)sizeof(decode_job))
        return NULL;
    *bytes = (size_t)size;
    void *map = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    return map == MAP_FAILED ? NULL : map;
}

void *helper_map_arena(size_t bytes) {
    void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        return NULL;
    if (bytes >= (size_t)8 << 20)
        madvise(arena, bytes, MADV_HUGEPAGE); /* a large image touches most of it */
    return arena;
}

#ifndef SCAN_NO_SANDBOX

/* ---- what the program was started with --------------------------------------------------------------------------- */

static void wipe_text(const char *text) {
    if (text)
        explicit_bzero((char *)(uintptr_t)text, strlen(text));
}

/* What the loader and the C library left below this frame. */
__attribute__((noinline)) static void wipe_stack(void) {
    char remains[64 << 10];
    explicit_bzero(remains, sizeof remains);
}

/* What they left in the frames from `begin` up to argv, of functions to which the helper does not return. Sanitizers
 * mark parts of these as not to be written. */
__attribute__((noinline, no_sanitize("address"), no_sanitize("undefined"))) static void wipe_frames(void *begin,
                                                                                                    const void *end) {
    for (volatile char *p = begin; (uintptr_t)p < (uintptr_t)end; p++)
        *p = 0;
}

/* The strings of argv, of the environment and the program's path lie one after another at the end of the stack. */
static void wipe_start(char **arguments, void *frame) {
    for (size_t i = 0; arguments && arguments[i]; i++)
        wipe_text(arguments[i]);
    for (size_t i = 0; environ && environ[i]; i++)
        wipe_text(environ[i]);
    wipe_text((const char *)getauxval(AT_EXECFN));
    environ = NULL;
    program_set_name("decoder");
    wipe_frames(frame, arguments);
    wipe_stack();
}

/* ---- the child --------------------------------------------------------------------------------------------------- */

static void close_all_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0u, 0u) != 0)
        for (long fd = first, last = sysconf(_SC_OPEN_MAX); fd < last; fd++)
            close((int)fd);
}

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define NATIVE_ARCH AUDIT_ARCH_S390X
#endif

/* From here on this process can only compute and exit. */
static bool confine(void) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
#ifdef NATIVE_ARCH
    /* The numbers of system calls differ by architecture: it is checked first. */
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
#else
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
#endif
}

/* Beyond the soft limit a signal of its own ends the child, beyond the hard one SIGKILL. */
static bool limit_time(uint32_t seconds) {
    struct rlimit cpu, none = {0, 0};
    if (getrlimit(RLIMIT_CPU, &cpu) != 0)
        return false;
    if (cpu.rlim_max > seconds + 1)
        cpu.rlim_max = seconds + 1;
    cpu.rlim_cur = cpu.rlim_max > 1 ? cpu.rlim_max - 1 : cpu.rlim_max;
    return setrlimit(RLIMIT_CPU, &cpu) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
}

__attribute__((noreturn)) static void child_main(int memory) {
    size_t bytes;
    decode_job *job = helper_map_job(memory, &bytes);
    if (!job)
        _exit(1);
    job->state = DECODE_NO_SETUP;
    void *arena = helper_map_arena(job->arena_bytes);
    bool ready = arena && limit_time(job->cpu_seconds);
    if (ready)
        close_all_from(0);
    if (!ready || !confine()) {
        job->error_number = errno;
        _exit(1);
    }
    job->state = DECODE_RUNNING;
    decode_run(job, arena);
    for (;;)
        syscall(SYS_exit, 0); /* _exit() is exit_group, which is not allowed */
}

/* ---- the keeper -------------------------------------------------------------------------------------------------- */

/* Forks, and lets the new process end with this one. */
static pid_t fork_below(void) {
    pid_t self = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self)
        _exit(1);
    return 0;
}

__attribute__((noreturn)) static void keeper_main(int memory, int pipe_end) {
    pid_t child = fork_below();
    if (child == 0)
        child_main(memory);
    if (child < 0) {
        helper_note(pipe_end, NOTE_NO_CHILD, errno);
        _exit(1);
    }
    close(memory);
    helper_note(pipe_end, NOTE_RUNS, 0);
    int status = 0;
    for (;;) {
        if (waitpid(child, &status, WUNTRACED | WCONTINUED) < 0) {
            if (errno != EINTR)
                _exit(1);
            continue;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status))
            break;
        helper_note(pipe_end, WIFSTOPPED(status) ? NOTE_STOPPED : NOTE_RUNS, 0);
    }
    helper_note(pipe_end, NOTE_ENDED, status);
    _exit(0);
}

/* ---- the helper -------------------------------------------------------------------------------------------------- */

static bool receive(int socket, int fds[2]) {
    char byte;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do
        got = recvmsg(socket, &message, 0);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *head = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!head || head->cmsg_len != CMSG_LEN(2 * sizeof(int)))
        return false;
    memcpy(fds, CMSG_DATA(head), 2 * sizeof(int));
    return true;
}

void helper_main(int socket, pid_t program, char **arguments, void *frame) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGCHLD, SIG_IGN); /* keepers are not waited for */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXCPU, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != program)
        _exit(0);
    wipe_start(arguments, frame);
    if (socket != 3 && dup2(socket, 3) != 3)
        _exit(1);
    close_all_from(4);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    int fds[2];
    while (receive(3, fds)) {
        pid_t keeper = fork_below();
        if (keeper == 0) {
            signal(SIGCHLD, SIG_DFL);
            close(3);
            keeper_main(fds[0], fds[1]);
        }
        if (keeper < 0)
            helper_note(fds[1], NOTE_NO_CHILD, errno);
        close(fds[0]);
        close(fds[1]);
    }
    _exit(0);
}

#endif
