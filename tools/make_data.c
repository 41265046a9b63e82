/* SPDX-License-Identifier: MIT
 *
 * make_data: writes a synthetic array to a file, in constant memory, so that it may be longer than memory. The same
 * arguments give the same bytes on every machine.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "distributions.h"

enum { PIECE_ELEMENTS = 1 << 16, NUMBER_BYTES = 32 };

typedef enum format { FORMAT_NPY, FORMAT_RAW, FORMAT_TEXT } format;

static const char usage[] = "Usage: tools/make_data [OPTION]... [FILE]\n"
                            "\n"
                            "  tools/make_data --type f32 --n 10M --distribution zipf keys.npy\n"
                            "  tools/make_data --type i64 --n 2^20 --format text | sort -n | head\n"
                            "\n"
                            "Writes synthetic elements to FILE or stdout, the same bytes for the same arguments.\n"
                            "\n"
                            "  --type T            " TYPE_WORDS " (u32)\n"
                            "  --n N                how many: 1000, 64K, 10M, 4G, 2^28, 2^28+1 (1M)\n"
                            "  --distribution D     one of those below (uniform)\n"
                            "  --seed S             another array of the same kind (1)\n"
                            "  --nan SHARE          this share of a float array is NaN (0)\n"
                            "  --negative-zero SHARE\n"
                            "                       this share of a float array is -0 (0)\n"
                            "  --format F           npy, raw (little-endian) or text, a number a line (npy)\n"
                            "  -o, --output FILE    the same as naming FILE\n"
                            "\n"
                            "Distributions:\n";

static void print_usage(void) {
    fputs(usage, stdout);
#define USAGE_ROW(ENUM, name, parameter, standard, meaning) printf("  %-20s %s\n", #name parameter, meaning);
    DISTRIBUTIONS(USAGE_ROW)
#undef USAGE_ROW
}

static const char *output_path; /* removed if writing fails */

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int code, const char *message, ...) {
    va_list list;
    fputs("make_data: ", stderr);
    va_start(list, message);
    vfprintf(stderr, message, list);
    va_end(list);
    fputc('\n', stderr);
    if (output_path != NULL)
        unlink(output_path);
    exit(code);
}

/* ---- formats ----------------------------------------------------------------------------------------------------- */

static void write_all(FILE *to, const void *data, size_t bytes) {
    if (fwrite(data, 1, bytes, to) != bytes)
        fail(3, "cannot write: %s", strerror(errno));
}

/* NumPy's format 1.0; the header is padded so that the data begins at a multiple of 64. */
static void write_npy_header(FILE *to, scan_type type, uint64_t n) {
    static const char letters[] = {[SCAN_UNSIGNED] = 'u', [SCAN_SIGNED] = 'i', [SCAN_FLOAT] = 'f'};
    size_t element = type_bytes(type);
    char header[128];
    int length = snprintf(header + 10, sizeof header - 10,
                          "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                          element == 1 ? '|' : '<', letters[type_class(type)], element, n);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10); /* 118 = 128 - 10 */
    memset(header + 10 + length, ' ', sizeof header - 10 - (size_t)length);
    header[sizeof header - 1] = '\n';
    write_all(to, header, sizeof header);
}

/* Writes an integer's digits, or as many of a float as read back the same value. Returns the number of bytes. */
static size_t print_number(char *to, const void *element, scan_type type) {
    uint64_t magnitude = 0;
    bool negative = false;
    switch (type) {
#define PRINT_SIGNED(ENUM, ctype)                                                                                      \
    case SCAN_##ENUM: {                                                                                                \
        ctype value = *(const ctype *)element;                                                                         \
        negative = value < 0;                                                                                          \
        magnitude = negative ? 0 - (uint64_t)value : (uint64_t)value;                                                  \
        break;                                                                                                         \
    }
#define PRINT_UNSIGNED(ENUM, ctype)                                                                                    \
    case SCAN_##ENUM:                                                                                                  \
        magnitude = *(const ctype *)element;                                                                           \
        break;
#define PRINT_FLOAT(ENUM, ctype)                                                                                       \
    case SCAN_##ENUM:                                                                                                  \
        return (size_t)snprintf(to, NUMBER_BYTES, "%.*g\n", sizeof(ctype) == 4 ? 9 : 17,                               \
                                (double)*(const ctype *)element);
#define PRINT_ROW(ENUM, name, ctype, CLASS) PRINT_##CLASS(ENUM, ctype)
        SCAN_TYPES(PRINT_ROW)
#undef PRINT_ROW
    case SCAN_TYPE_NONE: break;
    }
    char reversed[NUMBER_BYTES];
    size_t length = 0, bytes = 0;
    do
        reversed[length++] = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) != 0);
    if (negative)
        to[bytes++] = '-';
    while (length > 0)
        to[bytes++] = reversed[--length];
    to[bytes++] = '\n';
    return bytes;
}

