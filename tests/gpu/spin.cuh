/* SPDX-License-Identifier: MIT
 *
 * A thread that does nothing for some time.
 */
#ifndef TESTS_GPU_SPIN_CUH
#define TESTS_GPU_SPIN_CUH

#include <cstdint>

#ifndef SCAN_EMULATED
/* Not __nanosleep(): ptxas 13.0 finds no registers for it in a pass of the sort. */
static __device__ inline void spin_ns(uint64_t nanoseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}
#endif

#endif
