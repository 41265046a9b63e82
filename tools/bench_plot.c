/* SPDX-License-Identifier: MIT
 *
 * All rows of a run over n, as plain SVG: for every workload one figure with two panels, time and GB/s, on logarithmic
 * axes. Lines are told apart by their labels at the right end, by markers and by dashes; colours only help. The plain
 * copy is the broad grey line: the ceiling.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct point {
    char figure[128], series[48];
    bool is_copy;
    double n, value[2]; /* value: microseconds, GB/s */
} point;

static struct {
    point *all;
    size_t count, room;
} points;

enum { WIDTH = 1360, HEIGHT = 450, TOP = 62, PLOT_HEIGHT = 320, PLOT_WIDTH = 370, PANEL = 680, LEFT = 62 };
enum { MAX_SERIES = MAX_CONTENDERS, LABEL_GAP = 14 };

void plot_results(const bench_settings *bench, const job *j, const result *results, size_t count) {
    for (size_t k = 0; bench->plot_path != NULL && k < count; k++) {
        point *all = one_more(points.all, points.count, &points.room, sizeof *all);
        if (all == NULL)
            return;
        points.all = all;
        point *p = &points.all[points.count++];
        *p = (point){.is_copy = results[k].is_copy, .n = (double)j->n};
        describe_job(j, false, p->figure, sizeof p->figure);
        snprintf(p->series, sizeof p->series, "%s", results[k].name);
        p->value[0] = results[k].ns * 1e-3;
        p->value[1] = results[k].bytes / results[k].ns;
    }
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

typedef struct axis {
    double low, high; /* of the values */
    double at, length;
} axis;

static double place(const axis *a, double value) {
    return a->at + a->length * (log(value) - log(a->low)) / (log(a->high) - log(a->low));
}

/* The axis goes from just below the smallest value to just above the largest. */
static axis axis_of(const char *figure, int which, double at, double length) {
    axis a = {.low = INFINITY, .high = 0, .at = at, .length = length};
    for (size_t k = 0; k < points.count; k++) {
        if (strcmp(points.all[k].figure, figure) != 0)
            continue;
        double value = which < 0 ? points.all[k].n : points.all[k].value[which];
        a.low = value < a.low ? value : a.low;
        a.high = value > a.high ? value : a.high;
    }
    double more = which < 0 && a.low < a.high ? 1 : 1.25;
    if (a.low == a.high)
        more = 2;
    a.low /= more, a.high *= more;
    return a;
}

static void escaped(FILE *file, const char *words) {
    for (; *words != '\0'; words++)
        switch (*words) {
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        default: fputc(*words, file);
        }
}

static void text(FILE *file, double x, double y, const char *anchor, const char *words) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    escaped(file, words);
    fputs("</text>\n", file);
}

static void rule(FILE *file, const char *kind, double x1, double y1, double x2, double y2) {
    fprintf(file, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x1, y1, x2, y2);
}

