/* SPDX-License-Identifier: MIT
 *
 * Threads of a CTA as fibers: which runs next, collectives of lanes, CTA barriers, and the report of a deadlock.
 *
 * Order. A thread that may run is in `ready`; one that polls is in `polling` and runs again when no other can, or now
 * and then. Each CTA draws one of three ways to choose from `ready`: any thread; the one that became ready last, which
 * drives one warp as far as it gets while others have not begun; or by a random priority of its warp, which leaves some
 * warps behind.
 */
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#include <unistd.h>

#include "cta.h"

static constexpr size_t stack_bytes = 64 << 10;

namespace emulator {

__thread fiber *current;
uint64_t seed = uint64_t(environment("SCAN_EMULATED_SEED", 1));
static const int delay_us = environment("SCAN_EMULATED_DELAY", 0);

uint64_t mixed(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int environment(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value && *value ? int(strtoll(value, nullptr, 0)) : otherwise;
}

char *dynamic_memory() { return current->in_cta->shared; }
uint32_t draw() { return draw(*current->in_cta); }

/* ---- switching --------------------------------------------------------------------------------------------------- */

/* emulator_jump(&kept, context): keeps what the calling convention asks for on the stack, and its place in `kept`; goes
 * on with that of `context`. No kernel changes how floating-point numbers are rounded: the registers that say it stay
 * as they are. first_context() is that of a function which never returns, on the stack that ends at `end`. */
#ifdef __x86_64__
extern "C" void emulator_jump(void **kept, void *context);
asm(R"(
    .pushsection .text
    .type emulator_jump, @function
emulator_jump:
    endbr64
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size emulator_jump, .-emulator_jump
    .popsection
)");

static void *first_context(char *end, size_t, void (*function)()) {
    void **top = reinterpret_cast<void **>(end);
    *--top = nullptr; /* where the function would return to */
    *--top = reinterpret_cast<void *>(function);
    return memset(top - 6, 0, 6 * sizeof *top); /* registers */
}
#else
static void emulator_jump(void **kept, void *context) {
    ucontext_t here;
    *kept = &here;
    swapcontext(&here, static_cast<ucontext_t *>(context));
}

static void *first_context(char *end, size_t bytes, void (*function)()) {
    constexpr size_t own_bytes = (sizeof(ucontext_t) + 63) / 64 * 64;
    ucontext_t *made = reinterpret_cast<ucontext_t *>(end - own_bytes);
    getcontext(made);
    made->uc_stack.ss_sp = end - bytes;
    made->uc_stack.ss_size = bytes - own_bytes;
    made->uc_link = nullptr;
    makecontext(made, function, 0);
    return made;
}
#endif

static void switch_to(fiber *to) {
    fiber *from = current;
    if (to == from)
        return;
    current = to;
    void **const contexts = to->in_cta->contexts;
    emulator_jump(&contexts[from->index], contexts[to->index]);
}

#ifdef EMULATED_ASAN
/* ASan calls this before it prints a report, and learns on which stack it is. Telling it at every switch would take a
 * tenth of all time. */
extern "C" __attribute__((visibility("default"))) void __asan_on_error() {
    if (current && current->stack) {
        void *kept;
        __sanitizer_start_switch_fiber(&kept, current->stack, current->stack_bytes);
        __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
    }
}
#endif

static void idle(cta &c) {
    sched_yield();
    if (delay_us && chance(c, 64))
        usleep(draw(c) % unsigned(delay_us));
}

[[noreturn]] static void give_up(cta &c);

/* Which of `ready` is to run next, by the CTA's way to choose. */
static constexpr uint32_t not_drawn = ~0u;
static uint32_t choose(cta &c) {
    const uint32_t n = c.ready.count;
    uint32_t which = n - 1;
    if (c.policy != 1 || chance(c, 16))
        which = below(c, n);
    if (c.policy == 2)
        for (int i = 0; i < 3; i++) {
            const uint32_t other = below(c, n);
            if (c.priority[c.ready.items[other] / 32] > c.priority[c.ready.items[which] / 32])
                which = other;
        }
    return which;
}

/* A thread's stack has left the nearest caches when the thread runs again: what it reads first is fetched while another
 * runs. So the next thread is drawn ahead, or it is most likely the last of `ready`. */
static void prefetch_next(const cta &c) {
    if (c.ready.empty())
        return;
    const int index = c.ready.items[c.next < c.ready.count ? c.next : c.ready.count - 1];
    const char *top = static_cast<const char *>(c.contexts[index]);
    __builtin_prefetch(c.fibers[size_t(index)], 1);
    for (int line = 0; line < 4; line++)
        __builtin_prefetch(top + 64 * line, 1);
}

/* Somebody who can run; the OS thread when all have ended. */
static fiber *pick(cta &c) {
    for (;;) {
        if (c.disturbed.load(std::memory_order_relaxed) && c.disturbed.exchange(false))
            recheck(c);
        const uint32_t random = draw(c);
        if (random % 8 == 0 && !c.copies.empty())
            finish_one_copy(c);
        if (random / 8 % 32 == 0 && !c.polling.empty()) {
            c.ready.push(c.polling.pop());
        }
        if (!c.ready.empty())
            break;
        if (c.live == 0)
            return &c.main;
        if (!c.copies.empty()) {
            finish_one_copy(c);
        } else if (!c.polling.empty()) {
            idle(c);
            c.ready.take_all(c.polling);
        } else if (c.in_cluster) {
            for (int looks = 0; !c.disturbed.load(std::memory_order_relaxed); looks++)
                if (looks < 20)
                    idle(c);
                else /* a cluster has more CTAs than there are processors */
                    usleep(20);
        } else {
            give_up(c);
        }
    }
    const uint32_t which = c.next < c.ready.count ? c.next : choose(c);
    fiber *f = c.fibers[c.ready.items[which]];
    const uint16_t last = c.ready.pop();
    if (which < c.ready.count)
        c.ready.items[which] = last;
    c.next = c.policy == 1 || c.ready.empty() ? not_drawn : choose(c);
    prefetch_next(c);
    if (f->state == fiber::ready || f->state == fiber::waiting) /* this thread alone writes it */
        c.progress.store(c.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    f->state = fiber::ready;
    f->waits_for = nullptr;
    return f;
}

void maybe_switch() {
    if (!current)
        return;
    cta &c = *current->in_cta;
    if (!chance(c, 8))
        return;
    if (delay_us && chance(c, 64))
        usleep(draw(c) % unsigned(delay_us));
    current->state = fiber::yielding;
    c.ready.push(current->index);
    switch_to(pick(c));
}

void poll(const char *what) {
    fiber *f = current;
    cta &c = *f->in_cta;
    f->state = fiber::polling;
    f->what = what;
    c.polling.push(f->index);
    switch_to(pick(c));
}

void wait_for(const void *object, const char *what, uint32_t parity) {
    fiber *f = current;
    f->state = fiber::waiting;
    f->waits_for = object;
    f->what = what;
    f->parity = parity;
    switch_to(pick(*f->in_cta));
}

/* The threads that wait for an mbarrier or for a cluster. Those of a collective or of a CTA's barrier are known, and
 * stay as they are until they run: each that is touched here costs a line of the cache. */
void wake(cta &c, const void *object) {
    for (int i = 0; i < c.threads; i++) {
        fiber *f = c.fibers[size_t(i)];
        if (f->state == fiber::waiting && f->waits_for == object) {
            f->state = fiber::ready;
            f->waits_for = nullptr;
            c.ready.push(i);
        }
    }
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* The lane that joins last does not wait: here it is 1 << lane, or 0 where lanes leave. */
static void complete_if_all_there(cta &c, warp &w, collective &m, unsigned last) {
    if (m.complete || ((m.arrived | ~w.live) & m.mask) != m.mask)
        return;
    m.complete = true;
    if (!(w.live & ~m.mask))
        w.apart = 0;
    const int first = int(&w - c.warps) * 32;
    for (unsigned waiting = m.arrived & ~last; waiting; waiting &= waiting - 1)
        c.ready.push(first + __builtin_ctz(waiting));
    prefetch_next(c);
}

static collective &join(unsigned mask, const char *what, uint64_t value) {
    fiber *f = current;
    warp &w = *f->in_warp;
    const unsigned bit = 1u << f->lane;
    if (!(mask & bit))
        die("%s with mask %08x, which leaves out the calling lane", what, mask);
    int place = -1;
    for (uint32_t used = w.used; used && place < 0; used &= used - 1) {
        const int i = __builtin_ctz(used);
        if (!w.collectives[i].complete && w.collectives[i].mask == mask)
            place = i;
    }
    if (place < 0) {
        place = __builtin_ctz(~w.used);
        w.used |= 1u << place;
        collective &m = w.collectives[place];
        m.what = what;
        m.mask = mask;
        m.arrived = m.departed = 0;
        m.complete = m.reduced = false;
    }
    collective &m = w.collectives[place];
    if (m.what != what && strcmp(m.what, what))
        die("%s, while other lanes of mask %08x are at %s", what, mask, m.what);
    m.values[f->lane] = value;
    m.arrived |= bit;
    complete_if_all_there(*f->in_cta, w, m, bit);
    if (!m.complete)
        wait_for(&m, what);
    else
        maybe_switch();
    return m;
}

static void depart(collective &m) {
    warp &w = *current->in_warp;
    m.departed |= 1u << current->lane;
    if (m.departed == m.arrived)
        w.used &= ~(1u << (&m - w.collectives));
}

void meet(unsigned mask, const char *what) { depart(join(mask, what, 0)); }

uint64_t shuffle(unsigned mask, const char *what, uint64_t value, int from) {
    collective &m = join(mask, what, value);
    const uint64_t brought = m.arrived >> from & 1 ? m.values[from] : rubbish * 0x0101010101010101u;
    depart(m);
    return brought;
}

lane_sets lanes_with(unsigned mask, const char *what, uint64_t value, uint64_t wanted) {
    collective &m = join(mask, what, value);
    if (!m.reduced || m.wanted != wanted) { /* most lanes look for the same */
        unsigned with = 0;
        for (unsigned i = 0; i < 32; i++)
            with |= unsigned(m.values[i] == wanted) << i;
        m.result = with & m.arrived;
        m.wanted = wanted;
        m.reduced = true;
    }
    const lane_sets found = {m.arrived, unsigned(m.result)};
    depart(m);
    return found;
}

uint64_t reduce(unsigned mask, const char *what, uint64_t value, uint64_t (*combine)(uint64_t, uint64_t)) {
    collective &m = join(mask, what, value);
    if (!m.reduced) {
        unsigned left = m.arrived;
        m.result = m.values[__builtin_ctz(left)];
        while (left &= left - 1)
            m.result = combine(m.result, m.values[__builtin_ctz(left)]);
        m.reduced = true;
    }
    const uint64_t result = m.result;
    depart(m);
    return result;
}

/* ---- CTA barriers ------------------------------------------------------------------------------------------------ */

void lane_waited() { current->in_warp->apart |= 1u << current->lane; }

/* The lanes of a warp make an aligned barrier together. */
void check_aligned(const char *what) {
    const warp &w = *current->in_warp;
    if (w.apart >> current->lane & 1)
        die("%s by a lane that has waited by itself, with no __syncwarp() since then", what);
}

votes cta_barrier(int id, int threads, bool vote, const char *what, bool wait) {
    check_aligned(what);
    cta &c = *current->in_cta;
    named_barrier &b = c.barriers[id];
    if (id == 0 && threads == 0 && c.live < c.threads)
        die("%s after %d threads of the CTA have ended", what, c.threads - c.live);
    const int expected = threads ? threads : c.threads;
    if (b.arrived && b.expected != expected)
        die("%s of barrier %d for %d threads, others wait there for %d", what, id, expected, b.expected);
    b.expected = expected;
    b.count += vote;
    if (++b.arrived == expected) {
        b.last = {b.count, expected};
        b.arrived = b.count = 0;
        for (int i = 0; i < b.waiting_count; i++)
            c.ready.push(b.waiting[i]);
        b.waiting_count = 0;
        prefetch_next(c);
        maybe_switch();
    } else if (wait) {
        b.waiting[b.waiting_count++] = uint16_t(current->index);
        wait_for(&b, what);
    }
    current->fenced = 0;
    return b.last;
}

/* ---- beginning and end of threads -------------------------------------------------------------------------------- */

static void thread_ends() {
    fiber *f = current;
    cta &c = *f->in_cta;
    warp &w = *f->in_warp;
    f->state = fiber::exited;
    f->what = nullptr;
    c.live--;
    w.live &= ~(1u << f->lane);
    for (uint32_t used = w.used; used; used &= used - 1)
        complete_if_all_there(c, w, w.collectives[__builtin_ctz(used)], 0);
    if (c.barriers[0].arrived && c.barriers[0].expected == c.threads)
        die("the thread ends while %d threads wait at __syncthreads()", c.barriers[0].arrived);
    if (!f->stores.empty())
        die("the thread ends, and no barrier of the cluster waits for its last stores");
    if (c.in_cluster)
        cluster_leave(c);
    if (c.live == 0 && !c.copies.empty() && c.copies.front().barrier)
        die("the CTA ends before its %s is done", c.copies.front().what);
    while (c.live == 0 && !c.copies.empty())
        finish_one_copy(c);
    switch_to(pick(c));
}

static void fiber_main() {
    for (;;) {
        const launch &l = *current->in_cta->work;
        l.how->call(l.kernel, l.arguments);
        thread_ends();
    }
}

/* Makes the page fault when touched. A cluster's CTAs have 16,384 threads: where the kernel can (6.13), their guards do
 * not cut mappings into pieces, which would take half as long again as all the rest of the stacks. */
static bool guard_page(char *page, size_t bytes) {
#ifndef MADV_GUARD_INSTALL
    enum { MADV_GUARD_INSTALL = 102 };
#endif
    return madvise(page, bytes, MADV_GUARD_INSTALL) == 0 || mprotect(page, bytes, PROT_NONE) == 0;
}

/* A stack for a thread of a CTA, above a guard. Threads are made in the order of their indices. */
static char *new_stack(cta &c, int index) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), each = page + stack_bytes;
    char *&stacks = c.warps[index / 32].stacks;
    if (index % 32 == 0)
        stacks = static_cast<char *>(
            mmap(nullptr, 32 * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    char *guard = stacks + size_t(index % 32) * each;
    if (stacks == MAP_FAILED || !guard_page(guard, page)) {
        perror("emulator: a thread's stack");
        abort();
    }
    return guard + page;
}

static fiber *new_fiber(cta &c, int index) {
    fiber *f = new fiber();
    f->index = index;
    f->lane = index % 32;
    f->in_cta = &c;
    f->where = &c.where;
    f->in_warp = &c.warps[index / 32];
    f->stack = new_stack(c, index);
    f->stack_bytes = stack_bytes;
    /* from other lines of a page for each, or all would lie in the same few sets of a cache */
    const size_t used_bytes = stack_bytes - size_t(index) % 64 * 64;
    c.contexts[index] = first_context(f->stack + used_bytes, used_bytes, fiber_main);
    return f;
}

/* On the CTA's OS thread, with `where`, `work` and shared memory set. */
void run_cta(cta &c) {
    const dim3 size = c.where.block_size;
    c.threads = c.live = int(size.x * size.y * size.z);
    while (int(c.fibers.size()) < c.threads)
        c.fibers.push_back(new_fiber(c, int(c.fibers.size())));
    for (int i = 0; i < (c.threads + 31) / 32; i++) {
        int lanes = c.threads - i * 32;
        c.warps[i].live = lanes >= 32 ? ~0u : (1u << lanes) - 1;
        c.warps[i].apart = c.warps[i].used = 0;
        c.priority[i] = uint8_t(draw(c));
    }
    static const int policies[] = {1, 1, 0, 2}; /* 1 is quicker: it leaves few stacks' lines in the caches */
    c.policy = policies[draw(c) % 4];
    for (named_barrier &b : c.barriers)
        b.expected = b.arrived = b.count = b.waiting_count = 0;
    c.ready.count = c.polling.count = 0;
    c.next = not_drawn;
    c.bulk_ranges.clear();
    c.bulk_done = 0;
    for (int i = 0; i < c.threads; i++) {
        fiber *f = c.fibers[size_t(i)];
        unsigned t = unsigned(i);
        f->thread = {t % size.x, t / size.x % size.y, t / size.x / size.y};
        f->state = fiber::ready;
        f->waits_for = f->what = nullptr;
        f->copies = 0;
        f->fenced = 0;
        c.ready.push(i);
    }
    current = &c.main;
    switch_to(pick(c));
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* To be called before the first line of a report. The process ends with the report; CTAs that fail meanwhile wait here
 * until then, so that their lines are not mixed with it. */
void begin_report() {
    static std::mutex reporting;
    reporting.lock();
}

/* Runs of threads that wait for the same. */
void describe(const cta &c) {
    fprintf(stderr, "  block (%u, %u, %u)%s:\n", c.where.block_index.x, c.where.block_index.y, c.where.block_index.z,
            c.busy ? "" : ", ended");
    for (int i = 0; c.busy && i < c.threads;) {
        const fiber *f = c.fibers[size_t(i)];
        int end = i;
        while (end < c.threads && c.fibers[size_t(end)]->state == f->state && c.fibers[size_t(end)]->what == f->what &&
               c.fibers[size_t(end)]->waits_for == f->waits_for && c.fibers[size_t(end)]->parity == f->parity)
            end++;
        fprintf(stderr, "    threads %4d ... %4d ", i, end - 1);
        switch (f->state) {
        case fiber::ready:
        case fiber::yielding: fprintf(stderr, "can run\n"); break;
        case fiber::polling: fprintf(stderr, "poll at %s\n", f->what); break;
        case fiber::exited: fprintf(stderr, "have ended\n"); break;
        case fiber::waiting: {
            fprintf(stderr, "wait at %s", f->what);
            const collective *m = static_cast<const collective *>(f->waits_for);
            if (m >= f->in_warp->collectives && m < f->in_warp->collectives + 32)
                fprintf(stderr, " with mask %08x for lanes %08x", m->mask, m->mask & ~m->arrived);
            fprintf(stderr, "\n");
        }
        }
        i = end;
    }
}

static void describe_launch(const launch &l) {
    char name[1024];
    snprintf(name, sizeof name, "at %p", l.kernel);
#ifdef EMULATED_ASAN
    __sanitizer_symbolize_pc(const_cast<void *>(l.kernel), "%f at %s:%l", name, sizeof name);
#endif
    fprintf(stderr, "  kernel %s, grid %u x %u x %u, block %u x %u x %u, seed %llu\n", name, l.grid.x, l.grid.y,
            l.grid.z, l.block.x, l.block.y, l.block.z, (unsigned long long)seed);
}

static void give_up(cta &c) {
    begin_report();
    fprintf(stderr, "emulator: no thread of the CTA can go on\n");
    describe_launch(*c.work);
    describe(c);
    abort();
}

void die(const char *format, ...) {
    va_list arguments;
    begin_report();
    va_start(arguments, format);
    fprintf(stderr, "emulator: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    if (current && current->in_cta && current->in_cta->work) {
        fprintf(stderr, "  thread (%u, %u, %u)\n", current->thread.x, current->thread.y, current->thread.z);
        describe_launch(*current->in_cta->work);
        describe(*current->in_cta);
    }
#ifdef EMULATED_ASAN
    __sanitizer_print_stack_trace();
#endif
    abort();
}

} /* namespace emulator */
