/* SPDX-License-Identifier: MIT
 *
 * The part of the CUDA driver's interface that the project uses, as cuda_runtime_api.h is of the runtime's.
 */
#ifndef TESTS_EMULATOR_CUDA_H
#define TESTS_EMULATOR_CUDA_H

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_DEVICE = 101, CUDA_ERROR_UNKNOWN = 999 } CUresult;

#endif
