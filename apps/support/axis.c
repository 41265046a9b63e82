/* SPDX-License-Identifier: MIT
 *
 * Which axis, and which lanes.
 */
#include "axis.h"

#include <stdio.h>
#include <stdlib.h>

#include "die.h"

void axis_take(axis_option *option, const char *text) {
    char *end;
    long axis = strtol(text, &end, 10);
    if (end == text || *end || axis < -NPY_MAX_DIMENSIONS || axis >= NPY_MAX_DIMENSIONS)
        die_usage("--axis: \"%s\" is not an axis: 0 is the first, -1 the last", text);
    option->text = text;
    option->axis = (int)axis;
}

void axis_refuse(const axis_option *option, const char *name) {
    if (option->text || option->flat)
        die_usage("%s: is no array, %s does not apply", name, option->text ? "--axis" : "--flat");
}

bool axis_lanes(const axis_option *option, const array_reader *reader, const char *verb, lanes *l) {
    const npy_header *h = &reader->header;
    const int dimensions = reader->npy ? (int)h->dimensions : 1; /* raw data, of any length */
    char shape[ARRAY_SHAPE_BYTES];
    if (option->text && option->flat)
        die_usage("--axis and --flat exclude each other");
    if (dimensions > 1 && !option->text && !option->flat)
        die_usage("%s: has the shape %s: --axis N %s along an axis, --flat all elements as one row", reader->in->name,
                  array_shape_text(h, shape), verb);
    if (!option->text)
        return false;
    const int axis = option->axis < 0 ? option->axis + dimensions : option->axis;
    if (dimensions == 0)
        die_usage("--axis: %s has no axis, it is one number", reader->in->name);
    if (axis < 0 || axis >= dimensions)
        die_usage("--axis %d: %s has %d dimension%s, its axes are %d to %d", option->axis, reader->in->name, dimensions,
                  dimensions == 1 ? "" : "s", -dimensions, dimensions - 1);
    if (dimensions == 1)
        return false;
    *l = (lanes){.outer = 1, .length = (size_t)h->shape[axis], .inner = 1};
    for (int i = 0; i < dimensions; i++) {
        if (h->count == 0)
            l->outer = 0; /* else a product of the other lengths could overflow */
        else if (i < axis)
            l->outer *= (size_t)h->shape[i];
        else if (i > axis)
            l->inner *= (size_t)h->shape[i];
    }
    return true;
}

const char *axis_place(const array_reader *reader, size_t i, char text[AXIS_PLACE_BYTES]) {
    const npy_header *h = &reader->header;
    size_t place[NPY_MAX_DIMENSIONS], n;
    if (h->dimensions < 2) {
        snprintf(text, AXIS_PLACE_BYTES, "element %zu", i);
        return text;
    }
    for (unsigned d = h->dimensions; d-- > 0; i /= h->shape[d])
        place[d] = i % h->shape[d];
    n = (size_t)sprintf(text, "element (");
    for (unsigned d = 0; d < h->dimensions; d++)
        n += (size_t)sprintf(text + n, "%s%zu", d ? ", " : "", place[d]);
    text[n++] = ')';
    text[n] = 0;
    return text;
}
