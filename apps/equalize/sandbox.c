/* SPDX-License-Identifier: MIT
 *
 * The program's side of the sandbox; sandbox_helper.c says how it works.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox_helper.h"

#ifdef SCAN_NO_SANDBOX

bool sandbox_start(char **arguments) {
    (void)arguments;
    return true;
}

int sandbox_decode(int memory) {
    int pipe_ends[2];
    size_t bytes;
    decode_job *job = helper_map_job(memory, &bytes);
    void *arena = job ? helper_map_arena(job->arena_bytes) : NULL;
    if (!arena || pipe(pipe_ends) != 0)
        return -1;
    decode_run(job, arena);
    munmap(arena, job->arena_bytes);
    munmap(job, bytes);
    helper_note(pipe_ends[1], NOTE_ENDED, 0);
    close(pipe_ends[1]);
    return pipe_ends[0];
}

static bool helper_is_stopped(void) { return false; }

#else

/* Set once, before there are threads. */
static int helper = -1; /* the program's end of the socket */
static pid_t helper_process;

/* Leaves the news there for every thread that asks. */
static bool helper_is_stopped(void) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)helper_process, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == helper_process;
}

bool sandbox_start(char **arguments) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t program = getpid(), pid = fork();
    if (pid == 0)
        helper_main(ends[1], program, arguments, ends);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    helper = ends[0];
    helper_process = pid;
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

/* ---- how a child ended ------------------------------------------------------------------------------------------- */

static sandbox_end end_of(int status) {
    if (WIFEXITED(status))
        return SANDBOX_EXITED;
    switch (WTERMSIG(status)) {
    case SIGSEGV:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS: return SANDBOX_CRASHED;
    case SIGXCPU: return SANDBOX_CPU_TIME;
    case SIGBUS: return SANDBOX_NO_PAGES; /* a page of the shared memory could not be had */
    }
    return SANDBOX_KILLED;
}

/* Time is counted in ticks of this process: while it is stopped itself, with all others by ^Z, none pass. */
sandbox_end sandbox_wait(int child, uint32_t seconds, int *error_number) {
    enum { TICK_MS = 250, STOPPED_TICKS = 5 * 1000 / TICK_MS };
    sandbox_end end = SANDBOX_SILENT;
    enum { NOT_STARTED, RUNS, IS_STOPPED } state = NOT_STARTED;
    bool waiting = true;
    uint32_t ticks = 0, stopped_ticks = 0;
    while (waiting) {
        struct pollfd pipe_end = {.fd = child, .events = POLLIN};
        int ready = poll(&pipe_end, 1, TICK_MS);
        if (ready <= 0) {
            bool held = state == IS_STOPPED || (state == NOT_STARTED && helper_is_stopped());
            stopped_ticks = held ? stopped_ticks + 1 : 0;
            if (stopped_ticks >= STOPPED_TICKS)
                end = SANDBOX_STOPPED;
            waiting = stopped_ticks < STOPPED_TICKS && ++ticks < seconds * (1000 / TICK_MS);
            continue;
        }
        note n;
        ssize_t got = read(child, &n, sizeof n);
        if (got < 0 && errno == EINTR)
            continue;
        waiting = got == sizeof n && (n.kind == NOTE_STOPPED || n.kind == NOTE_RUNS);
        if (waiting)
            state = n.kind == NOTE_STOPPED ? IS_STOPPED : RUNS;
        else if (got != sizeof n)
            end = SANDBOX_KILLED; /* the keeper or the helper: nobody is left to write */
        else
            end = n.kind == NOTE_ENDED ? end_of(n.value) : SANDBOX_NO_PROCESS;
        if (end == SANDBOX_NO_PROCESS)
            *error_number = n.value;
    }
    close(child);
    return end;
}
