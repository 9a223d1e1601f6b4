#!/usr/bin/env python3
"""Runs the quantized networks of the zoo in OpenVINO, in integers.

    compare_openvino.py FOLDER

FOLDER is the output of tests/e2e/zoo_export; the names of quantized networks end
in ".int8". Each layer that is quantized in the file must run in integers, and the
outputs must agree with Octet's model; in files for OpenVINO also the answers.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import sys

import numpy as np
import onnx

from compare_layers import layouts, read_golden, to_keras, to_onnx
from openvino_judge import File
from verdicts import Disagreement, judge_folder

# Relative to the largest output. Integer sums are equal, but floats near a tie
# may round differently in 120 layers.
TOLERANCE = 0.06
# OpenVINO 2026.4 moves the quantizer after a Concat into its branches. The INT8
# values still equal ONNX Runtime's, but the convolutions that consume them do
# not (0.3 of the largest value in the first one of inception_v3). With uint8,
# as exported for OpenVINO (<name>.openvino.int8), the same networks agree.
DEVIATIONS = {"inception_v3.int8", "unet.int8", "unet.patterns.int8"}
# Least part of equal answers (largest output of a pixel or sample) in files for
# OpenVINO. The deviations above have 0.77.
ANSWERS = 0.98


def judge(name, folder):
    """Returns the figures of one network."""
    _, [inputs], [layers] = read_golden(folder / f"{name}.json")
    path = folder / f"{name}.onnx"
    of_inputs, of_outputs = layouts(onnx.load(path))
    file = File(path)
    y = to_keras(file(to_onnx(inputs, of_inputs)), of_outputs)
    difference = np.abs(y - layers).max() / np.abs(layers).max()
    # A NaN fails.
    agrees = y.shape == layers.shape and difference <= TOLERANCE
    if agrees == (name in DEVIATIONS):
        raise Disagreement(f"differs by {difference:.2g}")
    if ".openvino." in name:
        answers = np.mean(y.argmax(-1) == layers.argmax(-1))
        if answers < ANSWERS:
            raise Disagreement(f"only {answers:.1%} of the answers agree")
    note = "" if agrees else "deviates as known  "
    return f"{difference:.1e}  {note}{file.summary()}"


if __name__ == "__main__":
    sys.exit(judge_folder("Compare quantized networks in OpenVINO with Octet.",
                          judge, "*.int8.json"))
