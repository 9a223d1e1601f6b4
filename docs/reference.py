#!/usr/bin/env python3
"""Writes the reference pages of the documentation.

  docs/reference.py --octet build/release/bin/octet OUT

OUT gets index.md, commands/, job-files.md, layers/, functions.md and lint/.
Sources: `octet COMMAND --help`, the docstrings of layers/include/octet/layers,
LayerDef::qdq in layers/*/*.cpp, the table of layers/README.md, the rules of
io/onnx/lint/catalogue.cpp, and three files written by hand:
reference_layers.toml (formulas, ONNX form), reference_lint.toml (graphs) and
reference_commands.toml (examples, which are run here). Fails for a layer or a
rule without an entry, an entry without a layer or a rule, and an example that
fails. Python 3.11, standard library only.
"""

import argparse
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import tomllib

DOCS = pathlib.Path(__file__).resolve().parent
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")

FAMILIES = {
    "convolution": "Convolutions",
    "dense": "Dense",
    "pooling": "Pooling",
    "normalization": "Normalization",
    "activation": "Activations",
    "merging": "Merging and arithmetic",
    "attention": "Attention and transformers",
    "recurrent": "Recurrent layers",
    "embedding": "Embeddings and masks",
    "reshaping": "Shapes, selection and reduction",
    "preprocessing": "Preprocessing",
    "regularization": "Regularization in training",
}

TARGETS = ["TensorRT 8", "TensorRT 10", "TensorRT 11", "TensorRT for RTX",
           "ONNX Runtime", "OpenVINO"]
SEVERITIES = {"E": "error", "W": "warning", "I": "info"}


def fail(message):
    sys.exit(f"reference.py: {message}")


# ---------------------------------------------------------------- Markdown

def escape(text):
    """Escapes Markdown outside of code spans."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\*])", r"\\\1", parts[i]).replace("<", "&lt;")
    return "`".join(parts)


def cell(text):
    """Text in a table cell. Python-Markdown ignores | in code spans."""
    parts = text.replace("\n", " ").split("`")
    for i in range(0, len(parts), 2):
        parts[i] = parts[i].replace("|", "\\|")
    return "`".join(parts)


def code(text):
    """A code span."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def fence(language, text):
    return f"```{language}\n{text.rstrip()}\n```"


# ---------------------------------------------------------------- commands

class Help:
    """The help text of a command, parsed."""

    def __init__(self, text):
        lines = text.splitlines()
        self.summary = ""
        self.usage = ""
        self.groups = []   # (title, [(name, meaning, default, flags)])
        self.footer = []   # lines
        at = 0
        while at < len(lines) and not lines[at].startswith("Usage:"):
            self.summary = (self.summary + " " + lines[at].strip()).strip()
            at += 1
        self.usage = lines[at].removeprefix("Usage:").strip()
        at += 1
        title, entries = "", []
        ended = False
        while at < len(lines) and not ended:
            line = lines[at]
            if re.match(r"^[A-Z].*:$", line):
                title, entries = line[:-1], []
                self.groups.append((title, entries))
            elif line.startswith("  ") and line[2] != " ":
                name, meaning = self.split(line[2:])
                while at + 1 < len(lines) and lines[at + 1].startswith(" " * 20):
                    at += 1
                    meaning = (meaning + " " + lines[at].strip()).strip()
                entries.append(self.entry(name, meaning))
                ended = name.startswith("-h")
            at += 1
        self.footer = lines[at:]

    @staticmethod
    def split(line):
        match = re.match(r"^(.*?)(?:\s{2,}(.*))?$", line)
        return match.group(1), match.group(2) or ""

    @staticmethod
    def entry(name, meaning):
        flags = []
        for flag in ("required", "repeatable"):
            if f"({flag})" in meaning:
                meaning = meaning.replace(f"({flag})", "").strip()
                flags.append(flag)
        default = ""
        start = meaning.rfind("(default: ")
        if start >= 0:
            depth = 0
            for end in range(start, len(meaning)):
                depth += {"(": 1, ")": -1}.get(meaning[end], 0)
                if depth == 0:
                    break
            default = meaning[start + len("(default: "):end]
            meaning = (meaning[:start].rstrip() + meaning[end + 1:]).strip()
        return name, meaning, default, flags


