/* SPDX-License-Identifier: MIT
 *
 * Recursive descent over --where. Integers of up to 64 bits stay integers, so that a comparison with 2^63 + 1 is exact;
 * other numbers are the nearest double. Mistakes that come from other languages get a hint.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "apps/support/number.h"
#include "apps/support/utf8.h"
#include "expression.h"

enum { MAX_DEPTH = 200 };

typedef struct parser {
    expression *e;
    const char *text, *at;
    expression_resolve *resolve;
    void *user;
    unsigned depth;
} parser;

static bool parse_or(parser *p);

__attribute__((format(printf, 3, 4))) static bool fail_at(parser *p, const char *where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(p->e->reason, sizeof p->e->reason, "column %zu: ", (size_t)(where - p->text) + 1);
    vsnprintf(p->e->reason + n, sizeof p->e->reason - (size_t)n, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static void skip_blanks(parser *p) { p->at += strspn(p->at, " \t\r\n"); }

static bool take(parser *p, const char *symbol) {
    skip_blanks(p);
    size_t n = strlen(symbol);
    if (strncmp(p->at, symbol, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t word_length(const char *at) {
    size_t n = 0;
    if (is_letter(at[0]))
        while (is_letter(at[n]) || is_digit(at[n]))
            n++;
    return n;
}

/* Bytes of the character at `at`, for messages; 1 if it is not valid UTF-8. */
static int letter_bytes(const char *at) {
    int n = (int)utf8_bytes(at);
    return n ? n : 1;
}

static bool is_word(const char *at, const char *word) {
    size_t n = word_length(at);
    return n == strlen(word) && strncasecmp(at, word, n) == 0;
}

