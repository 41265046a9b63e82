/* SPDX-License-Identifier: MIT
 *
 * The two ways to run `equalize`. Each returns the exit code.
 */
#ifndef APPS_EQUALIZE_RUN_H
#define APPS_EQUALIZE_RUN_H

#include "program.h"

typedef struct path_list {
    char **paths;
    size_t count;
} path_list;

/* The image at path (NULL: stdin), computed by all threads; a failure ends the program. */
int run_one(program *p, const char *path);

/* The operands, with the images in a folder in its place. In folders.c. */
path_list paths_of(const program *p);
void free_paths(path_list *list);

/* Makes the folder of --out-dir if it is missing. */
void make_out_dir(const char *path);

/* All operands, to --out-dir; each thread takes a whole image at a time. A bad image is reported, the others continue.
 */
int run_many(program *p);

#endif
