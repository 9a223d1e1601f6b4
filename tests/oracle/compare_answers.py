#!/usr/bin/env python3
"""Runs an exported network in ONNX Runtime on samples stored with it.

    compare_answers.py FOLDER

FOLDER has model.onnx and one array per graph input and output: <input>.npy, and
<output>.npy with Octet's output.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnxruntime

# Relative to the largest output: float32 sums in another order. Near a tie this
# changes a quantized value, which few samples may have.
TOLERANCE = 1e-5
CODE_TOLERANCE = 0.1
MOST_MOVED = 0.1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    try:
        session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options,
            providers=["CPUExecutionProvider"])
        given = {each.name: np.load(folder / f"{each.name}.npy")
                 for each in session.get_inputs()}
        expected = {each.name: np.load(folder / f"{each.name}.npy")
                    for each in session.get_outputs()}
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    problems = 0
    for name, answer in zip(expected, session.run(list(expected), given)):
        wanted = expected[name]
        if answer.shape != wanted.shape:
            print(f"FAIL  {name}: {wanted.shape} expected, got {answer.shape}")
            problems += 1
            continue
        # Per sample, or per position of a map [n,channels,...].
        worst = np.abs(answer - wanted).max(axis=1) / np.abs(wanted).max()
        moved = float((worst > TOLERANCE).mean())
        # A NaN fails the comparison.
        good = worst.max() <= CODE_TOLERANCE and moved <= MOST_MOVED
        problems += not good
        print(f"{'ok  ' if good else 'FAIL'}  {name} {wanted.shape}: largest "
              f"difference {worst.max():.1e} of the largest answer, {moved:.1%} "
              f"of the answers moved to another code")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
