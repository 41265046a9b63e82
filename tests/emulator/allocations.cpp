/* SPDX-License-Identifier: MIT
 *
 * Device, managed and pinned memory. New memory holds rubbish. Guard zones on both sides are looked at when it is
 * freed, under AddressSanitizer they are its own.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "cta.h"
#include "runtime.h"

namespace emulator {

constexpr size_t zone = 256; /* bytes, and the alignment of device memory */
constexpr unsigned char guard = 0xfd;

struct allocation {
    size_t bytes;
    cudaMemoryType type;
    int device;
};

struct heap {
    std::mutex mutex;
    std::map<uintptr_t, allocation> blocks;
    size_t used = 0;
};
static heap &memory() {
    static heap *h = new heap;
    return *h;
}

static size_t capacity() {
    const char *text = getenv("SCAN_EMULATED_MEMORY");
    return text && *text ? size_t(strtoull(text, nullptr, 0)) : size_t(4) << 30;
}

/* Makes memory hold rubbish. Whole pages of large memory are those of one file until they are written: most programs
 * write few of them, and filling a page takes a fault. */
void fill_with_rubbish(char *memory, size_t bytes) {
    constexpr size_t page = 4096, file_bytes = 1 << 20;
    static const int file = [] {
        const std::vector<char> all(file_bytes, char(rubbish));
        const int made = memfd_create("rubbish", MFD_CLOEXEC);
        return made >= 0 && write(made, all.data(), file_bytes) == ssize_t(file_bytes) ? made : -1;
    }();
    char *const end = memory + bytes;
    while (file >= 0 && bytes >= 16 * page && size_t(end - memory) >= page) {
        const size_t before = -reinterpret_cast<uintptr_t>(memory) % page;
        memset(memory, rubbish, before);
        memory += before;
        const size_t part = std::min(size_t(end - memory) / page * page, file_bytes);
        if (part == 0 || mmap(memory, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
            break;
        memory += part;
    }
    memset(memory, rubbish, size_t(end - memory));
}

static cudaError_t allocate(void **pointer, size_t bytes, cudaMemoryType type) {
    *pointer = nullptr;
    const int device = current_device();
    if (bytes == 0)
        return cudaSuccess;
    heap &h = memory();
    std::lock_guard<std::mutex> lock(h.mutex);
    if (type == cudaMemoryTypeDevice && (bytes > capacity() || h.used + bytes > capacity()))
        return cudaErrorMemoryAllocation;
    char *room = static_cast<char *>(aligned_alloc(zone, (bytes + 3 * zone - 1) / zone * zone));
    if (!room)
        return cudaErrorMemoryAllocation;
    char *begin = room + zone;
    memset(room, guard, zone);
    fill_with_rubbish(begin, bytes);
    memset(begin + bytes, guard, zone - bytes % zone);
    EMULATED_HIDE(room, zone);
    EMULATED_HIDE(begin + bytes, zone - bytes % zone);
    h.blocks[reinterpret_cast<uintptr_t>(begin)] = {bytes, type, device};
    h.used += type == cudaMemoryTypeDevice ? bytes : 0;
    objects++;
    *pointer = begin;
    return cudaSuccess;
}

static cudaError_t release(void *pointer, bool host) {
    if (!pointer)
        return cudaSuccess;
    heap &h = memory();
    std::lock_guard<std::mutex> lock(h.mutex);
    auto found = h.blocks.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == h.blocks.end() || (found->second.type == cudaMemoryTypeHost) != host)
        return cudaErrorInvalidValue;
    const size_t bytes = found->second.bytes;
    char *begin = static_cast<char *>(pointer), *room = begin - zone;
    EMULATED_SHOW(room, zone);
    EMULATED_SHOW(begin + bytes, zone - bytes % zone);
    for (size_t i = 0; i < zone; i++)
        if ((unsigned char)room[i] != guard)
            die("memory of %zu bytes at %p was written %zu bytes before its begin", bytes, pointer, zone - i);
    for (size_t i = 0; i < zone - bytes % zone; i++)
        if ((unsigned char)begin[bytes + i] != guard)
            die("memory of %zu bytes at %p was written %zu bytes past its end", bytes, pointer, i);
    h.used -= found->second.type == cudaMemoryTypeDevice ? bytes : 0;
    h.blocks.erase(found);
    objects--;
    free(room);
    return cudaSuccess;
}

} /* namespace emulator */