def option_parts(name):
    """Long name and value of an option: ("--data", "PATH")."""
    match = re.match(r"^(?:-\w, )?(--[\w-]+)\s*(.*)$", name)
    return (match.group(1), match.group(2)) if match else (name, "")


def footer_pages(lines):
    """Markdown of the text below the options; definitions become tables."""
    parts, text, rows, example = [], [], [], []
    heading = ""

    def flush():
        if text:
            parts.append(escape(" ".join(text)))
            text.clear()
        if rows:
            parts.append(table(["value", "meaning"],
                               [[code(a), cell(escape(b))] for a, b in rows]))
            rows.clear()
        if example:
            while example and not example[-1].strip():
                example.pop()
            block = "\n".join(line.removeprefix("  ") for line in example)
            parts.append(fence("toml" if block.startswith("[") else "sh", block))
            example.clear()

    for line in lines:
        if re.match(r"^[A-Z][\w ]*:$", line):
            flush()
            heading = line[:-1]
            parts.append(f"## {'Examples' if heading == 'Example' else heading}")
        elif heading.startswith("Example"):
            example.append(line)
        elif not line.strip():
            flush()
        elif heading and line.startswith("  "):
            match = re.match(r"^  (\S.*?)\s{2,}(.*)$", line)
            if match:
                rows.append((match.group(1), match.group(2)))
            elif rows:
                rows[-1] = (rows[-1][0], rows[-1][1] + " " + line.strip())
            else:
                text.append(line.strip())
        else:
            text.append(line.strip())
    flush()
    # Headings of the options and of the notes may be equal.
    return "\n\n".join(parts)


def run_help(octet, *command):
    result = subprocess.run([octet, *command, "--help"], text=True,
                            capture_output=True, env={**os.environ,
                                                      "COLUMNS": "100"})
    if result.returncode != 0:
        fail(f"octet {' '.join(command)} --help: {result.stderr}")
    return Help(result.stdout)


def write_samples(folder):
    """x.npy: 256 float images [28,28,1], for examples without data sets."""
    shape, state, values = (256, 28, 28, 1), 1, []
    for _ in range(256 * 28 * 28):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        values.append(state / 0x7FFFFFFF)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    (folder / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
        + struct.pack(f"<{len(values)}f", *values))


def run_examples(octet, examples):
    """Runs the examples in order, in one folder. Returns outputs by command."""
    outputs = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_samples(folder)
        (folder / "octet").symlink_to(pathlib.Path(octet).resolve())
        path = f"{folder}:{os.environ['PATH']}"
        for example in examples:
            if example.get("fashion_mnist") and not FASHION_MNIST.exists():
                print(f"reference.py: no {FASHION_MNIST}, left out: "
                      f"{example['run']}", file=sys.stderr)
                continue
            for file, text in example.get("files", {}).items():
                (folder / file).write_text(text)
            result = subprocess.run(
                ["bash", "-c", example["run"]], cwd=folder, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "PATH": path, "COLUMNS": "80"})
            if result.returncode != example.get("exit_code", 0):
                fail(f"{example['run']}: exit code {result.returncode}\n"
                     f"{result.stdout}")
            lines = [line.rstrip().replace(str(folder), ".")
                     for line in result.stdout.strip("\n").splitlines()]
            first = example.get("first", 0)
            most = example.get("lines", 16)
            shown = lines[first:first + most]
            if first:
                shown.insert(0, "...")
            if len(lines) > first + most:
                shown.append("...")
            shows = [f"$ {example['run']}", *shown]
            outputs.setdefault(example["command"], []).append(
                (example.get("text", ""), example.get("files", {}),
                 "\n".join(shows)))
    return outputs


