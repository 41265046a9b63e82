/* SPDX-License-Identifier: MIT
 *
 * The part of the CUDA driver's interface that the project uses, as cuda_runtime_api.h is of the runtime's.
 */
#ifndef TESTS_EMULATOR_CUDA_H
#define TESTS_EMULATOR_CUDA_H

#include <stdint.h>

typedef int CUdevice;
typedef uintptr_t CUdeviceptr;
typedef struct CUstream_st *CUstream;
typedef struct CUctx_st *CUcontext;
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_DEVICE = 101, CUDA_ERROR_UNKNOWN = 999 } CUresult;

typedef enum CUstreamCaptureStatus_enum { CU_STREAM_CAPTURE_STATUS_NONE = 0 } CUstreamCaptureStatus;
typedef enum CUmemorytype_enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 } CUmemorytype;
typedef enum CUpointer_attribute_enum {
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
} CUpointer_attribute;

#endif
