#!/usr/bin/env python3
"""Compares folded ONNX files with the files of the models before folding.

    compare_folds.py FOLDER

FOLDER is the output of tests/e2e/fold_export: <name>.onnx, <name>.folded.onnx,
and Octet's inputs and outputs before folding in <name>.json; the names of
quantized networks end in ".int8". The quantized weight, scales and bias of each
linear node are computed here from the first file and compared with the second.
Then ONNX Runtime runs both.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import sys

import numpy as np
import onnx
from onnx import numpy_helper

from compare_layers import read_golden, run
from verdicts import Disagreement, judge_folder

# Axis of a weight's output channels. MatMul is Dense on tokens.
CHANNEL_AXIS = {"Conv": 0, "Gemm": 0, "ConvTranspose": 1, "MatMul": 1}
# Relative: two float32 roundings.
ROUNDING = 3e-7
# Relative to the largest output: different rounding in 120 layers.
TOLERANCE = 1e-5
# Near a tie such a difference changes a quantized value further on. In DenseNet
# this happens to most samples and changed an output by 0.009.
CODE_TOLERANCE = 0.05


class Graph:
    def __init__(self, path):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        self.nodes = list(model.graph.node)
        self.constants = {
            tensor.name: numpy_helper.to_array(tensor)
            for tensor in model.graph.initializer
        }
        self.makers = {y: node for node in self.nodes for y in node.output}
        self.outputs = [value.name for value in model.graph.output]

    def linear(self):
        return {node.name: node for node in self.nodes
                if node.op_type in CHANNEL_AXIS}

    def readers(self, value):
        return [node for node in self.nodes if value in node.input]

    def rounded_activations(self):
        return sum(node.op_type == "QuantizeLinear"
                   and node.input[0] not in self.constants
                   for node in self.nodes)

    def weight(self, node):
        """Returns (values or quantized values, scales or None), channels first;
        one scale per channel."""
        value = node.input[1]
        scale = None
        if value not in self.constants:  # after Q and DQ
            quantize = self.makers[self.makers[value].input[0]]
            value, scale = quantize.input[0], self.constants[quantize.input[1]]
        w = np.moveaxis(self.constants[value], CHANNEL_AXIS[node.op_type], 0)
        if scale is None:
            return w, None
        scale = np.broadcast_to(scale, len(w))
        columns = scale.reshape([-1] + [1] * (w.ndim - 1))
        codes = np.clip(np.rint(w / columns), -128, 127).astype(np.int8)
        return codes, scale

    def bias(self, node, channels):
        if node.op_type == "MatMul":  # a bias is an Add
            add = self.readers(node.output[0])[0]
            if add.op_type != "Add" or add.input[1] not in self.constants:
                return np.zeros(channels), node.output[0]
            return self.constants[add.input[1]], add.output[0]
        if len(node.input) < 3:
            return np.zeros(channels), node.output[0]
        return self.constants[node.input[2]], node.output[0]

    def normalization(self, value):
        """Returns (factor, shift) of the BatchNormalization that alone consumes
        value, if any."""
        readers = self.readers(value)
        # For tokens, a Reshape to rows precedes it.
        if len(readers) == 1 and readers[0].op_type == "Reshape":
            readers = self.readers(readers[0].output[0])
        if len(readers) != 1 or value in self.outputs or (
                readers[0].op_type != "BatchNormalization"):
            return None
        node = readers[0]
        gamma, beta, mean, variance = (
            self.constants[name].astype(np.float64) for name in node.input[1:])
        epsilon = next(
            entry.f for entry in node.attribute if entry.name == "epsilon")
        factor = gamma / np.sqrt(variance + np.float64(np.float32(epsilon)))
        return factor, beta - mean * factor


def expect_close(what, actual, expected):
    error = np.abs(actual - expected) > ROUNDING * np.abs(expected) + 1e-30
    if error.any():
        first = int(np.argmax(error))
        raise Disagreement(f"{what}: expected {expected.flat[first]}, "
                      f"got {actual.flat[first]} in channel {first}")


def compare_weights(before, after):
    """Returns the number of linear nodes with a folded normalization, and of
    compared quantized values."""
    folded = codes = 0
    others = after.linear()
    for name, node in before.linear().items():
        other = others.get(name)
        if other is None:
            raise Disagreement(f"{name}: expected the node, got none")
        w, scale = before.weight(node)
        got, got_scale = after.weight(other)
        bias, value = before.bias(node, len(w))
        normalization = before.normalization(value)
        factor = shift = None
        if normalization is None:
            factor, shift = np.ones(len(w)), np.zeros(len(w))
        else:
            folded += 1
            factor, shift = normalization
        columns = factor.reshape([-1] + [1] * (w.ndim - 1))
        if scale is None:
            expect_close(f"{name}: weights", got, w * columns)
        else:
            expected = (w * np.sign(columns)).astype(np.int8)
            if not np.array_equal(got, expected):
                raise Disagreement(f"{name}: {np.sum(got != expected)} of "
                              f"{got.size} codes differ")
            codes += got.size
            # All-zero channels may have any scale.
            zeros = ~expected.reshape(len(w), -1).any(axis=1)
            expect_close(f"{name}: scales", got_scale,
                         np.where(zeros, np.abs(got_scale),
                                  scale * np.abs(factor)))
        new_bias = after.bias(other, len(w))[0]
        wanted = bias * factor + shift
        # The sum may be smaller than its terms.
        terms = np.abs(bias * factor) + np.abs(shift)
        error = np.abs(new_bias - wanted) > ROUNDING * terms
        if error.any():
            first = int(np.argmax(error))
            raise Disagreement(f"{name}: bias: expected {wanted[first]}, got "
                          f"{new_bias[first]} in channel {first}")
    left = sum(n.op_type == "BatchNormalization" for n in after.nodes)
    there = sum(n.op_type == "BatchNormalization" for n in before.nodes)
    if left != there - folded:
        raise Disagreement(f"expected {there - folded} BatchNormalization nodes, "
                      f"got {left}")
    return folded, codes


def compare_outputs(graph, actual, expected):
    """Returns the difference relative to the largest output."""
    if actual.shape != expected.shape:
        raise Disagreement(f"expected {expected.shape}, got {actual.shape}")
    difference = float(np.abs(actual - expected).max() /
                       np.abs(expected).max())
    # Only the Q of the input certainly has the same input in both files.
    rounds_again = graph.rounded_activations() > 1
    tolerance = CODE_TOLERANCE if rounds_again else TOLERANCE
    if not difference <= tolerance:  # a NaN fails
        raise Disagreement(f"outputs differ by {difference:.2g}")
    return difference


def judge(name, folder):
    plain, folded = folder / f"{name}.onnx", folder / f"{name}.folded.onnx"
    _, inputs, octet = read_golden(folder / f"{name}.json")
    graph = Graph(folded)
    count, codes = compare_weights(Graph(plain), graph)
    if count == 0:
        raise Disagreement("expected a normalization that was folded, got none")
    [before], _ = run(plain, inputs)
    [after], _ = run(folded, inputs)
    differences = (compare_outputs(graph, after, before),
                   compare_outputs(graph, after, octet[0]))
    return (f"{count:3} folded  {codes:8} codes equal  "
            f"outputs {max(differences):.1e}")


if __name__ == "__main__":
    sys.exit(judge_folder(
        "Compare folded ONNX files with those before folding.", judge))
