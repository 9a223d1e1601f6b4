#!/usr/bin/env python3
"""Draws the charts of the README from the tables of the repository.

    docs/images/charts.py            write docs/images/*.svg
    docs/images/charts.py --check    exit code 1 if a file differs from its table

throughput.svg: INT8 images/s of Octet, OpenVINO and ONNX Runtime, from
benchmarks/README.md. accuracy.svg: accuracy in float, after calibration and
after fine-tuning, from docs/results.md. Colors differ in lightness, too, and
follow the system's light or dark mode.
"""
import argparse
import pathlib
import re
import sys
from xml.sax.saxutils import escape

IMAGES = pathlib.Path(__file__).resolve().parent
ROOT = IMAGES.parent.parent
WIDTH = 560
NAMES = {
    "resnet8": "ResNet-8", "resnet20": "ResNet-20", "resnet50": "ResNet-50",
    "mobilenet_v1_025": "MobileNetV1-0.25", "mobilenet_v2": "MobileNetV2",
    "efficientnet_b0": "EfficientNet-B0", "vit_tiny": "ViT-Tiny",
    "unet": "U-Net", "detector": "detector",
}
STYLE = """
text { font: 15px system-ui, -apple-system, "Segoe UI", "Liberation Sans",
  sans-serif; fill: #1f2328; }
.small { font-size: 13px; fill: #57606a; }
.title { font-weight: 600; }
.back { fill: #ffffff; }
.grid { stroke: #d0d7de; }
.a { fill: #0072b2; stroke: #0072b2; }
.b { fill: #e69f00; stroke: #e69f00; }
.c { fill: #8c959f; stroke: #8c959f; }
.range { stroke-width: 3; }
rect, circle { stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9da7b3; }
  .back { fill: #0d1117; }
  .grid { stroke: #30363d; }
  .a { fill: #56b4e9; stroke: #56b4e9; }
  .c { fill: #6e7681; stroke: #6e7681; }
}
"""


def section(path, heading):
    """Returns the text below a heading, up to the next heading."""
    text = (ROOT / path).read_text()
    match = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text,
                      re.MULTILINE | re.DOTALL)
    if not match:
        sys.exit(f"charts.py: {path}: no heading '{heading}'")
    return match[2]


def table(path, heading):
    """Returns {row name: {column: cell}} of the first table of a section."""
    lines = [line for line in section(path, heading).splitlines()
             if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in lines]
    if len(cells) < 3:
        sys.exit(f"charts.py: {path}: no table below '{heading}'")
    head = cells[0]
    rows = {}
    for row in cells[2:]:
        if len(row) != len(head):
            break
        rows[row[0]] = dict(zip(head, row))
    return rows


def number(cell):
    """Returns the first number of a cell, None if there is none."""
    match = re.match(r"[\d,]+(?:\.\d+)?", cell or "")
    return float(match[0].replace(",", "")) if match else None


class Drawing:
    """An SVG file that grows downward."""

    def __init__(self, title, description):
        self.parts, self.title, self.description = [], title, description

    def text(self, x, y, text, kind="", anchor="start"):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" '
            f'text-anchor="{anchor}">{escape(text)}</text>')

    def rectangle(self, x, y, width, height, kind):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}" class="{kind}"/>')

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
                          f'y2="{y2:.1f}" class="{kind}"/>')

    def circle(self, x, y, radius, kind):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" '
                          f'class="{kind}"/>')

    def legend(self, y, entries):
        x = 16
        for kind, text in entries:
            self.rectangle(x, y - 11, 12, 12, kind)
            self.text(x + 18, y, text)
            x += 18 + 8.1 * len(text) + 22

    def svg(self, height):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
                f'height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" '
                f'role="img">\n<title>{escape(self.title)}</title>\n'
                f'<desc>{escape(self.description)}</desc>\n'
                f'<style>{STYLE}</style>\n'
                f'<rect width="{WIDTH}" height="{height:.0f}" class="back"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def network(row):
    """'resnet8 b128' as two labels: 'ResNet-8', 'batch 128'."""
    name, _, batch = row.partition(" b")
    return NAMES.get(name, name), f"batch {batch}" if batch else ""