def command_page(name, help_, outputs):
    parts = [f"# octet {name}", escape(help_.summary) + ".",
             fence("text", help_.usage)]
    for text, files, output in outputs:
        if text:
            parts.append(escape(text))
        for file, contents in files.items():
            parts.append(f"`{file}`:")
            parts.append(fence("toml", contents))
        parts.append(fence("console", output))
    parts.append("## Arguments and options")
    for title, entries in help_.groups:
        entries = [e for e in entries if not e[0].startswith("-h")]
        if not entries:
            continue
        if title not in ("Options",):
            parts.append(f"### {title}")
        rows = []
        for option, meaning, default, flags in entries:
            shown = default or ", ".join(f for f in flags if f == "required")
            if "repeatable" in flags:
                meaning += " (repeatable)"
            rows.append([code(option), cell(escape(meaning)),
                         cell(escape(shown))])
        parts.append(table(["name", "meaning", "default"], rows))
    notes = footer_pages(help_.footer)
    if notes:
        if not notes.startswith("##"):
            parts.append("## Notes")
        parts.append(notes)
    parts.append("Keys of all commands: [job files](../job-files.md)."
                 if name == "run" else
                 f"In [job files](../job-files.md#{name}): section `[{name}]`.")
    return "\n\n".join(parts) + "\n"


def job_page(helps, outputs):
    rules = helps["run"].footer
    end = next(i for i, line in enumerate(rules) if line.startswith("Example"))
    parts = ["# Job files",
             "`octet run FILE.toml` runs several commands. "
             + escape(" ".join(line.strip() for line in rules[:end]).strip()),
             "A file is TOML 1.0. Commands run in the order of the file."]
    for text, files, output in outputs:
        if text:
            parts.append(escape(text))
        for file, contents in files.items():
            parts.append(f"`{file}`:")
            parts.append(fence("toml", contents))
        parts.append(fence("console", output))
    parts.append("Meaning and default of each key are on the page of its "
                 "command.")
    for name, help_ in helps.items():
        if name == "run":
            continue
        rows = []
        for title, entries in help_.groups:
            for option, _, default, flags in entries:
                if option.startswith("-h"):
                    continue
                if title == "Arguments":
                    key, value = option.strip("[]"), "string"
                    if key in {option_parts(o)[0].lstrip("-")
                               for t, es in help_.groups
                               for o, *_ in es if t != "Arguments"}:
                        continue
                else:
                    key, value = option_parts(option)
                    key = key.removeprefix("--")
                    value = value or "true or false"
                if "repeatable" in flags:
                    value += ", or a list"
                required = "required" if "required" in flags else ""
                rows.append([code(key), cell(escape(value)), required])
        parts.append(f"## {name}")
        parts.append(f"`[{name}]`: [octet {name}](commands/{name}.md)")
        if rows:
            parts.append(table(["key", "value", "note"], rows))
    return "\n\n".join(parts) + "\n"


# ---------------------------------------------------------------- headers

def comment_text(lines):
    return [re.sub(r"^\s*///<? ?", "", line) for line in lines]


class Struct:
    """An options struct: fields with type, default and meaning."""

    def __init__(self, name, body):
        self.name = name
        self.fields = []
        pending, statement, meaning = [], "", []
        for line in body:
            stripped = line.strip()
            if stripped.startswith("///<"):
                meaning += comment_text([stripped])
                continue
            if statement == "" and self.fields and meaning:
                self.fields[-1][3].extend(meaning)
                meaning = []
            if stripped.startswith("///"):
                pending += comment_text([stripped])
                continue
            if not stripped or stripped.startswith("//"):
                continue
            text, _, note = stripped.partition("///<")
            statement += " " + text.strip()
            if not statement.endswith(";"):
                continue
            match = re.match(r"^\s*([\w:<>, ]+?)\s+(\w+)\s*(?:=\s*(.*)|(\{.*\}))?;$",
                             statement.strip())
            if not match:
                fail(f"{name}: cannot parse field '{statement.strip()}'")
            type_, field, value, braces = match.groups()
            self.fields.append([field, type_, value or braces or "",
                                pending + ([note.strip()] if note else [])])
            pending, statement = [], ""
        if meaning and self.fields:
            self.fields[-1][3].extend(meaning)

    def rows(self):
        for field, type_, default, meaning in self.fields:
            if field == "name":
                continue
            text = " ".join(meaning).strip()
            required = re.search(r"\b[Rr]equired\b", text) is not None
            default = default.replace("std::numeric_limits<float>::infinity()",
                                      "infinity")
            default = re.sub(r"(\d)f\b", r"\1", default)
            default = re.sub(r"^Padding(?:1D)?::(\w+)$", r'"\1"', default)
            text = re.sub(r"; required$", "", text)
            text = re.sub(r"^Required: ", "", text)
            text = text[:1].upper() + text[1:]
            type_ = type_.replace("std::", "")
            yield [code(field),
                   code(type_) + ", required" if required else
                   code(f"{type_} = {default}" if default else type_),
                   cell(escape(text))]


