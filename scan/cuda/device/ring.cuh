/* SPDX-License-Identifier: MIT
 *
 * The frame of persistent single-pass kernels, for sm_80 and later: tiles of input go through a ring of slots in shared
 * memory.
 *
 *   load warp      takes tickets and copies tiles j, j + 1, ... into slots, as they become free
 *   other warps    hand a slot from one to the next through its barriers:
 *
 *       loaded  ->  reduced  ->  totalled  ->  prefixed  ->  consumed  -> (loaded, the tile `slots` later)
 *
 * j counts the tiles of this CTA. Slot and parity of every barrier follow from j alone, so that no warp keeps any other
 * state of the ring, and these barriers and `taken`, below, are the only ones. Every lane arrives, for what it has
 * stored and loaded itself: no slower than one lane for its warp, and compute-sanitizer's racecheck can follow it.
 *
 * Early release. Writing warps that hold a tile in registers arrive at `consumed` before its prefix is known, so its
 * bytes make room for another tile while its status, which is small, is still in use. Such a ring has a status more
 * than it has room for tiles: that of tile j is taken again for tile j + slots + 1, which is loaded after the writing
 * warps have consumed tile j + 1, and so have done with tile j. Three slots with early release keep the memory as busy
 * as four would: an f32 scan of 2^28 takes 0.55 ms on an H200 instead of 0.67.
 *
 * Progress. A tile waits for tiles of lower tickets only, which CTAs that run hold. So a CTA must reduce its tiles in
 * the order of its tickets, and for reducing one wait for nothing but its load and its own earlier tiles: then no
 * co-residency of the grid is needed. It may hold at most `flight` tickets, no more than its share of the tiles, or
 * short inputs would queue behind one CTA; a kernel that reduces ahead of scanning must do so by less than `flight`
 * tiles.
 *
 * Any address. Bulk copies need 16-byte addresses and sizes. A tile lies in its slot with the alignment modulo 16 that
 * it has in global memory: its aligned middle is one bulk copy, at most 15 bytes at either end are ordinary loads, and
 * nothing outside the array is read.
 *
 * Proxies. Warps access a slot through the generic proxy and bulk copies write it through the async proxy. Barriers
 * alone order nothing between the two: a bulk copy could overtake reads of the tile before. So the lane that starts the
 * copies of a tile executes a fence.proxy.async after it has waited for `consumed`. A proxy fence takes effect within
 * one thread, and its effect composes with that of barriers: this one covers what all warps have read and written
 * before they arrived. A thread that has written to a slot also executes one before it arrives, as the CUDA C++
 * Programming Guide asks of writers. None is needed after a bulk copy: its completion implies one. Source: PTX ISA,
 * "Async Proxy", "membar, fence" and "Memory Consistency Model".
 *
 * Without bulk copies, on sm_80, each lane copies 16 bytes at a time, asynchronously and through the generic proxy. One
 * warp would take long to start the copies of a tile, so there are several load warps: with one, and with two, an f32
 * scan of 2^28 takes 1.18 and 1.08 times as long on an H200 as with four. The first of them takes the tickets and tells
 * the others by one more barrier, `taken`. A lane arrives at `loaded` twice: by itself, for what it has read and
 * stored, and once its copies are done, which an arrival by itself says nothing of. Source: PTX ISA, "cp.async" and
 * "cp.async.mbarrier.arrive".
 */
#ifndef SCAN_CUDA_DEVICE_RING_CUH
#define SCAN_CUDA_DEVICE_RING_CUH

#include "tickets.cuh"

