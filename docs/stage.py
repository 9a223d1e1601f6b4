#!/usr/bin/env python3
"""Collects the pages of the documentation site for mkdocs.

    docs/stage.py OUT

Copies docs/ and the Markdown files of the modules to OUT/docs, with links
adapted to their places there, and writes OUT/mkdocs.yml, in which an entry of
the navigation that names a folder is replaced by the pages of that folder. A
link to a source file leads to a page with its text.
"""
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = {  # outside docs/; file in the repository: page of the site
    "README.md": "README.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks/README.md",
    "examples/README.md": "examples/README.md",
    **{f"{module}/README.md": f"modules/{module}.md"
       for module in ("runtime", "layers", "quant", "session", "train", "io",
                      "tests")},
}
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".inl": "cpp", ".sh": "bash",
             ".py": "python", ".txt": "cmake", ".cmake": "cmake",
             ".json": "json", ".toml": "toml", ".proto": "protobuf"}
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
LINK = re.compile(r"(?<!`)(!?\[[^\]]*\]\()([^)\s]+)(\))")


class Site:

    def __init__(self, out):
        self.out = out
        self.pages = {}  # file in the repository: page of the site
        self.sources = []  # repository paths of pages with source text
        for path in sorted((ROOT / "docs").rglob("*.md")):
            name = path.relative_to(ROOT).as_posix()
            self.pages[name] = name.removeprefix("docs/")
        for name, page in PLACES.items():
            if name != "README.md" and (ROOT / name).exists():
                self.pages[name] = page
        self.pages["README.md"] = "README.md"  # the home page

    def target(self, name):
        """Returns the page of a path of the repository."""
        path = ROOT / name
        if path.is_dir() and (path / "README.md").exists():
            name, path = f"{name}/README.md", path / "README.md"
        if name in self.pages:
            return self.pages[name]
        if path.suffix in (".png", ".svg", ".css"):
            return name.removeprefix("docs/")
        if not path.exists():
            raise FileNotFoundError(name)
        if name not in self.sources:
            self.sources.append(name)
        return f"source/{name}.md"

    def rewrite(self, text, name, page):
        """Returns the text of file `name` for the place of `page`."""
        def link(match):
            address, _, anchor = match[2].partition("#")
            if not address or re.match(r"[a-z]+:", address):
                return match[0]
            wanted = os.path.normpath(
                os.path.join(os.path.dirname(name), address))
            if wanted.startswith("docs/api/"):
                return match[0]
            try:
                found = self.target(wanted)
            except FileNotFoundError:
                sys.exit(f"{name}: link to '{match[2]}', which does not exist")
            found = os.path.relpath(found, os.path.dirname(page) or ".")
            return match[1] + found + (f"#{anchor}" if anchor else "") + match[3]

        lines, fence = [], ""
        for line in text.split("\n"):
            mark = FENCE.match(line)
            if mark and not fence:
                fence = mark[1]
            elif mark and line.strip() == fence:
                fence = ""
            elif not fence and not line.startswith("    "):
                line = LINK.sub(link, line)
            lines.append(line)
        return "\n".join(lines)

    def write(self, page, text):
        path = self.out / "docs" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_source(self, name):
        path = ROOT / name
        files = ([path] if path.is_file() else
                 sorted(x for x in path.iterdir() if x.is_file()))
        text = f"# {name}\n\n"
        for file in files:
            if len(files) > 1:
                text += f"## {file.name}\n\n"
            language = LANGUAGES.get(file.suffix, "text")
            text += f"````{language}\n{file.read_text().rstrip()}\n````\n\n"
        self.write(f"source/{name}.md", text)

    def run(self):
        shutil.rmtree(self.out / "docs", ignore_errors=True)
        for path in (ROOT / "docs").rglob("*"):
            if (path.suffix in (".png", ".svg", ".css", ".js") and
                    path.parent.name != "doxygen"):
                to = self.out / "docs" / path.relative_to(ROOT / "docs")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        for name, page in self.pages.items():
            if name != "README.md":
                self.write(page, self.rewrite((ROOT / name).read_text(), name,
                                              page))
        for name in self.sources:
            self.write_source(name)
        self.write_configuration()

    def write_configuration(self):
        text = (ROOT / "mkdocs.yml").read_text()
        named = set(re.findall(r"(\S+\.md)$", text, flags=re.MULTILINE))
        root = self.out / "docs"

        def expand(match):
            indent, title, folder = match[1], match[2], match[3]
            pages = sorted((x for x in (root / folder).glob("**/*.md")
                            if x.relative_to(root).as_posix() not in named),
                           key=lambda x: (x.name != "README.md", str(x)))
            if not pages:
                return ""
            return f"{indent}- {title}:\n" + "".join(
                f"{indent}  - {page.relative_to(root)}\n" for page in pages)

        text = re.sub(r"^( *)- ([^:\n]+): (\S+/)\n", expand, text,
                      flags=re.MULTILINE)
        text = re.sub(r"^docs_dir:.*$", "docs_dir: docs", text,
                      flags=re.MULTILINE)
        text = re.sub(r"^site_dir:.*$", "site_dir: site", text,
                      flags=re.MULTILINE)
        (self.out / "mkdocs.yml").write_text(text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Site(pathlib.Path(sys.argv[1]).resolve()).run()


if __name__ == "__main__":
    main()
