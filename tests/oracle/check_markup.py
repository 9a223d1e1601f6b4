"""Checks that the SVG and HTML files of a folder are well-formed and
self-contained: properly nested tags, no scripts, no external addresses.
"""
import html.parser
import pathlib
import sys
import xml.etree.ElementTree

VOID = {"meta", "br", "hr", "img", "input", "link", "col"}
LOADS = {"script", "link", "iframe", "object", "embed", "img", "image", "use"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        self.look(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.look(tag, attributes)

    def look(self, tag, attributes):
        assert tag not in LOADS, f"<{tag}> at {self.getpos()}"
        for name, value in attributes:
            assert not name.startswith("on"), f"{name} at {self.getpos()}"
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith("#"), f"{name}={value}"
            if name == "id":
                assert value not in self.ids, f"id {value} comes twice"
                self.ids.add(value)

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
            assert element.tag.split("}")[1] not in LOADS, element.tag
    else:
        page = Page()
        page.feed(text)
        page.close()
        assert not page.open, f"left open: {page.open}"
    for word in ("http://", "https://", "@import", "url("):
        rest = text.replace("http://www.w3.org/2000/svg", "")
        assert word not in rest, f"{path.name}: {word}"
    count += 1
print(f"{count} files are well-formed")
assert count > 0
