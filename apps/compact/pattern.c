/* SPDX-License-Identifier: MIT
 *
 * PCRE2, compiled to machine code where that is possible. Patterns are matched against bytes, not characters, so that
 * any file can be searched.
 */
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef SCAN_HAS_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { STACK_BYTES = 32 << 10, MAX_STACK_BYTES = 1 << 20 }; /* of machine code */

struct pattern {
    pcre2_code *code;
};

struct pattern_room {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack; /* NULL: without machine code */
};

pattern *pattern_open(const string *text, char *reason, size_t reason_bytes) {
    int error;
    PCRE2_SIZE place;
    pattern *p = malloc(sizeof *p);
    reason[0] = 0;
    if (!p)
        return NULL;
    p->code = pcre2_compile(text->begin, text->bytes, 0, &error, &place, NULL);
    if (p->code) {
        pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* where it cannot be, the pattern is interpreted */
        return p;
    }
    char message[200];
    pattern_fault(error, message, sizeof message);
    if (error != PCRE2_ERROR_HEAP_FAILED)
        snprintf(reason, reason_bytes, "%s, after %zu bytes", message, place);
    free(p);
    return NULL;
}

void pattern_close(pattern *p) {
    if (p)
        pcre2_code_free(p->code);
    free(p);
}

pattern_room *pattern_room_open(const pattern *p) {
    pattern_room *room = calloc(1, sizeof *room);
    if (!room)
        return NULL;
    room->data = pcre2_match_data_create_from_pattern(p->code, NULL);
    room->context = pcre2_match_context_create(NULL);
    room->stack = pcre2_jit_stack_create(STACK_BYTES, MAX_STACK_BYTES, NULL);
    if (!room->data || !room->context) {
        pattern_room_close(room);
        return NULL;
    }
    if (room->stack)
        pcre2_jit_stack_assign(room->context, NULL, room->stack);
    return room;
}

void pattern_room_close(pattern_room *room) {
    if (!room)
        return;
    pcre2_jit_stack_free(room->stack);
    pcre2_match_context_free(room->context);
    pcre2_match_data_free(room->data);
    free(room);
}

int pattern_find(const pattern *p, pattern_room *room, const string *text) {
    int found = pcre2_match(p->code, text->begin, text->bytes, 0, 0, room->data, room->context);
    if (found == PCRE2_ERROR_NOMEMORY)
        return PATTERN_NO_MEMORY;
    return found == PCRE2_ERROR_NOMATCH ? 0 : found < 0 ? found : 1;
}

void pattern_fault(int code, char *reason, size_t reason_bytes) {
    PCRE2_UCHAR message[128];
    pcre2_get_error_message(code, message, sizeof message);
    snprintf(reason, reason_bytes, "%s%s", (const char *)message,
             code == PCRE2_ERROR_MATCHLIMIT ? ": a pattern with fewer repeats inside repeats takes fewer steps" : "");
}

#else

pattern *pattern_open(const string *text, char *reason, size_t reason_bytes) {
    (void)text;
    snprintf(reason, reason_bytes, "this build has no PCRE2; build it where libpcre2-dev is installed");
    return NULL;
}

void pattern_close(pattern *p) { (void)p; }

pattern_room *pattern_room_open(const pattern *p) {
    (void)p;
    return NULL;
}

void pattern_room_close(pattern_room *room) { (void)room; }

int pattern_find(const pattern *p, pattern_room *room, const string *text) {
    (void)p;
    (void)room;
    (void)text;
    return 0;
}

void pattern_fault(int code, char *reason, size_t reason_bytes) {
    snprintf(reason, reason_bytes, "PCRE2 says %d", code);
}

#endif
