# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the scripts in tools/ share. It is sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$root/build
jobs=$(nproc 2>/dev/null || echo 2)

# say TEXT...: writes a line to stderr.
say() { printf '%s\n' "$*" >&2; }

# quietly COMMAND...: runs it, and shows what it wrote only if it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if [ "$status" -ne 0 ]; then
        say "failed with code $status: $*"
        tail -n 60 "$log" >&2
    fi
    rm -f "$log"
    return "$status"
}

# has_gpu: is there a driver for NVIDIA's GPUs?
has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1; }

# gpu_architectures: this machine's GPUs as CMake lists them, "80-real;90-real"; nothing if the driver names none.
gpu_architectures() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
        sed -n 's/^\([0-9]*\)\.\([0-9]\)$/\1\2-real/p' | sort -u | paste -sd ';' || true
}

# run_cmake OPTION...: configures $build_dir, with Ninja if it is a new folder and there is one.
run_cmake() {
    local generator=()
    if [ ! -f "$build_dir/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        generator=(-G Ninja)
    fi
    quietly cmake -S "$root" -B "$build_dir" "${generator[@]}" "$@"
}

# configure: configures the release build where there is none, with the CUDA backend only where a GPU could use it, and
# for that GPU alone if the driver names it.
configure() {
    local options=(-DSCAN_CUDA=OFF) architectures
    architectures=$(gpu_architectures)
    if has_gpu; then options=(-DSCAN_CUDA=AUTO ${architectures:+"-DCMAKE_CUDA_ARCHITECTURES=$architectures"}); fi
    if [ ! -f "$build_dir/build.ninja" ] && [ ! -f "$build_dir/Makefile" ]; then
        run_cmake "${options[@]}"
    fi
}

# configure_gpu ARCHITECTURE: configures build-gpu, with the CUDA backend for these GPUs. build() then builds there.
configure_gpu() {
    build_dir=$root/build-gpu
    run_cmake -DSCAN_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$1"
}

# build TARGET...: builds targets in $build_dir, everything if none is named.
build() {
    local targets=()
    [ $# -gt 0 ] && targets=(--target "$@")
    quietly cmake --build "$build_dir" -j "$jobs" "${targets[@]}"
}