class Declaration:
    """A layer class, or a function that builds layers."""

    def __init__(self, name, doc, signature="", options=""):
        self.name = name
        self.doc = doc
        self.signature = signature
        self.options = options


def parse_header(path):
    """Returns (structs by name, declarations in order)."""
    structs, declarations = {}, []
    lines = path.read_text().splitlines()
    at, doc = 0, []
    while at < len(lines):
        line = lines[at]
        if line.startswith("///"):
            doc += comment_text([line])
        elif match := re.match(r"^struct (\w+Options) \{", line):
            body = []
            at += 1
            while not lines[at].startswith("};"):
                body.append(lines[at])
                at += 1
            structs[match.group(1)] = Struct(match.group(1), body)
            doc = []
        elif match := re.match(r"^class (\w+) : public LayerHandle", line):
            name, body = match.group(1), []
            while not lines[at].startswith("};"):
                body.append(lines[at])
                at += 1
            options = re.search(r"const (\w+Options)&", " ".join(body))
            declarations.append(Declaration(
                name, doc, options=options.group(1) if options else ""))
            doc = []
        elif re.match(r"^(SymbolicTensor|std::vector<SymbolicTensor>) [\w+*/-]+\(",
                      line):
            text = line
            while not text.rstrip().endswith(";"):
                at += 1
                text += "\n" + lines[at]
            name = re.match(r"^\S+ ([\w+*/-]+)\(", text).group(1)
            options = re.search(r"const (\w+Options)&", text)
            declarations.append(Declaration(
                name, doc, text, options.group(1) if options else ""))
            doc = []
        elif not line.strip() or not line.startswith(" "):
            doc = []
        at += 1
    return structs, declarations


def doc_sections(doc):
    """Splits a docstring: prose, parameters, shapes, errors, source."""
    blocks, text, example = [], "", []
    for line in doc:
        if line.startswith("  "):
            example.append(line)
            continue
        if example:
            blocks.append((text.strip(), example))
            text, example = "", []
        text += " " + line.strip()
    blocks.append((text.strip(), example))
    result = {"prose": [], "example": [], "Parameters": ""}
    label = ""
    for text, example in blocks:
        pieces = re.split(r"(?:(?<=\s)|^)(Shapes|Throws|Source):\s", text)
        prose = pieces[0].strip()
        match = re.search(r"(?:^|(?<=\. ))Parameters?:\s(.*?\.)(?=\s[A-Z]|$)",
                          prose)
        if match:
            result["Parameters"] = match.group(1)
            prose = (prose[:match.start()] + prose[match.end():]).strip()
        if prose and label:  # continues a labeled section
            result[label] += "\n\n" + prose
        elif prose:
            result["prose"].append(prose)
            label = ""
        for key, value in zip(pieces[1::2], pieces[2::2]):
            result[key] = value.strip()
            label = key
        if example:
            if label:  # continues a labeled section
                result[label] += "\n" + "\n".join(example)
            else:
                result["example"].append("\n".join(
                    line[2:] for line in example))
    return result


def qdq_definitions(source):
    """LayerDef::qdq by class name."""
    result = {}
    for path in sorted((source / "layers").rglob("*.cpp")):
        text = path.read_text()
        for match in re.finditer(
                r"const LayerDef \w+\{(.*?)^\};", text, re.M | re.S):
            body = match.group(1)
            name = re.search(r'\.class_name = "(\w+)"', body)
            if not name:
                continue
            qdq = re.search(r"\.qdq = \{(.*?)\}", body, re.S)
            fields = {}
            for key, value in re.findall(r'\.(\w+) = ("?[\w]+"?)',
                                         qdq.group(1) if qdq else ""):
                fields[key] = value.strip('"')
            result[name.group(1)] = fields
    return result


