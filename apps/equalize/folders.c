/* SPDX-License-Identifier: MIT
 *
 * equalize: folders. One among the operands stands for the images in it; that of --out-dir is made.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "run.h"
#include "save.h"

static int is_image(const struct dirent *entry) {
    image_format format;
    image_error error;
    return entry->d_name[0] != '.' && image_format_of_name(entry->d_name, 1, &format, &error);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* FOLDER/NAME */
static char *join(const char *folder, const char *name) {
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = must_alloc(bytes, 1);
    snprintf(path, bytes, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    return path;
}

/* A pipe would be waited for, without end where nobody writes, and a device has no images. Folders, and what cannot be
 * looked at, are reported when their turn comes. */
static bool is_pipe_or_device(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static void add_folder(path_list *list, const char *folder) {
    struct dirent **entries;
    const size_t before = list->count;
    const int count = scandir(folder, &entries, is_image, by_name);
    if (count < 0)
        die(EXIT_IO, "%s: cannot read: %s", folder, strerror(errno));
    list->paths = must_realloc(list->paths, list->count + (size_t)count + 1, sizeof *list->paths);
    for (int i = 0; i < count; i++) {
        char *path = join(folder, entries[i]->d_name);
        if (is_pipe_or_device(path))
            free(path);
        else
            list->paths[list->count++] = path;
        free(entries[i]);
    }
    free(entries);
    if (list->count == before)
        die(EXIT_USAGE, "%s: has no images: no name ends in .png, .jpg, .jpeg, .pgm, .ppm or .pnm", folder);
}

static char *copy_of(const char *text) {
    const size_t bytes = strlen(text) + 1;
    return memcpy(must_alloc(bytes, 1), text, bytes);
}

path_list paths_of(const program *p) {
    path_list list = {0};
    struct stat st;
    for (int i = 0; i < p->c.argc; i++) {
        const char *path = p->c.argv[i];
        if (path[0] && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            add_folder(&list, path);
            continue;
        }
        list.paths = must_realloc(list.paths, list.count + 1, sizeof *list.paths);
        list.paths[list.count++] = copy_of(path);
    }
    return list;
}

void free_paths(path_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
}

/* With the folders that it is in. */
void make_out_dir(const char *path) {
    struct stat st;
    char *part = copy_of(path);
    int failed = 0;
    for (char *slash = part + 1; !failed && (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        failed = mkdir(part, 0777) != 0 && errno != EEXIST;
    }
    if (!failed)
        failed = mkdir(path, 0777) != 0 && errno != EEXIST;
    if (failed)
        die(EXIT_IO, "%s: cannot make the folder: %s", path, strerror(errno));
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        die(EXIT_IO, "%s: not a folder", path);
    free(part);
}