using namespace emulator;

extern "C" {

/* An allocation is refused in a capture, as every call is that would have to wait. */
static cudaError_t enter_outside_capture() {
    EMULATED_ENTER_CONTEXT();
    return note(outside_capture());
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
    cudaError_t error = enter_outside_capture();
    return error != cudaSuccess ? error : note(allocate(pointer, bytes, cudaMemoryTypeDevice));
}
cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned) {
    cudaError_t error = enter_outside_capture();
    return error != cudaSuccess ? error : note(allocate(pointer, bytes, cudaMemoryTypeManaged));
}
cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
    cudaError_t error = enter_outside_capture();
    return error != cudaSuccess ? error : note(allocate(pointer, bytes, cudaMemoryTypeHost));
}
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned) { return cudaMallocHost(pointer, bytes); }
cudaError_t cudaHostRegister(void *, size_t, unsigned) {
    EMULATED_ENTER();
    return note(cudaErrorNotSupported);
}
cudaError_t cudaHostUnregister(void *) {
    EMULATED_ENTER();
    return note(cudaErrorNotSupported);
}
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned) {
    EMULATED_ENTER();
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaFree(void *pointer) {
    wait_for_device();
    cudaError_t ordered = enter(), error = release(pointer, false);
    return note(ordered != cudaSuccess ? ordered : error);
}
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t) { return cudaFree(pointer); }
cudaError_t cudaFreeHost(void *pointer) {
    wait_for_device();
    cudaError_t ordered = enter(), error = release(pointer, true);
    return note(ordered != cudaSuccess ? ordered : error);
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    heap &h = memory();
    std::lock_guard<std::mutex> lock(h.mutex);
    *total = capacity();
    *left = *total - (h.used < *total ? h.used : *total);
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
    EMULATED_ENTER();
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void *>(pointer)};
    heap &h = memory();
    std::lock_guard<std::mutex> lock(h.mutex);
    auto after = h.blocks.upper_bound(reinterpret_cast<uintptr_t>(pointer));
    if (after == h.blocks.begin())
        return cudaSuccess;
    const auto &[begin, found] = *--after;
    if (reinterpret_cast<uintptr_t>(pointer) >= begin + found.bytes)
        return cudaSuccess;
    attributes->type = found.type;
    attributes->device = found.device;
    attributes->devicePointer = const_cast<void *>(pointer);
    if (found.type == cudaMemoryTypeHost && environment("SCAN_EMULATED_HOST_ALIAS", 0))
        attributes->devicePointer = static_cast<char *>(attributes->devicePointer) + zone;
    if (found.type == cudaMemoryTypeDevice)
        attributes->hostPointer = nullptr;
    return cudaSuccess;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool is_pageable(const void *pointer) {
    heap &h = memory();
    std::lock_guard<std::mutex> lock(h.mutex);
    auto after = h.blocks.upper_bound(reinterpret_cast<uintptr_t>(pointer));
    return after == h.blocks.begin() ||
           reinterpret_cast<uintptr_t>(pointer) >= std::prev(after)->first + std::prev(after)->second.bytes;
}

static cudaError_t copy_on(cudaStream_t stream, void *to, const void *from, size_t bytes) {
    return submit(stream, [=] {
        if (bytes)
            memmove(to, from, bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind) {
    cudaError_t error = enter_outside_capture();
    wait_for_device();
    return error != cudaSuccess ? error : note(copy_on(nullptr, to, from, bytes));
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind, cudaStream_t stream) {
    EMULATED_ENTER();
    if (hangs() && (is_pageable(to) || is_pageable(from)))
        wait_for_device();
    return note(copy_on(stream, to, from, bytes));
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    EMULATED_ENTER();
    return note(submit(stream, [=] {
        if (bytes)
            memset(memory, value, bytes);
        return cudaSuccess;
    }));
}
cudaError_t cudaMemset(void *memory, int value, size_t bytes) { return cudaMemsetAsync(memory, value, bytes, nullptr); }
}
