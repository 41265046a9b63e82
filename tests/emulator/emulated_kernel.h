/* SPDX-License-Identifier: MIT
 *
 * scan/cuda/device/kernel.cuh for the emulator: a kernel's address comes with how to call it.
 */
#ifndef TESTS_EMULATOR_EMULATED_KERNEL_H
#define TESTS_EMULATOR_EMULATED_KERNEL_H

#include <type_traits>
#include <utility>

#include "emulator.h"

namespace scan_cuda {

template <class... P> struct kernel_caller {
    static constexpr size_t sizes[] = {sizeof(P)..., 0};

    template <size_t... I> static void spread(const void *kernel, void *const *arguments, std::index_sequence<I...>) {
        (void)arguments;
        reinterpret_cast<void (*)(P...)>(const_cast<void *>(kernel))(
            *static_cast<std::remove_const_t<P> *>(arguments[I])...);
    }

    static void call(const void *kernel, void *const *arguments) {
        spread(kernel, arguments, std::index_sequence_for<P...>());
    }
};

template <class... P> const void *address(void (*kernel)(P...)) {
    return emulator::register_kernel(reinterpret_cast<const void *>(kernel),
                                     {kernel_caller<P...>::call, sizeof...(P), kernel_caller<P...>::sizes});
}

template <class T> T *dynamic_shared() { return reinterpret_cast<T *>(emulator::dynamic_memory()); }

} /* namespace scan_cuda */

#endif
