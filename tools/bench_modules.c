/* SPDX-License-Identifier: MIT
 *
 * Peers and the GPU's clock are modules, loaded at run time: the program itself needs only the library, and so runs on
 * a machine that lacks the libraries of a peer.
 */
#include <dlfcn.h>

#include "bench.h"

/* Returns a symbol of the program itself or of a module in its folder, NULL if there is none. A module that is there
 * but does not load is reported. */
static const void *symbol(const char *folder, const char *module, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s.so", folder, module);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return dlsym(RTLD_DEFAULT, name);
    fclose(file);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *found = handle != NULL ? dlsym(handle, name) : NULL;
    if (found == NULL)
        fprintf(stderr, "bench: %s\n", dlerror());
    return found;
}

const peers_module *module_peers(const char *folder, unsigned number) {
    static const char *const names[PEERS_MODULES] = {"bench_sorts", "bench_peers"};
    return symbol(folder, names[number], names[number]);
}

const bench_device *module_device(const char *folder) { return symbol(folder, "bench_cuda", "bench_cuda_device"); }
