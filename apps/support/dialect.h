/* SPDX-License-Identifier: MIT
 *
 * The dialect of a table: how its fields are separated, its numbers written and its gaps marked, as options say.
 * Nothing is guessed. Rows are written back as they were read, whatever the dialect.
 */
#ifndef APPS_SUPPORT_DIALECT_H
#define APPS_SUPPORT_DIALECT_H

#include "array.h"
#include "cli.h"
#include "number.h"

typedef struct dialect {
    bool csv, tsv;        /* a table, whatever its name */
    bool header;          /* the first row is one */
    char delimiter;       /* 0: a comma, of TSV a tab; dialect_settle */
    char decimal;         /* between the whole part of a number and its fraction */
    char thousands;       /* between groups of three digits of the whole part; 0: none */
    char comment;         /* that lines which belong to no row begin with; 0: none */
    const char *missing;  /* words that stand for nothing, with commas between them; NULL: none */
    char tables_only[32]; /* the first option that was given and means nothing but to tables, or "" */
} dialect;

#define DIALECT_DEFAULT ((dialect){.header = true, .decimal = '.'})

enum {
    DIALECT_CSV = 1 << 16,
    DIALECT_TSV,
    DIALECT_NO_HEADER,
    DIALECT_DELIMITER,
    DIALECT_DECIMAL,
    DIALECT_THOUSANDS,
    DIALECT_COMMENT,
    DIALECT_MISSING
};

/* The options, for the list of a program, and their part of its help. */
#define DIALECT_OPTIONS                                                                                                \
    {"csv", 0, false, DIALECT_CSV}, {"tsv", 0, false, DIALECT_TSV}, {"no-header", 0, false, DIALECT_NO_HEADER},        \
        {"delimiter", 0, true, DIALECT_DELIMITER}, {"decimal", 0, true, DIALECT_DECIMAL},                              \
        {"thousands", 0, true, DIALECT_THOUSANDS}, {"comment", 0, true, DIALECT_COMMENT}, {                            \
        "missing", 0, true, DIALECT_MISSING                                                                            \
    }

#define DIALECT_HELP                                                                                                   \
    "      --csv, --tsv      a table, whatever its name; .csv and .tsv are tables by themselves\n"                     \
    "      --no-header       the table's first row is data\n"                                                          \
    "      --delimiter C     the table's fields are separated by C, as in --delimiter ';'\n"                           \
    "      --decimal C       its numbers are written with C for the point, as in --decimal ,\n"                        \
    "      --thousands C     with C between groups of three digits, as in --thousands .\n"                             \
    "      --comment C       its lines that begin with C are left out, but for those before the first row\n"           \
    "      --missing WORDS   its fields that are one of these words are missing, as in --missing NA,null,-\n"

/* Takes the option that cli_next has just returned. Returns false if it is not one of these. */
bool dialect_take(dialect *d, const cli *c, int key);

/* Notes that an option of the program's own was given that means nothing but to tables. */
void dialect_needs_table(dialect *d, const cli *c);

/* Once the format is known: exit 2 for options that do not apply to it, and for characters that cannot be told apart.
 */
void dialect_settle(dialect *d, const input *in, data_format format, bool text);

/* Returns true if the bytes are one of the words of --missing. */
bool dialect_is_missing_word(const dialect *d, const unsigned char *begin, size_t bytes);

/* Returns true if numbers are as in number.h and no word is missing. */
static inline bool dialect_is_plain(const dialect *d) { return d->decimal == '.' && !d->thousands && !d->missing; }

/* As number_parse. Groups of digits are of three, the first of one to three. With --decimal or --thousands a number has
 * at most DIALECT_NUMBER_BYTES characters. */
enum { DIALECT_NUMBER_BYTES = 1024 };
number_status dialect_parse_number(const dialect *d, const char *text, size_t bytes, number *out, size_t *where);

#endif