def sites_text(fields):
    """Sites of the quantize wrapper of a class."""
    if not fields:
        return ""
    sites = "every input" if fields.get("several_inputs") else "input"
    if fields.get("intermediate"):
        sites += ", tensor between the two convolutions"
    for key in ("weight", "second_weight"):
        if fields.get(key):
            sites += f", `{fields[key]}`"
    on = "on" if fields.get("enabled") == "true" else "only by spec or case"
    return f"{sites}; full mode: {on}"


def placement_texts(source, classes):
    """Default placement by class, from the table of layers/README.md."""
    result = {}
    text = (source / "layers/README.md").read_text()
    for line in text[text.index("## Layers"):].splitlines():
        columns = [c.strip() for c in line.strip("|").split(" | ")]
        if not line.startswith("|") or len(columns) != 2:
            continue
        for name in re.findall(r"[A-Za-z_]\w+", columns[0]):
            if name in classes and name not in result:
                result[name] = columns[1]
    for name, where in list(result.items()):
        if where == "as in 2-D":
            result[name] = result.get(name.replace("1D", "2D"), where)
    return result


def layer_section(declaration, structs, entry, qdq, placement):
    doc = doc_sections(declaration.doc)
    parts = [f"## {declaration.name}"]
    if doc["prose"]:
        parts.append(escape(re.sub(r":$", ".", doc["prose"][0])))
    if entry.get("formula"):
        parts.append(fence("text", entry["formula"].strip("\n")))
    for example in doc["example"]:
        if example.strip() != entry.get("formula", "").strip():
            parts.append(fence("cpp", example))
    for more in doc["prose"][1:]:
        parts.append(escape(more))
    if declaration.signature:
        parts.append(fence("cpp", declaration.signature))
    rows = []
    if "Shapes" in doc:
        shapes, _, more = doc["Shapes"].partition("\n")
        if more:
            parts.append("Shapes: " + escape(shapes.strip()))
            formulas, _, rest = more.partition("\n\n")
            parts.append(fence("text", formulas))
            if rest:
                parts.append(escape(rest))
        else:
            shapes = shapes.rstrip(".")
            rows.append(["shapes", code(shapes) if shapes[0] in "[{"
                         else cell(escape(shapes))])
    if doc["Parameters"]:
        rows.append(["parameters", cell(escape(doc["Parameters"]))])
    placement = entry.get("qdq", placement)
    if placement:
        rows.append(["Q/DQ by default", cell(placement)])
    sites = sites_text(qdq)
    if sites:
        rows.append(["quantize wrapper", cell(sites)])
    rows.append(["ONNX", cell(entry["onnx"])])
    if entry.get("keras"):
        rows.append(["Keras", cell(entry["keras"])])
    if "Throws" in doc:
        rows.append(["errors", cell(escape(doc["Throws"]))])
    if "Source" in doc:
        rows.append(["source", cell(escape(doc["Source"]))])
    parts.append(table(["property", "value"], rows))
    if declaration.options:
        fields = list(structs[declaration.options].rows())
        if fields:
            parts.append(table(["option", "type and default", "meaning"], fields))
    return "\n\n".join(parts)


