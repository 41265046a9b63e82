/* SPDX-License-Identifier: MIT
 *
 * What runs a kernel without a GPU. A CTA runs on one OS thread, an "SM"; its threads are fibers, which switch only
 * where they wait for each other, poll, or do an atomic operation, in an order drawn from a seed. Device functions
 * (emulated_ptx.h, cuda_runtime.h) are made of the few calls below.
 *
 *   lanes    shuffle(mask, ...) and its kin gather the lanes that the mask names, with a value each
 *   CTA      cta_barrier(id, threads, ...)
 *   polls    poll(what) in every loop that waits for another CTA: lets all others run
 *   copies   copy_later(...) is done some time later, in any order: its destination holds rubbish until then
 *
 * Two defects that a GPU hardly ever shows end the process: a bulk copy to shared memory that an earlier one has
 * written, so that threads may have read it through the generic proxy, with no bulk_fence() in between; and a lane that
 * comes to an aligned barrier from a loop in which it waited by itself, with no collective of its warp in between.
 *
 * What can never go on is reported with every thread's place, and the process is aborted.
 *
 * Environment (DEVICES, CAPABILITY, MEMORY and CLUSTER are read at every call, the others once):
 *   SCAN_EMULATED_DEVICES      how many devices there are, default 1
 *   SCAN_EMULATED_CAPABILITY   default 9.0
 *   SCAN_EMULATED_CLUSTER      CTAs of the largest cluster that is granted, default 16
 *   SCAN_EMULATED_RARE_CLUSTER  clusters of fewer CTAs than this fit 64 times, others as few as SMs allow; default 0
 *   SCAN_EMULATED_NO_CODE      error of every look at a kernel, as 209 of a GPU without code; default 0
 *   SCAN_EMULATED_PAGEABLE     1: the device reads ordinary host memory
 *   SCAN_EMULATED_HOST_ALIAS   1: pinned memory has another address on the device
 *   SCAN_EMULATED_SMS          SMs, each with one CTA at a time, default 3
 *   SCAN_EMULATED_MEMORY       bytes of device memory, default 4 GiB
 *   SCAN_EMULATED_SEED         of every order; default 1
 *   SCAN_EMULATED_DELAY        microseconds; CTAs are late by up to this, now and then
 *   SCAN_EMULATED_PATIENCE     seconds without progress after which a launch counts as hung, default 120
 *   SCAN_EMULATED_FAIL         CALL[:ERROR[:forever]]: the CALL-th runtime call fails (control.h)
 *   SCAN_EMULATED_CALLS        a file that receives the number of runtime calls when the program ends
 */
#ifndef TESTS_EMULATOR_EMULATOR_H
#define TESTS_EMULATOR_EMULATOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda_runtime_api.h"

struct uint3 {
    unsigned x, y, z;
};

