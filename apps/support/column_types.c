/* SPDX-License-Identifier: MIT
 *
 * The rules of column.h, for all chunks together.
 */
#include "column_types.h"

#include "ranks.h"

typedef struct refusal {
    column_refuse *refuse;
    const void *arg;
    column_fault fault;
} refusal;

static void refuse_one(void *arg) {
    const refusal *r = arg;
    r->refuse(r->arg, &r->fault);
}

void column_types_add(column_types *types, const column *c, column_refuse *refuse, const void *arg) {
    refusal r = {.refuse = refuse, .arg = arg};
    types->any_float |= c->type == SCAN_F64;
    types->any_negative |= c->any_negative;
    if (c->beyond != COLUMN_NOWHERE && !types->any_beyond) {
        r.fault = (column_fault){.row = c->beyond, .complaint = COLUMN_BEYOND};
        types->any_beyond = !die_catch(&types->beyond, refuse_one, &r);
    }
    if (c->above != COLUMN_NOWHERE && !types->any_above) {
        r.fault = (column_fault){.row = c->above, .complaint = COLUMN_ABOVE};
        types->any_above = !die_catch(&types->above, refuse_one, &r);
    }
}

scan_type column_types_result(const column_types *types) {
    return types->any_float ? SCAN_F64 : types->any_above ? SCAN_U64 : SCAN_I64;
}

static bool of_any_rank(bool mine) { return ranks_add(mine).total > 0; }

void column_types_check(column_types *types) {
    types->any_float = of_any_rank(types->any_float);
    types->any_negative = of_any_rank(types->any_negative);
    if (types->any_float && types->any_beyond)
        rethrow_fatal(&types->beyond);
    if (!types->any_float && types->any_negative && types->any_above)
        rethrow_fatal(&types->above);
    types->any_above = of_any_rank(types->any_above);
}
