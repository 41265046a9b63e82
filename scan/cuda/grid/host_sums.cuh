/* SPDX-License-Identifier: MIT
 *
 * Host-propagated sums: block scans on the device, the block sums scanned on the host, add on the device.
 *
 *     device   every block scans its section and writes its total to S      (kernel 1 of hierarchical.cuh)
 *     host     S is copied back, scanned serially, and sent again
 *     device   block b adds S[b - 1], block 0 nothing                       (kernel 3 of hierarchical.cuh)
 *
 * Idea. The simplest way past one block: blocks cannot pass values to each other, so the host does.
 *
 * Work: the block scan's additions, ceil(n / section) on the host, n to add. Depth: the block scan's, n / section
 * serial steps of the host, one. Traffic: n reads and n writes twice, 16 bytes an element of 4, and 2 ceil(n / section)
 * elements over the bus. Barriers: the block scan's; the host waits for the device twice.
 *
 * Limits: the slowest scan here. It is the one that waits for the device, so it can be captured in no graph. Each total
 * is the section's own last inclusive value, taken from shared memory: read back from the array at a fixed thread it
 * would be out of range in a partial last section. The order of operations is its own, the same from run to run.
 *
 * Source: the textbook's first step from one block to many, as it teaches it before the hierarchical scan.
 */
#ifndef SCAN_CUDA_GRID_HOST_SUMS_CUH
#define SCAN_CUDA_GRID_HOST_SUMS_CUH

#include <cstddef>

namespace scan_cuda {

/* The serial scan of the block sums, on the host. */
template <class Op> void host_scan_sums(void *sums, size_t n) {
    using T = typename Op::type;
    T *s = static_cast<T *>(sums);
    for (size_t i = 1; i < n; i++)
        s[i] = Op::apply(s[i - 1], s[i]);
}

} /* namespace scan_cuda */

#endif
