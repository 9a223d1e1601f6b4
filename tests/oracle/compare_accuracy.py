"""Compares the accuracies reported by qat_accuracy with ONNX Runtime's.

    compare_accuracy.py FOLDER

FOLDER has summary.json and a folder of files for each network and seed.
"""

import json
import pathlib
import sys

import onnxruntime

from fashion_mnist import accuracy, test_set

# File of each table column.
FILES = {"PTQ INT8": "ptq_int8.onnx", "QAT INT8": "qat_int8.onnx",
         "PTQ W4A8 (ladder)": "ptq_w4a8.onnx", "QAT W4A4": "qat_w4a4.onnx",
         "PTQ FP8": "ptq_fp8.onnx", "QAT FP8": "qat_fp8.onnx"}
# Percentage points: about one quantized value in thousands rounds differently.
MOST_APART = 0.1


def session_of(path):
    """Returns a session without graph optimization."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"])


def main():
    folder = pathlib.Path(sys.argv[1])
    summary = json.loads((folder / "summary.json").read_text())
    images, labels = test_set()
    compared, failed = 0, 0
    for row in summary["models"]:
        if row["model"] in ("keywords", "pretrained_resnet"):
            continue  # other inputs
        for column, form in row["forms"].items():
            if column not in FILES:
                continue
            for index, expected in enumerate(form["seeds"]):
                path = folder / f"{row['model']}_{index + 1}" / FILES[column]
                got = accuracy(session_of(path), images, labels)
                compared += 1
                bad = abs(got - expected) > MOST_APART
                failed += bad
                print(f"{'FAILED ' if bad else ''}{row['model']}, {column}: "
                      f"Octet {expected:.2f} %, ONNX Runtime {got:.2f} %")
    print(f"{compared} files compared, {failed} apart")
    return 1 if failed or not compared else 0


sys.exit(main())
