/* SPDX-License-Identifier: MIT
 *
 * Inside the emulated runtime: what runtime.cpp (devices, errors, kernels), allocations.cpp and streams.cpp share.
 */
#ifndef TESTS_EMULATOR_RUNTIME_H
#define TESTS_EMULATOR_RUNTIME_H

#include <functional>

#include "emulator.h"

namespace emulator {

/* Counts a runtime call; not cudaSuccess if it is to fail. */
cudaError_t enter();
/* Notes an error for cudaGetLastError. */
cudaError_t note(cudaError_t);
/* As note, for arguments of this thread's device. */
bool is_device(int device);
extern std::atomic<size_t> objects;

/* Does the work now, or records it where the stream is being captured. */
cudaError_t submit(cudaStream_t, std::function<cudaError_t()> work);
/* An error for calls that no capture allows. */
cudaError_t outside_capture();

#define EMULATED_ENTER()                                                                                               \
    do {                                                                                                               \
        cudaError_t injected = emulator::enter();                                                                      \
        if (injected != cudaSuccess)                                                                                   \
            return injected;                                                                                           \
    } while (0)

} /* namespace emulator */

#endif
