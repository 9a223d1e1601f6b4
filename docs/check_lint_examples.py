#!/usr/bin/env python3
"""Checks the graphs of reference_lint.toml with octet lint.

  docs/check_lint_examples.py --octet build/release/bin/octet

Each `fault` must violate its rule, each `cure` must not. Needs Python's onnx.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import numpy as np
import onnx
from onnx import numpy_helper, parser

DOCS = pathlib.Path(__file__).resolve().parent
ENDS = "(float[N,4,8,8] x) => (float[N,4,8,8] y)"
RNG = np.random.default_rng(1)


def noise(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def zeros_in_channel():
    values = noise(4, 4, 1, 1)
    values[2] = 0
    return values


def constants():
    f = np.float32
    return {
        "s": np.array(0.02, f), "t": np.array(0.05, f),
        "s1": np.array([0.02], f), "s_zero": np.array(0, f),
        "s_6_127": np.array(6 / 127, f), "s_float16": np.array(0.02, np.float16),
        "sc": np.array([0.01, 0.011, 0.012, 0.013], f),
        "su": np.full(8, 0.01, f), "s_of_3_channels": np.full(3, 0.01, f),
        "s16": np.full(16, 0.01, f),
        "z": np.array(0, np.int8), "zc": np.zeros(4, np.int8),
        "z_int8_3": np.array(3, np.int8),
        "z_uint8_128": np.array(128, np.uint8),
        "z_uint8_0": np.array(0, np.uint8),
        "w": noise(4, 4, 1, 1), "w8": noise(4, 8, 1, 1),
        "w16": noise(16, 16, 1, 1), "wg": noise(4, 1, 1, 1),
        "w_zero": zeros_in_channel(), "u": noise(4, 8), "b": noise(4),
        "v4": np.ones(4, f), "k": np.ones((4, 8), np.int8),
        "b_int32": np.arange(4, dtype=np.int32),
        "w_int8": np.full((4, 4, 1, 1), -3, np.int8),
        "w_int8_with__128": np.full((4, 4, 1, 1), -128, np.int8),
        "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64),
    }


# Values that a graph may use without a line of their own.
IMPLIED = {
    "wd": "wd = QDQ(w, sc, axis=0)", "w8d": "w8d = QDQ(w8, sc, axis=0)",
    "w16d": "w16d = QDQ(w16, s16, axis=0)",
    "w_zero_d": "w_zero_d = QDQ(w_zero, sc, axis=0)",
    "wd1": "wd1 = QDQ(w, sc, axis=1)",
}


def split(text):
    """Splits at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


class Graph:
    def __init__(self, text):
        self.lines, self.zeros, self.opset, self.temporary = [], {}, 13, 0
        text = text.replace("w_int8_with_-128", "w_int8_with__128")
        lines = [line for line in text.strip().splitlines()]
        made = {line.split(" = ")[0] for line in lines if " = " in line}
        for name, line in IMPLIED.items():
            if name not in made and re.search(rf"\b{name}\b", text):
                lines.insert(0, line)
        for line in lines:
            if line.startswith("opset"):
                self.opset = int(line.split()[1])
            elif " = " in line:
                name, call = line.split(" = ", 1)
                self.emit(name, call)

    def emit(self, name, call):
        op, inner = re.match(r"^([\w.:]+)\((.*)\)$", call).groups()
        operands, attributes = [], []
        for part in split(inner):
            if re.match(r"^\w+=", part):
                attributes.append(part.replace("=", " = ", 1))
            elif "(" in part:
                self.temporary += 1
                self.emit(f"i{self.temporary}", part)
                operands.append(f"i{self.temporary}")
            else:
                operands.append(part)
        marks = f" <{', '.join(attributes)}>" if attributes else ""
        if op != "QDQ":
            self.lines.append(f"{name} = {op}{marks} ({', '.join(operands)})")
            return
        tensor, scale = operands
        zero = f"z_of_{scale}"
        self.zeros[zero] = scale
        self.lines.append(f"{name}_q = QuantizeLinear{marks} ({tensor}, "
                          f"{scale}, {zero})")
        self.lines.append(f"{name} = DequantizeLinear{marks} ({name}_q, "
                          f"{scale}, {zero})")

    def model(self, ends):
        text = (f'<ir_version: 8, opset_import: ["" : {self.opset}]>\n'
                f"g {ends} {{\n" + "\n".join(self.lines) + "\n}")
        model = parser.parse_model(text)
        values = constants()
        for zero, scale in self.zeros.items():
            values[zero] = np.zeros(values[scale].shape
                                    if scale in values else (), np.int8)
        used = {i for node in model.graph.node for i in node.input}
        used -= {i.name for i in model.graph.input}
        for name in sorted(used & set(values)):
            model.graph.initializer.append(
                numpy_helper.from_array(values[name], name))
        return model


def ids(octet, model, target):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/m.onnx"
        onnx.save(model, path)
        result = subprocess.run([octet, "lint", path, "--target", target,
                                 "--json"], capture_output=True, text=True)
    if not result.stdout:
        return {f"error: {result.stderr.strip()}"}
    return {f["id"] for f in json.loads(result.stdout)["findings"]}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--octet", required=True)
    octet = options.parse_args().octet
    data = tomllib.loads((DOCS / "reference_lint.toml").read_text())
    failures = checked = 0
    for rule, entry in data.items():
        if entry.get("unchecked") or "fault" not in entry:
            continue
        target = entry.get("target", "tensorrt11" if rule == "D02"
                           else "tensorrt10")
        for key in ("fault", "cure"):
            ends = entry.get("ends", ENDS)
            if key == "cure":
                ends = entry.get("cure_ends", ends)
            try:
                found = ids(octet, Graph(entry[key]).model(ends), target)
            except Exception as error:  # a graph that onnx does not parse
                found = {f"error: {error}"}
            checked += 1
            broken = any(f.startswith("error") for f in found)
            if (rule in found) != (key == "fault") or broken:
                failures += 1
                print(f"{rule} {key}: found {sorted(found)}")
    print(f"{checked} graphs checked, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