namespace scan_cuda {

constexpr int ring_slots = 6; /* of an SM of 228 KB of shared memory */
constexpr uint64_t no_tile = ~uint64_t(0);

/* Slots that a GPU has room for, and how many warps load tiles. */
__host__ __device__ constexpr int ring_slots_on(int capability) {
    return capability >= 90 && capability < 120 ? ring_slots : 3;
}
__host__ __device__ constexpr int load_warps_on(int capability) { return capability >= 90 ? 1 : 4; }

/* A bulk copy is fastest if its target has the address of its source modulo 128. With 16 bytes between them it asks L2
 * for a quarter more sectors, in three times as many requests: compaction of 2^27 u64, half of them kept, takes 433 us
 * on an H200 instead of 385. So slots have a multiple of this size. */
constexpr int bulk_line = 128;
constexpr int whole_lines(int bytes) { return (bytes + bulk_line - 1) / bulk_line * bulk_line; }

/* Kernels derive their slots from this and add what their warps hand each other. */
struct ring_slot {
    uint64_t taken;    /* the tile's number is there, for the other load warps */
    uint64_t loaded;   /* the tile is in shared memory, or there is none */
    uint64_t reduced;  /* every reducing warp has reduced its part */
    uint64_t totalled; /* the tile's total is there */
    uint64_t prefixed; /* the tile's prefix is there */
    uint64_t consumed; /* every writing warp has taken all it needs: the slot may be loaded again */
    uint64_t tile;     /* its number; no_tile: the CTA is done */
};

/* A ring with room for so many tiles has a status for each, and for one more if tiles leave it early. Host code asks
 * for it also where code for GPUs without mbarriers is compiled, which have no ring. */
__host__ __device__ constexpr int ring_status_slots(int room, bool early) { return room + early; }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

__device__ inline int load_warps() { return load_warps_on(device_capability()); }
__device__ inline bool has_bulk_copies() { return device_capability() >= 90; }

/* How often each lane of the load warps arrives at `loaded` for a copy. */
__device__ inline int load_arrivals() { return has_bulk_copies() ? 1 : 2; }

/* Starts copying `bytes` bytes from any global address to shared memory of the same alignment modulo 16, by the load
 * warps, every lane of which arrives at `loaded`. which: number of the load warp. */
__device__ inline void load_bytes(char *to, const char *from, uint32_t bytes, uint64_t *loaded, int lane,
                                  int which = 0) {
    const uint32_t head = min(bytes, uint32_t(-uintptr_t(from) % 16)), middle = (bytes - head) / 16 * 16;
    if (!has_bulk_copies()) {
        const uint32_t step = uint32_t(load_warps()) * 512, first = uint32_t(which * 32 + lane) * 16;
        char *target = to + head + first;
        const char *source = from + head + first;
#pragma unroll 4
        for (uint32_t k = middle / step; k > 0; k--, target += step, source += step)
            async_copy(target, source);
        if (first < middle % step)
            async_copy(target, source);
        async_copies_arrive(loaded);
    }
    const uint32_t i = lane < 16 ? uint32_t(lane) : head + middle + uint32_t(lane) - 16;
    if (which == 0 && i < (lane < 16 ? head : bytes))
        to[i] = from[i];
    if (lane != 0 || !has_bulk_copies()) {
        barrier_arrive(loaded);
    } else {
        barrier_arrive_expect(loaded, middle);
        if (middle)
            bulk_load(to + head, from + head, middle, loaded);
    }
}

/* copies: calls of load_bytes() for a tile. ends: slots that say no_tile, for warps that take every `ends`th tile.
 * early: `consumed` comes before the tile's prefix. patient: a ticket is taken only when the tile that is the next to
 * leave the ring has its prefix, and so waits for no other CTA. Then a tile is loaded and reduced soon after its
 * ticket, and no CTA waits for a tile that has no slot yet. */
template <class Slot, int copies = 1, int ends = 1, bool patient = false, bool early = false> class ring {
    char *memory;
    Slot *slots;
    int slot_bytes;
    int room; /* slots for tiles; slots of their status: status_slots */

  public:
    int flight; /* tickets a CTA may hold */

    __host__ __device__ static constexpr int status_slots(int room) { return ring_status_slots(room, early); }

    /* memory: room * slot_bytes; slot_bytes is a multiple of 16 and leaves room for the misalignment. */
    __device__ ring(char *memory, Slot *slots, int slot_bytes, int room, uint64_t tiles)
        : memory(memory), slots(slots), slot_bytes(slot_bytes), room(room) {
        uint64_t share = (tiles + gridDim.x - 1) / gridDim.x;
        flight = int(max(uint64_t(1), min(share, uint64_t(room))));
    }

    /* By one thread, before a barrier of the CTA. compute_warps arrive at reduced, and as many at consumed. */
    __device__ static void open(Slot *slots, int room, uint32_t compute_warps) {
        for (int i = 0; i < status_slots(room); i++) {
            if (load_warps() > 1)
                barrier_init(&slots[i].taken, 32);
            barrier_init(&slots[i].loaded, uint32_t(32 * copies * load_warps() * load_arrivals()));
            barrier_init(&slots[i].reduced, 32 * compute_warps);
            barrier_init(&slots[i].totalled, 32);
            barrier_init(&slots[i].prefixed, 32);
            barrier_init(&slots[i].consumed, 32 * compute_warps);
        }
        barrier_init_fence();
    }

    __device__ Slot &slot(int j) const { return slots[j % status_slots(room)]; }
    __device__ char *data(int j) const { return memory + j % room * slot_bytes; }
    __device__ uint32_t parity(int j) const { return j / status_slots(room) & 1; }

    /* Waits until tile j is loaded and returns its number, or no_tile. Lanes read the same number, which the compiler
     * knows by the shuffle or, before sm_90, by the vote: else it provides for lanes that part here in every later
     * shuffle, which makes the code of the wave 1.7 times as large. */
    __device__ uint64_t tile(int j) const {
        barrier_wait(&slot(j).loaded, parity(j));
        const uint64_t tile = slot(j).tile;
        if (!has_bulk_copies())
            return __all_sync(all_lanes, tile == no_tile) ? no_tile : tile;
        return __shfl_sync(all_lanes, tile, 0);
    }

    /* The load warps: bring tiles until the tickets are used up. fetch(j, t) starts copying tile t into data(j), by
     * `copies` calls of load_bytes. which: number of the load warp. */
    template <class Fetch>
    __device__ void load(const scan_state &state, ticket first, uint64_t tiles, int lane, Fetch fetch,
                         int which = 0) const {
        uint32_t t = first.number;
        int j = 0;
        for (;; j++) {
            if (which == 0)
                take_tile(state, j, tiles, lane, t);
            else
                t = taken_tile(j);
            if (t >= tiles)
                break;
            fetch(j, uint64_t(t));
            __syncwarp();
        }
        if (which == 0 && lane == 0 && t == tiles + gridDim.x - 1) /* the last: every CTA takes one beyond the tiles */
            hand_over(state, first.epoch);
        for (int end = j; end < j + ends; end++) {
            if (end >= room)
                barrier_wait(&slot(end - room).consumed, parity(end - room));
            if (which == 0)
                tell(end, no_tile, lane);
            for (int i = 0; i < copies * load_arrivals(); i++)
                barrier_arrive(&slot(end).loaded);
        }
    }

  private:
    /* Sets slot(j).tile to the CTA's next tile, if there is one, once the slot is free. t: the last ticket, and then
     * this one. */
    __device__ void take_tile(const scan_state &state, int j, uint64_t tiles, int lane, uint32_t &t) const {
        const int leaving = j - flight - early;
        uint32_t taken = t;
        if (j > 0) {
            if (patient && leaving >= 0)
                barrier_wait(&slot(leaving).prefixed, parity(leaving));
            else if (flight == 1) /* one ticket: the previous tile is reduced first */
                barrier_wait(&slot(j - 1).reduced, parity(j - 1));
            if (lane == 0)
                taken = take_ticket(state).number; /* arrives while a slot is waited for */
        }
        if (j >= flight)
            barrier_wait(&slot(j - flight).consumed, parity(j - flight));
        t = __shfl_sync(all_lanes, taken, 0);
        if (t < tiles) {
            tell(j, t, lane);
            if (lane == 0)
                bulk_fence();
        }
        __syncwarp();
    }

    /* Sets slot(j).tile, by the first load warp. */
    __device__ void tell(int j, uint64_t tile, int lane) const {
        if (lane == 0)
            slot(j).tile = tile;
        if (load_warps() > 1)
            barrier_arrive(&slot(j).taken);
    }

    /* The tile that the first load warp has told the others of, once the slot is free; no tile's number at the end. */
    __device__ uint32_t taken_tile(int j) const {
        barrier_wait(&slot(j).taken, parity(j));
        if (j >= flight)
            barrier_wait(&slot(j - flight).consumed, parity(j - flight));
        return __shfl_sync(all_lanes, uint32_t(slot(j).tile), 0);
    }
};

#endif

} /* namespace scan_cuda */

#endif
