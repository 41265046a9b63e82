/* SPDX-License-Identifier: MIT
 *
 * In the place of nccl.c in a build without NCCL.
 */
#include "dist.h"

bool scan_dist_has_link(void) { return false; }

scan_status scan_dist_open_link(scan_dist_comm *comm) {
    return scan_dist_fail(comm, SCAN_ERR_NO_BACKEND, "this build of scan_dist has no NCCL: it serves the CPU only");
}
