/* SPDX-License-Identifier: MIT
 *
 * Finding the launcher in the environment, and libscan_dist beside the program: in the folder of libraries next to its
 * own (the program's RUNPATH), else where the system looks. Its calls of libscan come to the program's own copy, which
 * exports them, so that both sides of a context are the same code.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks_load.h"

/* ---- the launcher ------------------------------------------------------------------------------------------------ */

/* Variables with the number of ranks. Those of Slurm's job are not looked at: a batch script has them too; a step of
 * srun has this one. */
static const char *const launchers[] = {
    "OMPI_COMM_WORLD_SIZE", /* Open MPI */
    "PMI_SIZE",             /* MPICH, Intel MPI, PALS */
    "MV2_COMM_WORLD_SIZE",  /* MVAPICH2 */
    "SLURM_STEP_NUM_TASKS", /* srun */
    "FLUX_JOB_SIZE",        /* flux run */
};

static unsigned number_of(const char *name) {
    const char *text = getenv(name);
    char *end;
    const unsigned long value = text ? strtoul(text, &end, 10) : 0;
    return text && end != text && *end == 0 && value <= INT32_MAX ? (unsigned)value : 0;
}

unsigned ranks_launched(void) {
    const char *off = getenv("SCAN_DIST");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !(off && strcmp(off, "off") == 0); i++)
        if (number_of(launchers[i]) > 1)
            return number_of(launchers[i]);
    return 1;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

#ifdef SCAN_HAS_DIST

#define TEXT(x) #x
#define NAME_OF(major) "libscan_dist.so." TEXT(major)

static bool find(void *library, const char *name, void *function, char reason[RANKS_REASON_BYTES]) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address); /* ISO C has no conversion from one to the other */
    if (!address)
        snprintf(reason, RANKS_REASON_BYTES, "%s", dlerror());
    return address;
}

bool ranks_load(ranks_calls *calls, char reason[RANKS_REASON_BYTES]) {
    void *library = dlopen(NAME_OF(SCAN_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, RANKS_REASON_BYTES, "%s", dlerror());
        return false;
    }
#define X(name)                                                                                                        \
    if (!find(library, "scan_dist_" #name, &calls->name, reason))                                                      \
        return false;
    RANKS_CALLS(X)
#undef X
    return true;
}

#else

bool ranks_load(ranks_calls *calls, char reason[RANKS_REASON_BYTES]) {
    (void)calls;
    snprintf(reason, RANKS_REASON_BYTES, "this build has no libscan_dist: configure it where MPI is, with %s",
             "-DSCAN_MPI=ON");
    return false;
}

#endif