def layer_pages(source, out):
    data = tomllib.loads((DOCS / "reference_layers.toml").read_text())
    folder = source / "layers/include/octet/layers"
    known, pages, index = set(), {}, []
    parsed = {family: parse_header(folder / f"{family}.h")
              for family in FAMILIES}
    classes = {d.name for _, ds in parsed.values() for d in ds}
    placement = placement_texts(source, classes)
    qdq = qdq_definitions(source)
    for family, title in FAMILIES.items():
        structs, declarations = parsed[family]
        parts = [f"# {title}",
                 f"Header `octet/layers/{family}.h`. Every layer also has the "
                 "option `name`. [Notation](index.md#notation)"]
        rows = []
        seen = set()
        for declaration in declarations:
            name = declaration.name
            if name in seen:
                continue  # another overload
            seen.add(name)
            known.add(name)
            if name not in data:
                fail(f"reference_layers.toml has no entry [{name}]")
            parts.append(layer_section(declaration, structs, data[name],
                                       qdq.get(name), placement.get(name)))
            prose = doc_sections(declaration.doc)["prose"]
            first = re.split(r"(?<=[\w)\]])\.\s", prose[0])[0].rstrip(".:")
            rows.append([f"[{name}]({family}.md#{name.lower()})",
                         cell(escape(first)),
                         cell(data[name].get("qdq",
                                             placement.get(name, "")))])
        pages[family] = "\n\n".join(parts) + "\n"
        index.append((title, family, rows))
    extra = set(data) - known
    if extra:
        fail(f"reference_layers.toml: no layers {sorted(extra)}")
    (out / "layers").mkdir(parents=True, exist_ok=True)
    for family, text in pages.items():
        (out / f"layers/{family}.md").write_text(text)
    parts = ["# Layers",
             "Names, options and semantics are those of Keras 3 except where "
             "a page says otherwise. Layers are called on symbolic tensors: "
             "`Conv2D({.filters = 8})(x)`. Each section has the formula, the "
             "shapes, the options, the placement of Q/DQ pairs and the nodes "
             "of the ONNX export. Functions on tensors: "
             "[functions](../functions.md).",
             "## Notation"]
    parts.append(table(["term", "meaning"], [
        ["`n h w c`", "samples, rows, columns and channels of the input; "
         "`l`: steps of a sequence, `t`: tokens, `d`: features"],
        ["`oh ow ol`", "sizes of the output: for padding valid, "
         "`floor((size - kernel') / stride) + 1` with `kernel' = (kernel - 1) "
         "* dilation + 1`; for same, `ceil(size / stride)`"],
        ["`x y w b`", "input, output, kernel and bias"],
        ["`Size1`, `Size2`", "a number, or `{height, width}`"],
        ["`Padding`, `Padding1D`", "`\"valid\"`, `\"same\"`, in sequences "
         "`\"causal\"`, a number, or numbers per side"],
        ["`Pads`, `Ends`", "a number, `{rows, columns}`, or "
         "`{{top, bottom}, {left, right}}`; of a sequence or axis: a number, "
         "or `{begin, end}`"],
        ["`Initializer`", "`zeros()`, `ones()`, `constant_value(v)`, "
         "`random_uniform(low, high)`, `random_normal(mean, deviation)`, "
         "`truncated_normal(mean, deviation)`, `glorot_uniform()`, "
         "`glorot_normal()`, `he_uniform()`, `he_normal()`, "
         "`lecun_uniform()`, `lecun_normal()`"],
        ["`Regularizer`", "`{.l1 = 0, .l2 = 1e-4f}`"],
        ["Q/DQ by default", "placement of the policy `tensorrt`"],
        ["quantize wrapper", "positions that a spec or case can select, and "
         "whether the policy `toolkit` selects them by default"],
        ["ONNX", "nodes of the export in order, without the Transposes that "
         "the axis order may require; "
         "[properties of exported files](../../guides/onnx-export.md"
         "#properties-of-exported-files)"],
    ]))
    for title, family, rows in index:
        parts.append(f"## {title}")
        parts.append(table(["layer", "function", "Q/DQ by default"], rows))
    (out / "layers/index.md").write_text("\n\n".join(parts) + "\n")
    return sum(len(rows) for _, _, rows in index)


