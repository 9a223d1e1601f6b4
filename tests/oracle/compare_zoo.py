#!/usr/bin/env python3
"""Runs the exported networks of the zoo in ONNX Runtime.

    compare_zoo.py FOLDER

FOLDER is what tests/e2e/zoo_export wrote: Octet's inputs and outputs in
<name>.json, the network in <name>.onnx; the names of quantized ones end in
".int8".

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import argparse
import pathlib
import sys

import numpy as np

from compare_layers import read_golden, run

# Of the largest output. Float32 sums in another order, through 120 layers,
# differ by 2e-6.
TOLERANCE = 1e-5
# Where such a difference falls on the border of two codes, a quantized network
# goes on with the other code, which was seen to move an output by 0.04, and
# happens the more often the more is quantized: to three of densenet121's four
# samples. The others agree as float networks do, which no other function
# would: one is enough.
CODE_TOLERANCE = 0.1
LEAST_UNMOVED = 0.25


def judge(name, folder):
    """(nodes, difference, problem) of one network."""
    _, inputs, expected = read_golden(folder / f"{name}.json")
    try:
        outputs, nodes = run(folder / f"{name}.onnx", inputs)
    except Exception as error:  # of onnx or onnxruntime: all the same
        return 0, None, str(error).strip().splitlines()[0]
    [y], [e] = outputs, expected
    if y.shape != e.shape:
        return len(nodes), None, f"expected {e.shape}, got {y.shape}"
    samples = np.abs(y - e).reshape(len(e), -1).max(axis=1) / np.abs(e).max()
    difference = float(samples.max())
    unmoved = float((samples <= TOLERANCE).mean())
    # A NaN is no agreement.
    if name.endswith(".int8"):
        agrees = difference <= CODE_TOLERANCE and unmoved >= LEAST_UNMOVED
    else:
        agrees = difference <= TOLERANCE
    problem = "" if agrees else (
        f"differs by {difference:.2g}; {unmoved:.0%} of the samples agree")
    return len(nodes), difference, problem


def main():
    parser = argparse.ArgumentParser(
        description="Compare exported networks in ONNX Runtime with Octet.")
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    names = sorted(
        file.name.removesuffix(".json") for file in folder.glob("*.json"))
    if not names:
        print(f"{folder}: expected networks, got none", file=sys.stderr)
        return 2
    width = max(map(len, names))
    problems = 0
    for name in names:
        nodes, difference, problem = judge(name, folder)
        problems += bool(problem)
        shown = "-" if difference is None else f"{difference:.1e}"
        print(f"{'FAIL' if problem else 'ok':4}  {name:{width}}  {shown:>8}  "
              f"{problem or f'{nodes} nodes'}")
    print(f"{len(names)} networks, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