namespace emulator {

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* How to call a kernel, known where its type is. */
struct signature {
    void (*call)(const void *kernel, void *const *arguments);
    int count;
    const size_t *sizes;
};
const void *register_kernel(const void *kernel, const signature &);
const signature *find_kernel(const void *kernel);

struct launch {
    const void *kernel;
    const signature *how;
    void **arguments;
    dim3 grid, block;
    size_t shared_bytes;
    unsigned cluster; /* CTAs a cluster */
    bool after;       /* launched by attribute to begin early: each of its threads has to wait for the launch before */
};
void run(const launch &); /* returns when the last CTA has ended */

unsigned sm_count();
int environment(const char *name, int otherwise);

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct cta;
struct warp;

/* An operation that the lanes of a mask make together: a shuffle, a vote, __syncwarp(). */
struct collective {
    const char *what;
    unsigned mask, arrived, departed;
    bool complete, reduced;
    uint64_t result; /* of a reduction, when a lane has made it, or of a search for `wanted` */
    uint64_t wanted;
    uint64_t values[32]; /* what each lane brings, 0 beyond its size */
};

struct late_store {
    void *to;
    size_t bytes;
    unsigned char value[8];
};

struct position {
    uint3 block_index;
    dim3 block_size, grid_size;
};

/* What a switch touches lies in its first 64 bytes. */
struct alignas(64) fiber {
    char *stack;
    size_t stack_bytes;
    cta *in_cta;
    const void *waits_for; /* a collective, a CTA barrier, or an mbarrier */
    int index;             /* max_threads: the OS thread itself */
    enum { ready, yielding, polling, waiting, exited } state;
    warp *in_warp;
    int lane;
    uint32_t parity; /* of the mbarrier */
    uint3 thread;    /* threadIdx */
    const position *where;
    const char *what; /* what it waits for, in words */
    unsigned cluster_generation;
    unsigned copies; /* under way that signal no mbarrier */
    uint64_t fenced; /* bulk copies of the CTA that were done at its last bulk_fence(); 0: it has waited since */
    std::vector<late_store> stores;
};

/* The running thread. Of a variable with `thread_local` other sources would ask each time whether it is initialized. */
extern __thread fiber *current;

char *dynamic_memory();

[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A random number, from the CTA's own sequence. */
uint32_t draw();
/* Now and then lets others run: at every place where hardware might. */
void maybe_switch();
void wait_for_previous(); /* only counts its calls: launches follow each other here */
/* In a loop that waits for memory: lets all others run before it returns. */
void poll(const char *what);
/* The lane leaves a loop that waits, which other lanes of its warp may still be in: it may come to an aligned barrier
 * when all of them have joined a collective. */
void lane_waited();

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* Each of these waits until all lanes of the mask have joined, and brings a value. */
void meet(unsigned mask, const char *what);
/* Returns what lane `from` brought; rubbish if it did not come. */
uint64_t shuffle(unsigned mask, const char *what, uint64_t value, int from);
/* Returns which lanes came, and which of them brought `wanted`. */
struct lane_sets {
    unsigned came, with;
};
lane_sets lanes_with(unsigned mask, const char *what, uint64_t value, uint64_t wanted);
/* Returns what `combine` makes of the values, by twos. */
uint64_t reduce(unsigned mask, const char *what, uint64_t value, uint64_t (*combine)(uint64_t, uint64_t));

/* ---- CTA --------------------------------------------------------------------------------------------------------- */

struct votes {
    int count, threads;
};
/* threads: 0 for all. Barrier 0 is __syncthreads. wait: or only arrive. All are aligned barriers. */
votes cta_barrier(int id, int threads, bool vote, const char *what, bool wait = true);

/* ---- mbarriers and copies ---------------------------------------------------------------------------------------- */

void mbarrier_init(uint64_t *barrier, uint32_t arrivals);
/* Arrivals, and bytes that copies will bring (negative: have brought). */
void mbarrier_update(uint64_t *barrier, uint32_t arrivals, int64_t bytes, const char *what);
bool mbarrier_done(const uint64_t *barrier, uint32_t parity, const char *what);
void mbarrier_wait(uint64_t *barrier, uint32_t parity);
int capability_number(); /* of the device: 90 for 9.0 */
bool has_mbarriers();    /* whether warps of the CTA meet at mbarriers: named_barrier of barriers.cuh, from 9.0 on */

/* barrier: the mbarrier that counts the bytes when the copy is done: a bulk copy, through the async proxy. NULL: one
 * through the generic proxy, as all other accesses are. */
void copy_later(void *to, const void *from, size_t bytes, uint64_t *barrier, const char *what);
/* Waits until those copies of the thread that have no mbarrier are done. */
void copies_wait();
/* One arrival at the mbarrier when they are done: from here on they have it. */
void copies_signal(uint64_t *barrier, const char *what);
/* Orders accesses of this thread, and of those it has waited for, before the bulk copies that it starts next. */
void bulk_fence();

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

unsigned cluster_size();
unsigned cluster_rank();
void cluster_arrive(bool release);
void cluster_wait();
/* The place of something in this CTA's shared memory, in that of another CTA of the cluster. */
void *cluster_map(const void *here, unsigned rank);
/* A store to shared memory of any CTA of the cluster: seen by others some time before the thread's next release. */
void cluster_store(void *to, const void *value, size_t bytes);

} /* namespace emulator */

#endif
