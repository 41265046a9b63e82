/* SPDX-License-Identifier: MIT
 *
 * An operator that is known at run time: the results of all are computed and one is selected. It is for kernels with
 * little work, which then exist once an accumulator type, without a branch.
 */
#ifndef SCAN_CUDA_PREFIX_ANY_OPERATOR_CUH
#define SCAN_CUDA_PREFIX_ANY_OPERATOR_CUH

#include "../device/order.cuh"
#include "kernels.h"

namespace scan_cuda {

enum class operator_class { INTEGERS, NUMBERS }; /* that an operator takes: SCAN_CUDA_OPERATORS */

/* The operator over T that element_code names. */
template <class T> struct any_operator {
    using type = T;
    operation named;

    __device__ T identity() const {
        return select([](auto op) { return op.identity(); });
    }

    __device__ T apply(T a, T b) const {
        return select([&](auto op) { return op.apply(a, b); });
    }

  private:
    template <class F> __device__ T select(F result_of) const {
        T x{};
#define SELECT(op, CLASSES, ...)                                                                                       \
    if constexpr (operator_class::CLASSES == operator_class::NUMBERS || !is_floating<T>)                               \
        x = either(named == operation::op, result_of(op<T>()), x);
        SCAN_CUDA_OPERATORS(SELECT, )
#undef SELECT
        return x;
    }

    /* Of two results that there are: in an expression with ?: the compiler would branch. */
    static __device__ T either(bool first, T a, T b) { return first ? a : b; }
};

/* An operator as a value, and the operator as which its elements are coded. For any_operator over integers that is
 * maximum: where an operator folds elements as they are, element_code has nothing set. */
template <class Op> struct operator_value {
    using coded_as = Op;
    static __device__ Op of(const element_code &) { return Op(); }
};
template <class T> struct operator_value<any_operator<T>> {
    template <class U, bool> struct coding { using type = maximum<U>; };
    template <class U> struct coding<U, true> { using type = add<U>; };
    using coded_as = typename coding<T, is_floating<T>>::type;
    static __device__ any_operator<T> of(const element_code &code) { return {code.op}; }
};

} /* namespace scan_cuda */

#endif
