#!/usr/bin/env python3
"""Compares every exported layer in ONNX Runtime with Keras.

    compare_layers.py GOLDEN FOLDER

GOLDEN is tests/golden/layers, FOLDER the output of tests/e2e/layer_export. Octet's
files are compared with Keras' outputs, without graph optimization, so that every
node runs as written. Images are NCHW, sequences as declared by the file.

Exit codes: 0 all agree, 1 one disagrees or has no ONNX form, 2 wrong usage or
missing files.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import onnx

from reference import reference_session

# Relative to the largest expected value, or to 1. Keras computed in float64;
# Octet's constants and ONNX Runtime's sums have the 6e-8 of float32, and its
# exp and erf a few units more.
TOLERANCE = 1e-5
# For float16 files, which round inputs to 5e-4 and each node again.
HALF_TOLERANCE = 2e-3

# Classes without export, and the reason.
WITHOUT_ONNX_FORM = {}


def read_golden(path):
    """Returns (class, inputs, outputs) of a file."""
    with open(path, encoding="utf-8") as file:
        case = json.load(file)
    array = lambda entry: np.array(
        entry["values"], np.float32).reshape(entry["shape"])
    outputs = case.get("outputs") or [case["output"]]
    return (case["class_name"], [array(x) for x in case["inputs"]],
            [array(y) for y in outputs])


def layouts(model):
    """Returns the layout of inputs and outputs: "NCHW", "NCL", both or nothing.
    """
    said = {entry.key: entry.value for entry in model.metadata_props}
    return said.get("input_layout", ""), said.get("output_layout", "")


def to_onnx(array, layout):
    if array.ndim == 3 and "NCL" in layout:
        return array.transpose(0, 2, 1)
    return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array


def to_keras(array, layout):
    if array.ndim == 3 and "NCL" in layout:
        return array.transpose(0, 2, 1)
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array


def run(path, inputs):
    """Returns the outputs in Keras' layout and the nodes of the file."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = reference_session(model.SerializeToString())
    values = session.get_inputs()
    if len(values) != len(inputs):
        raise ValueError(f"expected {len(inputs)} inputs, got {len(values)}")
    of_inputs, of_outputs = layouts(model)
    feeds = {}
    for value, x in zip(values, inputs):
        if len(value.shape) == 4 and x.ndim == 2:  # flattened in the file
            _, c, h, w = value.shape
            x = x.reshape(-1, h, w, c)
        if value.type == "tensor(int64)":
            x = x.astype(np.int64)
        feeds[value.name] = np.ascontiguousarray(to_onnx(x, of_inputs))
    outputs = session.run(None, feeds)
    return ([to_keras(y, of_outputs) for y in outputs],
            [node.op_type for node in model.graph.node])


def judge(golden, file, refusals):
    """Returns (class, nodes, difference, problem) of one file."""
    class_name, inputs, expected = read_golden(golden)
    if file.stem in refusals:
        if class_name in WITHOUT_ONNX_FORM:
            return class_name, [], None, ""
        text = refusals[file.stem].replace("\n", ";")
        return class_name, [], None, "refused: " + text
    if class_name in WITHOUT_ONNX_FORM:
        return class_name, [], None, "expected no file, got one"
    try:
        outputs, nodes = run(file, inputs)
    except Exception as error:  # from onnx, onnxruntime or this script
        return class_name, [], None, str(error).strip().splitlines()[0]
    got, wanted = ([y.shape for y in ys] for ys in (outputs, expected))
    if got != wanted:
        return class_name, nodes, None, f"expected {wanted}, got {got}"
    difference = max(
        float(np.abs(y - e).max() / max(1.0, np.abs(e).max()))
        for y, e in zip(outputs, expected))
    # A NaN fails.
    half = file.stem.endswith(".float16")
    problem = "" if difference <= (HALF_TOLERANCE if half else TOLERANCE) else (
        f"differs by {difference:.2g}")
    return class_name, nodes, difference, problem


def main():
    parser = argparse.ArgumentParser(
        description="Compare exported layers in ONNX Runtime with Keras.")
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    goldens = sorted(arguments.golden.glob("*.json"))
    try:
        refusals = json.loads(
            (arguments.folder / "refusals.json").read_text(encoding="utf-8"))
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    if not goldens:
        print(f"{arguments.golden}: expected golden files, got none",
              file=sys.stderr)
        return 2
    # A golden case may have more files: of later opsets, in float16, with
    # flattened images, or with the channels of sequences first.
    pairs = [(arguments.folder / "branches.json",
              arguments.folder / "branches.onnx")]
    for golden in goldens:
        pairs.append((golden, arguments.folder / f"{golden.stem}.onnx"))
        for kind in ("flattened", "ncl", "opset18", "opset21", "float16"):
            second = arguments.folder / f"{golden.stem}.{kind}.onnx"
            if second.exists() or second.stem in refusals:
                pairs.append((golden, second))
    width = max(len(file.stem) for _, file in pairs)
    problems = 0
    classes = set()
    for golden, file in pairs:
        class_name, nodes, difference, problem = judge(golden, file, refusals)
        classes.add(class_name)
        problems += bool(problem)
        shown = "-" if difference is None else f"{difference:.1e}"
        print(f"{'FAIL' if problem else 'ok':4}  {file.stem:{width}}  "
              f"{shown:>8}  {problem or ' '.join(nodes)}")
    for class_name in sorted(WITHOUT_ONNX_FORM):
        print(f"no ONNX form: {class_name}: {WITHOUT_ONNX_FORM[class_name]}")
    print(f"{len(pairs)} files of {len(classes)} classes, "
          f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
