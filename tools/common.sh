# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the scripts in tools/ share; sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$root/build
jobs=$(nproc 2>/dev/null || echo 2)

# say TEXT...: a line for the reader, on stderr.
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

# has_gpu: does a driver for NVIDIA's GPUs run here?
has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1; }

# configure: configures the release build where there is none, with the CUDA backend only where a GPU could use it.
configure() {
    local generator=() cuda=AUTO
    has_gpu || cuda=OFF
    if [ ! -f "$build_dir/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        generator=(-G Ninja)
    fi
    if [ ! -f "$build_dir/build.ninja" ] && [ ! -f "$build_dir/Makefile" ]; then
        quietly cmake -S "$root" -B "$build_dir" "${generator[@]}" -DSCAN_CUDA=$cuda
    fi
}

# build TARGET...: builds targets of the release build, everything if none is named.
build() {
    local targets=()
    [ $# -gt 0 ] && targets=(--target "$@")
    quietly cmake --build "$build_dir" -j "$jobs" "${targets[@]}"
}
