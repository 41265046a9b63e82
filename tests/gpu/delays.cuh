/* SPDX-License-Identifier: MIT
 *
 * Delays wherever the library calls perturb(): none, of random length, or long ones in one CTA. To be included before
 * any header of the library's kernels.
 */
#ifndef TESTS_GPU_DELAYS_CUH
#define TESTS_GPU_DELAYS_CUH

#define SCAN_PERTURB
#include "direct.cuh"
#include "spin.cuh"

enum { NO_DELAYS, RANDOM_DELAYS, ONE_CTA_LATE };

struct delays {
    unsigned mode, seed, late_cta, calls; /* calls: delays left for the late CTA */
};

static __device__ delays current;

static __device__ void pause_ns(unsigned nanoseconds) {
#ifdef SCAN_EMULATED
    for (unsigned i = 0; i <= nanoseconds / 1000; i++)
        __nanosleep(1); /* lets others run */
#else
    spin_ns(nanoseconds);
#endif
}

__device__ void scan_cuda::perturb() {
    if (current.mode == RANDOM_DELAYS) {
        unsigned z = current.seed + blockIdx.x * 0x9e3779b9u + threadIdx.x / 32 * 0x85ebca6bu + unsigned(clock64());
        z = (z ^ z >> 16) * 0x7feb352du;
        z = (z ^ z >> 15) * 0x846ca68bu;
        if (z % 4 == 0)
            pause_ns(z >> 8 & 8191);
    } else if (current.mode == ONE_CTA_LATE && blockIdx.x == current.late_cta) {
        if (threadIdx.x % 32 == 0 && atomicSub(&current.calls, 1u) - 1 < 8) /* below zero it is large */
            pause_ns(1000000);
    }
}

static __global__ void set_delays_kernel(delays d) { current = d; }

static void set_delays(unsigned mode, unsigned seed, unsigned late_cta) {
    delays d = {mode, seed, late_cta, 8};
    void *arguments[] = {&d};
    direct_launch(scan_cuda::address(set_delays_kernel), 1, 1, arguments, 0);
}

#endif
