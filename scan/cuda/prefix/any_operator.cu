/* SPDX-License-Identifier: MIT
 *
 * Kernels that serve every operator. The block scans of the teaching grids and the ends of pieces exist once an
 * accumulator type, not once an operator: each is a switch over the same kernel made for every operator. That keeps the
 * number of kernels down, all of which a context loads, and costs a branch that all threads take alike.
 */
#include "instance.cuh"

namespace scan_cuda {

/* Stands for the operator over T that element_code names. */
template <class T> struct any_operator { using type = T; };

enum class types { INTEGERS, NUMBERS }; /* that an operator takes: SCAN_CUDA_OPERATORS */

template <class T, class F> __device__ void for_operator(any_operator<T>, const element_code &code, F f) {
    switch (code.op) {
#define CASE(op, CLASSES, ...)                                                                                         \
    case operation::op:                                                                                                \
        if constexpr (types::CLASSES == types::NUMBERS || !is_floating<T>)                                             \
            f(op<T>());                                                                                                \
        break;
        SCAN_CUDA_OPERATORS(CASE, )
#undef CASE
    }
}

template <class T> shared_kernels any_operator_kernels() { return instantiate_shared<any_operator<T>>(); }

template shared_kernels any_operator_kernels<uint8_t>();
template shared_kernels any_operator_kernels<uint16_t>();
template shared_kernels any_operator_kernels<uint32_t>();
template shared_kernels any_operator_kernels<uint64_t>();
template shared_kernels any_operator_kernels<float>();
template shared_kernels any_operator_kernels<double>();

} /* namespace scan_cuda */
