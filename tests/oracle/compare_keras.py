#!/usr/bin/env python3
"""Compares imported Keras models in ONNX Runtime with Keras.

    compare_keras.py FOLDER

FOLDER is the output of tests/e2e/keras_export: Keras' outputs in <name>.json, the
model that Octet imported and exported in <name>.onnx.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import sys

import numpy as np

from compare_layers import read_golden, run
from verdicts import Disagreement, judge_folder

# Absolute; outputs have magnitudes of 1 to 10.
TOLERANCE = 1e-4


def judge(name, folder):
    """Returns the figures of one model."""
    _, inputs, expected = read_golden(folder / f"{name}.json")
    outputs, nodes = run(folder / f"{name}.onnx", inputs)
    got, wanted = ([y.shape for y in ys] for ys in (outputs, expected))
    if got != wanted:
        raise Disagreement(f"expected {wanted}, got {got}")
    difference = max(
        float(np.abs(y - e).max()) for y, e in zip(outputs, expected))
    # A NaN fails.
    if not difference <= TOLERANCE:
        raise Disagreement(f"differs by {difference:.2g}")
    return f"{difference:8.1e}  {len(nodes)} nodes"


if __name__ == "__main__":
    sys.exit(judge_folder("Compare imported models in ONNX Runtime with Keras.", judge))
