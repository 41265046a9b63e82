/* SPDX-License-Identifier: MIT
 *
 * For builds that count branches: gcov writes its counts when a program returns from main() or calls exit(). These two
 * write them also where a program ends by _exit() or by a signal that it raises. The linker puts them in (--wrap).
 */
#include <gcov.h>
#include <signal.h>
#include <stdlib.h>

void __real__exit(int code) __attribute__((noreturn));
int __real_raise(int number);
void __wrap__exit(int code) __attribute__((noreturn));
int __wrap_raise(int number);

/* Counts are written already: a signal must not begin it once more. */
static volatile sig_atomic_t ends;

static void note_end(void) { ends = 1; }

__attribute__((constructor)) static void at_begin(void) { atexit(note_end); }

static void write_counts(void) {
    if (!ends) {
        ends = 1;
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
