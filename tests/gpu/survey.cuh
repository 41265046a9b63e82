/* SPDX-License-Identifier: MIT
 *
 * The survey of a sort, and the kernel that makes the plan, run by themselves.
 */
#ifndef TESTS_GPU_SURVEY_CUH
#define TESTS_GPU_SURVEY_CUH

#include "direct.cuh"
#include "scan/cuda/sort/instance.cuh"

using namespace scan_cuda;

static gpu_array d_plan, d_state;

template <bool wide> static sort_survey_kernel survey_of_type(scan_type type) {
    switch (type) {
    case SCAN_U8: return survey_of<uint8_t, wide>();
    case SCAN_U16: return survey_of<uint16_t, wide>();
    case SCAN_U32: return survey_of<uint32_t, wide>();
    case SCAN_U64: return survey_of<uint64_t, wide>();
    case SCAN_F32: return survey_of<float, wide>();
    default: return survey_of<double, wide>();
    }
}

/* A state with words for what CTAs hand to each other, and a plan of any bits: what a survey finds. */
static scan_state fresh_state() {
    static uint64_t words[scan_state_bytes(3, 0) / 8];
    return make_scan_state(gpu_put(&d_state, words, COUNT(words), 8, 0), sizeof words, 0);
}

static sort_plan *any_plan(sort_plan *plan) {
    memset(plan, 0x5a, sizeof *plan);
    return static_cast<sort_plan *>(gpu_put(&d_plan, plan, 1, sizeof *plan, 0));
}

/* plan_ctas: 1, or, of 8-byte keys, 2: the other one puts a sample in order. */
static void run_survey(const sort_survey_kernel &survey, sort_job job, uint64_t ctas, uint32_t plan_ctas) {
    bool second = false;
    job.plan_ctas = plan_ctas;
    uint32_t survey_ctas = uint32_t(ctas);
    void *arguments[] = {&job, &second}, *plan_arguments[] = {&job, &survey_ctas};
    for (const void *kernel : {survey.kernel, survey.plan_kernel})
        cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, survey.shared_bytes));
    direct_launch(survey.kernel, ctas, survey.threads, arguments, size_t(survey.shared_bytes));
    direct_launch(survey.plan_kernel, plan_ctas, survey.threads, plan_arguments, size_t(survey.shared_bytes));
}

#endif
