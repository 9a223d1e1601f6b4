#!/usr/bin/env python3
"""Prepares a header for Doxygen; writes it to standard output.

- Consecutive functions without a blank line between them share the docstring
  of the first: the filter repeats it before each.
- The comment at the beginning of a file becomes its description.
- "Throws:", "Shapes:" and the like begin a paragraph with this title.
- Text is protected from Doxygen's commands and HTML.
"""
import re
import sys

TITLES = ("Throws", "Shapes", "Source", "Units/Range", "Range", "Units",
          "REQUIRES", "Fields in order")
FUNCTION = re.compile(r"^ *(?!(?:return|if|for|while|using|namespace|friend|"
                      r"public|private|protected|struct|class|enum)\b)"
                      r"[A-Za-z_~\[:<][^;={]*\(")


def prose(text, code=False):
    """Protects the text of a line outside `code`; returns whether it ends in
    code, too."""
    parts = text.split("`")
    for i, part in enumerate(parts):
        if (i % 2 == 0) != code:
            part = re.sub(r"[\\@<>#%]", r"\\\g<0>", part)
            part = re.sub(r"&(?=\w+;)", r"\\&", part)
            # The first word of a sentence is no class name.
            parts[i] = re.sub(r"(^ ?|[.:] )([A-Z][a-z]+)(?=[ ,.:])", r"\1%\2",
                              part)
    text = "`".join(parts)
    # Doxygen reads <name> in a code span as a tag, and ::name as a link.
    text = re.sub(r"`([^`]*<[^`]*)`", lambda match: "<tt>" + match[1].replace(
        "<", "&lt;").replace(">", "&gt;").replace("::", r"\::") + "</tt>", text)
    return text, code != (len(parts) % 2 == 0)


def comment(lines):
    """Returns a documentation comment of these lines of text."""
    out, code, span = [], False, False
    for line in lines:
        indented = line.startswith("   ")
        if indented and not code and (not out or out[-1] == "///"):
            out.append("/// \\code")
            code = True
        elif code and line and not indented:
            out.append("/// \\endcode")
            code = False
        title = re.match(r" ?(%s): ?(.*)" % "|".join(TITLES), line)
        if code:
            out.append("/// " + line)
        elif title:
            line, span = prose(title[2])
            out += ["///", f"/// \\par {title[1]}", f"/// {line}"]
        else:
            line, span = prose(line, span)
            line = re.sub(r"(?<=[.)]) (Throws|Shapes|Source):",
                          r"\n///\n/// \\par \1\n///", line)
            out.append("///" + line)
    if code:
        out.append("/// \\endcode")
    return "\n".join(out).split("\n")


def filtered(lines):
    out, block, last, index = [], [], [], 0
    head = []
    while index < len(lines) and lines[index].startswith("//"):
        head.append(lines[index].lstrip("/"))
        index += 1
    if head:
        out += ["/// \\file"] + comment(head)
    shared = []  # docstring of the preceding function
    depth_open = False
    for line in lines[index:]:
        indent = re.match(r" *", line)[0]
        stripped = line.strip()
        if re.match(r"///(?!<)", stripped):
            block.append(stripped[3:])
            continue
        if block:
            shared = [indent + x for x in comment(block)]
            out += shared
            block = []
            last = shared if FUNCTION.match(line) else []
        elif not stripped or stripped.startswith(("//", "#", "}")):
            last = []
        elif FUNCTION.match(line) and last and not depth_open:
            out += last
        if stripped.startswith("friend ") and stripped.endswith(";"):
            continue
        inline = re.match(r"(.*?)///<(.*)$", line)
        if inline:
            line = f"{inline[1]}///<{prose(inline[2])[0]}"
        # a declaration that continues on the next line
        depth_open = bool(stripped) and not stripped.startswith("//") and not (
            re.search(r"[;{}:]\s*(//.*)?$", stripped))
        out.append(line)
        if not depth_open and stripped and not stripped.endswith((";", "}")):
            if not re.search(r"[;}]\s*(//.*)?$", stripped):
                last = []
    return out


def main():
    text = open(sys.argv[1]).read()
    if not sys.argv[1].endswith(".h"):
        print(text, end="")
        return
    print("\n".join(filtered(text.split("\n"))), end="")


if __name__ == "__main__":
    main()