static void draw_axes(FILE *file, const axis *x, const axis *y, const char *title) {
    double left = x->at, bottom = y->at, right = left + x->length, top = bottom + y->length;
    fprintf(file, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", left, top,
            x->length, bottom - top);
    text(file, left, top - 8, "start", title);
    int first = (int)ceil(log2(x->low) - 1e-9), last = (int)floor(log2(x->high) + 1e-9);
    int every = (last - first) / 10 + 1;
    for (int e = first; e <= last; e += every) {
        double at = place(x, ldexp(1, e));
        rule(file, "grid", at, top, at, bottom);
        fprintf(
            file,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">2<tspan dy=\"-5\" font-size=\"9\">%d</tspan></text>\n",
            at, bottom + 18, e);
    }
    text(file, (left + right) / 2, bottom + 36, "middle", "n");
    bool wide = y->high / y->low > 300;
    for (int e = (int)floor(log10(y->low)); e <= (int)ceil(log10(y->high)); e++)
        for (int digit = 1; digit < 10; digit++) {
            double value = digit * pow(10, e);
            char number[32];
            if (value < y->low || value > y->high || (digit != 1 && (wide || (digit != 2 && digit != 5))))
                continue;
            snprintf(number, sizeof number, "%.7g", value);
            rule(file, "grid", left, place(y, value), right, place(y, value));
            text(file, left - 6, place(y, value) + 4, "end", number);
        }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#2f2f2f", "#56b4e9"};
static const char *const dashes[] = {"", "7 3", "2 3", "9 3 2 3"};

static void marker(FILE *file, unsigned shape, const char *colour, double x, double y) {
    static const char *const shapes[] = {
        "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "M-3-3h6v6h-6z",
        "M0-4.2l4 7h-8z",
        "M0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
        "M-3.5-3.5l7 7m0-7l-7 7",
        "M0-4.5v9m-4.5-4.5h9",
    };
    fprintf(file, "<path d=\"%s\" transform=\"translate(%.1f %.1f)\" fill=\"%s\" stroke=\"%s\"/>\n", shapes[shape % 6],
            x, y, shape % 6 > 3 ? "none" : colour, colour);
}

typedef struct line {
    const char *name, *colour;
    unsigned shape;
    bool is_copy;
    double end_x, end_y, label_y;
} line;

static int by_end(const void *a, const void *b) {
    double x = ((const line *)a)->end_y, y = ((const line *)b)->end_y;
    return (x > y) - (x < y);
}

/* Draws labels and markers at the ends of the lines. Labels that would touch are moved apart: down first, then up from
 * the bottom. */
static void draw_labels(FILE *file, line *lines, size_t count, double x, double top, double bottom) {
    qsort(lines, count, sizeof *lines, by_end);
    for (size_t k = 0; k < count; k++) {
        lines[k].label_y = lines[k].end_y < top ? top : lines[k].end_y;
        if (k > 0 && lines[k].label_y < lines[k - 1].label_y + LABEL_GAP)
            lines[k].label_y = lines[k - 1].label_y + LABEL_GAP;
    }
    for (size_t k = count; k-- > 0;) {
        double max_y = k + 1 < count ? lines[k + 1].label_y - LABEL_GAP : bottom;
        if (lines[k].label_y > max_y)
            lines[k].label_y = max_y;
        rule(file, "lead", lines[k].end_x + 5, lines[k].end_y, x - 3, lines[k].label_y);
        if (!lines[k].is_copy)
            marker(file, lines[k].shape, lines[k].colour, x + 3, lines[k].label_y);
        text(file, x + 11, lines[k].label_y + 4, "start", lines[k].name);
    }
}

static int by_n(const void *a, const void *b) {
    double x = ((const point *)a)->n, y = ((const point *)b)->n;
    return (x > y) - (x < y);
}

static void draw_line(FILE *file, const point *of, size_t count, unsigned index, int which, const axis *x,
                      const axis *y, line *l) {
    const char *colour = of[0].is_copy ? "#999999" : colours[index % (sizeof colours / sizeof *colours)];
    const char *dash = of[0].is_copy ? "" : dashes[index % (sizeof dashes / sizeof *dashes)];
    fprintf(file, "<polyline class=\"series\" stroke=\"%s\" stroke-width=\"%d\" stroke-dasharray=\"%s\" points=\"",
            colour, of[0].is_copy ? 5 : 2, dash);
    for (size_t k = 0; k < count; k++)
        fprintf(file, "%s%.1f,%.1f", k ? " " : "", place(x, of[k].n), place(y, of[k].value[which]));
    fputs("\"><title>", file);
    escaped(file, of[0].series);
    fputs("</title></polyline>\n", file);
    for (size_t k = 0; !of[0].is_copy && k < count; k++)
        marker(file, index, colour, place(x, of[k].n), place(y, of[k].value[which]));
    *l = (line){.name = of[0].series, .colour = colour, .shape = index, .is_copy = of[0].is_copy};
    l->end_x = place(x, of[count - 1].n);
    l->end_y = place(y, of[count - 1].value[which]);
}

static void draw_panel(FILE *file, const char *figure, int which, double left, double top) {
    axis x = axis_of(figure, -1, left, PLOT_WIDTH), y = axis_of(figure, which, top + PLOT_HEIGHT, -PLOT_HEIGHT);
    static point of[MAX_LIST * 4];
    line lines[MAX_SERIES];
    size_t drawn = 0;
    draw_axes(file, &x, &y, which ? "GB/s read and written" : "microseconds a call");
    for (size_t k = 0; k < points.count && drawn < MAX_SERIES; k++) {
        const point *first = &points.all[k];
        size_t count = 0;
        bool seen = strcmp(first->figure, figure) != 0;
        for (size_t i = 0; i < drawn; i++)
            seen |= strcmp(lines[i].name, first->series) == 0;
        if (seen)
            continue;
        for (size_t i = k; i < points.count && count < sizeof of / sizeof *of; i++)
            if (strcmp(points.all[i].figure, figure) == 0 && strcmp(points.all[i].series, first->series) == 0)
                of[count++] = points.all[i];
        qsort(of, count, sizeof *of, by_n);
        draw_line(file, of, count, (unsigned)drawn, which, &x, &y, &lines[drawn]);
        lines[drawn++].name = first->series;
    }
    draw_labels(file, lines, drawn, left + PLOT_WIDTH + 14, top, top + PLOT_HEIGHT);
}

/* The workloads, in the order in which they were measured. */
static size_t find_figures(const char **figures, size_t room) {
    size_t count = 0;
    for (size_t k = 0; k < points.count && count < room; k++) {
        bool seen = false;
        for (size_t i = 0; i < count && !seen; i++)
            seen = strcmp(figures[i], points.all[k].figure) == 0;
        if (!seen)
            figures[count++] = points.all[k].figure;
    }
    return count;
}

bool plot_write(const bench_settings *bench) {
    FILE *file = fopen(bench->plot_path, "w");
    if (file == NULL)
        return false;
    const char *figures[256];
    size_t count = find_figures(figures, sizeof figures / sizeof *figures);
    int height = (int)count * HEIGHT + 30;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.frame{fill:none;stroke:#444}.grid{stroke:#ddd}.lead{stroke:#999;stroke-width:0.7}.series{fill:"
            "none}.title{font-size:15px;font-weight:"
            "bold}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, height, WIDTH, height);
    for (size_t f = 0; f < count; f++) {
        double top = (double)(HEIGHT * f + TOP);
        fputs("<g class=\"figure\">\n<g class=\"title\">", file);
        text(file, LEFT, top - 34, "start", figures[f]);
        fputs("</g>\n", file);
        for (int which = 0; which < 2; which++)
            draw_panel(file, figures[f], which, LEFT + PANEL * which, top);
        fputs("</g>\n", file);
    }
    text(file, WIDTH / 2, height - 14, "middle", bench->machine);
    fputs("</svg>\n", file);
    return fclose(file) == 0;
}
