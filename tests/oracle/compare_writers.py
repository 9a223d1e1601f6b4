#!/usr/bin/env python3
"""Compares ONNX Runtime and Octet on files of real writers.

    compare_writers.py OCTET

OCTET is the program. A network with branches passes through ONNX Runtime's
quantizer (Q/DQ and QOperator, signed and unsigned, symmetric or not, per channel
or not), its conversion to float16, and files with external data. `octet predict`
must agree with ONNX Runtime without optimization.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage.
"""

import logging
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat,
                                      QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.transformers.float16 import convert_float_to_float16

from reference import reference_session

# Relative to the largest output. A tie that rounds differently changes a
# quantized value, and an output by a few steps of 1/128.
MEDIAN = 1e-5
LARGEST = 0.03
# Float16 rounded after each node, sums in another order.
HALF = 4e-3

RANDOM = np.random.default_rng(7)
SHAPE = (3, 14, 11)  # channels, height, width


class Network:
    """Nodes and initializers under construction."""

    def __init__(self):
        self.nodes, self.initializers = [], []

    def weight(self, *shape, fan=1.0):
        name = f"w{len(self.initializers)}"
        values = RANDOM.normal(0, 1 / np.sqrt(fan), shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, inputs, outputs, kernel=3, group=1, **attributes):
        fan = inputs // group * kernel * kernel
        return self.add(
            "Conv", x, self.weight(outputs, inputs // group, kernel, kernel,
                                   fan=fan), self.weight(outputs, fan=9),
            group=group, kernel_shape=[kernel, kernel],
            pads=[kernel // 2] * 4, **attributes)


def network(opset):
    """Returns convolutions, a residual sum, branches, gates and a classifier.
    """
    n = Network()
    x = n.add("Relu", n.conv("input", 3, 8, strides=[2, 2]))
    y = n.add("Relu", n.conv(x, 8, 8, group=8))
    x = n.add("Add", n.conv(y, 8, 8, kernel=1), x)
    gate = n.add("GlobalAveragePool", x)
    x = n.add("Mul", x, n.add("Sigmoid", n.conv(gate, 8, 8, kernel=1)))
    left = n.add("LeakyRelu", n.conv(x, 8, 5), alpha=0.1)
    right = n.add("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    x = n.add("Concat", left, right, axis=1)
    x = n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.add("Clip", n.conv(x, 13, 6), n.constant(np.float32(0)),
              n.constant(np.float32(6)))
    x = n.add("Resize", x, "", n.constant(
        np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    x = n.add("Flatten", n.add("GlobalAveragePool", x))
    x = n.add("Gemm", x, n.weight(9, 6, fan=6), n.weight(9), transB=1)
    x = n.add("Relu", x)
    x = n.add("MatMul", x, n.weight(9, 7, fan=9))
    n.nodes[-1].output[0] = "output"
    graph = helper.make_graph(
        n.nodes, "network",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT,
                                       ("N", *SHAPE))],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT,
                                       ("N", 7))], n.initializers)
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset)])


def inputs(count):
    return RANDOM.uniform(-1, 2, (count, *SHAPE)).astype(np.float32)


class Samples(CalibrationDataReader):
    def __init__(self):
        self.left = [inputs(4) for _ in range(4)]

    def get_next(self):
        return {"input": self.left.pop()} if self.left else None


def quantized(source, target, **options):
    quantize_static(source, target, Samples(), **options)


def quantizer_cases(folder):
    """Returns (name, file, tolerance of the median)."""
    types = {"s8": QuantType.QInt8, "u8": QuantType.QUInt8}
    for opset in (13, 17, 21):
        source = folder / f"float{opset}.onnx"
        onnx.save(network(opset), source)
        yield f"float, opset {opset}", source, 0
        target = folder / f"default{opset}.onnx"
        quantized(source, target)
        yield f"default, opset {opset}", target, 0
        for form in (QuantFormat.QDQ, QuantFormat.QOperator):
            for activation, weight in (("s8", "s8"), ("u8", "s8"),
                                       ("u8", "u8")):
                for per_channel in (False, True):
                    name = (f"{form}, {activation} by {weight}"
                            f"{', per channel' if per_channel else ''}"
                            f", opset {opset}")
                    target = folder / f"{len(list(folder.iterdir()))}.onnx"
                    quantized(source, target, quant_format=form,
                              activation_type=types[activation],
                              weight_type=types[weight],
                              per_channel=per_channel)
                    yield name, target, 0
        target = folder / f"dynamic{opset}.onnx"
        quantize_dynamic(source, target)
        yield f"dynamic, opset {opset}", target, 0


def other_cases(folder):
    model = network(18)
    half = convert_float_to_float16(model, keep_io_types=True,
                                    disable_shape_infer=True)
    onnx.save(half, folder / "half.onnx")
    yield "float16 inside", folder / "half.onnx", HALF
    half = convert_float_to_float16(network(18), disable_shape_infer=True)
    onnx.save(half, folder / "halves.onnx")
    yield "float16", folder / "halves.onnx", HALF
    for one_file in (True, False):
        path = folder / f"external_{one_file}" / "model.onnx"
        path.parent.mkdir()
        onnx.save(network(20), path, save_as_external_data=True,
                  all_tensors_to_one_file=one_file, location="weights.bin",
                  size_threshold=64)
        yield f"external data, one file: {one_file}", path, 0
    model = network(19)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, folder / "open.onnx")
    yield "-1, no shape of the output", folder / "open.onnx", 0


def by_octet(octet, path, x):
    np.save(path.parent / "x.npy", x)
    done = subprocess.run(
        [octet, "predict", path, "--input", path.parent / "x.npy",
         "--output", path.parent / "y.npy"],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return np.load(path.parent / "y.npy")


def judge(octet, path, tolerance):
    x = inputs(6)
    session = reference_session(str(path))
    half = session.get_inputs()[0].type == "tensor(float16)"
    expected = session.run(
        None, {"input": x.astype(np.float16) if half else x})[0]
    expected = expected.astype(np.float32)
    y = by_octet(octet, path, x)
    if y.shape != expected.shape or not np.isfinite(y).all():
        return f"FAIL  {y.shape} for {expected.shape}"
    difference = np.abs(y - expected) / np.abs(expected).max()
    median, largest = np.median(difference), difference.max()
    wrong = median > max(MEDIAN, tolerance) or largest > LARGEST
    return (f"{'FAIL' if wrong else 'ok  '}  median {median:.1e}, "
            f"largest {largest:.1e}")


def main():
    if len(sys.argv) != 2:
        print("usage: compare_writers.py OCTET", file=sys.stderr)
        return 2
    logging.disable(logging.WARNING)
    octet = str(pathlib.Path(sys.argv[1]).resolve())
    count = problems = 0
    with tempfile.TemporaryDirectory() as name:
        for cases in (quantizer_cases, other_cases):
            for title, path, tolerance in cases(pathlib.Path(name)):
                count += 1
                try:
                    verdict = judge(octet, path, tolerance)
                except Exception as error:  # from any of the programs
                    verdict = f"FAIL  {str(error).strip().splitlines()[0]}"
                problems += verdict.startswith("FAIL")
                print(f"{verdict}  {title}")
    print(f"{count} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
