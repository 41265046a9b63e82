#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_dist_plot.py TABLE FILE.svg [WORDS]: weak scaling of a table of tools/bench_dist, as plain SVG: time by that of
one context, over ranks. What was measured has filled markers and full lines, what the model predicts hollow markers and
dashed lines. WORDS stand below: the machine, the date."""
import html
import math
import sys

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 420, 62, 46, 560, 350
LABEL_GAP = 15


def read(path):
    """{verb: [(ranks, ratio, is_measured)]}; one rank is the context alone."""
    series = {}
    for line in open(path, encoding="ascii"):
        verb, scaling, ranks, *numbers, kind = line.split()
        if scaling == "weak":
            series.setdefault(verb, []).append((int(ranks), float(numbers[3]), kind == "measured"))
    return {verb: sorted(points) for verb, points in series.items()}


def text(x, y, anchor, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def line(kind, x1, y1, x2, y2):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def draw(series, words):
    points = [point for of in series.values() for point in of]
    most_ranks, top = max(p[0] for p in points), math.ceil(max(p[1] for p in points) * 2) / 2

    def x_of(ranks):
        return LEFT + (RIGHT - LEFT) * math.log2(ranks) / max(1, math.log2(most_ranks))

    def y_of(ratio):
        return BOTTOM - (BOTTOM - TOP) * ratio / top

    yield text(LEFT, 26, "start", "Time of n elements a rank on several ranks, by that of one context alone")
    for ranks in sorted({p[0] for p in points}):
        yield line("grid", x_of(ranks), TOP, x_of(ranks), BOTTOM)
        yield text(x_of(ranks), BOTTOM + 18, "middle", str(ranks))
    step = 0.5 if top <= 5 else 1
    for k in range(int(top / step) + 1):
        yield line("grid", LEFT, y_of(k * step), RIGHT, y_of(k * step))
        yield text(LEFT - 6, y_of(k * step) + 4, "end", f"{k * step:g}")
    yield text((LEFT + RIGHT) / 2, BOTTOM + 36, "middle", "ranks")
    labels = []
    for (verb, of), colour in zip(series.items(), COLOURS):
        for (a, ratio_a, _), (b, ratio_b, measured) in zip(of, of[1:]):
            dash = "" if measured else ' stroke-dasharray="6 4"'
            yield (f'<line x1="{x_of(a):.1f}" y1="{y_of(ratio_a):.1f}" x2="{x_of(b):.1f}" y2="{y_of(ratio_b):.1f}" '
                   f'stroke="{colour}" stroke-width="2"{dash}/>')
        for ranks, ratio, measured in of:
            yield (f'<circle cx="{x_of(ranks):.1f}" cy="{y_of(ratio):.1f}" r="4" stroke="{colour}" stroke-width="1.5" '
                   f'fill="{colour if measured else "#fff"}"/>')
        labels.append((y_of(of[-1][1]), verb, colour))
    at = 0
    for y, verb, colour in sorted(labels):
        at = max(y, at + LABEL_GAP)
        yield f'<g fill="{colour}">' + text(RIGHT + 12, at + 4, "start", verb) + "</g>"
    yield '<circle cx="70" cy="404" r="4" fill="#444" stroke="#444"/>' + text(80, 408, "start", "measured")
    yield '<circle cx="160" cy="404" r="4" fill="#fff" stroke="#444"/>' + text(170, 408, "start", "predicted")
    yield text(WIDTH - 12, 408, "end", words)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[2], "w", encoding="ascii") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                   f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
                   '<style>.grid{stroke:#ddd}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n')
        for part in draw(read(sys.argv[1]), sys.argv[3] if len(sys.argv) > 3 else ""):
            file.write(part + "\n")
        file.write("</svg>\n")


if __name__ == "__main__":
    main()
