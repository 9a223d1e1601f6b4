#!/usr/bin/env python3
"""Lists the public declarations that have no docstring; exits with 1 if any.

    tests/docstrings.py [HEADER...]

Doxygen parses the headers of include/octet except detail/. Consecutive
functions without a blank line between them share the docstring of the first;
a field has its own. Exempt: namespaces detail and fmt, values of enumerations,
defaulted and deleted functions, overrides, operator== and operator<=>.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent

CONFIG = """
INPUT = {inputs}
OUTPUT_DIRECTORY = {out}
STRIP_FROM_PATH = {root}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
QUIET = YES
WARNINGS = NO
WARN_IF_UNDOCUMENTED = NO
MACRO_EXPANSION = NO
CLASS_GRAPH = NO
"""

KINDS = {"function", "variable", "typedef", "enum", "define"}


def described(node):
    return any(
        "".join(part.itertext()).strip()
        for tag in ("briefdescription", "detaileddescription")
        for part in node.findall(tag))


def exempt(member):
    arguments = member.findtext("argsstring") or ""
    name = member.findtext("name") or ""
    return (member.get("prot") == "private" or
            member.find("reimplements") is not None or
            re.search(r"=\s*(default|delete)$", arguments) or
            name.startswith("~") or name in ("operator==", "operator<=>"))


def shares(location, lines, functions):
    """Whether the declaration follows a function without a blank line."""
    before = int(location.get("line")) - 1
    while lines(location)[before - 1].startswith("template <"):
        before -= 1
    line = lines(location)[before - 1].rstrip()
    if not line.endswith((";", "}")) or line.lstrip().startswith("using "):
        return False
    # The line may be the last of a declaration of several lines.
    return any((location.get("file"), at) in functions
               for at in range(max(1, before - 5), before + 1))


def undocumented(headers):
    """Yields (file, line, name) of each public declaration without text."""
    files = {}

    def lines(location):
        path = location.get("file")
        if path not in files:
            files[path] = (ROOT / path).read_text().split("\n")
        return files[path]

    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            ["doxygen", "-"], check=True, text=True, stdout=subprocess.DEVNULL,
            input=CONFIG.format(inputs=" ".join(map(str, headers)), out=out,
                                root=ROOT))
        found = set()
        for path in sorted(pathlib.Path(out, "xml").glob("*.xml")):
            for compound in ET.parse(path).getroot().findall("compounddef"):
                kind = compound.get("kind")
                if kind not in ("class", "struct", "union", "namespace"):
                    continue
                if compound.get("prot") == "private":
                    continue
                name = compound.findtext("compoundname")
                if "detail" in name.split("::") or name.startswith("fmt::"):
                    continue
                place = compound.find("location")
                if (kind != "namespace" and compound.get("prot") == "public"
                        and not described(compound)):
                    found.add((place.get("file"), int(place.get("line")), name))
                functions = {
                    (at.get("file"), int(at.get("line")))
                    for at in compound.findall(
                        ".//memberdef[@kind='function']/location")
                }
                for member in compound.iter("memberdef"):
                    at = member.find("location")
                    if (member.get("kind") not in KINDS or exempt(member)
                            or described(member)):
                        continue
                    if member.get("kind") == "function" and shares(at, lines,
                                                                   functions):
                        continue
                    found.add((at.get("file"), int(at.get("line")),
                               f"{name}::{member.findtext('name')}"))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="*", metavar="HEADER",
                        type=pathlib.Path, help="default: all public headers")
    given = parser.parse_args().headers
    for path in given:
        if not path.is_file():
            parser.error(f"no such file: {path}")
    headers = [path.resolve() for path in given] or [
        header for header in sorted(ROOT.glob("*/include/octet/**/*.h"))
        if "detail" not in header.parts
    ]
    missing = undocumented(headers)
    for file, line, name in missing:
        print(f"{file}:{line}: {name} has no docstring")
    print(f"{len(missing)} public declarations without a docstring")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
