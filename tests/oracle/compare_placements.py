#!/usr/bin/env python3
"""Runs the networks of the placement tests in ONNX Runtime.

    compare_placements.py FOLDER

FOLDER is the output of tests/e2e/placement_export: cases.json, test images and
labels per network, and <name>.onnx with Octet's logits per case. The bounds are
those of the main job; logits are compared as in compare_zoo.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

import compare_onnx
from compare_onnx import UsageError
from compare_zoo import CODE_TOLERANCE, TOLERANCE
from count_integers import convolutions

# Two of 2,000 images may disagree.
MIN_AGREEMENT = 0.999
MAX_ACCURACY_DIFFERENCE = 0.1
# Integer kernels also quantize biases and round means.
MIN_AGREEMENT_OF_INTEGERS = 0.99
# Consecutive wide convolutions have many values near ties: 62 % of Bilbo's
# images had no changed value, 85 % or more of others.
LEAST_UNMOVED = 0.25


def inputs_shape(model_path, samples):
    """Returns [samples, ...] with the sizes of the file."""
    [model_input] = onnx.load(model_path).graph.input
    dims = model_input.type.tensor_type.shape.dim
    return [samples] + [dim.dim_value for dim in dims[1:]]


def judge(case, folder):
    """Returns the problems of one case; prints its figures."""
    name = case["name"]
    model = str(folder / f"{name}.onnx")
    labels = str(folder / f"{case['network']}.labels.i64")
    print(name)
    by_onnxruntime = name.endswith(".onnxruntime")
    problems, pairs = compare_onnx.check_model(
        model, quantized=not by_onnxruntime, partial=case["partial"])
    if by_onnxruntime:
        integers, count = convolutions(model)
        print(f"  convolutions in integers  {integers} of {count}")
        if integers < count:
            problems.append(f"{count - integers} convolutions in floats")
    else:
        print(f"  Q/DQ pairs                {pairs}")
    if case["pairs"] not in (0, pairs):
        problems.append(f"Q/DQ pairs: expected {case['pairs']}, got {pairs}")
    octet, ort = compare_onnx.compare(
        argparse.Namespace(
            model=model,
            inputs=str(folder / f"{case['network']}.inputs.f32"),
            shape=inputs_shape(model, os.path.getsize(labels) // 8),
            labels=labels,
            logits=str(folder / f"{name}.logits.f32"),
            max_logit_difference=None,
            min_agreement=MIN_AGREEMENT,
            max_accuracy_difference=MAX_ACCURACY_DIFFERENCE,
            batch=500,
        ), problems)
    moved = np.abs(octet - ort).max(axis=1) / np.abs(octet).max()
    unmoved = float((moved <= TOLERANCE).mean())
    print(f"  images of equal logits    {100 * unmoved:.1f} %")
    if not (moved.max() <= CODE_TOLERANCE and unmoved >= LEAST_UNMOVED):
        problems.append(
            f"logits: expected most to agree, got {100 * unmoved:.1f} % and a "
            f"difference of {moved.max():.2g}")
    if by_onnxruntime:
        problems += judge_integers(model, case, folder, octet)
    return problems


def judge_integers(model, case, folder, octet):
    """Compares with ONNX Runtime's default mode: convolutions in integers."""
    inputs = np.fromfile(folder / f"{case['network']}.inputs.f32", np.float32)
    inputs = inputs.reshape(inputs_shape(model, len(octet)))
    session = onnxruntime.InferenceSession(
        model, providers=["CPUExecutionProvider"])
    [entry] = session.get_inputs()
    [answers] = session.run(None, {entry.name: inputs})
    agreement = float((answers.argmax(1) == octet.argmax(1)).mean())
    print(f"  top-1 in integers         {100 * agreement:.3f} %")
    if agreement < MIN_AGREEMENT_OF_INTEGERS:
        return [f"in integers: expected to agree, got {100 * agreement:.1f} %"]
    return []


def main():
    parser = argparse.ArgumentParser(
        description="Compare quantized networks in ONNX Runtime with Octet.")
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    failed = 0
    try:
        cases = json.loads((folder / "cases.json").read_text())
        for case in cases:
            problems = judge(case, folder)
            failed += bool(problems)
            for problem in problems:
                print(f"FAILED: {case['name']}: {problem}", file=sys.stderr)
    except (OSError, UsageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(cases)} networks, {failed} problems")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
