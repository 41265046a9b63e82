/* SPDX-License-Identifier: MIT
 *
 * Dialects of tables: their options, and numbers written otherwise.
 */
#include "dialect.h"

#include <stdio.h>
#include <string.h>

#include "die.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* One character of ASCII that is no part of a number, a name or a quoted field; \t stands for a tab. */
static char take_character(const cli *c) {
    const char *text = strcmp(c->value, "\\t") == 0 ? "\t" : c->value;
    if (!text[0] || text[1] || (unsigned char)text[0] > '~')
        die_usage("%s: \"%s\" is not one character of ASCII", c->option, c->value);
    if (is_digit(text[0]) || is_letter(text[0]) || strchr("\"+-\n\r", text[0]))
        die_usage("%s: a letter, a digit, \", +, - or a line end cannot be told from the data", c->option);
    return text[0];
}

void dialect_needs_table(dialect *d, const cli *c) {
    if (!d->tables_only[0])
        snprintf(d->tables_only, sizeof d->tables_only, "%s", c->option);
}

bool dialect_take(dialect *d, const cli *c, int key) {
    switch (key) {
    case DIALECT_CSV: d->csv = true; return true;
    case DIALECT_TSV: d->tsv = true; return true;
    case DIALECT_NO_HEADER: d->header = false; break;
    case DIALECT_DELIMITER: d->delimiter = take_character(c); break;
    case DIALECT_DECIMAL: d->decimal = take_character(c); break;
    case DIALECT_THOUSANDS: d->thousands = take_character(c); break;
    case DIALECT_COMMENT: d->comment = take_character(c); break;
    case DIALECT_MISSING: d->missing = c->value; break;
    default: return false;
    }
    dialect_needs_table(d, c);
    return true;
}

void dialect_settle(dialect *d, const input *in, data_format format, bool text) {
    if (!format_is_table(format) && d->tables_only[0])
        die_usage("%s is for tables; %s is read as %s", d->tables_only, in->name,
                  format_is_binary(format) ? "an array"
                  : text                   ? "lines of text: with --csv in place of --text it is one"
                                           : "lines of numbers: add --csv if it is one");
    if (d->tsv && d->delimiter)
        die_usage("--tsv and --delimiter exclude each other: with --csv, --delimiter says what is between the fields");
    if (!d->delimiter)
        d->delimiter = format == FORMAT_TSV ? '\t' : ',';
    if (d->decimal == d->delimiter)
        die_usage("--decimal and --delimiter are both '%c': say what is between the fields, as in --delimiter ';'",
                  d->decimal);
    if (d->decimal == ' ' || d->decimal == '\t')
        die_usage("--decimal: a blank stands around numbers and cannot stand inside one");
    if (d->decimal == d->thousands)
        die_usage("--decimal and --thousands are both '%c': say both, as in --decimal , --thousands .", d->decimal);
    if (d->comment == d->delimiter)
        die_usage("--comment and --delimiter are both '%c'", d->comment);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

bool dialect_is_missing_word(const dialect *d, const unsigned char *begin, size_t bytes) {
    for (const char *word = d->missing; word;) {
        size_t length = strcspn(word, ",");
        if (length == bytes && memcmp(word, begin, bytes) == 0)
            return true;
        word = word[length] ? word + length + 1 : NULL;
    }
    return false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Writes the number as number.h has it. Returns its bytes, 0 if the groups of its digits are not of three or a
 * character is not this dialect's. */
static size_t translate(const dialect *d, const char *p, const char *end, char *to) {
    const char *start = to;
    bool whole = true, grouped = false;
    size_t digits = 0; /* since the last separator */
    for (; p < end; p++) {
        bool separator = d->thousands && *p == d->thousands, point = *p == d->decimal;
        if (separator && !(whole && (grouped ? digits == 3 : digits >= 1 && digits <= 3)))
            return 0;
        if (!separator && !point && *p == '.')
            return 0;
        if (whole && !separator && !is_digit(*p)) { /* before the first digit there is a sign */
            if (grouped && digits != 3)
                return 0;
            whole = digits == 0 && !point;
        }
        digits = is_digit(*p) ? digits + 1 : 0;
        grouped |= separator;
        if (!separator)
            *to++ = point ? '.' : *p;
    }
    return whole && grouped && digits != 3 ? 0 : (size_t)(to - start);
}

number_status dialect_parse_number(const dialect *d, const char *text, size_t bytes, number *out, size_t *where) {
    char number_text[DIALECT_NUMBER_BYTES];
    const char *p = text, *end = text + bytes;
    if (d->decimal == '.' && !d->thousands)
        return number_parse(text, bytes, out, where);
    while (p < end && is_blank(*p))
        p++;
    if (end > p && end[-1] == '\r')
        end--;
    while (end > p && is_blank(end[-1]))
        end--;
    if (p == end)
        return NUMBER_EMPTY;
    *where = 0;
    size_t length = (size_t)(end - p) <= sizeof number_text ? translate(d, p, end, number_text) : 0;
    return length ? number_parse(number_text, length, out, where) : NUMBER_SYNTAX;
}
