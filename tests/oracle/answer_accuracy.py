"""Prints the accuracy of an ONNX file in ONNX Runtime.

    answer_accuracy.py MODEL.onnx X.npy Y.npy
"""

import sys

import numpy as np
import onnxruntime


def main():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    session = onnxruntime.InferenceSession(
        sys.argv[1], options, providers=["CPUExecutionProvider"])
    x, y = np.load(sys.argv[2]), np.load(sys.argv[3])
    answers = session.run(None, {session.get_inputs()[0].name: x})[0]
    print(int((answers.argmax(1) == y).sum()))


main()
