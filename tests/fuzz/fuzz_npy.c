/* SPDX-License-Identifier: MIT
 *
 * The dict of an .npy header: no crash; an accepted header is consistent, and reads the same when written again.
 */
#include <string.h>

#include "apps/support/npy.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '>f4', 'fortran_order': True, 'shape': (1, 30, 1), }",
    "{\"shape\": (), \"descr\": \"|b1\", \"fortran_order\": False}",
    "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (18446744073709551615, 0)}",
    "{'descr': '=u2', 'fortran_order': False, 'shape': (2, 3, 4, 5, 6, 7, 8, 9, 10, 11L)}\n",
    NULL,
};

static void check(const npy_header *h) {
    size_t size = scan_type_size(h->type);
    FUZZ_CHECK(size > 0 && h->dimensions <= NPY_MAX_DIMENSIONS);
    FUZZ_CHECK(h->count <= INT64_MAX / size);
    unsigned __int128 product = 1;
    for (unsigned i = 0; i < h->dimensions; i++)
        if (h->shape[i] == 0)
            product = 0;
    for (unsigned i = 0; i < h->dimensions && product; i++)
        product *= h->shape[i];
    FUZZ_CHECK(product == h->count);

    unsigned char file[NPY_FORMAT_MAX];
    char reason[256];
    size_t n = npy_format(file, h->type, h->is_bool, h->dimensions, h->shape), offset, bytes;
    npy_header again;
    FUZZ_CHECK(n % 64 == 0 && npy_is_magic(file, n) && npy_prefix(file, n, &offset, &bytes, reason));
    FUZZ_CHECK(offset + bytes == n && npy_parse(file + offset, bytes, &again, reason));
    FUZZ_CHECK(again.is_bool == h->is_bool && !again.fortran);
    FUZZ_CHECK(again.type == h->type && again.count == h->count && again.dimensions == h->dimensions);
    FUZZ_CHECK(memcmp(again.shape, h->shape, h->dimensions * sizeof h->shape[0]) == 0 && !again.big_endian);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char reason[256] = "";
    npy_header header;
    size_t offset, length;
    if (npy_parse(data, bytes, &header, reason))
        check(&header);
    else
        FUZZ_CHECK(reason[0] && memchr(reason, 0, sizeof reason));
    if (npy_prefix(data, bytes, &offset, &length, reason))
        FUZZ_CHECK(offset <= 12 && length <= NPY_HEADER_MAX);
    return 0;
}