def function_page(source, out):
    """functions.md, from the docstrings of ops.h."""
    lines = (source / "layers/include/octet/layers/ops.h").read_text()
    head, _, body = lines.partition("namespace octet {")
    intro = [re.sub(r"^// ?", "", line) for line in head.splitlines()
             if line.startswith("//")]
    text, example = [], []
    for line in intro:
        (example if line.startswith("  ") else text).append(line)
    parts = ["# Functions on symbolic tensors",
             "Functions named as in keras.ops and NumPy, in "
             "`octet/layers/ops.h`. Each call adds one layer with a generated "
             "name; to name a layer or to reuse it, call the layer class.",
             fence("cpp", "\n".join(line.strip() for line in example)),
             "Axis 0 is the batch, which functions neither reduce nor move; "
             "negative axes count from the end."]
    block = []
    for line in [*body.splitlines(), ""]:
        if line.strip() and not line.startswith("}"):
            block.append(line)
            continue
        names = re.findall(r"^[\w:<>]+ (?:operator(\S+?)|(\w+))\(",
                           "\n".join(block), re.M)
        if names:
            if names[0][0]:
                heading = "Operators " + " ".join(
                    dict.fromkeys(a.replace("*", "\\*") for a, _ in names))
            else:
                shown = list(dict.fromkeys(b for _, b in names))
                heading = ", ".join(shown[:6]) + (", ..." if shown[6:] else "")
            parts.append(f"## {heading}")
            parts.append(fence("cpp", "\n".join(block)))
        block = []
    (out / "functions.md").write_text("\n\n".join(parts) + "\n")


# ---------------------------------------------------------------- lint

LINT_PAGES = {
    "E": ("errors", "Lint rules: rejected graphs (E)",
          "Nodes that a runtime rejects or computes with other results."),
    "P": ("speed", "Lint rules: placement and speed (P)",
          "Placement of Q/DQ pairs that costs time: layers that do not run in "
          "INT8, or that do not fuse."),
    "A": ("accuracy", "Lint rules: accuracy (A)",
          "Scales and values that cost accuracy."),
    "D": ("deployment", "Lint rules: deployment (D)",
          "Notes for building and running an engine."),
}


def lint_rules(source):
    text = (source / "io/onnx/lint/catalogue.cpp").read_text()
    body = text[text.index("kRules[] = {"):]
    body = body[:body.index("\n};")]
    rules = []
    for entry in re.findall(r"\{((?:\s*\"[^\"]*\",?)+)\s*\}", body):
        strings = re.findall(r'"([^"]*)"', entry)
        rules.append((strings[0], "".join(strings[1:-1]), strings[-1]))
    return rules


def lint_pages(source, out):
    data = tomllib.loads((DOCS / "reference_lint.toml").read_text())
    rules = lint_rules(source)
    ids = {rule[0] for rule in rules}
    for missing in sorted(ids - set(data)):
        fail(f"reference_lint.toml has no entry [{missing}]")
    for extra in sorted(set(data) - ids):
        fail(f"reference_lint.toml: no rule {extra}")
    (out / "lint").mkdir(parents=True, exist_ok=True)
    for family, (file, title, text) in LINT_PAGES.items():
        parts = [f"# {title}", text + " [All rules](index.md)"]
        for id_, condition, severities in rules:
            if id_[0] != family:
                continue
            entry = data[id_]
            parts.append(f"## {id_}")
            parts.append(f"**{escape(condition[:1].upper() + condition[1:])}.**")
            if entry.get("text"):
                parts.append(entry["text"])
            by_severity = {}
            for target, severity in zip(TARGETS, severities):
                if severity != "-":
                    by_severity.setdefault(SEVERITIES[severity],
                                           []).append(target)
            text = "; ".join(f"{severity} for {', '.join(targets)}"
                             for severity, targets in by_severity.items())
            parts.append(text[0].upper() + text[1:] + ".")
            for key, heading in (("fault", "Fault"), ("cure", "Cure")):
                if entry.get(key):
                    parts.append(f"{heading}:")
                    parts.append(fence("text", entry[key].strip("\n")))
            if entry.get("fix"):
                parts.append(f"`octet lint --fix`: {entry['fix']}.")
        (out / f"lint/{file}.md").write_text("\n\n".join(parts) + "\n")
    parts = ["# Lint rules",
             "`octet lint FILE.onnx --target TARGET` checks a quantized ONNX "
             "file of any exporter against these rules; the forecast of "
             "kernels and the repairs are described in "
             "[lint](../../guides/lint.md), the options in "
             "[octet lint](../commands/lint.md).",
             "In the graphs, `QDQ(x, s)` stands for `QuantizeLinear` followed "
             "by `DequantizeLinear` with the scale `s` and the int8 zero point "
             "0. `x`, `g`, `h` are inputs, `y`, `e` outputs, `w`, `u`, `k`, `b` "
             "`v4` initializers, `s`, `t` scalar scales, `sc`, `su` one scale per "
             "output channel, `z`, `zc` zero points of int8 0; `wd` is "
             "`QDQ(w, sc, axis=0)`. A line such as `w: [4,4,1,1]` states a "
             "shape. `docs/check_lint_examples.py` runs the graphs through "
             "`octet lint`.",
             "Sections without a line `octet lint --fix` need a change of the "
             "exporter, the placement or the calibration.",
             "E: error, the runtime rejects the file or computes different "
             "results; W: warning, speed or accuracy is lost; I: info, shown "
             "with `--all`."]
    rows = [[f"[{id_}]({LINT_PAGES[id_[0]][0]}.md#{id_.lower()})",
             cell(escape(condition)),
             *[s.replace("-", "–") for s in severities]]
            for id_, condition, severities in rules]
    parts.append(table(["rule", "condition", "TRT 8", "10", "11", "RTX", "ORT",
                        "OpenVINO"], rows))
    (out / "lint/index.md").write_text("\n\n".join(parts) + "\n")
    return len(rules)


