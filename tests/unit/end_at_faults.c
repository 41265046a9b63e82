/* SPDX-License-Identifier: MIT
 *
 * Linked to every unit test: a fault ends the program. cmocka would go on with the next test, by a jump out of the call
 * that faulted, and whoever next has work for that call's threads would wait for ever.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

typedef void handler(int number);

static bool is_fault(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
}

/* The lines before it say which test runs. */
static void say_and_end(int number, siginfo_t *info, void *context) {
    static const char text[] = "a fault ends the program: memory that the test does not have, or a trap\n";
    (void)info, (void)context;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(3);
    raise(number); /* the default, since this handler was for one signal */
}

/* Sanitizers have handlers, which say more. */
__attribute__((constructor)) static void catch_faults(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int number = 1; number < 32; number++) {
        struct sigaction before, ours = {.sa_sigaction = say_and_end, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
        if (is_fault(number) && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(number, &ours, NULL);
    }
}

/* In place of the C library's, also for cmocka, which asks for faults. */
__attribute__((visibility("default"))) handler *signal(int number, handler *action) {
    struct sigaction before, after = {.sa_handler = action, .sa_flags = SA_RESTART};
    if (is_fault(number))
        return SIG_DFL;
    return sigaction(number, &after, &before) == 0 ? before.sa_handler : SIG_ERR;
}
