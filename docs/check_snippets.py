#!/usr/bin/env python3
"""Compiles the C++ of Markdown pages, without linking.

  docs/check_snippets.py [PAGE.md...]     default: all pages of docs/

Checks two things per page:
- ```cpp blocks. A block with int main() is a program. A block that begins with
  a function definition is compiled at namespace scope, and a block with a class
  before the statements of the page, so that later blocks may use it. Any other
  block is a fragment of one function per page: it may use the names of earlier
  fragments and those of PRELUDE.
- code spans in the column "Octet" of tables: each is a statement. Skipped are
  shell commands, plain names (which must occur in a header) and the fields of
  options, `.name`.
A block behind a comment <!-- file: NAME --> is compiled with its file, one behind
<!-- not run: REASON --> not at all. Reports errors by page and line. Exit code 1 if there are any.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ["runtime", "layers", "quant", "session", "train", "io"]

# Names that fragments may use without a declaration.
PRELUDE = """
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include <octet/fmt.h>
#include <octet/layers/custom_layer.h>
#include <octet/mpi.h>
#include <octet/octet.h>
using namespace octet;
extern Model model, int8, teacher;
extern Dataset data, train_set, test_set, validation;
extern SymbolicTensor a, b, x, y, ids, query, value, key;
extern Tensor images, labels;
extern Batch batch;
extern train::Optimizer optimizer;
"""


# Further names that the fragments of a page may use.
DECLARATIONS = {
    "autotune.md": "double milliseconds_on_device(const Model&);",
    "calibration.md": "extern Model float_model; extern Dataset test;",
    "checkpoints.md": "extern std::vector<std::string> names;",
    "data.md": "extern std::vector<std::filesystem::path> paths; "
               "void step(const Batch&);",
    "inference-session.md": "extern bool running; void fill(std::span<float>); "
                            "void use(std::span<const float>);",
    "keras.md": "extern io::KerasLayerFactory make_swish; "
                "extern Model net;",
    "onnx-run.md": "Tensor x;",
    "qat.md": "extern Model int4;",
    "tensors.md": "Tensor x; extern Tensor logits; extern StateDict s; "
                  "extern train::History history; extern quant::QdqPlan plan;",
    "training.md": "Tensor a, b; extern Tensor boxes, classes; train::Metric iou(); "
                   "Variable my_hinge(const Variable&, const Tensor&);",
}


class Page:
    def __init__(self, path):
        self.path = path
        self.blocks = []   # (line, text)
        self.spans = []    # (line, text)
        lines = path.read_text().splitlines()
        at, column, before = 0, -1, ""
        while at < len(lines):
            line = lines[at]
            if fence := re.match(r"^(\s*)```(\S*)", line):
                start, body = at + 2, []
                at += 1
                while not lines[at].strip().startswith("```"):
                    body.append(lines[at].removeprefix(fence.group(1)))
                    at += 1
                if fence.group(2) == "cpp" and not re.match(
                        r"<!-- (?:file|not run): ", before):
                    self.blocks.append((start, "\n".join(body)))
            elif line.startswith("|"):
                cells = self.cells(line)
                if column < 0:
                    column = (cells.index("Octet") if "Octet" in cells
                              else len(cells) + 99)
                elif column < len(cells):
                    for span in re.findall(r"(`+)(.+?)\1", cells[column]):
                        self.spans.append((at + 1, span[1].strip()))
            else:
                column = -1
            before = line
            at += 1

    @staticmethod
    def cells(line):
        """Cells of a row; | inside of code spans does not separate."""
        parts, text, code = [], "", False
        for i, c in enumerate(line.strip().strip("|")):
            if c == "`":
                code = not code
            if c == "|" and not code and not text.endswith("\\"):
                parts.append(text.strip())
                text = ""
            else:
                text += c
        return [*parts, text.strip()]


def located(page, line, text):
    return f'#line {line} "{page.path}"\n{text}\n'


def is_definition(text):
    """Whether a block begins with a function at namespace scope."""
    code = re.sub(r"^(?://.*|#include.*|\s*)\n", "", text, flags=re.M)
    return re.match(r"(?:template.*\n)?[\w:<>,&* ]+[ &*]\w+\([^;{\[\"]*\)"
                    r"(?: const)?(?: try)? \{", code) is not None \
        and not re.match(r"(?:if|for|while|switch)\b", code)


def translation_units(page):
    """(name, text) of the sources of a page."""
    outer, inner, units = [], [], []
    for line, text in page.blocks:
        includes = "\n".join(re.findall(r"^#include.*$", text, re.M))
        text = re.sub(r"^#include.*$", "", text, flags=re.M)
        if "int main(" in text:
            units.append((f"program at line {line}",
                          includes + "\n" + located(page, line, text)))
        elif is_definition(text):
            outer.append(located(page, line, text))
        elif re.search(r"^(?:class|struct) \w+", text, re.M):
            # Classes first; statements behind them remain fragments.
            end = list(re.finditer(r"^\};\n?", text, re.M))[-1].end()
            outer.append(located(page, line, text[:end]))
            rest = text[end:]
            if rest.strip():
                inner.append(located(page, line + text[:end].count("\n"),
                                     rest))
        else:
            inner.append(located(page, line, text))
    body = "".join(outer) + "void fragments_of_page() {\n"
    names_of_page = DECLARATIONS.get(page.path.name, "") + "\n"
    body += names_of_page
    body += "".join("{\n" + text for text in inner)
    body += "}" * (len(inner) + 1) + "\n"
    names = []
    for i, (line, span) in enumerate(page.spans):
        if re.match(r"^(?:octet |--|\.\w|\$)", span):
            continue
        if re.match(r"^~?[\w:]+(?:\(\))?$", span):
            names.append((line, span))
            continue
        body += f"void span_{i}() {{{names_of_page}" + located(page, line, span + ";") + "}\n"
    units.insert(0, ("fragments", body))
    return units, names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    options = parser.parse_args()
    pages = options.pages or [
        path for path in sorted((ROOT / "docs").rglob("*.md"))
        if ROOT / "docs/reference" not in path.parents]
    headers = "\n".join(
        path.read_text() for module in MODULES
        for path in (ROOT / module / "include").rglob("*.h"))
    known = set(re.findall(r"\w+", headers))
    failures = 0
    folder = tempfile.TemporaryDirectory()
    prelude = pathlib.Path(folder.name) / "prelude.h"
    prelude.write_text(PRELUDE)
    flags = ["-std=c++20", "-w",
             *[f"-I{ROOT / m / 'include'}" for m in [*MODULES, "train/mpi"]]]
    subprocess.run([options.compiler, *flags, "-x", "c++-header", prelude,
                    "-o", f"{prelude}.gch"], check=True)
    for path in pages:
        page = Page(path)
        if not page.blocks and not page.spans:
            continue
        units, names = translation_units(page)
        for line, name in names:
            for part in name.rstrip("()").split("::"):
                if part and part not in known and part not in ("octet", "std"):
                    print(f"{path}:{line}: no '{part}' in the headers")
                    failures += 1
        for what, text in units:
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
                file.write(text)
                file.flush()
                include = ["-include", prelude] if what == "fragments" else []
                result = subprocess.run(
                    [options.compiler, *flags, "-fsyntax-only", *include,
                     file.name], capture_output=True, text=True)
            if result.returncode != 0:
                failures += 1
                errors = [line for line in result.stderr.splitlines()
                          if "error:" in line]
                print(f"{path}: {what}\n" + "\n".join(errors[:40]))
        print(f"{path}: {len(page.blocks)} blocks, {len(page.spans)} spans")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
