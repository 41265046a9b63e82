/* SPDX-License-Identifier: MIT
 *
 * Hidden names: drawing them, and removing them, by this process when it ends and by the next one after that.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "output_hidden.h"

#define HIDDEN_SUFFIX ".scan-tmp"
enum { RANDOM_LETTERS = 6, SUFFIX_LETTERS = sizeof HIDDEN_SUFFIX - 1 };

/* ---- this process's ---------------------------------------------------------------------------------------------- */

/* An array of fixed size, because the signal handler reads it. */
static output_hidden *volatile entered[HIDDEN_MAX];

static bool names_file(int folder, const char *name, const struct stat *which) {
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && stat_same_file(&st, which);
}

bool hidden_is_ours(const output_hidden *hidden) { return names_file(hidden->folder, hidden->name, &hidden->file); }

void hidden_enter(output_hidden *hidden) {
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (!entered[i]) {
            entered[i] = hidden;
            return;
        }
}

void hidden_leave(const output_hidden *hidden) {
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (entered[i] == hidden)
            entered[i] = NULL;
}

/* Network file systems lock writable descriptors only. */
static void remove_leftover(int folder, const char *name) {
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(folder, name, O_RDWR | flags);
    if (fd < 0)
        fd = openat(folder, name, O_RDONLY | flags);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        names_file(folder, name, &st))
        unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
}

void hidden_remove(const output_hidden *hidden) {
    if (hidden->awaited)
        remove_leftover(hidden->folder, hidden->name);
    else if (hidden_is_ours(hidden))
        unlinkat(hidden->folder, hidden->name, 0);
}

void hidden_remove_all(void) {
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (entered[i])
            hidden_remove(entered[i]);
}

static void on_signal(int number) {
    hidden_remove_all();
    signal(number, SIG_DFL);
    raise(number);
}

static bool ends_process(int number) {
    static const int others[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] == number)
            return false;
    return true;
}

void hidden_catch_signals(void) {
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action = {.sa_handler = on_signal}, before;
        if (ends_process(number) && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* ".NAME.". NAME is cut, between characters of UTF-8, where the whole would be too long for the file system. Returns
 * the length. */
static size_t compose_prefix(const output_place *place, char prefix[NAME_MAX + 1]) {
    long limit = fpathconf(place->folder, _PC_NAME_MAX);
    if (limit < 32 || limit > NAME_MAX)
        limit = NAME_MAX;
    size_t length = strlen(place->name), room = (size_t)limit - 2 - RANDOM_LETTERS - SUFFIX_LETTERS;
    if (length > room)
        for (length = room; length > 0 && ((unsigned char)place->name[length] & 0xc0) == 0x80;)
            length--;
    return (size_t)snprintf(prefix, NAME_MAX + 1, ".%.*s.", (int)length, place->name);
}

uint64_t hidden_number(void) {
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
        struct timespec now; /* names need to be unlike, not secret */
        clock_gettime(CLOCK_MONOTONIC, &now);
        bits = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() * 0xbf58476d1ce4e5b9u;
        bits ^= bits >> 32;
    }
    return bits;
}

void hidden_name(output_hidden *hidden, const output_place *place, uint64_t number) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567"; /* distinct also where case is ignored */
    hidden->folder = place->folder;
    size_t at = compose_prefix(place, hidden->name);
    for (int i = 0; i < RANDOM_LETTERS; i++, number >>= 5)
        hidden->name[at++] = letters[number & 31];
    strcpy(hidden->name + at, HIDDEN_SUFFIX);
}

void hidden_draw(output_hidden *hidden, const output_place *place) { hidden_name(hidden, place, hidden_number()); }

/* ---- leftovers of others ----------------------------------------------------------------------------------------- */

/* A folder that was found without hidden files is not listed again: a batch puts many files there. */
void hidden_sweep(const output_place *place) {
    static dev_t clean_device;
    static ino_t clean_inode;
    if (clean_inode == place->folder_inode && clean_device == place->folder_device)
        return;
    char prefix[NAME_MAX + 1];
    size_t length = compose_prefix(place, prefix);
    int fd = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list && fd >= 0)
        close(fd);
    bool clean = list;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        size_t n = strlen(entry->d_name);
        if (n < SUFFIX_LETTERS || strcmp(entry->d_name + n - SUFFIX_LETTERS, HIDDEN_SUFFIX) != 0)
            continue;
        clean = false;
        if (n == length + RANDOM_LETTERS + SUFFIX_LETTERS && memcmp(entry->d_name, prefix, length) == 0)
            remove_leftover(place->folder, entry->d_name);
    }
    if (list)
        closedir(list);
    clean_device = clean ? place->folder_device : 0;
    clean_inode = clean ? place->folder_inode : 0;
}
