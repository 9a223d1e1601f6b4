#!/usr/bin/env python3
"""Checks that the documentation of each public options struct lists its fields
in the order that designated initializers require:

    /// Fields in order: filters, kernel_size, strides, ...
    struct Conv2DOptions {

option_order.py ROOT          exits with 1 and lists outdated structs
option_order.py ROOT --write  updates the headers
"""
import pathlib
import re
import sys
import textwrap

MODULES = ("runtime", "layers", "quant", "session", "train", "io")
HEAD = "/// Fields in order: "
STRUCT = re.compile(r"^( *)struct (?:\[\[nodiscard\]\] )?(\w*Options) \{$")


def without_comments(line):
    return line.split("//")[0]


def fields_of(lines, first):
    """Returns the data members of the struct that starts in line `first`."""
    text, depth = "", 0
    for line in lines[first:]:
        for char in without_comments(line) + "\n":
            if char == "{":
                depth += 1
                text += " " if depth > 1 else ""
            elif char == "}":
                depth -= 1
                text += "\0" if depth == 1 else ""  # ends a body or initializer
                if depth == 0:
                    return names_in(text)
            elif depth == 1:
                text += char
    raise SystemExit(f"line {first + 1}: no end of the struct")


def names_in(body):
    names = []
    for statement in re.split(r";", body):
        # Function bodies end without a semicolon.
        statement = " ".join(statement.split("\0")[-2:] if statement.endswith(
            "\0") else statement.split("\0")[-1:]).strip()
        declaration = statement.split("=")[0].strip()
        if not declaration or re.match(
                r"(using|static|friend|enum|struct|class|template|explicit|bool "
                r"operator)\b", declaration):
            continue
        if re.search(r"\)\s*(const)?\s*$", declaration):
            continue  # a function
        name = re.search(r"(\w+)$", declaration)
        if name:
            names.append(name.group(1))
    return names


def documentation(indent, names):
    return textwrap.wrap(", ".join(names), 80, break_on_hyphens=False,
                         initial_indent=indent + HEAD,
                         subsequent_indent=indent + "/// ")


def updated(lines):
    """Returns the lines with updated documentation, and the names of changed
    structs."""
    result, stale = [], []
    for number, line in enumerate(lines):
        found = STRUCT.match(line)
        if found:
            indent, name = found.groups()
            before = len(result)
            while before > 0 and result[before - 1].startswith(indent + "///"):
                before -= 1
            begins = [i for i in range(before, len(result))
                      if result[i].startswith(indent + HEAD.rstrip())]
            keep = begins[0] if begins else len(result)
            old = result[keep:]
            names = fields_of(lines, number)
            new = documentation(indent, names) if len(names) > 1 else []
            if old != new:
                stale.append(name)
            result[keep:] = new
        result.append(line)
    return result, stale


def main():
    root = pathlib.Path(sys.argv[1])
    write = "--write" in sys.argv
    count, all_stale = 0, []
    for module in MODULES:
        for header in sorted((root / module / "include").rglob("*.h")):
            lines = header.read_text().split("\n")
            new, stale = updated(lines)
            count += sum(bool(STRUCT.match(line)) for line in lines)
            all_stale += [f"{header.relative_to(root)}: {s}" for s in stale]
            if write and new != lines:
                header.write_text("\n".join(new))
    print(f"{count} options structs, {len(all_stale)} with another order in "
          "their documentation")
    if count < 100:
        raise SystemExit("expected 100 or more")
    if all_stale and not write:
        print("\n".join(all_stale))
        raise SystemExit("Hint: tests/e2e/option_order.py . --write")


main()
