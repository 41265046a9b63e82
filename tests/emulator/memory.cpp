/* SPDX-License-Identifier: MIT
 *
 * mbarriers, asynchronous copies, clusters.
 *
 * An mbarrier is one word, as in hardware: the phase, arrivals still missing, arrivals a phase, bytes still missing. A
 * tag tells it from memory that was never initialised.
 */
#include <algorithm>

#include "cta.h"

namespace emulator {

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

namespace {
/* From the top: tag 5 bits, phase 1, bytes 22, missing 18, arrivals 18. */
struct mbarrier {
    unsigned phase, missing, arrivals;
    int64_t bytes;
};
constexpr uint64_t tag = 0x15;
constexpr unsigned max_arrivals = (1 << 18) - 1;

mbarrier load(const uint64_t *word, const char *what) {
    if (reinterpret_cast<uintptr_t>(word) % 8)
        die("%s: the mbarrier at %p is misaligned", what, static_cast<const void *>(word));
    uint64_t bits = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    if (bits >> 59 != tag)
        die("%s: no mbarrier was initialised at %p", what, static_cast<const void *>(word));
    return {unsigned(bits >> 58 & 1), unsigned(bits >> 18) & max_arrivals, unsigned(bits) & max_arrivals,
            int64_t(bits << 6) >> 42};
}

uint64_t bits_of(mbarrier b) {
    return tag << 59 | uint64_t(b.phase) << 58 | (uint64_t(b.bytes) & 0x3fffff) << 36 | uint64_t(b.missing) << 18 |
           b.arrivals;
}

bool inside(const cta &c, const void *p) {
    const char *at = static_cast<const char *>(p);
    return (at >= c.shared && at < c.shared_end) ||
           (at >= c.thread_local_begin && at < c.thread_local_begin + c.thread_local_bytes);
}
} /* namespace */

void mbarrier_init(uint64_t *barrier, uint32_t arrivals) {
    if (reinterpret_cast<uintptr_t>(barrier) % 8 || !inside(*current->in_cta, barrier))
        die("an mbarrier at %p: misaligned, or not in shared memory", static_cast<void *>(barrier));
    if (arrivals == 0 || arrivals > max_arrivals)
        die("an mbarrier of %u arrivals", arrivals);
    mbarrier b = {0, arrivals, arrivals, 0};
    __atomic_store_n(barrier, bits_of(b), __ATOMIC_SEQ_CST);
}

void mbarrier_update(uint64_t *barrier, uint32_t arrivals, int64_t bytes, const char *what) {
    bool completes;
    for (;;) {
        mbarrier b = load(barrier, what);
        uint64_t before = bits_of(b);
        if (arrivals > b.missing)
            die("%s: more arrivals than the mbarrier's %u a phase", what, b.arrivals);
        b.missing -= arrivals;
        b.bytes += bytes;
        completes = b.missing == 0 && b.bytes == 0;
        if (completes) {
            b.phase ^= 1;
            b.missing = b.arrivals;
        }
        if (__atomic_compare_exchange_n(barrier, &before, bits_of(b), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            break;
    }
    if (!completes)
        return;
    cta &c = *current->in_cta;
    if (inside(c, barrier)) {
        wake(c, barrier);
        return;
    }
    for (unsigned i = 0; c.in_cluster && i < c.in_cluster->size; i++)
        if (inside(*c.in_cluster->members[i], barrier))
            c.in_cluster->members[i]->disturbed = true;
}

bool has_mbarriers() { return current->in_cta->has_mbarriers; }

/* Has the phase of this parity ended? */
bool mbarrier_done(const uint64_t *barrier, uint32_t parity, const char *what) {
    return load(barrier, what).phase != (parity & 1);
}

void mbarrier_wait(uint64_t *barrier, uint32_t parity) {
    maybe_switch();
    while (!mbarrier_done(barrier, parity, "barrier_wait()"))
        wait_for(barrier, parity ? "barrier_wait() for parity 1" : "barrier_wait() for parity 0", parity);
    current->fenced = 0;
    lane_waited();
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* ASan knows memory in units of 8 bytes. Copies of single elements are not hidden. */
static bool hidden(const copy &y) { return reinterpret_cast<uintptr_t>(y.to) % 8 == 0 && y.bytes % 16 == 0; }

/* Does a bulk copy that begins come after the earlier ones to the same memory, and after what was made of them? */
static void check_order(const cta &c, const copy &y) {
    const char *begin = y.to, *end = y.to + y.bytes;
    for (const copy &other : c.copies)
        if (begin < other.to + other.bytes && other.to < end)
            die("%s of %zu bytes to %p, where %s of %zu bytes to %p is not done yet", y.what, y.bytes,
                static_cast<void *>(y.to), other.what, other.bytes, static_cast<void *>(other.to));
    for (const bulk_range &r : c.bulk_ranges)
        if (begin < r.end && r.begin < end && r.done > y.owner->fenced)
            die("%s of %zu bytes to %p, over %zu bytes at %p that an earlier one has written: there is no bulk_fence() "
                "by this thread between its last wait and the copy",
                y.what, y.bytes, static_cast<void *>(y.to), size_t(r.end - r.begin),
                static_cast<const void *>(r.begin));
}

static void bulk_copy_done(cta &c, const copy &y) {
    const bulk_range whole = {y.to, y.to + y.bytes, ++c.bulk_done};
    auto &ranges = c.bulk_ranges;
    const auto covered = [&](const bulk_range &r) { return r.begin >= whole.begin && r.end <= whole.end; };
    ranges.erase(std::remove_if(ranges.begin(), ranges.end(), covered), ranges.end());
    ranges.push_back(whole);
}

void bulk_fence() { current->fenced = current->in_cta->bulk_done; }

void copy_later(void *to, const void *from, size_t bytes, uint64_t *barrier, const char *what) {
    if (bytes == 0)
        die("%s of no bytes", what);
    copy y = {static_cast<char *>(to), static_cast<const char *>(from), bytes, barrier, current, what,
              barrier != nullptr};
    if (barrier)
        check_order(*current->in_cta, y);
    memset(to, rubbish, bytes);
    if (hidden(y))
        EMULATED_HIDE(y.to, bytes);
    current->in_cta->copies.push_back(y);
    current->copies += !barrier;
    maybe_switch();
}

void finish_one_copy(cta &c) {
    size_t which = draw(c) % c.copies.size();
    copy y = c.copies[which];
    c.copies[which] = c.copies.back();
    c.copies.pop_back();
    if (hidden(y))
        EMULATED_SHOW(y.to, y.bytes);
    memcpy(y.to, y.from, y.bytes);
    if (y.is_bulk)
        bulk_copy_done(c, y);
    if (y.barrier) {
        mbarrier_update(y.barrier, 0, -int64_t(y.bytes), y.what);
    } else {
        y.owner->copies--;
    }
}

void copies_wait() {
    while (current->copies)
        poll("copies_wait()");
}

/* As if the arrival came at once, and said how many bytes are to come. */
void copies_signal(uint64_t *barrier, const char *what) {
    int64_t bytes = 0;
    for (copy &y : current->in_cta->copies)
        if (y.owner == current && !y.barrier) {
            y.barrier = barrier;
            bytes += int64_t(y.bytes);
            current->copies--;
        }
    mbarrier_update(barrier, 1, bytes, what);
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

unsigned cluster_size() { return current->in_cta->in_cluster ? current->in_cta->in_cluster->size : 1; }
unsigned cluster_rank() { return current->in_cta->in_cluster ? current->in_cta->rank : 0; }

static void cluster_complete(cluster &k) {
    k.arrived = 0;
    k.generation++;
    for (unsigned i = 0; i < k.size; i++)
        k.members[i]->disturbed = true;
}

static void store_late(fiber &f) {
    for (const late_store &s : f.stores)
        memcpy(s.to, s.value, s.bytes);
    f.stores.clear();
}

void cluster_store(void *to, const void *value, size_t bytes) {
    late_store s = {to, bytes, {}};
    memcpy(s.value, value, bytes);
    current->stores.push_back(s);
    if (draw() % 4 == 0)
        store_late(*current);
}

void cluster_arrive(bool release) {
    check_aligned("cluster_arrive()");
    cluster *k = current->in_cta->in_cluster;
    if (release)
        store_late(*current);
    if (!k)
        return;
    std::lock_guard<std::mutex> lock(k->mutex);
    current->cluster_generation = k->generation;
    if (++k->arrived == k->live)
        cluster_complete(*k);
}

void cluster_wait() {
    check_aligned("cluster_wait()");
    cluster *k = current->in_cta->in_cluster;
    maybe_switch();
    while (k && k->generation == current->cluster_generation)
        wait_for(k, "cluster_wait()");
    current->fenced = 0;
}

/* A thread has ended, and no thread waits for it. */
void cluster_leave(cta &c) {
    cluster &k = *c.in_cluster;
    std::lock_guard<std::mutex> lock(k.mutex);
    if (--k.live && k.arrived == k.live)
        cluster_complete(k);
}

/* Wakes those whose wait another CTA has ended. */
void recheck(cta &c) {
    for (int i = 0; i < c.threads; i++) {
        fiber *f = c.fibers[size_t(i)];
        if (f->state != fiber::waiting)
            continue;
        bool done = false;
        if (f->waits_for == c.in_cluster)
            done = c.in_cluster->generation != f->cluster_generation;
        else if (inside(c, f->waits_for))
            done = mbarrier_done(static_cast<const uint64_t *>(f->waits_for), f->parity, f->what);
        if (done) {
            f->state = fiber::ready;
            f->waits_for = nullptr;
            c.ready.push(f->index);
        }
    }
}

void *cluster_map(const void *here, unsigned rank) {
    cta &c = *current->in_cta;
    if (rank >= cluster_size())
        die("cluster_map() to rank %u of a cluster of %u", rank, cluster_size());
    cta &other = c.in_cluster ? *c.in_cluster->members[rank] : c;
    const char *p = static_cast<const char *>(here);
    if (p >= c.shared && p <= c.shared_end)
        return other.shared + (p - c.shared);
    if (inside(c, p))
        return other.thread_local_begin + (p - c.thread_local_begin);
    die("cluster_map() of %p, which is not in shared memory", here);
}

} /* namespace emulator */
