/* SPDX-License-Identifier: MIT
 *
 * The plot of `equalize --plot`: two panels, each with a histogram (filled) and a cumulative distribution (line).
 *
 * Counts are shown in 256 columns, those of 16-bit samples with 256 values in a column. Both panels share the vertical
 * scale, so that they can be compared. It follows from the 98.5th percentile of the columns in use, because one column
 * of black background would press all others to the floor; higher columns are cut and marked at the top. Lines and text
 * have fixed colors on a white page, in every theme of the reader's. There is no script, font file or link.
 */
#include "plot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 256,
    PANEL_WIDTH = 384, /* 1.5 a column */
    PANEL_HEIGHT = 230,
    LEFT = 62,
    GAP = 84,
    TOP = 74,
    WIDTH = LEFT + 2 * PANEL_WIDTH + GAP + 54,
    HEIGHT = TOP + PANEL_HEIGHT + 56
};

#define PAPER "#ffffff"
#define INK "#30343b"
#define FAINT "#6b717b"
#define GRID "#e6e8eb"
#define CUMULATIVE "#c2410c"

typedef struct canvas {
    output *out;
} canvas;

__attribute__((format(printf, 2, 3))) static void put(const canvas *c, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        output_write(c->out, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* Writes text from the user (a file name): escapes markup, replaces control characters and invalid UTF-8. */
static void put_escaped(const canvas *c, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t follow = *s < 0x80                 ? 0
                        : *s >= 0xc2 && *s < 0xe0 ? 1
                        : *s >= 0xe0 && *s < 0xf0 ? 2
                        : *s >= 0xf0 && *s < 0xf5 ? 3
                                                  : 9;
        size_t good = 0;
        while (good < follow && follow < 9 && (s[good + 1] & 0xc0) == 0x80)
            good++;
        if (*s == '<' || *s == '>' || *s == '&' || *s == '"')
            put(c, "&#%d;", *s);
        else if (*s < 0x20 || *s == 0x7f || good != follow)
            put(c, "?");
        else
            output_write(c->out, s, 1 + follow);
        s += good == follow ? 1 + follow : 1;
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Adds the counts up in COLUMNS columns. */
static void columns_of(const plot *p, const uint64_t *counts, uint64_t *columns) {
    uint32_t width = p->bins / COLUMNS;
    for (uint32_t k = 0; k < COLUMNS; k++) {
        columns[k] = 0;
        for (uint32_t i = 0; i < width; i++)
            columns[k] += counts[k * width + i];
    }
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A round number at or above x: 1, 2, 2.5 or 5 times a power of ten. */
static double round_up(double x) {
    static const double steps[] = {1, 2, 2.5, 5};
    for (double power = 1e-9;; power *= 10)
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++)
            if (steps[k] * power >= x)
                return steps[k] * power;
}

/* The top of the vertical axis, as a share of the pixels. */
static double top_share(double shares[][COLUMNS], size_t rows) {
    size_t n = 0;
    double largest = 0;
    uint64_t sorted[2 * PLOT_MAX_CHANNELS * COLUMNS];
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < COLUMNS; k++) {
            if (shares[r][k] > 0)
                sorted[n++] = (uint64_t)(shares[r][k] * 1e15);
            largest = shares[r][k] > largest ? shares[r][k] : largest;
        }
    if (n == 0)
        return 0.01;
    qsort(sorted, n, sizeof sorted[0], ascending);
    double high = (double)sorted[(size_t)((double)(n - 1) * 0.985)] / 1e15;
    return round_up(largest <= 1.6 * high ? largest : high * 1.05);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void draw_axes(const canvas *c, const plot *p, const char *title, double left, double top_value) {
    double bottom = TOP + PANEL_HEIGHT, right = left + PANEL_WIDTH;
    put(c, "<text x=\"%.1f\" y=\"%d\" class=\"side\">", left, TOP - 14);
    put_escaped(c, title);
    put(c, "</text>\n");
    for (int k = 0; k <= 4; k++) {
        double y = bottom - PANEL_HEIGHT * k / 4.0, share = top_value * k / 4 * 100;
        put(c, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", left, y, right, y,
            k ? "grid" : "axis");
        put(c, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick end\">%.3g%%</text>\n", left - 7, y + 3.6, share);
        put(c, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick%s\">%d%%</text>\n", right + 7, y + 3.6,
            p->channels == 1 ? " sum" : "", 25 * k);
    }
    for (int k = 0; k <= 4; k++) {
        double x = left + PANEL_WIDTH * k / 4.0;
        uint32_t value = k == 4 ? p->bins - 1 : p->bins / 4 * (uint32_t)k;
        if (k && k < 4)
            put(c, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", x, TOP, x, bottom);
        put(c, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick mid\">%u</text>\n", x, bottom + 17, value);
    }
    put(c, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick mid\">sample value</text>\n", left + PANEL_WIDTH / 2.0,
        bottom + 36);
}

/* One path around all columns; equal heights make one step. */
static void draw_histogram(const canvas *c, const double *shares, double left, double top_value, const char *style) {
    double bottom = TOP + PANEL_HEIGHT, step = (double)PANEL_WIDTH / COLUMNS;
    put(c, "<path class=\"%s\" d=\"M%.1f %.1f", style, left, bottom);
    for (uint32_t k = 0; k < COLUMNS; k++) {
        double part = shares[k] / top_value;
        put(c, "V%.1fH%.1f", bottom - PANEL_HEIGHT * (part < 1 ? part : 1), left + step * (k + 1));
    }
    put(c, "V%.1fZ\"/>\n", bottom);
    for (uint32_t k = 0; k < COLUMNS; k++)
        if (shares[k] > top_value) { /* cut: a small triangle above the column */
            double x = left + step * (k + 0.5);
            put(c, "<path class=\"%s\" d=\"M%.1f %dl-3.2 5h6.4Z\"/>\n", style, x, TOP - 8);
        }
}

static void draw_cumulative(const canvas *c, const double *shares, double left, const char *style) {
    double bottom = TOP + PANEL_HEIGHT, step = (double)PANEL_WIDTH / COLUMNS, sum = 0;
    put(c, "<path class=\"%s\" d=\"M%.1f %.1f", style, left, bottom);
    for (uint32_t k = 0; k < COLUMNS; k++) {
        sum += shares[k];
        put(c, "L%.1f %.1f", left + step * (k + 1), bottom - PANEL_HEIGHT * (sum < 1 ? sum : 1));
    }
    put(c, "\"/>\n");
}

static void draw_head(const canvas *c, const plot *p) {
    put(c, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    put(c, "<title>");
    put_escaped(c, p->title);
    put(c, ": histogram before and after</title>\n<style>\n"
           "text{font-family:-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:" INK "}\n"
           ".head{font-size:16px;font-weight:600}.side{font-size:13px;font-weight:600}.key{font-size:12px}\n"
           ".tick{font-size:10.5px;fill:" FAINT "}.mid{text-anchor:middle}.end{text-anchor:end}.sum{fill:" CUMULATIVE
           "}\n");
    put(c,
        ".grid{stroke:" GRID ";stroke-width:1}.axis{stroke:" INK ";stroke-width:1}\n"
        ".h0{fill:#5b7fa6}.r{fill:#d62728;fill-opacity:.45}.g{fill:#2ca02c;fill-opacity:.45}"
        ".b{fill:#1f6fd0;fill-opacity:.45}.n{fill:#b4b9c0}\n"
        ".c0{fill:none;stroke:" CUMULATIVE ";stroke-width:1.8;stroke-linejoin:round}\n"
        ".cr{fill:none;stroke:#a31515;stroke-width:1.5}.cg{fill:none;stroke:#1d7a1d;stroke-width:1.5}"
        ".cb{fill:none;stroke:#154f9c;stroke-width:1.5}.cn{fill:none;stroke:" FAINT ";stroke-width:1.5}\n</style>\n");
    put(c, "<rect width=\"%d\" height=\"%d\" fill=\"" PAPER "\"/>\n<text x=\"%d\" y=\"30\" class=\"head\">", WIDTH,
        HEIGHT, LEFT);
    put_escaped(c, p->title);
    put(c, "</text>\n");
}

static void draw_key(const canvas *c, const plot *p) {
    int right = LEFT + 2 * PANEL_WIDTH + GAP, box = right - 268, line = right - 130;
    put(c,
        "<rect x=\"%d\" y=\"20\" width=\"14\" height=\"10\" class=\"%s\"/>"
        "<text x=\"%d\" y=\"29\" class=\"key\">share of pixels</text>\n",
        box, p->channels == 1 ? "h0" : "n", box + 20);
    put(c, "<path class=\"%s\" d=\"M%d 25h18\"/><text x=\"%d\" y=\"29\" class=\"key\">cumulative share</text>\n",
        p->channels == 1 ? "c0" : "cn", line, line + 24);
}

void plot_write(const plot *p, output *out) {
    static const char *const grey[] = {"h0"}, *const colors[] = {"r", "g", "b"};
    static const char *const grey_line[] = {"c0"}, *const color_lines[] = {"cr", "cg", "cb"};
    const char *const *fill = p->channels == 1 ? grey : colors;
    const char *const *stroke = p->channels == 1 ? grey_line : color_lines;
    double shares[2 * PLOT_MAX_CHANNELS][COLUMNS];
    canvas c = {out};
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t k = 0; k < p->channels; k++) {
            uint64_t columns[COLUMNS], total = 0;
            columns_of(p, p->sides[side].counts + (size_t)k * p->bins, columns);
            for (uint32_t i = 0; i < COLUMNS; i++)
                total += columns[i];
            for (uint32_t i = 0; i < COLUMNS; i++)
                shares[side * p->channels + k][i] = total ? (double)columns[i] / (double)total : 0;
        }
    double top_value = top_share(shares, 2 * (size_t)p->channels);
    draw_head(&c, p);
    draw_key(&c, p);
    for (uint32_t side = 0; side < 2; side++) {
        double left = LEFT + side * (PANEL_WIDTH + GAP);
        draw_axes(&c, p, p->sides[side].title, left, top_value);
        for (uint32_t k = 0; k < p->channels; k++)
            draw_histogram(&c, shares[side * p->channels + k], left, top_value, fill[k]);
        for (uint32_t k = 0; k < p->channels; k++)
            draw_cumulative(&c, shares[side * p->channels + k], left, stroke[k]);
    }
    put(&c, "</svg>\n");
}
