/* SPDX-License-Identifier: MIT
 *
 * For builds that count branches: gcov writes its counts when a program returns from main() or calls exit(). These two
 * write them also where a program ends by _exit() or by a signal that it raises. The linker puts them in (--wrap).
 */
#include <fcntl.h>
#include <gcov.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void __real__exit(int code) __attribute__((noreturn));
int __real_raise(int number);
void __wrap__exit(int code) __attribute__((noreturn));
int __wrap_raise(int number);

/* Counts are written already: a signal must not begin it once more. */
static volatile sig_atomic_t ends;

/* Another user's process cannot write counts: what gcov says of it is none of the program's messages. */
static void end_messages(void) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
}

static void note_end(void) {
    ends = 1;
    end_messages();
}

__attribute__((constructor)) static void at_begin(void) { atexit(note_end); }

static void write_counts(void) {
    if (!ends) {
        ends = 1;
        end_messages();
        __gcov_dump();
    }
}

void __wrap__exit(int code) {
    write_counts();
    __real__exit(code);
}

int __wrap_raise(int number) {
    write_counts();
    return __real_raise(number);
}