static void write_text(FILE *to, const void *data, size_t count, scan_type type) {
    static char lines[PIECE_ELEMENTS * NUMBER_BYTES];
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += print_number(lines + bytes, (const char *)data + i * type_bytes(type), type);
    write_all(to, lines, bytes);
}

static void write_array(FILE *to, generator *g, format format) {
    static uint64_t piece[PIECE_ELEMENTS];
    if (format == FORMAT_NPY)
        write_npy_header(to, g->type, g->n);
    while (g->at < g->n) {
        size_t count = g->n - g->at < PIECE_ELEMENTS ? (size_t)(g->n - g->at) : PIECE_ELEMENTS;
        generator_fill(g, piece, count);
        if (format == FORMAT_TEXT)
            write_text(to, piece, count, g->type);
        else
            write_all(to, piece, count * type_bytes(g->type));
    }
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static double share(const char *option, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1))
        fail(2, "%s: '%s' is not a number from 0 to 1", option, text);
    return value;
}

static format parse_format(const char *text) {
    static const char *const names[] = {"npy", "raw", "text"};
    for (int f = 0; f < 3; f++)
        if (strcmp(text, names[f]) == 0)
            return (format)f;
    fail(2, "--format: '%s' is not npy, raw or text", text);
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"type", required_argument, NULL, 't'},
                                            {"n", required_argument, NULL, 'n'},
                                            {"distribution", required_argument, NULL, 'd'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"nan", required_argument, NULL, 'a'},
                                            {"negative-zero", required_argument, NULL, 'z'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    distribution d = {.kind = DISTRIBUTION_UNIFORM};
    scan_type type = SCAN_U32;
    uint64_t n = 1000000, seed = 1;
    format form = FORMAT_NPY;
    const char *path = NULL, *wrong;
    for (int key; (key = getopt_long(argc, argv, "o:h", options, NULL)) != -1;)
        switch (key) {
        case 't':
            if ((type = parse_type(optarg)) == SCAN_TYPE_NONE)
                fail(2, "--type: '%s' is not a type (%s)", optarg, &TYPE_WORDS[1]);
            break;
        case 'n':
            if (!parse_count(optarg, &n))
                fail(2, "--n: '%s' is not a count such as 1000, 10M or 2^20", optarg);
            break;
        case 'd':
            if ((wrong = distribution_parse(&d, optarg)) != NULL)
                fail(2, "--distribution: '%s': %s", optarg, wrong);
            break;
        case 's':
            if (!parse_count(optarg, &seed))
                fail(2, "--seed: '%s' is not a number", optarg);
            break;
        case 'a': d.nan = share("--nan", optarg); break;
        case 'z': d.zero = share("--negative-zero", optarg); break;
        case 'f': form = parse_format(optarg); break;
        case 'o': path = optarg; break;
        case 'h': print_usage(); return 0;
        default: return 2;
        }
    if (argc - optind > 1 || (argc - optind == 1 && path != NULL))
        fail(2, "one output file at most");
    if (argc - optind == 1)
        path = argv[optind];
    if (form != FORMAT_TEXT && n > INT64_MAX / type_bytes(type))
        fail(2, "--n: %" PRIu64 " elements are more than a file can hold", n);

    generator g;
    if ((wrong = generator_start(&g, &d, type, n, seed)) != NULL)
        fail(2, "%s", wrong);
    FILE *to = stdout;
    if (path != NULL && strcmp(path, "-") != 0) {
        if ((to = fopen(path, "wb")) == NULL)
            fail(3, "%s: cannot open: %s", path, strerror(errno));
        output_path = path;
    } else if (form != FORMAT_TEXT && isatty(STDOUT_FILENO))
        fail(2, "binary data is not written to a terminal: name a file");
    write_array(to, &g, form);
    if (fclose(to) != 0)
        fail(3, "cannot write: %s", strerror(errno));
    return 0;
}
