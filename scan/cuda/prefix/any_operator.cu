/* SPDX-License-Identifier: MIT
 *
 * Kernels that serve every operator: the block scans of the teaching grids and the ends of pieces exist once an
 * accumulator type, not once an operator. That keeps the number of kernels down, all of which a context loads. The ends
 * of pieces apply any_operator. A block scan is a switch over the same kernel made for every operator, which costs a
 * branch that all threads take alike.
 */
#include "any_operator.cuh"
#include "instance.cuh"

namespace scan_cuda {

template <class T, class F> __device__ void for_operator(any_operator<T>, const element_code &code, F f) {
    switch (code.op) {
#define CASE(op, CLASSES, ...)                                                                                         \
    case operation::op:                                                                                                \
        if constexpr (operator_class::CLASSES == operator_class::NUMBERS || !is_floating<T>)                           \
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
