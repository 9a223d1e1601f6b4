#!/usr/bin/env python3
"""Runs the quantized networks of the zoo in OpenVINO, in integers.

    compare_openvino.py FOLDER

FOLDER is what tests/e2e/zoo_export wrote; the names of quantized networks end in
".int8". Each layer that has codes in the file is computed in integers there,
and the outputs agree with Octet's model of layers.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import sys

import numpy as np
import onnx

from compare_layers import layouts, read_golden, to_keras, to_onnx
from openvino_judge import File
from verdicts import Disagreement, judge_folder

# Of the largest output. The sums are the same integers, but a float on the
# border of two codes may fall on either side, through 120 layers.
TOLERANCE = 0.06
# OpenVINO 2026.4 moves the quantizer behind a Concat into its branches. The
# int8 values are still those of ONNX Runtime, but the convolutions that read
# them are not (0.3 of the largest value in the first of inception_v3). Written
# for OpenVINO, with uint8 in their place, the same networks agree:
# <name>.openvino.int8.
DEVIATIONS = {"inception_v3.int8", "unet.int8", "unet.patterns.int8"}


def judge(name, folder):
    """The figures of one network."""
    _, [inputs], [layers] = read_golden(folder / f"{name}.json")
    path = folder / f"{name}.onnx"
    of_inputs, of_outputs = layouts(onnx.load(path))
    file = File(path)
    y = to_keras(file(to_onnx(inputs, of_inputs)), of_outputs)
    difference = np.abs(y - layers).max() / np.abs(layers).max()
    # A NaN is no agreement.
    agrees = y.shape == layers.shape and difference <= TOLERANCE
    if agrees == (name in DEVIATIONS):
        raise Disagreement(f"differs by {difference:.2g}")
    note = "" if agrees else "deviates as known  "
    return f"{difference:.1e}  {note}{file.summary()}"


if __name__ == "__main__":
    sys.exit(judge_folder("Compare quantized networks in OpenVINO with Octet.",
                          judge, "*.int8.json"))
