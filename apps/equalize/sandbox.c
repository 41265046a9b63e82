/* SPDX-License-Identifier: MIT
 *
 * The decoding helper.
 *
 *   program ---- socket: (memory, pipe) ----> helper ---- fork ----> child: decodes in `memory`, then exits
 *      ^                                                               |
 *      +---------- pipe: end of file when the child is gone -----------+
 *
 * The program sends two descriptors for each image: the shared memory with the file, and the writing end of a pipe to
 * which nothing is written. The helper forks a child and closes both descriptors. Only the child still holds the pipe's
 * end, so that its death, of any cause, is an end of file for the program. That needs no process ids, no signals and no
 * table of children.
 *
 * The child closes everything else, limits its CPU time, sets an alarm for the case that it sleeps, and lets seccomp
 * kill it for any system call but exit (without a filter for this architecture: but read, write, exit and sigreturn).
 * From there a decoder that was taken over can burn bounded time and fill bounded memory. It cannot allocate, open,
 * connect, or cancel the alarm. The program reads the shared memory after the child's death.
 *
 * The helper ends when the program does (end of file on the socket), and its children with it.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Valgrind and ThreadSanitizer make system calls of their own inside the child and cannot run there. */
#if defined(__SANITIZE_THREAD__) && !defined(SCAN_NO_SANDBOX)
#define SCAN_NO_SANDBOX
#elif defined(__has_feature) && !defined(SCAN_NO_SANDBOX)
#if __has_feature(thread_sanitizer)
#define SCAN_NO_SANDBOX
#endif
#endif

static decode_job *map_job(int memory, size_t *bytes) {
    off_t size = lseek(memory, 0, SEEK_END);
    if (size < (off_t)sizeof(decode_job))
        return NULL;
    *bytes = (size_t)size;
    void *map = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void *map_arena(size_t bytes) {
    void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        return NULL;
    if (bytes >= (size_t)8 << 20)
        madvise(arena, bytes, MADV_HUGEPAGE); /* a large image touches most of it */
    return arena;
}

#ifdef SCAN_NO_SANDBOX

bool sandbox_start(void) { return true; }

int sandbox_decode(int memory) {
    int pipe_ends[2];
    size_t bytes;
    decode_job *job = map_job(memory, &bytes);
    void *arena = job ? map_arena(job->arena_bytes) : NULL;
    if (!arena || pipe(pipe_ends) != 0)
        return -1;
    decode_run(job, arena);
    munmap(arena, job->arena_bytes);
    munmap(job, bytes);
    close(pipe_ends[1]);
    return pipe_ends[0];
}

#else

static int helper = -1; /* the program's end of the socket; set once, before there are threads */

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

__attribute__((noreturn)) static void child_main(int memory, int pipe_end) {
    size_t bytes;
    decode_job *job = map_job(memory, &bytes);
    if (!job)
        _exit(1);
    job->state = DECODE_NO_SETUP;
    size_t arena_bytes = job->arena_bytes;
    struct rlimit cpu, none = {0, 0};
    void *arena = map_arena(arena_bytes);
    bool ready = arena && dup2(pipe_end, 0) == 0;
    if (ready) {
        close_all_from(1);
        ready = getrlimit(RLIMIT_CPU, &cpu) == 0;
        if (cpu.rlim_max > job->cpu_seconds)
            cpu.rlim_max = job->cpu_seconds;
        cpu.rlim_cur = cpu.rlim_max;
        ready = ready && setrlimit(RLIMIT_CPU, &cpu) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
    }
    alarm(4 * job->cpu_seconds);
    if (!ready || !confine()) {
        job->error_number = errno;
        _exit(1);
    }
    job->state = DECODE_RUNNING;
    decode_run(job, arena);
    for (;;)
        syscall(SYS_exit, 0); /* _exit() is exit_group, which is not allowed */
}

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

__attribute__((noreturn)) static void helper_main(int socket, pid_t program) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGCHLD, SIG_IGN); /* children are not waited for */
    signal(SIGALRM, SIG_DFL);
    signal(SIGXCPU, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != program)
        _exit(0);
    if (socket != 3 && dup2(socket, 3) != 3)
        _exit(1);
    close_all_from(4);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    int fds[2];
    pid_t self = getpid();
    while (receive(3, fds)) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != self)
                _exit(1);
            child_main(fds[0], fds[1]);
        }
        close(fds[0]);
        close(fds[1]);
    }
    _exit(0);
}

bool sandbox_start(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t program = getpid(), pid = fork();
    if (pid == 0)
        helper_main(ends[1], program);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    helper = ends[0];
    return true;
}

int sandbox_decode(int memory) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        return -1;
    char byte = 0;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(head), (int[2]){memory, pipe_ends[1]}, 2 * sizeof(int));
    ssize_t sent;
    do
        sent = sendmsg(helper, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    int error_number = errno;
    close(pipe_ends[1]);
    if (sent == 1)
        return pipe_ends[0];
    close(pipe_ends[0]);
    errno = error_number;
    return -1;
}

#endif

bool sandbox_wait(int child, uint32_t seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t deadline = (now.tv_sec + (int64_t)seconds) * 1000 + now.tv_nsec / 1000000;
    bool gone = false;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t left = deadline - (now.tv_sec * 1000 + now.tv_nsec / 1000000);
        if (left <= 0)
            break;
        struct pollfd end = {.fd = child, .events = POLLIN};
        int ready = poll(&end, 1, left < INT32_MAX ? (int)left : INT32_MAX);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            break;
        /* Bytes can only come from a hijacked child: only the end of file counts. */
        char bytes[256];
        if (ready == 1) {
            ssize_t got = read(child, bytes, sizeof bytes);
            if (got == 0)
                gone = true;
            if (got == 0 || (got < 0 && errno != EINTR))
                break;
        }
    }
    close(child);
    return gone;
}
