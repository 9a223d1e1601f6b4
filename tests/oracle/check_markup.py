"""Checks that the SVG and HTML files of a folder are well-formed, self-contained
and accessible: properly nested tags, no external addresses, no script but one
without requests, headings of sortable tables that are buttons, labels.
"""
import html.parser
import pathlib
import sys
import xml.etree.ElementTree

VOID = {"meta", "br", "hr", "img", "input", "link", "col"}
LOADS = {"link", "iframe", "object", "embed", "img", "image", "use"}
REQUESTS = ("fetch", "XMLHttpRequest", "WebSocket", "sendBeacon", "import",
            "eval", "innerHTML", "document.write", "location")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], set(), set()
        self.policy, self.scripts, self.headings = "", [], []
        self.table, self.buttons = "", 0

    def handle_starttag(self, tag, attributes):
        self.look(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.look(tag, attributes)

    def look(self, tag, attributes):
        assert tag not in LOADS, f"<{tag}> at {self.getpos()}"
        given = dict(attributes)
        if tag == "meta" and "http-equiv" in given:
            self.policy = given["content"]
        if tag == "script":
            assert not given, f"script with attributes at {self.getpos()}"
            self.scripts.append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        if tag == "table":
            self.table = given.get("class", "")
        if tag == "svg":
            assert given.get("aria-hidden") == "true" or (
                given.get("role") == "img" and given["aria-label"]), (
                    f"svg without label at {self.getpos()}")
        if tag == "th":
            assert given["scope"] in ("col", "row"), f"th at {self.getpos()}"
        if tag == "button":
            assert given["type"] == "button", f"button at {self.getpos()}"
            self.buttons += self.open[-1] == "th"
        sorts = self.table == "" and self.open[-1:] == ["th"]
        assert not sorts or tag == "button", f"<{tag}> at {self.getpos()}"
        if given.get("href", "").startswith("#"):
            self.links.add(given["href"][1:])
        for name, value in attributes:
            assert not name.startswith("on"), f"{name} at {self.getpos()}"
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith("#"), f"{name}={value}"
            if name == "id":
                assert value not in self.ids, f"id {value} comes twice"
                self.ids.add(value)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        if self.table == "" and self.open and self.open[-1] == "th":
            assert not data.strip(), f"heading without button: {data}"

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (
            f"</{tag}> at {self.getpos()} closes {self.open[-1:]}")
        self.open.pop()


count = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    text = path.read_text(encoding="utf-8") if path.suffix in (
        ".svg", ".html") else None
    if text is None:
        continue
    if path.suffix == ".svg":
        root = xml.etree.ElementTree.fromstring(text)
        for element in root.iter():
            tag = element.tag.split("}")[1]
            assert tag not in LOADS and tag != "script", tag
        assert root.get("role") == "img" and root.get("aria-label"), path.name
    else:
        page = Page()
        page.feed(text)
        page.close()
        assert not page.open, f"left open: {page.open}"
        assert "default-src 'none'" in page.policy, page.policy
        assert len(page.scripts) == 1, page.scripts
        for word in REQUESTS:
            assert word not in page.scripts[0], word
        assert page.headings[0] == 1 and page.headings.count(1) == 1
        assert page.links <= page.ids, page.links - page.ids
        assert page.buttons > 0, "no table can be sorted"
    for word in ("http://", "https://", "@import", "url("):
        rest = text.replace("http://www.w3.org/2000/svg", "")
        assert word not in rest, f"{path.name}: {word}"
    count += 1
print(f"{count} files are well-formed")
assert count > 0
