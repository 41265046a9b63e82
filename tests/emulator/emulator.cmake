# SPDX-License-Identifier: MIT
#
# emulate(TARGET SOURCE...): compiles sources with the emulator's headers in place of the CUDA toolkit's, those of CUDA
# (.cu) as plain C++. They may cast between types as nvcc lets them, and shuffle values that no lane uses.
# emulator_sources and emulator_libraries go into the library.
set(emulator_dir ${CMAKE_CURRENT_LIST_DIR})
file(GLOB emulator_sources CONFIGURE_DEPENDS ${emulator_dir}/*.cpp)
set(emulator_libraries stdc++)

# The emulator itself is fast in every build; its accesses to memory stand for the kernels'. The scheduler touches none of
# theirs and runs more than anything else: it is compiled without sanitizers.
set(emulator_options -O2 -fno-sanitize=undefined)
if(SCAN_SANITIZE MATCHES address)
  list(APPEND emulator_options -DEMULATED_ASAN)
endif()
set_source_files_properties(${emulator_sources} PROPERTIES COMPILE_OPTIONS "${emulator_options}")
set_source_files_properties(${emulator_dir}/scheduler.cpp PROPERTIES
  COMPILE_OPTIONS "${emulator_options};-fno-sanitize=all")

# Kernels: -Og takes two thirds of the compiler's time at -O1, and with these two of its passes they run as fast.
set(kernel_options -include cuda_runtime.h -Og -finline-functions-called-once -ftree-sra -fno-strict-aliasing -fno-ipa-icf
  -Wno-conversion -Wno-maybe-uninitialized -Wno-unknown-pragmas -Wno-missing-field-initializers)

function(emulate target)
  target_include_directories(${target} BEFORE PRIVATE ${emulator_dir})
  target_compile_definitions(${target} PRIVATE SCAN_EMULATED)
  set(cuda_sources ${ARGN})
  list(FILTER cuda_sources INCLUDE REGEX "[.]cu$")
  set_source_files_properties(${cuda_sources} PROPERTIES LANGUAGE CXX
    COMPILE_OPTIONS "${kernel_options}")
endfunction()
