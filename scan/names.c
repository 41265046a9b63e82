/* SPDX-License-Identifier: MIT
 *
 * Names and sizes of everything in the public enums.
 */
#include "lists.h"

#define TEXT(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *scan_version(void) { return VERSION_TEXT(SCAN_VERSION_MAJOR, SCAN_VERSION_MINOR, SCAN_VERSION_PATCH); }

/* The row of a table, or NULL where value is not in it. */
#define NAME_OF(table, value) ((size_t)(value) < sizeof(table) / sizeof(table)[0] ? (table)[(size_t)(value)] : NULL)

const char *scan_status_string(scan_status status) {
    static const char *const names[] = {
        [SCAN_OK] = "ok",
        [SCAN_ERR_ARGUMENT] = "invalid argument",
        [SCAN_ERR_TYPE] = "type not supported by this operation",
        [SCAN_ERR_ALGORITHM] = "algorithm cannot serve this call",
        [SCAN_ERR_VERSION] = "struct of an unknown version",
        [SCAN_ERR_OVERLAP] = "arrays overlap",
        [SCAN_ERR_ALIGNMENT] = "pointer not aligned to its element",
        [SCAN_ERR_MEMORY] = "out of memory",
        [SCAN_ERR_WORKSPACE] = "lent workspace too small",
        [SCAN_ERR_NO_BACKEND] = "backend not available",
        [SCAN_ERR_DEVICE] = "device error",
        [SCAN_ERR_DEVICE_LOST] = "device lost",
        [SCAN_ERR_BUSY] = "the context is in use by another call",
        [SCAN_ERR_PEER] = "another rank failed",
    };
    const char *name = NAME_OF(names, status);
    return name ? name : "unknown status";
}

const char *scan_type_name(scan_type type) {
    static const char *const names[] = {
#define ROW(ENUM, name, ...) [SCAN_##ENUM] = #name,
        SCAN_TYPES(ROW)
#undef ROW
    };
    return NAME_OF(names, type);
}

size_t scan_type_size(scan_type type) {
    static const unsigned char sizes[] = {
#define ROW(ENUM, name, ctype, ...) [SCAN_##ENUM] = sizeof(ctype),
        SCAN_TYPES(ROW)
#undef ROW
    };
    return (size_t)type < sizeof sizes ? sizes[type] : 0;
}

scan_class scan_type_class(scan_type type) {
    static const unsigned char classes[] = {
#define ROW(ENUM, name, ctype, CLASS) [SCAN_##ENUM] = SCAN_##CLASS,
        SCAN_TYPES(ROW)
#undef ROW
    };
    return (size_t)type < sizeof classes ? (scan_class)classes[type] : SCAN_CLASS_NONE;
}

const char *scan_op_name(scan_op op) {
    static const char *const names[] = {
#define ROW(ENUM, name, ...) [SCAN_##ENUM] = #name,
        SCAN_OPS(ROW, )
#undef ROW
    };
    return NAME_OF(names, op);
}

int scan_op_takes(scan_op op, scan_type type) {
    enum { ORDERED, COMPARED, NONE };
    static const unsigned char floats[] = {
#define ROW(ENUM, name, FLOATS, ...) [SCAN_##ENUM] = FLOATS,
        SCAN_OPS(ROW, )
#undef ROW
    };
    const scan_class of = scan_type_class(type);
    return (size_t)op < sizeof floats && of != SCAN_CLASS_NONE && (of != SCAN_FLOAT || floats[op] != NONE);
}

const char *scan_grid_name(scan_grid grid) {
    static const char *const names[] = {
        [SCAN_GRID_AUTO] = "auto",
        [SCAN_GRID_HOST_SUMS] = "host-sums",
        [SCAN_GRID_HIERARCHICAL] = "hierarchical",
        [SCAN_GRID_LOOKBACK] = "look-back",
        [SCAN_GRID_WAVE] = "wave",
        [SCAN_GRID_BLOCKED] = "blocked",
    };
    return NAME_OF(names, grid);
}

const char *scan_block_name(scan_block block) {
    static const char *const names[] = {
        [SCAN_BLOCK_AUTO] = "auto",
        [SCAN_BLOCK_KOGGE_STONE] = "kogge-stone",
        [SCAN_BLOCK_BRENT_KUNG] = "brent-kung",
        [SCAN_BLOCK_WARP] = "warp",
    };
    return NAME_OF(names, block);
}

const char *scan_sort_method_name(scan_sort_method method) {
    static const char *const names[] = {
        [SCAN_SORT_AUTO] = "auto",   [SCAN_SORT_RADIX] = "radix",   [SCAN_SORT_SPLIT] = "split",
        [SCAN_SORT_QUICK] = "quick", [SCAN_SORT_SAMPLE] = "sample",
    };
    return NAME_OF(names, method);
}

const char *scan_like_name(scan_like like) {
    static const char *const names[] = {
        [SCAN_LIKE_OPENCV] = "opencv", [SCAN_LIKE_PILLOW] = "pillow",   [SCAN_LIKE_IMAGEMAGICK] = "imagemagick",
        [SCAN_LIKE_VIPS] = "vips",     [SCAN_LIKE_SKIMAGE] = "skimage",
    };
    return NAME_OF(names, like);
}