/* True where a number begins. nan and inf are numbers; columns of such a name need backticks. */
static bool at_number(const char *at) {
    at += *at == '+' || *at == '-';
    return is_digit(*at) || *at == '.' || is_word(at, "nan") || is_word(at, "inf") || is_word(at, "infinity");
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

static bool take_number(parser *p, number *x) {
    const char *start = p->at;
    size_t n = number_length(start), where;
    number_status status = number_parse(start, n, x, &where);
    char quote[NUMBER_QUOTE_BYTES];
    if (status != NUMBER_OK)
        return fail_at(p, start, "%s %s", number_quote(quote, start, n), number_complaint(status));
    if (x->type == SCAN_F64 && x->value.f != x->value.f)
        return fail_at(p, start, "nothing compares with nan, isnan(COLUMN) tests for it");
    p->at += n;
    return true;
}

static bool take_quoted(parser *p, char name[EXPRESSION_NAME_BYTES]) {
    const char *start = p->at, *end = strchr(start + 1, '`');
    if (!end)
        return fail_at(p, start, "the backtick is not closed");
    size_t n = (size_t)(end - start) - 1;
    if (n >= EXPRESSION_NAME_BYTES)
        return fail_at(p, start, "the name is longer than %d bytes", EXPRESSION_NAME_BYTES - 1);
    memcpy(name, start + 1, n);
    name[n] = 0;
    p->at = end + 1;
    return true;
}

static bool take_column(parser *p, uint32_t *column) {
    skip_blanks(p);
    const char *start = p->at;
    char name[EXPRESSION_NAME_BYTES], reason[EXPRESSION_REASON_BYTES];
    size_t n = word_length(start);
    bool quoted = *start == '`';
    if ((unsigned char)start[n] >= 0x80)
        return fail_at(p, start, "names with other letters than A to Z go in backticks: `name`");
    if (quoted) {
        if (!take_quoted(p, name))
            return false;
    } else if (n == 0) {
        if (!*start)
            return fail_at(p, start, "the expression ends where a column is expected");
        return fail_at(p, start, "'%.*s' stands where a column is expected", letter_bytes(start), start);
    } else if (n >= EXPRESSION_NAME_BYTES) {
        return fail_at(p, start, "the name is longer than %d bytes", EXPRESSION_NAME_BYTES - 1);
    } else {
        memcpy(name, start, n);
        name[n] = 0;
        p->at += n;
    }
    if (!p->resolve(p->user, name, quoted, column, reason))
        return fail_at(p, start, "%s", reason);
    return true;
}

/* ---- terms ------------------------------------------------------------------------------------------------------- */

static bool emit(parser *p, scan_term term) {
    if (p->e->term_count == SCAN_MAX_TERMS)
        return fail_at(p, p->at, "more than %d comparisons and joins", SCAN_MAX_TERMS);
    p->e->terms[p->e->term_count++] = term;
    return true;
}

static const struct {
    const char *symbol; /* longer ones first: the first that matches is taken */
    scan_term_op op, mirrored;
} operators[] = {
    {"<=", SCAN_TERM_LE, SCAN_TERM_GE}, {">=", SCAN_TERM_GE, SCAN_TERM_LE}, {"==", SCAN_TERM_EQ, SCAN_TERM_EQ},
    {"!=", SCAN_TERM_NE, SCAN_TERM_NE}, {"<", SCAN_TERM_LT, SCAN_TERM_GT},  {">", SCAN_TERM_GT, SCAN_TERM_LT},
};

/* Position in `operators`, or -1. */
static int look_operator(parser *p) {
    skip_blanks(p);
    for (int i = 0; i < 6; i++)
        if (strncmp(p->at, operators[i].symbol, strlen(operators[i].symbol)) == 0)
            return i;
    return -1;
}

static bool take_operator(parser *p, int *which) {
    *which = look_operator(p);
    if (*which >= 0) {
        p->at += strlen(operators[*which].symbol);
        if (*p->at == '=' || *p->at == '>' || *p->at == '<')
            return fail_at(p, p->at, "'%c' after %s is no operator", *p->at, operators[*which].symbol);
        return true;
    }
    if (*p->at == '=')
        return fail_at(p, p->at, "equality is written ==");
    if (!*p->at)
        return fail_at(p, p->at, "the expression ends where < <= > >= == or != is expected");
    return fail_at(p, p->at, "'%.*s' stands where < <= > >= == or != is expected", letter_bytes(p->at), p->at);
}

static bool comparison(parser *p, uint32_t column, scan_term_op op, const number *x) {
    if (look_operator(p) >= 0)
        return fail_at(p, p->at, "comparisons do not chain, join two with &&");
    return emit(p, (scan_term){.op = op, .column = column, .constant_type = x->type, .constant = x->value});
}

static bool parse_number_first(parser *p) {
    uint32_t column;
    number x;
    int which;
    if (!take_number(p, &x) || !take_operator(p, &which))
        return false;
    skip_blanks(p);
    if (at_number(p->at))
        return fail_at(p, p->at, "two numbers are compared, one side must be a column");
    return take_column(p, &column) && comparison(p, column, operators[which].mirrored, &x);
}

static bool parse_column_first(parser *p) {
    uint32_t column;
    number x;
    int which;
    if (!take_column(p, &column) || !take_operator(p, &which))
        return false;
    skip_blanks(p);
    if (!*p->at)
        return fail_at(p, p->at, "the expression ends where a number is expected");
    if (!at_number(p->at) && (word_length(p->at) || *p->at == '`'))
        return fail_at(p, p->at, "two columns are compared, one side must be a number");
    if (!at_number(p->at))
        return fail_at(p, p->at, "'%.*s' stands where a number is expected", letter_bytes(p->at), p->at);
    return take_number(p, &x) && comparison(p, column, operators[which].op, &x);
}

/* True at isnan(COLUMN), isfinite(COLUMN). Without a parenthesis the word is a column's name. */
static bool at_test(const char *at, const char *word) {
    size_t n = strlen(word);
    return word_length(at) == n && memcmp(at, word, n) == 0 && at[n + strspn(at + n, " \t\r\n")] == '(';
}

static bool parse_test(parser *p, const char *word, scan_term_op op) {
    uint32_t column;
    p->at += strlen(word);
    if (!take(p, "(") || !take_column(p, &column))
        return false;
    if (!take(p, ")"))
        return fail_at(p, p->at, "%s takes one column, ')' is missing", word);
    return emit(p, (scan_term){.op = op, .column = column});
}

static bool parse_not(parser *p) {
    if (++p->depth > MAX_DEPTH)
        return fail_at(p, p->at, "parentheses and ! are nested deeper than %d", MAX_DEPTH);
    bool good;
    skip_blanks(p);
    if (*p->at == '!' && p->at[1] != '=') {
        p->at++;
        good = parse_not(p) && emit(p, (scan_term){.op = SCAN_TERM_NOT});
    } else if (*p->at == '(') {
        const char *open = p->at++;
        good = parse_or(p) &&
               (take(p, ")") || fail_at(p, p->at, "the ')' for column %zu is missing", (size_t)(open - p->text) + 1));
    } else if (at_test(p->at, "isnan")) {
        good = parse_test(p, "isnan", SCAN_TERM_ISNAN);
    } else if (at_test(p->at, "isfinite")) {
        good = parse_test(p, "isfinite", SCAN_TERM_ISFINITE);
    } else {
        good = at_number(p->at) ? parse_number_first(p) : parse_column_first(p);
    }
    p->depth--;
    return good;
}

static bool parse_and(parser *p) {
    if (!parse_not(p))
        return false;
    while (take(p, "&&"))
        if (!parse_not(p) || !emit(p, (scan_term){.op = SCAN_TERM_AND}))
            return false;
    return true;
}

static bool parse_or(parser *p) {
    if (!parse_and(p))
        return false;
    while (take(p, "||"))
        if (!parse_and(p) || !emit(p, (scan_term){.op = SCAN_TERM_OR}))
            return false;
    return true;
}

bool expression_parse(expression *e, const char *text, expression_resolve *resolve, void *user) {
    parser p = {.e = e, .text = text, .at = text, .resolve = resolve, .user = user};
    e->term_count = 0;
    e->reason[0] = 0;
    if (!parse_or(&p))
        return false;
    skip_blanks(&p);
    if (!*p.at)
        return true;
    if (*p.at == '&' || is_word(p.at, "and"))
        return fail_at(&p, p.at, "\"and\" is written &&");
    if (*p.at == '|' || is_word(p.at, "or"))
        return fail_at(&p, p.at, "\"or\" is written ||");
    return fail_at(&p, p.at, "'%.*s' stands where && or || or the end is expected", letter_bytes(p.at), p.at);
}
