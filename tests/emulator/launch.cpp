/* SPDX-License-Identifier: MIT
 *
 * Kernels by address, and launches: OS threads as SMs, blocks handed out in a random order.
 *
 * A launch has the SMs for itself. A cluster's CTAs run at the same time: as many SMs as it has CTAs form a place for
 * one cluster, more SMs than usual if need be.
 */
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <link.h>
#include <map>
#include <numeric>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cta.h"

namespace emulator {

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Made on first use, and never freed: kernels register before main(). */
struct registry {
    std::mutex mutex;
    std::map<const void *, signature> kernels;
};
static registry &all() {
    static registry *r = new registry;
    return *r;
}

const void *register_kernel(const void *kernel, const signature &how) {
    std::lock_guard<std::mutex> lock(all().mutex);
    all().kernels[kernel] = how;
    return kernel;
}

const signature *find_kernel(const void *kernel) {
    std::lock_guard<std::mutex> lock(all().mutex);
    auto found = all().kernels.find(kernel);
    return found == all().kernels.end() ? nullptr : &found->second;
}

/* ---- SMs --------------------------------------------------------------------------------------------------------- */

namespace {

/* Where the CTAs of a cluster gather before and after it runs. */
struct cluster_place {
    cluster shared;
    std::condition_variable gathered;
    unsigned here = 0, turn = 0;
    uint64_t next; /* cluster to run */

    /* The last to come does `work`. */
    template <class Work> void gather(Work work) {
        std::unique_lock<std::mutex> lock(shared.mutex);
        unsigned now = turn;
        if (++here == shared.size) {
            work();
            here = 0;
            turn++;
            gathered.notify_all();
        } else {
            gathered.wait(lock, [&] { return turn != now; });
        }
    }
};

constexpr unsigned max_sms = 64;

struct machine {
    std::mutex launching, mutex;
    std::condition_variable changed;
    std::vector<cta *> sms;
    unsigned launches = 0, wanted = 0, working = 0; /* wanted: SMs that take part in the launch */
    const launch *work = nullptr;
    std::atomic<uint64_t> next, waited; /* waited: threads that called wait_for_previous() */
    uint64_t clusters, step, first;     /* cluster i in order is (i * step + first) % clusters */
    std::vector<cluster_place *> places;
};
machine &gpu() {
    static machine *m = [] {
        machine *made = new machine;
        made->sms.reserve(max_sms);
        return made;
    }();
    return *m;
}

struct module_search {
    const void *inside;
    char *begin;
    size_t bytes;
};

int find_thread_local(dl_phdr_info *info, size_t, void *data) {
    module_search *s = static_cast<module_search *>(data);
    bool ours = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto &h = info->dlpi_phdr[i];
        uintptr_t at = reinterpret_cast<uintptr_t>(s->inside) - info->dlpi_addr;
        ours |= h.p_type == PT_LOAD && at >= h.p_vaddr && at < h.p_vaddr + h.p_memsz;
    }
    for (int i = 0; ours && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            s->begin = static_cast<char *>(info->dlpi_tls_data);
            s->bytes = info->dlpi_phdr[i].p_memsz;
        }
    return ours;
}

/* Shared memory as a CTA finds it. */
void fill_shared(cta &c) {
    size_t bytes = c.work->shared_bytes;
    char *begin = c.shared_end - max_shared_bytes;
    EMULATED_SHOW(begin, max_shared_bytes);
    c.shared = c.shared_end - (bytes + 127) / 128 * 128;
    memset(c.shared, rubbish, bytes);
    EMULATED_HIDE(begin, size_t(c.shared - begin));
    EMULATED_HIDE(c.shared + bytes, size_t(c.shared_end - c.shared) - bytes);
    fiber *kept = current;
    fill_with_rubbish(c.thread_local_begin, c.thread_local_bytes); /* of all kernels: a CTA has written few pages */
    current = kept;
}

void run_block(cta &c, uint64_t block) {
    const launch &l = *c.work;
    c.where = {
        {unsigned(block % l.grid.x), unsigned(block / l.grid.x % l.grid.y), unsigned(block / l.grid.x / l.grid.y)},
        l.block,
        l.grid};
    c.random = mixed(seed + mixed(gpu().launches + mixed(block)));
    c.has_mbarriers = capability_number() >= 90;
    c.busy = true;
    run_cta(c);
    c.busy = false;
}

uint64_t take(machine &m) {
    uint64_t i = m.next++;
    return i < m.clusters ? (i * m.step + m.first) % m.clusters : m.clusters;
}

/* An SM's part in a launch. */
void work(cta &c, unsigned index) {
    machine &m = gpu();
    c.work = m.work;
    const unsigned size = m.work->cluster;
    if (size == 1) {
        c.in_cluster = nullptr;
        for (uint64_t block; (block = take(m)) < m.clusters;) {
            fill_shared(c);
            run_block(c, block);
        }
        return;
    }
    cluster_place &place = *m.places[index / size];
    c.in_cluster = &place.shared;
    c.rank = index % size;
    place.shared.members[c.rank] = &c;
    for (;;) {
        place.gather([&] {
            place.next = take(m);
            place.shared.arrived = 0;
            place.shared.live = size * m.work->block.x * m.work->block.y * m.work->block.z;
        });
        if (place.next >= m.clusters)
            return;
        fill_shared(c);
        place.gather([] {});
        run_block(c, place.next * size + c.rank);
        memset(c.shared, rubbish, m.work->shared_bytes); /* no thread may read it now */
    }
}

void *sm_main(void *argument) {
    machine &m = gpu();
    const unsigned index = unsigned(reinterpret_cast<uintptr_t>(argument));
    cta &c = *m.sms[index];
    current = &c.main;
    module_search tls = {reinterpret_cast<const void *>(&find_thread_local), nullptr, 0};
    dl_iterate_phdr(find_thread_local, &tls);
    c.thread_local_begin = tls.begin;
    c.thread_local_bytes = tls.bytes;
    pthread_attr_t attributes;
    void *stack;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &c.main.stack_bytes);
    pthread_attr_destroy(&attributes);
    c.main.stack = static_cast<char *>(stack);
    unsigned seen = 0;
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(m.mutex);
            m.changed.wait(lock, [&] { return m.launches != seen && index < m.wanted; });
            seen = m.launches;
        }
        work(c, index);
        std::lock_guard<std::mutex> lock(m.mutex);
        if (--m.working == 0)
            m.changed.notify_all();
    }
    return nullptr;
}

