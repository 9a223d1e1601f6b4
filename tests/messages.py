#!/usr/bin/env python3
"""Approval of the wording of errors and warnings.

    tests/messages.py                  exit 1 if a list differs from the code
    tests/messages.py --write [LOG]    renew tests/<module>/messages.txt

Tests assert the code and subject of an error, not its sentence. The sentences
are listed here, one file per module, to be reviewed as prose: first errors by
code, then warnings by code. A list is derived from the source: "{x}" stands for the
value of the expression x. Below a message, "e.g." shows it as a test saw it.
The examples come from LOG, which the tests append to if OCTET_FAILURE_LOG
names a file:

    OCTET_FAILURE_LOG=/tmp/failures.txt tests/run.sh
    tests/messages.py --write /tmp/failures.txt
"""
import argparse
import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ["runtime", "layers", "quant", "session", "train", "io",
           "examples"]
ERROR = re.compile(
    r"\b(Shape|Value|NotFound|Unsupported|Format|Io|Interrupted|Internal|Usage)"
    r"Error(?: \w+)?([({])")
WARNING = re.compile(r"(?<![\w.>])warn(\()")
TOKEN = re.compile(
    r'//[^\n]*|R"(?P<tag>\w*)\((?P<raw>.*?)\)(?P=tag)"'
    r'|"(?P<text>(?:\\.|[^"\\])*)"'
    r"|'(?:\\.|[^'\\])'|\w+|\s+|::|->|.", re.S)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'"}


def tokens_of_call(text, start):
    """Tokens between the bracket at `start` and the one that closes it."""
    result, depth = [], 0
    for match in TOKEN.finditer(text, start):
        token = match.group(0)
        if token.startswith("//") or token.isspace():
            continue
        if token in "([{":
            depth += 1
            if depth == 1:
                continue
        elif token in ")]}":
            depth -= 1
            if depth == 0:
                return result
        if match["text"] is not None:
            unescaped = re.sub(
                r"\\(.)", lambda m: ESCAPES.get(m[1], m[0]), match["text"])
            result.append(("text", unescaped))
        elif match["raw"] is not None:
            result.append(("text", match["raw"]))
        else:
            result.append(("code", token))
    return result


def split(tokens, separator):
    """Splits at the separators that are outside of brackets."""
    parts, depth = [[]], 0
    for kind, token in tokens:
        if kind == "code" and token in "([{":
            depth += 1
        elif kind == "code" and token in ")]}":
            depth -= 1
        if kind == "code" and token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append((kind, token))
    return [part for part in parts if part]


def code(tokens):
    """An expression as text, shortened."""
    text = ""
    for kind, token in tokens:
        token = '"' + token + '"' if kind == "text" else token
        glue = text[-1:].isalnum() and token[:1].isalnum()
        spaced = token in ("?", "+", "==", "<", ">") or text[-1:] in "?,+"
        text += (" " if text and (glue or spaced) else "") + token
    return text if len(text) <= 48 else text[:45] + "..."


def template(tokens):
    """The text of a message, with "{expression}" for the inserted values."""
    if tokens and all(kind == "text" for kind, _ in tokens):
        return "".join(text for _, text in tokens)
    if (len(tokens) > 4 and [t for _, t in tokens[:4]] == ["fmt", "::", "format", "("]
            and tokens[-1][1] == ")"):
        pattern, *values = split(tokens[4:-1], ",")
        values = iter(values)
        if not all(kind == "text" for kind, _ in pattern):
            return "{" + code(tokens) + "}"

        def value(match):
            if match[0] in ("{{", "}}"):
                return match[0][0]
            return template(next(values, [("code", "?")]))
        return re.sub(r"\{\{|\}\}|\{[^{}]*\}", value,
                      "".join(text for _, text in pattern))
    parts = split(tokens, "+")
    if len(parts) > 1 and any(kind == "text" for part in parts for kind, _ in part[:1]):
        return "".join(template(part) for part in parts)
    return "{" + code(tokens) + "}"


def messages(module):
    """{(code, message)} of the errors and warnings of a module's sources."""
    found = set()
    for path in sorted((ROOT / module).rglob("*")):
        if path.suffix not in (".cpp", ".h", ".inl"):
            continue
        text = path.read_text()
        for match in ERROR.finditer(text):
            arguments = split(tokens_of_call(text, match.start(2)), ",")
            declaration = arguments and arguments[0][0] == ("code", "std")
            if len(arguments) != 3 or declaration:
                continue
            name = template(arguments[0])
            subject = template(arguments[1])
            message = template(arguments[2])
            # The text of a UsageError is its whole message.
            if subject and match[1] != "Usage":
                message = subject + ": " + message
            found.add((name + " (" + match[1] + "Error)", message))
        for match in WARNING.finditer(text):
            arguments = split(tokens_of_call(text, match.start(1)), ",")
            if len(arguments) != 3 or arguments[0][0][1] == "ErrorCode":
                continue
            name, subject, message = map(template, arguments)
            found.add((name + " (warning)", subject + ": " + message))
    return found


def matcher(message):
    """A pattern of the messages that a template can produce."""
    parts = re.split(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", message)
    return re.compile(".*".join(map(re.escape, parts)), re.S)


def read_examples(path):
    """{(section, message): example} of a list."""
    examples, section, message = {}, "", ""
    if not path.exists():
        return examples
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line.startswith("    e.g. "):
            examples[section, message] = line[len("    e.g. "):]
        elif line and not line.startswith("#"):
            message = line
    return examples


def listing(module, examples, log):
    """The text of a module's list."""
    lines = [f"# Errors and warnings of {module}: tests/messages.py --write"]
    section = None
    for name, message in sorted(messages(module)):
        if name != section:
            lines += ["", f"[{name}]"]
            section = name
        shown = message.replace("\n", "\\n")
        lines.append(shown)
        pattern = matcher(message)
        known = examples.get((name, shown))
        if known is not None and pattern.fullmatch(known.replace("\\n", "\n")):
            lines.append("    e.g. " + known)
            continue
        literal = re.sub(r"\{.*?\}", "", message)
        if len(literal) < 12:  # matches too much
            continue
        fitting = [m for c, m in log if name.startswith(c + " (")
                   and pattern.fullmatch(m)]
        if fitting:
            example = min(fitting, key=lambda m: (len(m), m))
            lines.append("    e.g. " + example.replace("\n", "\\n"))
    return "\n".join(lines) + "\n"


def read_log(path):
    """[(code, message)] that tests recorded, without temporary folders."""
    entries = []
    for record in Path(path).read_text(errors="replace").split("\0"):
        name, _, message = record.partition("\n")
        message = message.split("\n  in ")[0]
        message = re.sub(r"/[\w./-]*/octet_test\.\w+", "data", message)
        entries.append((name, message))
    return entries


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", nargs="?", const="", metavar="LOG")
    options = parser.parse_args()
    log = read_log(options.write) if options.write else []
    differs = False
    for module in MODULES:
        folder = "e2e" if module == "examples" else module
        path = ROOT / "tests" / folder / "messages.txt"
        before = path.read_text() if path.exists() else ""
        now = listing(module, read_examples(path), log)
        if options.write is not None:
            path.write_text(now)
        elif now != before:
            differs = True
            sys.stdout.writelines(difflib.unified_diff(
                before.splitlines(True), now.splitlines(True),
                str(path.relative_to(ROOT)), "source"))
    if differs:
        print("Review these messages, then renew the lists: "
              "tests/messages.py --write")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
