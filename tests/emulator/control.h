/* SPDX-License-Identifier: MIT
 *
 * What tests may ask of the emulator beyond CUDA's interface.
 *
 * A runtime call that is made to fail does nothing, except that what would free something still frees it. Calls are
 * counted from 1, those that cannot fail (cudaGetLastError, names of errors) are not.
 */
#ifndef TESTS_EMULATOR_CONTROL_H
#define TESTS_EMULATOR_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the call-th runtime call from now fail with this error, all later ones too if `forever`. 0: none. */
void emulator_fail_call(long call, int error, bool forever);
/* Runtime calls since emulator_fail_call. */
long emulator_calls(void);
/* Makes the launch-th kernel from now run without end, and with it the device hang: nothing that is submitted after it
 * is done, and a call that waits for the device does not return. 0: none. The environment variable
 * SCAN_EMULATED_HANG=LAUNCH does it from the program's begin; then exit() does not return either. */
void emulator_hang_at(long launch);
/* Whether a primary context was made on the device since the last emulator_forget_contexts(), after which this thread
 * has no context either, as at the start of a program. */
int emulator_has_context(int device);
void emulator_forget_contexts(void);
/* Memory, streams, events, graphs and retained contexts that exist. */
size_t emulator_objects(void);

/* Kernels that were launched to begin early (programmatic dependent launch), and the CTAs of the largest cluster that
 * was launched, since the program began or the last emulator_forget_launches(). */
size_t emulator_early_launches(void);
unsigned emulator_cluster_launched(void);
void emulator_forget_launches(void);

#ifdef __cplusplus
}
#endif
#endif
