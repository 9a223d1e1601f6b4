#!/usr/bin/env python3
"""Runs imported Keras models in ONNX Runtime and compares them with Keras.

    compare_keras.py FOLDER

FOLDER is what tests/e2e/keras_export wrote: what Keras computes in
<name>.json, the model that Octet imported and exported in <name>.onnx.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import argparse
import pathlib
import sys

import numpy as np

from compare_layers import read_golden, run

# Absolute; outputs are of size 1 to 10.
TOLERANCE = 1e-4


def judge(name, folder):
    """(nodes, difference, problem) of one model."""
    _, inputs, expected = read_golden(folder / f"{name}.json")
    try:
        outputs, nodes = run(folder / f"{name}.onnx", inputs)
    except Exception as error:  # of onnx or onnxruntime: all the same
        return 0, None, str(error).strip().splitlines()[0]
    got, wanted = ([y.shape for y in ys] for ys in (outputs, expected))
    if got != wanted:
        return len(nodes), None, f"expected {wanted}, got {got}"
    difference = max(
        float(np.abs(y - e).max()) for y, e in zip(outputs, expected))
    # A NaN is no agreement.
    problem = "" if difference <= TOLERANCE else f"differs by {difference:.2g}"
    return len(nodes), difference, problem


def main():
    parser = argparse.ArgumentParser(
        description="Compare imported models in ONNX Runtime with Keras.")
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    names = sorted(file.stem for file in folder.glob("*.json"))
    if not names:
        print(f"{folder}: expected models, got none", file=sys.stderr)
        return 2
    width = max(map(len, names))
    problems = 0
    for name in names:
        nodes, difference, problem = judge(name, folder)
        problems += bool(problem)
        shown = "-" if difference is None else f"{difference:.1e}"
        print(f"{'FAIL' if problem else 'ok':4}  {name:{width}}  {shown:>8}  "
              f"{problem or f'{nodes} nodes'}")
    print(f"{len(names)} models, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
