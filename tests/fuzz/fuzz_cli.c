/* SPDX-License-Identifier: MIT
 *
 * Command lines, one word in each line of the input: no crash; the options of an accepted command line are those that a
 * simple reader of the same words finds; a refusal is one line.
 */
#include <string.h>

#include "apps/support/cli.h"
#include "apps/support/die.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
    "-r\n-k\nname:desc\nin.csv\n-oout\n--force",
    "--key=3\n--\n-r\n--key\n-",
    "-rfk1\n--threads\n1024\n--device=cuda:7\n--json\nreport",
    "--dtype\nfloat32\n--progress=never\n--revers",
    "--threads=18446744073709551616\n--device\ncuda:\n-x",
    "a\nb\n-k\n--\n--verify\n--stats=1\n--output",
    NULL,
};

enum { MAX_WORDS = 64, MAX_BYTES = 2048, KEY = 1, REVERSE, DTYPE };
static const cli_option options[] = {
    {"key", 'k', true, KEY}, {"reverse", 'r', false, REVERSE}, {"dtype", 0, true, DTYPE}, {NULL, 0, false, 0}};

typedef struct run {
    char text[MAX_BYTES + 1];
    char *words[MAX_WORDS + 2], *given[MAX_WORDS + 2]; /* cli moves operands to the front of words */
    int count;
    cli c;
    size_t keys, reverses;
    const char *key, *dtype;
    scan_type type;
} run;

static void split(run *r, const uint8_t *data, size_t bytes) {
    memcpy(r->text, data, bytes);
    r->text[bytes] = 0;
    r->words[r->count++] = strdup("scan");
    for (char *p = r->text; p && r->count <= MAX_WORDS;) {
        char *end = strchr(p, '\n');
        if (end)
            *end++ = 0;
        r->words[r->count++] = strdup(p); /* a copy, so that a sanitizer sees reads past its end */
        p = end;
    }
    memcpy(r->given, r->words, sizeof r->given);
}

/* True if --help or --version, which end the process, may be among the words. */
static bool ends(const run *r) {
    for (int i = 1; i < r->count; i++)
        if (r->given[i][0] == '-' && (strchr(r->given[i], 'h') || strncmp(r->given[i], "--ver", 5) == 0))
            return true;
    return false;
}

static void read_it(void *arg) {
    run *r = arg;
    for (int key; (key = cli_next(&r->c));) {
        FUZZ_CHECK(key >= KEY && key <= DTYPE && (r->c.value != NULL) == (key != REVERSE));
        if (key == KEY) {
            r->keys++;
            r->key = r->c.value;
        } else if (key == REVERSE) {
            r->reverses++;
        } else {
            r->dtype = r->c.value;
            r->type = cli_type(r->c.option, r->c.value);
        }
    }
}

/* The simple reader: takes the words one after another, without checks, because cli_next has accepted them. */
typedef struct reading {
    size_t keys, reverses, operands;
    const char *key, *dtype, *output, *device, *threads, *json, *progress;
    bool force, stats;
    char *operand[MAX_WORDS + 2];
} reading;

static const char **slot_of(reading *x, const char *name, size_t length) {
    const struct {
        const char *name;
        const char **slot;
    } slots[] = {{"key", &x->key},         {"dtype", &x->dtype}, {"output", &x->output},    {"device", &x->device},
                 {"threads", &x->threads}, {"json", &x->json},   {"progress", &x->progress}};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
        if (strlen(slots[i].name) == length && memcmp(slots[i].name, name, length) == 0)
            return slots[i].slot;
    return NULL;
}

static void set(reading *x, const char *name, size_t length, const char *value) {
    const char **slot = slot_of(x, name, length);
    if (slot)
        *slot = value;
    x->keys += slot == &x->key;
    x->reverses += length == 7 && memcmp(name, "reverse", 7) == 0;
    x->force |= length == 5 && memcmp(name, "force", 5) == 0;
    x->stats |= length == 5 && memcmp(name, "stats", 5) == 0;
}

static void read_words(reading *x, const run *r) {
    bool ended = false;
    for (int i = 1; i < r->count; i++) {
        char *word = r->given[i];
        if (ended || word[0] != '-' || !word[1]) {
            x->operand[x->operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            ended = true;
        } else if (word[1] == '-') {
            size_t length = strcspn(word + 2, "=");
            bool wants = slot_of(x, word + 2, length);
            set(x, word + 2, length, !wants ? NULL : word[2 + length] ? word + 3 + length : r->given[++i]);
        } else {
            for (const char *p = word + 1; *p; p++) {
                const char *name = *p == 'k' ? "key" : *p == 'o' ? "output" : *p == 'r' ? "reverse" : "force";
                bool wants = *p == 'k' || *p == 'o';
                set(x, name, strlen(name), !wants ? NULL : p[1] ? p + 1 : r->given[++i]);
                if (wants)
                    break;
            }
        }
    }
}

static bool same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static void check(const run *r) {
    reading x = {.device = "auto"};
    const cli_common *common = &r->c.common;
    read_words(&x, r);
    FUZZ_CHECK(x.keys == r->keys && x.reverses == r->reverses && same(x.key, r->key) && same(x.dtype, r->dtype));
    FUZZ_CHECK(same(x.output && strcmp(x.output, "-") == 0 ? NULL : x.output, common->output));
    FUZZ_CHECK(same(x.device, common->device) && same(x.json, common->json));
    FUZZ_CHECK(x.force == common->force && x.stats == common->stats);
    FUZZ_CHECK((x.threads ? strtoull(x.threads, NULL, 10) : 0) == common->threads && common->threads <= 1024);
    FUZZ_CHECK((size_t)r->c.argc == x.operands);
    for (size_t i = 0; i < x.operands; i++)
        FUZZ_CHECK(same(x.operand[i], r->c.argv[i]));
    if (x.dtype)
        FUZZ_CHECK(r->type >= SCAN_U8 && r->type <= SCAN_F64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static run r;
    fatal_error error;
    if (bytes > MAX_BYTES)
        return 0;
    r = (run){.c = {.help = "", .short_help = "", .options = options}};
    split(&r, data, bytes);
    cli_start(&r.c, r.count, r.words);
    if (!ends(&r)) {
        if (die_catch(&error, read_it, &r)) {
            check(&r);
        } else {
            size_t length = strlen(error.line);
            FUZZ_CHECK(error.code == EXIT_USAGE && strncmp(error.line, "scan: ", 6) == 0);
            FUZZ_CHECK(strchr(error.line, '\n') == error.line + length - 1);
        }
    }
    for (int i = 0; i < r.count; i++)
        free(r.given[i]);
    return 0;
}
