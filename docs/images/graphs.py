#!/usr/bin/env python3
"""Draws docs/images/graphs.svg: LeNet in float and in INT8, by `octet graph`.

    docs/images/graphs.py [--octet build/release/bin/octet]

Places the two graphs side by side, without their headings, under a common
legend. Colors follow the system's light or dark mode.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

IMAGES = pathlib.Path(__file__).resolve().parent
PANEL, HEAD, GAP = 300, 66, 16  # width of a graph, height of the legend
STYLE = """
.og .heading { font: 600 15px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; fill: #1b1f24; }
@media (prefers-color-scheme: dark) { .og .heading { fill: #e6edf3; } }
"""


def draw(octet, *options):
    """Returns the style and the graph of a drawing, and the graph's height."""
    with tempfile.NamedTemporaryFile(suffix=".svg") as file:
        subprocess.run([octet, "graph", "zoo:lenet", *options, "-o", file.name],
                       check=True, stdout=subprocess.DEVNULL)
        text = pathlib.Path(file.name).read_text()
    width, height = map(float, re.search(
        r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    start = re.search(r'<g transform="translate\([\d.]+,([\d.]+)\)">', text)
    top = float(start[1]) - 4
    graph = text[start.start():text.rindex("</svg>")]
    return style, graph, width, top, height - top


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--octet", default=IMAGES.parents[1] /
                        "build/release/bin/octet")
    octet = parser.parse_args().octet
    panels = [draw(octet), draw(octet, "--int8")]
    height = HEAD + max(panel[4] for panel in panels)
    full = 2 * PANEL + GAP
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="og" role="img" '
             f'width="{0.85 * full:.0f}" height="{0.85 * height:.0f}" '
             f'viewBox="0 0 {full} {height:.0f}">',
             "<title>LeNet in float and in INT8</title>",
             f"<style>{panels[1][0]}{STYLE}</style>",
             f'<rect class="og-page" width="{full}" height="{height:.0f}"/>']
    for at, (heading, panel) in enumerate(zip(("float", "INT8"), panels)):
        _, graph, width, top, tall = panel
        left = at * (PANEL + GAP)
        parts.append(f'<text class="heading" x="{left + PANEL / 2}" y="24" '
                     f'text-anchor="middle">{heading}</text>')
        parts.append(f'<svg x="{left}" y="{HEAD}" width="{PANEL}" '
                     f'height="{tall:.0f}" viewBox="{(width - PANEL) / 2} '
                     f'{top} {PANEL} {tall:.0f}">{graph}</svg>')
    x = 44
    for kind, name in (("og-float", "float kernel"), ("og-int8", "INT8 kernel"),
                       ("og-mixed", "INT8 in, float out"), ("", "Q/DQ pair")):
        if kind:
            parts.append(f'<rect class="og-box {kind}" x="{x}" y="38" '
                         'width="16" height="12" rx="3"/>')
        else:
            parts.append(f'<circle class="og-dot" cx="{x + 8}" cy="44" '
                         'r="4.5"/>')
        parts.append(f'<text class="og-quiet" x="{x + 22}" y="48">{name}'
                     '</text>')
        x += 7.3 * len(name) + 46
    parts.append("</svg>")
    (IMAGES / "graphs.svg").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
