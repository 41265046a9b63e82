/* SPDX-License-Identifier: MIT
 *
 * The emulator's own view of a CTA: shared by scheduler.cpp, memory.cpp and launch.cpp.
 */
#ifndef TESTS_EMULATOR_CTA_H
#define TESTS_EMULATOR_CTA_H

#include <atomic>
#include <mutex>
#include <vector>

#include "emulator.h"

#ifdef EMULATED_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define EMULATED_HIDE(memory, bytes) __asan_poison_memory_region(memory, bytes)
#define EMULATED_SHOW(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
#else
#define EMULATED_HIDE(memory, bytes) ((void)(memory), (void)(bytes))
#define EMULATED_SHOW(memory, bytes) ((void)(memory), (void)(bytes))
#endif

namespace emulator {

constexpr int max_threads = 1024;
constexpr int max_cluster = 16;
constexpr size_t max_shared_bytes = 256 << 10;
constexpr unsigned char rubbish = 0xa5;

struct warp {
    unsigned live;
    unsigned apart; /* lanes that have waited by themselves since all live lanes last joined a collective */
    uint32_t used;  /* of collectives */
    collective collectives[32];
    char *stacks; /* of its 32 threads, in one mapping */
};

struct named_barrier {
    int expected, arrived, count, waiting_count;
    votes last;
    uint16_t waiting[max_threads]; /* indices of fibers */
};

struct copy {
    char *to;
    const char *from;
    size_t bytes;
    uint64_t *barrier;
    fiber *owner;
    const char *what;
    bool is_bulk;
};

/* Shared memory that a bulk copy has written: from then on it counts as accessed through the generic proxy. */
struct bulk_range {
    const char *begin, *end;
    uint64_t done; /* bulk copies of the CTA that were done then, this one included */
};

/* Threads of a CTA by their indices, each at most once. */
struct thread_list {
    uint16_t items[max_threads];
    uint32_t count;

    void push(int index) { items[count++] = uint16_t(index); }
    uint16_t pop() { return items[--count]; }
    bool empty() const { return count == 0; }
    void take_all(thread_list &from) {
        memcpy(items + count, from.items, from.count * sizeof *items);
        count += from.count;
        from.count = 0;
    }
};

struct cluster {
    std::mutex mutex;
    cta *members[max_cluster];
    unsigned size, arrived, live;
    std::atomic<unsigned> generation;
};

struct cta {
    position where;
    const launch *work;
    fiber main; /* the OS thread itself */
    std::vector<fiber *> fibers;
    int threads, live;
    thread_list ready, polling;
    uint32_t next;                   /* the place in `ready` of the thread that runs next, if that is drawn */
    void *contexts[max_threads + 1]; /* of the fibers that do not run; the last is that of `main` */
    warp *warps;
    named_barrier barriers[16];
    std::vector<copy> copies;
    std::vector<bulk_range> bulk_ranges;
    uint64_t bulk_done;        /* bulk copies */
    char *shared_end, *shared; /* dynamic: [shared, shared_end) */
    char *thread_local_begin;  /* static */
    size_t thread_local_bytes;
    cluster *in_cluster;
    unsigned rank;
    bool has_mbarriers;
    uint64_t random;
    int policy;
    uint8_t priority[32];
    std::atomic<bool> disturbed;    /* another CTA may have ended a wait here */
    std::atomic<uint64_t> progress; /* switches to a thread that somebody woke */
    std::atomic<bool> busy;
};

/* scheduler.cpp */
void run_cta(cta &);
void wake(cta &, const void *what);
void wait_for(const void *object, const char *what, uint32_t parity = 0);
void check_aligned(const char *what);
void begin_report();
void describe(const cta &);
uint64_t mixed(uint64_t z);
extern uint64_t seed;

/* allocations.cpp */
void fill_with_rubbish(char *memory, size_t bytes);

/* memory.cpp */
void finish_one_copy(cta &);
void recheck(cta &);
void cluster_leave(cta &);

/* A linear congruential sequence (Knuth's MMIX), of which only the upper half is used: it is drawn at every switch. */
inline uint32_t draw(cta &c) {
    c.random = c.random * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(c.random >> 32);
}
inline uint32_t below(cta &c, uint32_t limit) { return uint32_t(uint64_t(draw(c)) * limit >> 32); }
inline bool chance(cta &c, uint32_t one_in) { return below(c, one_in) == 0; }

} /* namespace emulator */

#endif