def throughput():
    page, heading = "benchmarks/README.md", "EPYC with AVX-512 VNNI"
    second = "ONNX Runtime on Octet's files"
    rows, other = table(page, heading), table(page, second)
    dates = [re.search(r"\d{4}-\d\d-\d\d", section(page, x))[0]
             for x in (heading, second)]
    drawing = Drawing(
        "INT8 throughput of Octet, OpenVINO and ONNX Runtime",
        f"Drawn from the table '{heading}' of {page}.")
    drawing.text(16, 28, "INT8 inference, in % of the fastest (images/s at "
                 "the bars)", "title")
    drawing.legend(54, [("a", "Octet"), ("b", "OpenVINO"),
                        ("c", "ONNX Runtime")])
    left, right, y = 156, WIDTH - 78, 72
    top = y
    for row, cells in rows.items():
        peers = other.get(row, {})
        best = [
            number(cells["Octet INT8"]),
            max(filter(None, [number(cells.get("OpenVINO, Octet's INT8")),
                              number(cells.get("OpenVINO, U8S8"))])),
            max(filter(None, [number(cells.get("ONNX Runtime, U8S8")),
                              number(peers.get("U8S8")),
                              number(peers.get("`--target onnxruntime`"))]))]
        name, batch = network(row)
        drawing.text(left - 10, y + 21, name, "", "end")
        drawing.text(left - 10, y + 38, batch, "small", "end")
        for kind, speed in zip("abc", best):
            width = (right - left) * speed / max(best)
            drawing.rectangle(left, y + 2, width, 14, kind)
            shown = f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"
            drawing.text(left + width + 6, y + 14, shown, "small")
            y += 16
        y += 10
    grid = Drawing("", "")
    for percent in range(0, 101, 25):
        x = left + (right - left) * percent / 100
        grid.line(x, top, x, y, "grid")
        drawing.text(x, y + 18, f"{percent} %", "small", "middle")
    drawing.parts = grid.parts + drawing.parts
    for line in (
            f"2 cores of an AMD EPYC (Zen 5, AVX-512 VNNI), {dates[0]}.",
            "Each runtime with its fastest file: Octet's or ONNX Runtime's INT8.",
            "OpenVINO 2026; ONNX Runtime 1.31, Octet's file measured "
            f"{dates[1]}."):
        drawing.text(16, y + 44, line, "small")
        y += 18
    return drawing.svg(y + 40)


def accuracy():
    page, heading = "docs/results.md", "Calibration and QAT"
    measured = re.search(r"Measured .*?\.(?=\s)", section(page, heading),
                         re.DOTALL)
    if not measured:
        sys.exit(f"charts.py: {page}: no sentence 'Measured DATE on MACHINE.' "
                 f"below '{heading}'")
    columns = [("c", "FP32", "FP32"), ("b", "INT8 calibrated", "calibrated"),
               ("a", "INT8 fine-tuned", "QAT")]
    rows = {}
    for row, cells in table(page, heading).items():
        # Mean and range over the seeds.
        values = [[float(x) for x in re.findall(r"\d+\.\d+", cells[column])]
                  for _, column, _ in columns]
        if all(len(value) == 3 for value in values):
            rows[row] = values
    if not rows:
        sys.exit(f"charts.py: {page}: no row with ranges below '{heading}'")
    low = min(v[1] for values in rows.values() for v in values)
    high = max(v[2] for values in rows.values() for v in values)
    low, high = 2 * int(low / 2), 2 * int(high / 2 + 1)
    left, right, y = 170, WIDTH - 78, 72
    top = y

    def place(value):
        return left + (right - left) * (value - low) / (high - low)

    drawing = Drawing(
        "Accuracy in float, calibrated and fine-tuned INT8",
        f"Drawn from the table '{heading}' of {page}.")
    drawing.text(16, 28, "Accuracy on Fashion-MNIST, % of 10,000 test images",
                 "title")
    drawing.legend(54, [("c", "FP32"), ("b", "INT8, calibrated (PTQ)"),
                        ("a", "INT8, fine-tuned (QAT)")])
    for row, values in rows.items():
        name, _ = network(row.partition(",")[0])
        drawing.text(left - 20, y + 33, name, "", "end")
        for (kind, _, _), (mean, least, most) in zip(columns, values):
            drawing.line(place(least), y + 10, place(most), y + 10,
                         f"range {kind}")
            drawing.circle(place(mean), y + 10, 6, kind)
            drawing.text(max(place(most), place(mean) + 6) + 8, y + 15,
                         f"{mean:.2f}", "small")
            y += 19
        y += 14
    grid = Drawing("", "")
    for percent in range(low, high + 1, 2):
        grid.line(place(percent), top, place(percent), y, "grid")
        drawing.text(place(percent), y + 18, f"{percent} %", "small", "middle")
    drawing.parts = grid.parts + drawing.parts
    drawing.text(16, y + 44, "Points: means of three seeds; lines: lowest to "
                 "highest seed.", "small")
    drawing.text(16, y + 62, " ".join(measured[0].split()), "small")
    return drawing.svg(y + 76)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    status = 0
    for name, draw in (("throughput", throughput), ("accuracy", accuracy)):
        path, text = IMAGES / f"{name}.svg", draw()
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(ROOT)}: differs from its table; run "
                  "docs/images/charts.py", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
