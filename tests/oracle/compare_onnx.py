#!/usr/bin/env python3
"""Compares an exported model in ONNX Runtime with Octet.

Octet's own evaluation is stored in raw little-endian files without headers:
inputs float32 in the order of the model's input (NCHW for images), labels
int64 [N], logits float32 [N, classes]. Graph optimization is disabled, so that
every node runs as written.

Exit codes: 0 all bounds hold, 1 one is missed or the model is invalid, 2 wrong
usage, missing files or mismatched sizes.
"""

import argparse
import math
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from reference import reference_session


class UsageError(Exception):
    """Wrong usage: exit code 2."""


def shape_of(text):
    try:
        dims = [int(part) for part in text.split(",")]
    except ValueError:
        dims = []
    if len(dims) < 2 or min(dims, default=0) < 1:
        raise argparse.ArgumentTypeError(
            f"expected sizes >= 1 like 100,1,28,28, got '{text}'")
    return dims


def bound(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(
            f"expected a number >= 0, got '{text}'")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Compare an ONNX file in ONNX Runtime with Octet.")
    parser.add_argument("model", help="the ONNX file")
    parser.add_argument("--inputs", required=True, metavar="FILE",
                        help="raw float32, in the shape of --shape")
    parser.add_argument("--shape", required=True, type=shape_of,
                        metavar="N,C,H,W", help="of the inputs")
    parser.add_argument("--labels", required=True, metavar="FILE",
                        help="raw int64 [N]")
    parser.add_argument("--logits", required=True, metavar="FILE",
                        help="Octet's: raw float32 [N, classes]")
    parser.add_argument("--max-logit-difference", type=bound, default=None,
                        metavar="X",
                        help="1e-4 unless given; none with --quantized, where "
                        "a value on a tie moves by a whole step")
    parser.add_argument("--min-agreement", type=bound, default=0.999,
                        metavar="X", help="top-1, in [0,1] (%(default)s)")
    parser.add_argument("--max-accuracy-difference", type=bound, default=0.05,
                        metavar="X", help="percentage points (%(default)s)")
    parser.add_argument("--quantized", action="store_true",
                        help="check the structure of an int8 file too")
    parser.add_argument("--batch", type=int, default=500, metavar="N",
                        help="images at once (%(default)s)")
    arguments = parser.parse_args()
    if arguments.batch < 1:
        parser.error(f"--batch: expected a number >= 1, got {arguments.batch}")
    if arguments.min_agreement > 1:
        parser.error("--min-agreement: expected a share in [0,1], got "
                     f"{arguments.min_agreement}")
    if arguments.max_logit_difference is None and not arguments.quantized:
        arguments.max_logit_difference = 1e-4
    return arguments


def read_array(path, dtype, shape):
    """Reads a raw little-endian file; one size of `shape` may be -1."""
    try:
        values = np.fromfile(path, dtype=dtype)
        size = os.path.getsize(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    item = np.dtype(dtype).itemsize
    known = math.prod(dim for dim in shape if dim != -1)
    fits = values.size % known == 0 if -1 in shape else values.size == known
    if size % item != 0 or values.size == 0 or not fits:
        raise UsageError(
            f"{path}: expected {np.dtype(dtype).name} of shape {shape}, "
            f"got {size} bytes")
    return values.reshape(shape)


# --- structure of int8 files -------------------------------------------------

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"


class Structure:
    """Checks the structure that TensorRT requires of an int8 file.

    In a `partial` file, linear nodes may lack Q/DQ.
    """

    def __init__(self, model, partial):
        self.graph = model.graph
        self.problems = []
        self.constants = {
            tensor.name: numpy_helper.to_array(tensor)
            for tensor in self.graph.initializer
        }
        self.makers = {
            output: node for node in self.graph.node for output in node.output
        }
        self.pairs = 0
        opsets = [entry.version for entry in model.opset_import
                  if entry.domain in ("", "ai.onnx")]
        self.expect(opsets == [13], f"opset: expected 13, got {opsets}")
        for node in self.graph.node:
            if node.op_type in (QUANTIZE, DEQUANTIZE):
                self.check_grid(node)
            if node.op_type == DEQUANTIZE:
                self.check_pair(node)
            if node.op_type in ("Conv", "Gemm"):
                self.check_linear(node, partial)
        self.expect(self.pairs > 0, "model: expected Q/DQ pairs, got none")

    def expect(self, condition, problem):
        if not condition:
            self.problems.append(problem)

    def check_grid(self, node):
        who = f"{node.op_type} '{node.name}'"
        if len(node.input) != 3 or not all(node.input):
            self.problems.append(
                f"{who}: expected tensor, scale and zero point")
            return
        scale = self.constants.get(node.input[1])
        zero_point = self.constants.get(node.input[2])
        if scale is None or zero_point is None:
            self.problems.append(
                f"{who}: expected initializers as scale and zero point")
            return
        self.expect(scale.dtype == np.float32,
                    f"{who}: expected float32 scales, got {scale.dtype}")
        self.expect(scale.ndim <= 1,
                    f"{who}: expected scales of rank 0 or 1, got "
                    f"{list(scale.shape)}")
        self.expect(bool(np.all(np.isfinite(scale) & (scale > 0))),
                    f"{who}: expected finite scales > 0")
        self.expect(zero_point.dtype == np.int8 and not zero_point.any(),
                    f"{who}: expected int8 zero points of 0")
        self.expect(zero_point.shape == scale.shape,
                    f"{who}: expected a zero point of shape "
                    f"{list(scale.shape)}, got {list(zero_point.shape)}")
        axes = [entry.i for entry in node.attribute if entry.name == "axis"]
        if scale.ndim == 1:
            self.expect(len(axes) == 1,
                        f"{who}: expected an explicit axis per channel")

    def check_pair(self, node):
        who = f"{node.op_type} '{node.name}'"
        maker = self.makers.get(node.input[0])
        if maker is None or maker.op_type != QUANTIZE:
            self.problems.append(f"{who}: expected a {QUANTIZE} before it")
            return
        self.pairs += 1
        self.expect(list(maker.input[1:]) == list(node.input[1:]),
                    f"{who}: expected the scale and zero point of its "
                    f"{QUANTIZE}")
        axis = [[entry.i for entry in end.attribute if entry.name == "axis"]
                for end in (maker, node)]
        self.expect(axis[0] == axis[1],
                    f"{who}: expected the axis of its {QUANTIZE}")

    def quantized_source(self, value):
        """Returns the input of the Q in front of a DQ's output; None without a
        pair."""
        dequantize = self.makers.get(value)
        if dequantize is None or dequantize.op_type != DEQUANTIZE:
            return None
        quantize = self.makers.get(dequantize.input[0])
        if quantize is None or quantize.op_type != QUANTIZE:
            return None
        return quantize

    def check_linear(self, node, partial):
        who = f"{node.op_type} '{node.name}'"
        data = self.quantized_source(node.input[0])
        weight = self.quantized_source(node.input[1])
        if partial and data is None and weight is None:
            return
        self.expect(data is not None, f"{who}: expected Q/DQ before its data")
        if weight is None:
            self.problems.append(f"{who}: expected Q/DQ before its weight")
        else:
            self.check_weight(who, node, weight)
        if len(node.input) > 2 and node.input[2]:
            bias = self.constants.get(node.input[2])
            self.expect(bias is not None and bias.dtype == np.float32
                        and bias.ndim == 1,
                        f"{who}: expected a float32 initializer as bias, "
                        "without Q/DQ")

    def check_weight(self, who, node, quantize):
        weight = self.constants.get(quantize.input[0])
        if weight is None or weight.dtype != np.float32:
            self.problems.append(
                f"{who}: expected its weight as a float32 initializer")
            return
        attributes = {entry.name: entry for entry in node.attribute}
        if node.op_type == "Conv":
            self.expect(weight.ndim == 4, f"{who}: expected a weight OIHW, "
                        f"got {list(weight.shape)}")
            kernel = attributes.get("kernel_shape")
            self.expect(kernel is None or
                        list(kernel.ints) == list(weight.shape[2:]),
                        f"{who}: expected a weight OIHW, got "
                        f"{list(weight.shape)}")
        else:
            self.expect(weight.ndim == 2 and "transB" in attributes and
                        attributes["transB"].i == 1,
                        f"{who}: expected a weight [out,in] with transB = 1")
        scale = self.constants.get(quantize.input[1])
        axes = [entry.i for entry in quantize.attribute
                if entry.name == "axis"]
        if scale is not None and scale.ndim == 1:
            self.expect(axes == [0] and scale.size == weight.shape[0],
                        f"{who}: expected {weight.shape[0]} scales on axis 0, "
                        f"got {scale.size} on {axes}")
            # Quantized weights are in [-127,127].
            columns = scale.reshape([-1] + [1] * (weight.ndim - 1))
            self.expect(bool(np.all(np.abs(np.rint(weight / columns)) <= 127)),
                        f"{who}: expected weight codes within [-127,127]")


def check_model(path, quantized, partial=False):
    """Returns the problems of a file; loads it with onnx' full check."""
    try:
        model = onnx.load(path, load_external_data=False)
        onnx.checker.check_model(model, full_check=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except Exception as error:  # onnx and protobuf share no base class
        return [f"onnx.checker: {error}"], 0
    if not quantized:
        return [], 0
    structure = Structure(model, partial)
    return structure.problems, structure.pairs


# --- numbers -----------------------------------------------------------------


def run_model(path, inputs, batch):
    session = reference_session(path)
    [model_input] = session.get_inputs()
    expected = list(model_input.shape)[1:]
    if expected != list(inputs.shape)[1:]:
        raise UsageError(f"--shape: expected {list(model_input.shape)} like "
                         f"the model, got {list(inputs.shape)}")
    return np.concatenate([
        session.run(None, {model_input.name: inputs[first:first + batch]})[0]
        for first in range(0, len(inputs), batch)
    ])


def compare(arguments, problems):
    """Adds to the problems; returns Octet's logits and ONNX Runtime's."""
    count = arguments.shape[0]
    inputs = read_array(arguments.inputs, "<f4", arguments.shape)
    labels = read_array(arguments.labels, "<i8", [count])
    octet = read_array(arguments.logits, "<f4", [count, -1])
    ort = run_model(arguments.model, inputs, arguments.batch)
    if ort.shape != octet.shape:
        raise UsageError(f"{arguments.logits}: expected logits "
                         f"{list(ort.shape)}, got {list(octet.shape)}")

    octet_top, ort_top = octet.argmax(axis=1), ort.argmax(axis=1)
    octet_accuracy = 100.0 * float(np.mean(octet_top == labels))
    ort_accuracy = 100.0 * float(np.mean(ort_top == labels))
    agreement = float(np.mean(octet_top == ort_top))
    difference = float(np.max(np.abs(octet.astype(np.float64) - ort)))

    print(f"  images                    {count}")
    print(f"  accuracy, Octet           {octet_accuracy:.3f} %")
    print(f"  accuracy, ONNX Runtime    {ort_accuracy:.3f} %")
    print(f"  top-1 agreement           {100.0 * agreement:.3f} %")
    print(f"  largest logit difference  {difference:.3g}")

    # A NaN fails every bound.
    accuracy_difference = abs(octet_accuracy - ort_accuracy)
    if not np.isfinite(ort).all() or not np.isfinite(octet).all():
        problems.append("logits: expected finite values")
    # The slack covers the rounding of percentages, below one image in 10^9.
    if not accuracy_difference <= arguments.max_accuracy_difference + 1e-9:
        problems.append(
            f"accuracy: expected a difference of at most "
            f"{arguments.max_accuracy_difference} points, got "
            f"{accuracy_difference:.3f}")
    if not agreement >= arguments.min_agreement:
        problems.append(
            f"top-1 agreement: expected at least "
            f"{100 * arguments.min_agreement:.3f} %, got "
            f"{100 * agreement:.3f} %")
    limit = arguments.max_logit_difference
    if limit is not None and not difference <= limit:
        problems.append(f"logits: expected a difference of at most {limit}, "
                        f"got {difference:.3g}")
    return octet, ort


def main():
    arguments = parse_arguments()
    print(f"{os.path.basename(arguments.model)} in ONNX Runtime "
          f"{onnxruntime.__version__}, optimisation disabled")
    try:
        problems, pairs = check_model(arguments.model, arguments.quantized)
        if arguments.quantized:
            print(f"  Q/DQ pairs                {pairs}")
        compare(arguments, problems)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # a model that ONNX Runtime rejects
        problems.append(f"ONNX Runtime: {error}")
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    if not problems:
        print("  all bounds hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
