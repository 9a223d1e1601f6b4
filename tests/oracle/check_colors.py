"""Checks the colors of an HTML report and its graph, in light and dark mode:
contrast of text (WCAG 2: 4.5) and of lines (3), and colors with a meaning for
readers with protanopia, deuteranopia and tritanopia.

    check_colors.py FOLDER

FOLDER has report.html.
"""
import itertools
import pathlib
import re
import sys

# Machado et al., "A Physiologically-based Model for Simulation of Color Vision
# Deficiency" (IEEE TVCG 2009), severity 1, in linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868),
                   (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968),
                     (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779),
                   (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}
LEAST_DISTANCE = 12  # CIE 1976; 2.3 is just noticeable


def linear(color):
    channels = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in channels]


def luminance(color):
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(color)))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def lab(color, matrix):
    rgb = linear(color)
    rgb = [min(1, max(0, sum(m * c for m, c in zip(row, rgb))))
           for row in matrix]
    xyz = [sum(m * c for m, c in zip(row, rgb)) / white for row, white in (
        ((0.4124, 0.3576, 0.1805), 0.9505), ((0.2126, 0.7152, 0.0722), 1),
        ((0.0193, 0.1192, 0.9505), 1.089))]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
               for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def split(css):
    """Returns the rules outside and inside of the dark media query."""
    start = css.index("(prefers-color-scheme")
    start = css.index("{", start) + 1
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(css[end], 0)
        end += 1
    return css[:start] + css[end:], css[start:end - 1]


def variables(css):
    return dict(re.findall(r"--(\w+):\s*(#[0-9a-f]{6})", css))


def fills(css):
    return {name: color for names, body in re.findall(r"([^{}]+)\{([^}]*)\}",
                                                      css)
            for name in names.strip().split(",")
            for color in re.findall(r"fill:(#[0-9a-f]{6})", body)}


def strokes(css):
    return dict(re.findall(r"\.(og-[\w-]+)\{[^}]*stroke:(#[0-9a-f]{6})", css))


found = []


def check_contrast(mode, what, a, b, least):
    ratio = contrast(a, b)
    if ratio < least:
        found.append(f"{mode}: {what}: contrast {ratio:.2f} < {least}")


def check_apart(mode, colors):
    for (a, x), (b, y) in itertools.combinations(colors.items(), 2):
        for vision, matrix in VISION.items():
            distance = sum((p - q) ** 2 for p, q in zip(
                lab(x, matrix), lab(y, matrix))) ** 0.5
            if distance < LEAST_DISTANCE:
                found.append(f"{mode}: {a} and {b}, {vision}: distance "
                             f"{distance:.1f} < {LEAST_DISTANCE}")


def check_page(mode, color):
    for surface in ("page", "card"):
        for name in ("text", "quiet", "link", "good", "fair", "poor"):
            check_contrast(mode, f"{name} on {surface}", color[name],
                           color[surface], 4.5)
        for name in ("line0", "line1", "line2", "line3"):
            check_contrast(mode, f"{name} on {surface}", color[name],
                           color[surface], 3)
    for name in ("hit", "miss"):
        check_contrast(mode, f"text on {name}", color["text"], color[name], 4.5)
    check_apart(mode, {n: color[n] for n in ("hit", "miss", "page")})
    check_apart(mode, {n: color[n] for n in ("fill", "beyond", "card")})
    check_apart(mode, {n: color[n] for n in ("line0", "line1", "line2",
                                             "line3")})


def check_graph(mode, fill, stroke):
    boxes = {n: fill["." + n] for n in ("og-page", "og-box", "og-end",
                                        "og-int8", "og-mixed", "og-float")}
    for name, box in boxes.items():
        for text in (".og text", ".og .og-quiet"):
            check_contrast(mode, f"{text} on {name}", fill[text], box, 4.5)
    for name in ("og-box", "og-int8", "og-mixed", "og-float", "og-edge",
                 "og-edge-q"):
        check_contrast(mode, f"stroke of {name}", stroke[name],
                       boxes["og-page"], 3)
    check_apart(mode, {n: boxes[n] for n in ("og-int8", "og-mixed", "og-float",
                                             "og-box")})
    check_apart(mode, {n: stroke[n] for n in ("og-edge", "og-edge-q")})


page = (pathlib.Path(sys.argv[1]) / "report.html").read_text("utf-8")
sheets = re.findall(r"<style>(.*?)</style>", page, re.S)
light, dark = split(sheets[0])
check_page("light", variables(light))
check_page("dark", {**variables(light), **variables(dark)})
light, dark = split(sheets[1])
check_graph("light", fills(light), strokes(light))
check_graph("dark", {**fills(light), **fills(dark)},
            {**strokes(light), **strokes(dark)})
print("\n".join(found) or "all colors can be told apart")
assert not found
