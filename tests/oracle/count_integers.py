#!/usr/bin/env python3
"""Counts the convolutions that ONNX Runtime computes in integers.

    count_integers.py OCTET FOLDER NETWORK...

OCTET is the command line program. Each network of the zoo is quantized with
`--target onnxruntime`, on random images, into FOLDER. At least 95 % of the
convolutions in ONNX Runtime's optimized graph must be QLinearConv.

Exit codes: 0 all have as many, 1 one has fewer, 2 wrong usage.
"""

import collections
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

LEAST_SHARE = 0.95
FLOATS = {"Conv", "FusedConv", "NhwcFusedConv"}


def optimized_operators(path):
    """Returns the count of each operator in ONNX Runtime's optimized graph."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(path) + ".optimized"
    onnxruntime.InferenceSession(str(path), options,
                                 providers=["CPUExecutionProvider"])
    graph = onnx.load(options.optimized_model_filepath).graph
    return collections.Counter(node.op_type for node in graph.node)


def convolutions(path):
    """Returns (in integers, all)."""
    operators = optimized_operators(path)
    integers = operators["QLinearConv"]
    return integers, integers + sum(operators[name] for name in FLOATS)


def quantize(octet, network, folder):
    shape = {"resnet8": (32, 32, 3), "resnet20": (32, 32, 3),
             "mobilenet_v1_025": (96, 96, 3)}.get(network, (224, 224, 3))
    images = folder / f"{network}.npy"
    np.save(images, np.random.default_rng(1).random((2, *shape), np.float32))
    path = folder / f"{network}.onnx"
    subprocess.run([octet, "quantize", f"zoo:{network}", "--data", images,
                    "--method", "max", "--target", "onnxruntime", "-o", path],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return path


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    problems = 0
    for network in sys.argv[3:]:
        integers, count = convolutions(quantize(sys.argv[1], network, folder))
        enough = count > 0 and integers >= LEAST_SHARE * count
        problems += not enough
        print(f"{'ok  ' if enough else 'FAIL'}  {network:18} {integers} of "
              f"{count} convolutions in integers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
