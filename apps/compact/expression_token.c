/* SPDX-License-Identifier: MIT
 *
 * The tokens of --where.
 */
#include "expression_token.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "apps/support/utf8.h"

bool expression_fail(parser *p, const char *where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(p->e->reason, sizeof p->e->reason, "column %zu: ", (size_t)(where - p->text) + 1);
    vsnprintf(p->e->reason + n, sizeof p->e->reason - (size_t)n, format, arguments);
    va_end(arguments);
    return false;
}

void token_skip_blanks(parser *p) { p->at += strspn(p->at, " \t\r\n"); }

bool token_take(parser *p, const char *symbol) {
    token_skip_blanks(p);
    size_t n = strlen(symbol);
    if (strncmp(p->at, symbol, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t token_word_length(const char *at) {
    size_t n = 0;
    if (is_letter(at[0]))
        while (is_letter(at[n]) || is_digit(at[n]))
            n++;
    return n;
}

/* Bytes of the character at `at`, for messages; 1 if it is not valid UTF-8. */
int token_letter_bytes(const char *at) {
    int n = (int)utf8_bytes(at);
    return n ? n : 1;
}

bool token_is_word(const char *at, const char *word) {
    size_t n = token_word_length(at);
    return n == strlen(word) && strncasecmp(at, word, n) == 0;
}

/* True where a number begins. nan and inf are numbers; columns of such a name need backticks. */
bool token_at_number(const char *at) {
    at += *at == '+' || *at == '-';
    return is_digit(*at) || *at == '.' || token_is_word(at, "nan") || token_is_word(at, "inf") ||
           token_is_word(at, "infinity");
}

/* The length of all that could be meant as one number, so that "12x" is one bad number and not two tokens. */
static size_t number_length(const char *at) {
    size_t n = at[0] == '+' || at[0] == '-';
    bool decimal = is_digit(at[n]) || at[n] == '.';
    while (is_letter(at[n]) || is_digit(at[n]) || at[n] == '.' ||
           ((at[n] == '+' || at[n] == '-') && decimal && (at[n - 1] == 'e' || at[n - 1] == 'E')))
        n++;
    return n;
}

bool token_take_number(parser *p, number *x) {
    const char *start = p->at;
    size_t n = number_length(start), where;
    number_status status = number_parse(start, n, x, &where);
    char quote[NUMBER_QUOTE_BYTES];
    if (status != NUMBER_OK)
        return expression_fail(p, start, "%s %s", number_quote(quote, start, n), number_complaint(status));
    if (x->type == SCAN_F64 && x->value.f != x->value.f)
        return expression_fail(p, start, "nothing compares with nan, isnan(COLUMN) tests for it");
    p->at += n;
    return true;
}

static bool take_quoted(parser *p, char name[EXPRESSION_NAME_BYTES]) {
    const char *start = p->at, *end = strchr(start + 1, '`');
    if (!end)
        return expression_fail(p, start, "the backtick is not closed");
    size_t n = (size_t)(end - start) - 1;
    if (n >= EXPRESSION_NAME_BYTES)
        return expression_fail(p, start, "the name is longer than %d bytes", EXPRESSION_NAME_BYTES - 1);
    memcpy(name, start + 1, n);
    name[n] = 0;
    p->at = end + 1;
    return true;
}

bool token_take_name(parser *p, token_name *name) {
    token_skip_blanks(p);
    const char *start = p->at;
    size_t n = token_word_length(start);
    name->start = start;
    name->quoted = *start == '`';
    if ((unsigned char)start[n] >= 0x80)
        return expression_fail(p, start, "names with other letters than A to Z go in backticks: `name`");
    if (name->quoted)
        return take_quoted(p, name->name);
    if (n == 0 && !*start)
        return expression_fail(p, start, "the expression ends where a column is expected");
    if (n == 0)
        return expression_fail(p, start, "'%.*s' stands where a column is expected", token_letter_bytes(start), start);
    if (n >= EXPRESSION_NAME_BYTES)
        return expression_fail(p, start, "the name is longer than %d bytes", EXPRESSION_NAME_BYTES - 1);
    memcpy(name->name, start, n);
    name->name[n] = 0;
    p->at += n;
    return true;
}

bool token_take_text(parser *p, string *text) {
    token_skip_blanks(p);
    const char *start = p->at;
    if (*start == '\'')
        return expression_fail(p, start, "text goes in double quotes");
    if (*start != '"')
        return expression_fail(p, start,
                               *start ? "\"text\" in double quotes is expected here"
                                      : "the expression ends where \"text\" is expected");
    text->begin = p->pool;
    for (const char *from = start + 1;; from++) {
        if (!*from)
            return expression_fail(p, start, "the quote is not closed");
        if (*from == '"' && *++from != '"') {
            p->at = from;
            break;
        }
        *p->pool++ = (unsigned char)*from;
    }
    text->bytes = (size_t)(p->pool - text->begin);
    return true;
}
