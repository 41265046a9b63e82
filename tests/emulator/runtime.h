/* SPDX-License-Identifier: MIT
 *
 * Inside the emulated runtime: what runtime.cpp (errors, kernels), devices.cpp, allocations.cpp and streams.cpp share.
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
bool is_device(int device);
/* The device that is current for this thread. */
int current_device();
/* Makes a context on the current device if no context is current, as calls do that need one. */
void need_context();
void capability(int *major, int *minor);
cudaDeviceProp properties_of(int device);
extern std::atomic<size_t> objects;

/* Counts a launch. A device hangs from the launch on that emulator_hang_at() names. */
void count_launch();
bool hangs();
/* For calls that wait for the device: does not return if it hangs. */
void wait_for_device();

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

/* For calls that need a context. */
#define EMULATED_ENTER_CONTEXT()                                                                                       \
    do {                                                                                                               \
        EMULATED_ENTER();                                                                                              \
        emulator::need_context();                                                                                      \
    } while (0)

} /* namespace emulator */

#endif