void add_sm(machine &m) {
    cta *c = new cta();
    size_t page = size_t(sysconf(_SC_PAGESIZE));
    char *memory = static_cast<char *>(
        mmap(nullptr, max_shared_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED || mprotect(memory + max_shared_bytes, page, PROT_NONE) != 0) {
        perror("emulator: shared memory");
        abort();
    }
    c->shared_end = memory + max_shared_bytes;
    c->warps = new warp[max_threads / 32]();
    c->main.in_cta = c;
    c->main.index = max_threads;
    m.sms.push_back(c);
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 16 << 20); /* thread-local memory lies there too */
    if (pthread_create(&thread, &attributes, sm_main, reinterpret_cast<void *>(m.sms.size() - 1))) {
        perror("emulator: pthread_create");
        abort();
    }
    pthread_attr_destroy(&attributes);
}

uint64_t progress(const machine &m) {
    uint64_t sum = m.next;
    for (const cta *c : m.sms)
        sum += c->progress;
    return sum;
}

} /* namespace */

unsigned sm_count() { return unsigned(std::min(std::max(environment("SCAN_EMULATED_SMS", 3), 1), int(max_sms))); }

void run(const launch &l) {
    static const unsigned usual = sm_count();
    static const int patience = environment("SCAN_EMULATED_PATIENCE", 120);
    machine &m = gpu();
    std::lock_guard<std::mutex> alone(m.launching);
    std::unique_lock<std::mutex> lock(m.mutex);
    m.work = &l;
    m.clusters = uint64_t(l.grid.x) * l.grid.y * l.grid.z / l.cluster;
    m.next = m.waited = 0;
    uint64_t random = mixed(seed + mixed(m.launches));
    m.first = random % m.clusters;
    for (m.step = (random >> 20) % m.clusters + 1; std::gcd(m.step, m.clusters) != 1; m.step++)
        ;
    unsigned places = usual / l.cluster > 0 ? usual / l.cluster : 1;
    if (places > m.clusters)
        places = unsigned(m.clusters);
    while (m.places.size() < places)
        m.places.push_back(new cluster_place());
    for (unsigned i = 0; i < places; i++)
        m.places[i]->shared.size = l.cluster;
    m.wanted = m.working = places * l.cluster;
    m.launches++; /* what SMs wait for, under the lock */
    while (m.sms.size() < m.wanted)
        add_sm(m);
    m.changed.notify_all();
    uint64_t before = 0;
    for (int quiet = 0; m.working;) {
        m.changed.wait_for(lock, std::chrono::seconds(1), [&] { return m.working == 0; });
        uint64_t now = progress(m);
        quiet = now == before ? quiet + 1 : 0;
        before = now;
        if (quiet > patience) {
            begin_report();
            fprintf(stderr, "emulator: no progress for %d s (seed %llu)\n", patience, (unsigned long long)seed);
            for (unsigned i = 0; i < m.wanted; i++)
                describe(*m.sms[i]);
            abort();
        }
    }
    const uint64_t threads = uint64_t(l.block.x) * l.block.y * l.block.z * l.grid.x * l.grid.y * l.grid.z;
    if (l.after && m.waited != threads) {
        begin_report();
        fprintf(stderr, "emulator: %llu of %llu threads waited for the launch before theirs\n",
                (unsigned long long)m.waited, (unsigned long long)threads);
        abort();
    }
}

void wait_for_previous() { gpu().waited++; }

} /* namespace emulator */
