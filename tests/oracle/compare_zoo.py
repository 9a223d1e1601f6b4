#!/usr/bin/env python3
"""Runs the exported networks of the zoo in ONNX Runtime.

    compare_zoo.py FOLDER

FOLDER is the output of tests/e2e/zoo_export: Octet's inputs and outputs in
<name>.json, the network in <name>.onnx; the names of quantized networks end in
".int8". Octet's outputs are computed twice, by the model and by running the file:
both must agree with ONNX Runtime.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import json
import sys

import numpy as np

from compare_layers import read_golden, run
from verdicts import Disagreement, judge_folder

# Relative to the largest output. Float32 sums in another order differ by 2e-6
# in 120 layers.
TOLERANCE = 1e-5
# Near a tie such a difference changes a quantized value, which changed an
# output by up to 0.04, the more often the more layers are quantized: three of
# densenet121's first four samples. The others agree as well as float networks
# do, which no other function would: one in four is enough.
CODE_TOLERANCE = 0.1
LEAST_UNMOVED = 0.25
# Steps of uint8 from 0 are half as wide, so that more values are near ties:
# each of eight samples of inception_v3 had a changed value, with differences of
# at most 0.009. The bound is tighter in turn.
UINT8_TOLERANCE = 0.05


def file_outputs(path):
    """Returns Octet's outputs from running the ONNX file."""
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["file_outputs"]
    return [np.array(entry["values"], np.float32).reshape(entry["shape"])
            for entry in entries]


def difference(y, e, quantized, uint8=False):
    """Returns the largest difference, relative to Octet's largest output."""
    if y.shape != e.shape:
        raise Disagreement(f"expected {e.shape}, got {y.shape}")
    samples = np.abs(y - e).reshape(len(e), -1).max(axis=1) / np.abs(e).max()
    largest = float(samples.max())
    unmoved = float((samples <= TOLERANCE).mean())
    # A NaN fails.
    if uint8:
        agrees = largest <= UINT8_TOLERANCE
    elif quantized:
        agrees = largest <= CODE_TOLERANCE and unmoved >= LEAST_UNMOVED
    else:
        agrees = largest <= TOLERANCE
    if not agrees:
        raise Disagreement(
            f"differs by {largest:.2g}; {unmoved:.0%} of the samples agree")
    return largest


def judge(name, folder):
    """Returns the figures of one network."""
    _, inputs, by_layers = read_golden(folder / f"{name}.json")
    by_file = file_outputs(folder / f"{name}.json")
    outputs, nodes = run(folder / f"{name}.onnx", inputs)
    [y], [layers], [file] = outputs, by_layers, by_file
    quantized = name.endswith(".int8")
    uint8 = name.endswith(".openvino.int8")
    return (f"layers {difference(y, layers, quantized, uint8):.1e}  "
            f"file {difference(y, file, quantized, uint8):.1e}  "
            f"{len(nodes)} nodes")


if __name__ == "__main__":
    sys.exit(judge_folder("Compare exported networks in ONNX Runtime with Octet.", judge))
