/* SPDX-License-Identifier: MIT
 *
 * Streams, events and graphs. Work is done when it is submitted; in a capture it is written down, and done by each
 * launch of the graph.
 */
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime.h"

using work_list = std::vector<std::function<cudaError_t()>>;

struct CUgraph_st {
    work_list work;
    bool invalid = false;
};
struct CUgraphExec_st {
    work_list work;
};
struct CUstream_st {
    CUgraph_st *graph = nullptr; /* being captured into */
    bool began = false;          /* here, not by an event of another stream */
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
};
struct CUevent_st {
    std::chrono::steady_clock::time_point at;
    CUgraph_st *graph = nullptr;
};

namespace emulator {

static thread_local CUstream_st *capturing;          /* of this thread, not relaxed */
static std::atomic<CUstream_st *> captured_globally; /* of any thread */
static thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

static CUgraph_st *graph_of(cudaStream_t stream) {
    return reinterpret_cast<uintptr_t>(stream) > 2 ? stream->graph : nullptr;
}

cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work) {
    CUgraph_st *graph = graph_of(stream);
    if (!graph)
        return hangs() ? cudaSuccess : work();
    if (graph->invalid)
        return cudaErrorStreamCaptureInvalidated;
    graph->work.push_back(std::move(work));
    return cudaSuccess;
}

cudaError_t outside_capture() {
    CUstream_st *stream = capturing;
    if (!stream && thread_mode == cudaStreamCaptureModeGlobal)
        stream = captured_globally;
    if (!stream || thread_mode == cudaStreamCaptureModeRelaxed)
        return cudaSuccess;
    stream->graph->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

} /* namespace emulator */

using namespace emulator;

extern "C" {

/* ---- streams ----------------------------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    EMULATED_ENTER_CONTEXT();
    *stream = new CUstream_st;
    objects++;
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cudaError_t ordered = enter();
    delete stream;
    objects--;
    return ordered;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    EMULATED_ENTER();
    if (!graph_of(stream)) {
        wait_for_device();
        return cudaSuccess;
    }
    graph_of(stream)->invalid = true;
    return note(cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return hangs() && !graph_of(stream) ? cudaErrorNotReady : cudaStreamSynchronize(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    EMULATED_ENTER();
    if (event->graph && reinterpret_cast<uintptr_t>(stream) > 2)
        stream->graph = event->graph;
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
    EMULATED_ENTER();
    return note(submit(stream, [=] {
        function(argument);
        return cudaSuccess;
    }));
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    EMULATED_ENTER();
    if (reinterpret_cast<uintptr_t>(stream) <= 2 || stream->graph)
        return note(cudaErrorIllegalState);
    stream->graph = new CUgraph_st;
    stream->began = true;
    stream->mode = mode;
    if (mode != cudaStreamCaptureModeRelaxed)
        capturing = stream;
    if (mode == cudaStreamCaptureModeGlobal)
        captured_globally = stream;
    objects++;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    EMULATED_ENTER();
    if (!graph_of(stream) || !stream->began)
        return note(cudaErrorStreamCaptureUnmatched);
    *graph = stream->graph;
    stream->graph = nullptr;
    stream->began = false;
    if (capturing == stream)
        capturing = nullptr;
    if (captured_globally == stream)
        captured_globally = nullptr;
    if (!(*graph)->invalid)
        return cudaSuccess;
    delete *graph;
    objects--;
    *graph = nullptr;
    return note(cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    std::swap(*mode, thread_mode);
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    EMULATED_ENTER();
    *status = !graph_of(stream)           ? cudaStreamCaptureStatusNone
              : graph_of(stream)->invalid ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    EMULATED_ENTER();
    *event = new CUevent_st;
    objects++;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    cudaError_t ordered = enter();
    delete event;
    objects--;
    return ordered;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    EMULATED_ENTER();
    event->graph = graph_of(stream);
    event->at = std::chrono::steady_clock::now();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
    EMULATED_ENTER();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) {
    EMULATED_ENTER();
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    EMULATED_ENTER();
    *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return cudaSuccess;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    EMULATED_ENTER();
    *exec = new CUgraphExec_st{graph->work};
    objects++;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    EMULATED_ENTER();
    for (const auto &work : exec->work) {
        cudaError_t error = submit(stream, work);
        if (error != cudaSuccess)
            return note(error);
    }
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    cudaError_t ordered = enter();
    delete exec;
    objects--;
    return ordered;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    cudaError_t ordered = enter();
    delete graph;
    objects--;
    return ordered;
}
}
