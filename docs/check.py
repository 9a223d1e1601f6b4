#!/usr/bin/env python3
"""Checks the Markdown files of the repository and lists their code blocks.

    docs/check.py                 check links, heading anchors and code blocks
    docs/check.py --list          list the blocks that tests run
    docs/check.py --extract DIR   write these blocks to files
    docs/check.py --site DIR      check the HTML files of the built site

A code block that is a complete program or shell session has a name, in a
comment on the line before it:

    <!-- test: calibrate-model -->
    ```cpp

Names are unique. `after=NAME` behind a name states the block that makes its
files. docs/check_commands.py runs the shell blocks and has the other options,
docs/check_snippets.py compiles C++. A comment

    <!-- file: examples/first_program.cpp -->

states that a block has the text of this file, or parts of it with a line
"// ..." between them. Blocks `json`, `toml` and `python` must parse.
"""
import argparse
import ast
import html.parser
import json
import pathlib
import re
import sys
import tomllib
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^( {0,3})(```+|~~~+)\s*([\w+-]*)")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
TEST = re.compile(r"^<!-- test: ([\w-]+)((?: \w+=[\w-]+)*) -->$")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
FILE = re.compile(r"^<!-- file: (\S+) -->$")
EXTENSIONS = {"cpp": "cpp", "sh": "sh", "console": "console", "toml": "toml",
              "json": "json", "python": "py", "cmake": "cmake"}


class Block:
    """A fenced code block."""

    def __init__(self, line, language, before):
        self.line, self.language, self.lines = line, language, []
        test, not_run, file = (pattern.match(before)
                               for pattern in (TEST, NOT_RUN, FILE))
        self.not_run = not_run[1] if not_run else None
        self.file = file[1] if file else None
        self.name = test[1] if test else None
        self.options = dict(x.split("=") for x in test[2].split()) if test else {}

    def text(self):
        return "\n".join(self.lines) + "\n"


class Page:
    """Links, headings and code blocks of a Markdown file."""

    def __init__(self, path):
        self.path = path
        self.links, self.blocks, self.anchors = [], [], set()
        counts, block, fence, previous = {}, None, "", ""
        for number, line in enumerate(path.read_text().split("\n"), 1):
            mark = FENCE.match(line)
            if block is None and mark:
                block, fence = Block(number, mark[3], previous), mark[2]
                self.blocks.append(block)
            elif block is not None and line.strip() == fence:
                block = None
            elif block is not None:
                block.lines.append(line)
            elif not line.startswith("    "):
                heading = re.match(r"#+ +(.*?)\s*$", line)
                if heading:
                    self.add_anchor(heading[1], counts)
                plain = re.sub(r"`[^`]*`", "", line)
                self.anchors |= set(re.findall(r'<a id="([\w-]+)"', plain))
                self.links += [(number, x) for x in LINK.findall(plain)]
            previous = line

    def add_anchor(self, heading, counts):
        """Adds the id that GitHub and the site (pymdownx.slugs) give it."""
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text.strip()).replace(" ", "-")
        count = counts.get(slug, 0)
        counts[slug] = count + 1
        self.anchors.add(f"{slug}_{count}" if count else slug)


def check_pages(pages):
    """Yields a message per defect."""
    names = {}
    for page in pages.values():
        place = page.path.relative_to(ROOT)
        for line, link in page.links:
            address, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", address):
                continue
            path = (page.path.parent / address).resolve() if address else page.path
            # Written by Doxygen and by docs/reference.py.
            if "docs/api/" in str(path) or (
                    "docs/reference/" in f"{path}/"
                    and not (ROOT / "docs/reference").exists()):
                continue
            if path.is_dir() and (path / "README.md").exists():
                path = path / "README.md"
            if not path.exists():
                yield f"{place}:{line}: no file '{link}'"
            elif anchor and (path not in pages or
                             anchor not in pages[path].anchors):
                yield f"{place}:{line}: no heading '{link}'"
        for block in page.blocks:
            if not block.language:
                yield f"{place}:{block.line}: code block without language"
            problem = check_text(block)
            if problem:
                yield f"{place}:{block.line}: {problem}"
            if block.name in names:
                yield (f"{place}:{block.line}: test '{block.name}' also in "
                       f"{names[block.name]}")
            if block.name:
                names[block.name] = place
    for page in pages.values():
        for block in page.blocks:
            after = block.options.get("after")
            if after and after not in names:
                yield (f"{page.path.relative_to(ROOT)}:{block.line}: no test "
                       f"'{after}'")


def check_text(block):
    """Returns what is wrong with the text of a block, or None."""
    try:
        if block.language == "json":
            json.loads(block.text())
        elif block.language == "toml":
            tomllib.loads(block.text())
        elif block.language == "python":
            ast.parse(block.text())
    except (ValueError, SyntaxError) as error:
        return f"{block.language}: {error}"
    if block.file:
        path = ROOT / block.file
        if not path.exists():
            return f"no file '{block.file}'"
        text = path.read_text()
        for part in re.split(r"^ *(?://|#) \.\.\.\n", block.text(),
                             flags=re.MULTILINE):
            if part.strip("\n") not in text:
                return f"differs from {block.file}"
    return None


class Html(html.parser.HTMLParser):
    """Ids and addresses of an HTML file."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(errors="replace"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids |= {values.get("id"), values.get("name")}
        if tag in ("script", "img", "iframe", "source") and values.get("src"):
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") != "canonical":
            self.loaded.append(values.get("href") or "")
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


def check_site(site):
    """Yields a message per broken link and per external resource."""
    files = {path: Html(path) for path in sorted(site.rglob("*.html"))}
    for path, page in files.items():
        if path.name == "404.html":  # its addresses begin at the server's root
            continue
        place = path.relative_to(site)
        for address in page.loaded:
            if re.match(r"(https?:)?//", address):
                yield f"{place}: loads {address}"
        for link in page.links + page.loaded:
            address, _, anchor = link.partition("#")
            address = urllib.parse.unquote(address.partition("?")[0])
            if re.match(r"([a-z]+:|//)", address):
                continue
            target = (path.parent / address).resolve() if address else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{place}: no file '{link}'"
            elif (anchor and target in files and
                  (site / "api") not in target.parents and
                  urllib.parse.unquote(anchor) not in files[target].ids):
                yield f"{place}: no anchor '{link}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--extract", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--site", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()

    if options.site:
        problems = list(check_site(options.site.resolve()))
    else:
        paths = sorted(x for x in ROOT.rglob("*.md")
                       if "build" not in x.relative_to(ROOT).parts)
        pages = {path: Page(path) for path in paths}
        problems = list(check_pages(pages))
        blocks = [(page, block) for page in pages.values()
                  for block in page.blocks if block.name]
        for page, block in blocks:
            if options.list:
                print(f"{block.name:32} {block.language:8} "
                      f"{page.path.relative_to(ROOT)}:{block.line}")
            if options.extract:
                options.extract.mkdir(parents=True, exist_ok=True)
                extension = EXTENSIONS.get(block.language, "txt")
                (options.extract / f"{block.name}.{extension}").write_text(
                    block.text())
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