# ---------------------------------------------------------------- main

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--octet", required=True, help="the built command")
    parser.add_argument("--source", type=pathlib.Path, default=DOCS.parent)
    parser.add_argument("--no-examples", action="store_true",
                        help="do not run the examples of the commands")
    options = parser.parse_args()
    out = options.out
    (out / "commands").mkdir(parents=True, exist_ok=True)

    top = run_help(options.octet)
    names = [name for title, entries in top.groups if title == "Commands"
             for name, *_ in entries]
    # The list of commands is below the options.
    if not names:
        lines = top.footer
        start = next(i for i, l in enumerate(lines) if l == "Commands:")
        entries = []
        for line in lines[start + 1:]:
            match = re.match(r"^  (\w+)\s{2,}(.*)$", line)
            if match:
                entries.append([match.group(1), match.group(2)])
            elif line.strip() and entries:
                entries[-1][1] += " " + line.strip()
        names = [e[0] for e in entries]
    helps = {name: run_help(options.octet, name) for name in names}
    examples = tomllib.loads(
        (DOCS / "reference_commands.toml").read_text())["example"]
    for example in examples:
        if example["command"] not in helps:
            fail(f"reference_commands.toml: no command {example['command']}")
    outputs = ({} if options.no_examples
               else run_examples(options.octet, examples))
    for name, help_ in helps.items():
        (out / f"commands/{name}.md").write_text(
            command_page(name, help_, outputs.get(name, [])
                         if name != "run" else []))
    (out / "job-files.md").write_text(job_page(helps, outputs.get("run", [])))
    rows = [[f"[octet {name}]({name}.md)", cell(escape(help_.summary))]
            for name, help_ in helps.items()]
    (out / "commands/index.md").write_text("\n\n".join([
        "# Commands",
        "Generated from `octet COMMAND --help`. Tasks: "
        "[commands by task](../../guides/command-line.md); several commands in one file: "
        "[job files](../job-files.md).", table(["command", "task"], rows)]) + "\n")

    layers = layer_pages(options.source, out)
    function_page(options.source, out)
    rules = lint_pages(options.source, out)
    (out / "index.md").write_text("\n\n".join([
        "# Reference",
        table(["page", "contents"], [
            ["[Commands](commands/index.md)",
             f"{len(helps)} commands with options and examples"],
            ["[Job files](job-files.md)", "keys of TOML files for `octet run`"],
            ["[Layers](layers/index.md)",
             f"{layers} layers: formula, options, shapes, Q/DQ, ONNX form"],
            ["[Functions](functions.md)", "functions on symbolic tensors"],
            ["[Lint rules](lint/index.md)",
             f"{rules} rules with severity, fault, cure and repair"],
            ["[File formats](../model-files.md)",
             "models, checkpoints, specs, plans, comparisons"],
        ])]) + "\n")
    print(f"{len(helps)} commands, {layers} layers, {rules} lint rules in {out}")


if __name__ == "__main__":
    main()
