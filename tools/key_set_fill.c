/* SPDX-License-Identifier: MIT
 *
 * The keys of a set, made on the host.
 */
#define KEY_FUNCTION static
enum { KEY_BLOCK = 256 };
#include "key_set_fill.h"

uint64_t key_map_value(const key_map *map, uint64_t u) { return map_value(map, u); }
uint64_t key_quantile(const key_node *stream, uint64_t index) { return quantile(stream, index); }

void key_set_fill(const key_set *set, uint64_t begin, size_t count, void *to) {
    const size_t bytes = type_bytes(set->type);
    uint64_t keys[KEY_BLOCK];
    for (char *out = to; count > 0;) {
        size_t block = count < KEY_BLOCK ? count : KEY_BLOCK;
        fill_block(set, begin, block, keys);
        for (size_t i = 0; i < block; i++, out += bytes)
            store_key(out, bytes, keys[i]);
        begin += block, count -= block;
    }
}
