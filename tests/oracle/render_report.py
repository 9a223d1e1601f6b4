"""Renders an HTML report in headless Chromium, at the width of a phone and of a
desktop, finds overflowing and missing content, sorts a table, zooms the graph.

    render_report.py FOLDER [PICTURE.png]

FOLDER has report.html. Exit code 77: Chromium is not installed.
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The page is in a frame, since windows of headless Chromium have a minimum
# width.
PROBE = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" width="{width}" height="{height}" style="border:0"
 srcdoc="{page}"></iframe><pre id="found"></pre><script>
document.getElementById("page").addEventListener("load", event => {{
  const page = event.target.contentDocument, root = page.documentElement;
  const wide = [...page.querySelectorAll("body *")].filter(
    e => !e.closest(".scroll, .graph, .wide, nav, pre, svg") &&
      e.getBoundingClientRect().right > root.clientWidth + 0.5);
  const cut = [...page.querySelectorAll(
    ".tile, .verdict, figcaption, h1, h2, p")].filter(
    e => e.scrollWidth > e.clientWidth + 1);
  const flat = [...page.querySelectorAll("section, figure, .chart, .graph svg")]
    .filter(e => !e.closest("details:not([open])") &&
      (e.getBoundingClientRect().height < 20 ||
       e.getBoundingClientRect().width < 20));
  const name = e => e.tagName + "." + (e.getAttribute("class") || "");
  const text = [...page.querySelectorAll(".graph text")].filter(e => {{
    const box = e.parentNode.querySelector("rect.og-box");
    return box && e.parentNode.tagName == "g" && e.closest("g").querySelector(
      ":scope > rect.og-box") == box &&
      e.getBoundingClientRect().right > box.getBoundingClientRect().right;
  }});
  const table = page.querySelector("#noise table"), rows = table.tBodies[0];
  const heading = table.tHead.rows[0].cells[1];
  const decibels = () => [...rows.rows].map(
    row => parseFloat(row.cells[1].textContent) || Infinity);
  const orders = [decibels()];
  for (let i = 0; i < 3; ++i) {{
    heading.firstElementChild.click();
    orders.push([heading.ariaSort, ...decibels()]);
  }}
  const graph = page.querySelector(".graph svg"), width = graph.clientWidth;
  page.querySelector("[data-zoom=in]").click();
  const zoom = graph.clientWidth / width;
  document.getElementById("found").textContent = JSON.stringify({{
    orders: orders.map(order => order.map(String)), zoom: zoom,
    scroll: root.scrollWidth, client: root.clientWidth,
    wide: wide.slice(0, 5).map(name), cut: cut.slice(0, 5).map(name),
    flat: flat.slice(0, 5).map(name), spill: text.length,
    sections: [...page.querySelectorAll("section")].map(e => e.id),
    charts: page.querySelectorAll(".chart").length,
    boxes: page.querySelectorAll(".graph rect.og-box").length}});
}});
</script>"""


def main():
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium: the report is not rendered")
        return 77
    page = (pathlib.Path(sys.argv[1]) / "report.html").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        def run(name, text, *arguments):
            path = pathlib.Path(folder) / name
            path.write_text(text, "utf-8")
            return subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu",
                 "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                 "--window-size=1400,2400", *arguments, path.as_uri()],
                capture_output=True, text=True, timeout=120, check=True).stdout
        for width in (390, 1280):
            probe = PROBE.format(width=width, height=2400,
                                 page=html.escape(page))
            if len(sys.argv) > 2:
                run("shot.html", probe,
                    f"--screenshot={sys.argv[2][:-4]}_{width}.png")
            dom = run("probe.html", probe, "--dump-dom")
            text = re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1]
            found = json.loads(html.unescape(text))
            print(width, found)
            assert found["client"] == width, found
            assert found["scroll"] <= found["client"], found
            assert not found["wide"] + found["cut"] + found["flat"], found
            assert found["spill"] == 0, found
            before, down, up, after = found["orders"]
            numbers = sorted(float(each) for each in before)
            assert numbers[0] < numbers[1] < numbers[-1], before
            assert [float(each) for each in up[1:]] == numbers, up
            assert [float(each) for each in down[1:]] == numbers[::-1], down
            assert [down[0], up[0]] == ["descending", "ascending"], found
            assert after == ["null"] + before, after
            assert abs(found["zoom"] - 1.25) < 0.01, found
    return 0


sys.exit(main())
