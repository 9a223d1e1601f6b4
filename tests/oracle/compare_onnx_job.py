#!/usr/bin/env python3
"""Quantizes a network in the form of PyTorch's exporter with Octet.

    compare_onnx_job.py PROGRAM FOLDER

PROGRAM is examples/onnx_to_int8. Its input is a small network with random weights
in the form of torch.onnx.export; ONNX Runtime evaluates its output on all test
images.

Exit codes: 0 all bounds hold, 1 one is missed, 2 wrong usage.
"""

import pathlib
import subprocess
import sys

import numpy as np
import onnx

from compare_onnx import check_model
from import_graphs import Graph, basic_block
from reference import reference_session

LEAST_AGREEMENT = 0.999
# Ten classes: chance level is 0.1.
LEAST_ACCURACY = 0.7


def network():
    g = Graph(17)
    x = g.input("input", [1, 1, 28, 28])
    x = g.conv(x, "stem.0", 1, 12, bias=False)
    x = g.HardSwish(g.batch_norm(x, "stem.1", 12))
    x = g.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = basic_block(g, x, "layer1.0", 12, 16, 2, True)
    x = g.conv(x, "depthwise", 16, 16, group=16, bias=False)
    x = g.Relu(g.batch_norm(x, "depthwise_bn", 16))
    x = g.AveragePool(x, kernel_shape=[3, 3], strides=[2, 2],
                      pads=[1, 1, 1, 1], count_include_pad=0)
    x = g.Reshape(x, g.sizes(g.size(x, 0), -1))
    x = g.Relu(g.gemm(x, "fc1", 256, 32))
    g.output(g.gemm(x, "fc2", 32, 10))
    return g.model()


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(network(), str(folder / "torch.onnx"))
    subprocess.run([sys.argv[1], str(folder / "torch.onnx"), "--limit", "8000",
                    "--out", str(folder)], check=True)
    problems, pairs = check_model(str(folder / "int8.onnx"), True, True)
    inputs = np.load(folder / "inputs.npy")
    labels = np.load(folder / "labels.npy")
    octet = np.load(folder / "logits.npy").argmax(axis=1)
    session = reference_session(str(folder / "int8.onnx"))
    name = session.get_inputs()[0].name
    ort = np.concatenate([
        session.run(None, {name: inputs[at:at + 500]})[0]
        for at in range(0, len(inputs), 500)
    ]).argmax(axis=1)
    agreement = float(np.mean(octet == ort))
    accuracy = float(np.mean(ort == labels))
    print(f"Q/DQ pairs {pairs}, top-1 agreement {100 * agreement:.2f} %, "
          f"accuracy in ONNX Runtime {100 * accuracy:.2f} %")
    if not agreement >= LEAST_AGREEMENT:
        problems.append(f"top-1 agreement: expected {LEAST_AGREEMENT}, got "
                        f"{agreement}")
    if not accuracy >= LEAST_ACCURACY:
        problems.append(f"accuracy: expected {LEAST_ACCURACY}, got {accuracy}")
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
