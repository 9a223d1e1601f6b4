#!/usr/bin/env python3
"""Compares single operators in ONNX Runtime with `octet predict`.

    compare_operators.py OCTET

OCTET is the program. The cases complement ONNX' conformance tests: other strides,
pads, groups and dilations, ranks, modes and opsets.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

from reference import reference_session

# Relative to the largest output: float32 sums in another order.
TOLERANCE = 1e-5

RANDOM = np.random.default_rng(1)


def floats(*shape):
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def codes(dtype, *shape):
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


def integers(*values):
    return np.array(values, np.int64)


def number(value, dtype=np.float32):
    return np.array(value, dtype)


class Case:
    """y = op(x, *constants); omits constants that are None."""

    def __init__(self, op, x, *constants, opset=13, **attributes):
        self.op, self.x, self.constants = op, x, constants
        self.opset, self.attributes = opset, attributes

    def __str__(self):
        words = [f"{self.op}-{self.opset}", "x".join(map(str, self.x.shape))]
        words += [f"{k}={v}" for k, v in self.attributes.items()]
        words += [str(c.tolist()) if c.size < 9 else str(c.shape)
                  for c in self.constants if c is not None]
        return " ".join(words)

    def model(self):
        names, outputs, initializers = ["x"], ["y"], []
        if self.op == "TopK":
            outputs.append("indices")
        for i, value in enumerate(self.constants):
            names.append("" if value is None else f"c{i}")
            if value is not None:
                initializers.append(numpy_helper.from_array(value, f"c{i}"))
        node = helper.make_node(self.op, names, outputs, **self.attributes)
        kind = helper.np_dtype_to_tensor_dtype(self.x.dtype)
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("x", kind,
                                                        self.x.shape)],
            [helper.make_empty_tensor_value_info("y")], initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=10)
        return model


def convolutions():
    x = floats(2, 6, 9, 11)
    for attributes in (
            {}, {"strides": [2, 3]}, {"pads": [1, 0, 2, 3]},
            {"dilations": [2, 1], "pads": [2, 2, 0, 1]},
            {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
            {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
            {"auto_pad": "VALID", "strides": [3, 1]}):
        yield Case("Conv", x, floats(5, 6, 3, 2), floats(5), **attributes)
        yield Case("Conv", x, floats(6, 3, 2, 3), group=2, **attributes)
    for group, outputs in ((6, 6), (6, 12), (3, 9)):
        yield Case("Conv", x, floats(outputs, 6 // group, 3, 3), group=group,
                   pads=[1, 1, 1, 1])
    yield Case("Conv", x, floats(7, 6, 1, 1), floats(7))
    yield Case("Conv", x, floats(7, 6, 1, 1), strides=[2, 2])
    yield Case("Conv", x, floats(2, 6, 12, 14), pads=[9, 9, 9, 9])
    yield Case("Conv", floats(2, 4, 15), floats(3, 4, 3), floats(3),
               strides=[2], pads=[2, 1], dilations=[2])


def transposed_convolutions():
    x = floats(2, 6, 5, 7)
    for attributes in (
            {}, {"strides": [2, 3]}, {"pads": [1, 0, 1, 1]},
            {"strides": [3, 2], "output_padding": [1, 1]},
            {"dilations": [2, 1], "strides": [2, 2], "pads": [1, 1, 2, 0]},
            {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
            {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
            {"output_shape": [10, 14], "strides": [2, 2]},
            {"output_shape": [11, 15], "strides": [2, 2],
             "auto_pad": "SAME_UPPER"}):
        yield Case("ConvTranspose", x, floats(6, 4, 3, 3), floats(4),
                   **attributes)
        yield Case("ConvTranspose", x, floats(6, 2, 3, 3), group=3,
                   **attributes)
    yield Case("ConvTranspose", floats(1, 3, 6), floats(3, 2, 4), strides=[3])


def pools():
    x = floats(2, 3, 10, 13)
    for attributes in (
            {}, {"strides": [2, 3]}, {"pads": [1, 0, 2, 1]},
            {"ceil_mode": 1, "strides": [2, 2]},
            {"ceil_mode": 1, "strides": [3, 2], "pads": [1, 1, 1, 1]},
            {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
            {"auto_pad": "SAME_LOWER", "strides": [2, 2]}):
        shape = {"kernel_shape": [3, 2] if "pads" not in attributes
                 else [3, 3]}
        yield Case("MaxPool", x, **shape, **attributes)
        yield Case("AveragePool", x, **shape, **attributes)
        yield Case("AveragePool", x, count_include_pad=1, **shape,
                   **attributes)
    yield Case("MaxPool", x, kernel_shape=[3, 2], dilations=[2, 3])
    yield Case("MaxPool", codes(np.int8, 1, 2, 7, 7), kernel_shape=[2, 2])
    yield Case("MaxPool", floats(2, 3, 9), kernel_shape=[4], strides=[2])
    yield Case("AveragePool", floats(2, 3, 9), kernel_shape=[4], strides=[2])
    yield Case("GlobalAveragePool", floats(2, 5, 31, 33))
    yield Case("GlobalMaxPool", floats(2, 5, 7))


def products():
    yield Case("Gemm", floats(5, 7), floats(7, 3), floats(3))
    yield Case("Gemm", floats(5, 7), floats(600, 7), floats(5, 1), transB=1,
               alpha=0.5, beta=-2.0)
    yield Case("Gemm", floats(4, 4), floats(4, 3), transA=1)
    yield Case("MatMul", floats(17, 40), floats(40, 70))
    yield Case("MatMul", floats(2, 3, 4, 5), floats(5, 6))
    yield Case("MatMul", floats(2, 3, 4, 5), floats(3, 5, 6))
    yield Case("MatMul", floats(2, 1, 4, 5), floats(3, 5, 6))
    yield Case("MatMul", floats(2, 4, 5), floats(5))
    yield Case("MatMulInteger", codes(np.uint8, 4, 9), codes(np.int8, 9, 5),
               number(7, np.uint8), number(-3, np.int8))
    yield Case("MatMulInteger", codes(np.uint8, 4, 9), codes(np.int8, 9, 5))


def quantization():
    x = floats(3, 4, 5) * 40
    for zero in (number(0, np.int8), number(-7, np.int8), number(9, np.uint8)):
        yield Case("QuantizeLinear", x, number(0.37), zero)
    ties = np.arange(-300, 300, dtype=np.float32).reshape(6, 100) / 2
    yield Case("QuantizeLinear", ties, number(1), number(0, np.int8))
    yield Case("QuantizeLinear", ties, number(1), number(128, np.uint8))
    wild = np.array([[np.inf, -np.inf, 3e38, -3e38, np.nan, 1e-40]],
                    np.float32)
    yield Case("QuantizeLinear", wild, number(0.5), number(0, np.int8))
    yield Case("QuantizeLinear", wild, number(0.5), number(3, np.uint8))
    scales = np.array([0.1, 0.7, 2, 31], np.float32)
    yield Case("QuantizeLinear", x, scales, codes(np.int8, 4), axis=1)
    yield Case("QuantizeLinear", x, scales, codes(np.uint8, 4), axis=-2)
    yield Case("DequantizeLinear", codes(np.int8, 3, 4, 5), scales,
               codes(np.int8, 4), axis=1)
    yield Case("DequantizeLinear", codes(np.uint8, 9, 4), number(0.1),
               number(200, np.uint8))
    yield Case("DequantizeLinear", codes(np.int32, 9, 4), number(1e-4))
    image = codes(np.uint8, 2, 3, 6, 7)
    yield Case("ConvInteger", image, codes(np.int8, 4, 3, 3, 3),
               number(13, np.uint8), number(0, np.int8), opset=10,
               pads=[1, 1, 1, 1], strides=[2, 1])
    yield Case("QLinearConv", image, number(0.05), number(13, np.uint8),
               codes(np.int8, 4, 3, 3, 3),
               np.array([0.01, 0.02, 0.3, 0.001], np.float32),
               np.zeros(4, np.int8), number(2.3), number(99, np.uint8),
               codes(np.int32, 4) // 2**18, opset=10, pads=[1, 0, 1, 2])
    yield Case("QLinearMatMul", codes(np.uint8, 5, 8), number(0.05),
               number(13, np.uint8), codes(np.int8, 8, 3), number(0.02),
               number(0, np.int8), number(0.9), number(99, np.uint8),
               opset=10)


def elementwise():
    x = floats(3, 4, 5)
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min"):
        yield Case(op, x, floats(4, 1))
        yield Case(op, x, floats(3, 1, 5))
    for op in ("Add", "Sub", "Mul", "Div"):
        yield Case(op, codes(np.int32, 3, 4), codes(np.int32, 4))
    yield Case("Pow", np.abs(x), floats(5))
    yield Case("Pow", x, number(3, np.int64))
    yield Case("Mean", x, floats(5), floats(4, 5))
    yield Case("PRelu", x, floats(4, 1))
    for op in ("Abs", "Neg", "Floor", "Ceil", "Round", "Erf", "Exp", "Tanh",
               "Sigmoid", "Softplus", "Softsign", "Relu", "LeakyRelu", "Elu",
               "Selu", "HardSigmoid", "Reciprocal"):
        yield Case(op, x * 5)
    for op in ("Sqrt", "Log"):
        yield Case(op, np.abs(x))
    yield Case("HardSwish", x * 5, opset=14)
    for op in ("Equal", "Greater", "Less"):
        yield Case(op, np.round(x), np.round(floats(4, 5)))
    yield Case("Clip", x, number(-1), None)
    yield Case("Clip", x, None, number(0.5))
    yield Case("Clip", x, opset=6, min=-1.0, max=0.5)
    for kind in (TensorProto.INT32, TensorProto.BOOL, TensorProto.INT64,
                 TensorProto.INT8):
        yield Case("Cast", x * 30, to=kind)
    yield Case("Cast", codes(np.int32, 7), to=TensorProto.UINT8)
    yield Case("Cast", codes(np.int64, 7), to=TensorProto.FLOAT)


def axes():
    x = floats(3, 4, 5, 2)
    for opset in (11, 13):
        for axis in (1, 2, 3, -1, -3):
            yield Case("Softmax", x, opset=opset, axis=axis)
            yield Case("LogSoftmax", x, opset=opset, axis=axis)
    for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"):
        for listed in ([1], [2, 3], [-1, 1]):
            yield Case(op, x, opset=11, axes=listed)
            yield Case(op, x, opset=13, axes=listed, keepdims=0)
    yield Case("ReduceSum", x, integers(1, -1))
    yield Case("ReduceSum", x, opset=11, axes=[2], keepdims=0)
    yield Case("ReduceSum", x, noop_with_empty_axes=1)
    yield Case("ArgMax", x, axis=2)
    yield Case("ArgMax", np.round(x), axis=-1, keepdims=0,
               select_last_index=1)
    yield Case("LayerNormalization", x, floats(5, 2), floats(5, 2), opset=17,
               axis=2)
    yield Case("LayerNormalization", x, floats(2), opset=17)
    yield Case("InstanceNormalization", x, floats(4), floats(4))
    for opset in (9, 14):
        yield Case("BatchNormalization", x, floats(4), floats(4), floats(4),
                   np.abs(floats(4)), opset=opset, epsilon=1e-3)


def movement():
    x = floats(3, 4, 5, 6)
    yield Case("Transpose", x, perm=[0, 3, 1, 2])
    yield Case("Transpose", codes(np.int8, 3, 4, 5), perm=[0, 2, 1])
    yield Case("Concat", x, floats(3, 2, 5, 6), axis=1)
    yield Case("Concat", x, floats(3, 4, 5, 1), axis=-1)
    yield Case("Slice", x, integers(1, -3), integers(4, 100), integers(1, 3))
    yield Case("Slice", x, integers(-1, 4), integers(-100, 0),
               integers(1, -1), integers(-2, -1))
    yield Case("Slice", x, integers(2), integers(2), integers(2))
    yield Case("Slice", x, opset=9, starts=[1, 0], ends=[3, -2], axes=[1, 2])
    yield Case("Gather", x, integers(3, 0, -1), axis=1)
    yield Case("Gather", x, number(-2, np.int64), axis=2)
    yield Case("Gather", x, integers(1, 0, 2, 3).reshape(2, 2), axis=-1)
    for pads in ([0, 1, 2, 0, 0, 0, 1, 3], [0, 0, -1, 2, 0, 1, -2, -3]):
        yield Case("Pad", x, integers(*pads), number(1.5))
        yield Case("Pad", x, opset=2, pads=pads, value=1.5)
    for mode in ("edge", "reflect"):
        yield Case("Pad", x, integers(0, 1, 2, 0, 0, 0, 1, 3), mode=mode)
    yield Case("Reshape", x, integers(0, -1, 3))
    yield Case("Reshape", x, integers(3, 0, 30))
    yield Case("Flatten", x)
    yield Case("Flatten", floats(3, 4, 5), axis=-2)
    yield Case("Squeeze", floats(3, 1, 4, 1), integers(1, -1))
    yield Case("Squeeze", floats(3, 1, 4, 1), opset=11, axes=[3])
    yield Case("Squeeze", floats(3, 1, 4, 1))
    yield Case("Unsqueeze", floats(3, 4), integers(-1, 1))
    yield Case("Unsqueeze", floats(3, 4), opset=11, axes=[1, 3])
    yield Case("Expand", floats(3, 1, 5), integers(2, 1))
    yield Case("Where", np.array([[True], [False]]), floats(2, 3), floats(3))


def resizes():
    x = floats(2, 3, 6, 5)
    empty = np.zeros(0, np.float32)
    modes = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    for scales in ((1, 1, 2, 3), (1, 1, 0.5, 1.7), (1, 1, 0.4, 0.6)):
        scale = np.array(scales, np.float32)
        for mode in modes:
            yield Case("Resize", x, empty, scale, mode="linear",
                       coordinate_transformation_mode=mode)
            for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor",
                            "ceil"):
                yield Case("Resize", x, empty, scale, mode="nearest",
                           coordinate_transformation_mode=mode,
                           nearest_mode=nearest)
        yield Case("Resize", x, scale, opset=10, mode="nearest")
        yield Case("Resize", x, scale, opset=10, mode="linear")
    for sizes in ((2, 3, 9, 4), (2, 3, 1, 1), (2, 3, 6, 5)):
        yield Case("Resize", x, empty, empty, integers(*sizes), mode="linear",
                   opset=11)
        yield Case("Resize", x, None, None, integers(*sizes), mode="nearest")
    yield Case("Resize", codes(np.uint8, 2, 3, 4, 4), None,
               np.array([1, 1, 2, 2], np.float32), mode="nearest")
    for mode in ("nearest", "linear"):
        yield Case("Upsample", x, np.array([1, 1, 2, 3], np.float32), opset=9,
                   mode=mode)
        yield Case("Upsample", x, opset=7, mode=mode,
                   scales=[1.0, 1.0, 3.0, 2.0])


def newer():
    """Cases of operators as defined in opsets after 17."""
    x = floats(3, 4, 5, 2)
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax",
               "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare"):
        yield Case(op, x, integers(1, -1), opset=18, keepdims=0)
        yield Case(op, x, opset=18, noop_with_empty_axes=1)
    yield Case("ReduceLogSum", np.abs(x), integers(2), opset=18)
    yield Case("Pad", x, integers(1, 2, 3, 0), number(1.5), integers(-1, 1),
               opset=18)
    yield Case("Pad", x, integers(0, 3, 1, 0, 0, 2, 4, 1), mode="wrap",
               opset=19)
    image = floats(2, 3, 9, 11)
    for attributes in ({"dilations": [2, 3]},
                       {"dilations": [2, 1], "pads": [1, 0, 2, 1],
                        "count_include_pad": 1},
                       {"ceil_mode": 1, "strides": [2, 3],
                        "pads": [1, 1, 1, 1], "count_include_pad": 1}):
        yield Case("AveragePool", image, kernel_shape=[3, 2], opset=19,
                   **attributes)
        attributes.pop("count_include_pad", None)
        yield Case("MaxPool", image, kernel_shape=[3, 2], opset=22,
                   **attributes)
    for approximate in ("none", "tanh"):
        yield Case("Gelu", x * 3, opset=20, approximate=approximate)
    yield Case("Mish", x * 5, opset=18)
    groups = floats(2, 6, 3, 5)
    yield Case("GroupNormalization", groups, floats(6), floats(6), opset=21,
               num_groups=3)
    yield Case("GroupNormalization", groups, floats(3), floats(3), opset=18,
               num_groups=3, epsilon=0.01)
    yield Case("RMSNormalization", x, floats(5, 2), opset=23, axis=2)
    blocks = np.array([[0.1, 0.2], [0.3, 0.7], [2, 0.01]], np.float32)
    yield Case("QuantizeLinear", floats(3, 7) * 30, blocks,
               codes(np.int8, 3, 2), opset=21, axis=1, block_size=4)
    yield Case("DequantizeLinear", codes(np.uint8, 3, 7), blocks,
               codes(np.uint8, 3, 2), opset=21, axis=1, block_size=4)
    yield Case("QuantizeLinear", x * 30, number(0.3), None, opset=21,
               output_dtype=TensorProto.INT8)
    for mode in ("linear", "cubic"):
        for scales in ((1, 1, 0.6, 0.4), (1, 1, 1.3, 2.5)):
            scale = np.array(scales, np.float32)
            yield Case("Resize", image, None, scale, opset=18, mode=mode,
                       antialias=1)
            yield Case("Resize", image, None, scale, opset=19, mode=mode,
                       coordinate_transformation_mode="half_pixel_symmetric")
    yield Case("Resize", image, None, None, integers(6, 14), opset=18,
               axes=[2, 3], mode="cubic", exclude_outside=1)
    for policy in ("not_larger", "not_smaller"):
        yield Case("Resize", image, None, None, integers(6, 15), opset=18,
                   axes=[2, 3], mode="nearest",
                   keep_aspect_ratio_policy=policy)
    yield Case("Resize", image, np.array([0, 0, 0.2, -0.3, 1, 1, 0.7, 1.2],
                                         np.float32), None,
               integers(2, 3, 7, 8), opset=13, mode="linear",
               coordinate_transformation_mode="tf_crop_and_resize",
               extrapolation_value=9.0)


def selection():
    x = floats(3, 4, 5)
    yield Case("ArgMin", np.round(x), axis=1, keepdims=0)
    for attributes in ({}, {"exclusive": 1}, {"reverse": 1},
                       {"exclusive": 1, "reverse": 1}):
        yield Case("CumSum", x, number(1, np.int64), opset=14, **attributes)
        yield Case("CumSum", codes(np.int32, 3, 4), number(-1, np.int32),
                   opset=11, **attributes)
    image = floats(2, 12, 3, 5)
    for mode in ("DCR", "CRD"):
        yield Case("DepthToSpace", image, blocksize=2, mode=mode)
    yield Case("SpaceToDepth", floats(2, 3, 6, 9), blocksize=3)
    yield Case("EyeLike", floats(3, 5), k=1)
    yield Case("EyeLike", floats(4, 2), k=-2, dtype=TensorProto.INT32)
    pairs = integers(0, -1, 1, 2, 0, 0).reshape(3, 2)
    yield Case("GatherND", x, pairs)
    yield Case("GatherND", x, integers(0, 3, 1).reshape(3, 1), batch_dims=1)
    yield Case("GatherElements", x, RANDOM.integers(-5, 5, (3, 4, 7)), axis=2)
    yield Case("ScatterND", x, pairs, floats(3, 5), opset=16)
    yield Case("ScatterND", x, pairs, floats(3, 5), opset=18, reduction="max")
    where = RANDOM.integers(0, 4, (2, 4, 5))
    yield Case("ScatterElements", x, where, floats(2, 4, 5), opset=18, axis=1,
               reduction="add")
    wild = np.array([[np.inf, -np.inf, np.nan, 1]], np.float32)
    for attributes in ({}, {"detect_negative": 0}, {"detect_positive": 0}):
        yield Case("IsInf", wild, opset=10, **attributes)
    yield Case("IsNaN", wild)
    for size in (1, 3, 5, 29):  # ONNX Runtime supports odd values only
        yield Case("LRN", image, size=size, alpha=0.3, beta=0.6, bias=1.5)
    yield Case("NonZero", np.round(x))
    for axis in (-1, 0, 1):
        yield Case("OneHot", integers(0, 9, -1, 4, -7), number(5, np.int64),
                   np.array([0.5, 2], np.float32), opset=11, axis=axis)
    for kind in (np.int32, np.int64):
        for fmod in (0, 1):
            # ONNX Runtime computes fmod of int64 in doubles.
            yield Case("Mod", codes(np.int32, 3, 4).astype(kind),
                       (codes(np.int32, 4) | 1).astype(kind), fmod=fmod)
    yield Case("Mod", x * 9, floats(5), fmod=1)
    yield Case("Tile", x, integers(1, 3, 2))
    for largest in (0, 1):
        yield Case("TopK", np.round(x), integers(3), axis=1, largest=largest)
    for upper in (0, 1):
        for k in (-2, 0, 1):
            yield Case("Trilu", x, number(k, np.int64), opset=14, upper=upper)
    for op in ("Sin", "Cos", "Sign"):
        yield Case(op, x * 5)


def volumes():
    x = floats(2, 4, 6, 7, 5)
    for attributes in ({}, {"strides": [2, 1, 3]},
                       {"pads": [1, 0, 2, 2, 1, 0], "dilations": [2, 1, 2]}):
        yield Case("Conv", x, floats(6, 2, 3, 2, 1), floats(6), group=2,
                   **attributes)
        yield Case("ConvTranspose", x, floats(4, 3, 3, 2, 3), floats(6),
                   group=2, **attributes)
    yield Case("ConvTranspose", x, floats(4, 3, 2, 2, 3), strides=[3, 2, 2],
               output_padding=[2, 0, 1], pads=[1, 0, 1, 0, 1, 0])
    for attributes in ({"strides": [2, 1, 3]},
                       {"strides": [2, 2, 2], "ceil_mode": 1},
                       {"auto_pad": "SAME_UPPER", "strides": [2, 2, 1]},
                       {"pads": [1, 1, 0, 0, 1, 1]}):
        for op in ("MaxPool", "AveragePool"):
            yield Case(op, x, kernel_shape=[3, 2, 2], **attributes)
        yield Case("AveragePool", x, kernel_shape=[3, 2, 2],
                   count_include_pad=1, **attributes)


def bits_grids_and_transforms():
    for kind in (np.int8, np.uint8, np.int32, np.int64):
        x = codes(np.int8, 3, 4).astype(kind)
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            yield Case(op, x, codes(np.int8, 4).astype(kind), opset=18)
        yield Case("BitwiseNot", x, opset=18)
    image, grid = floats(2, 3, 5, 6), floats(2, 4, 7, 2) * 0.9
    for corners in (0, 1):
        for outside in ("zeros", "border", "reflection"):
            for mode in ("bilinear", "nearest"):
                yield Case("GridSample", image, grid, opset=16, mode=mode,
                           padding_mode=outside, align_corners=corners)
        yield Case("GridSample", image, grid, opset=20, mode="cubic",
                   align_corners=corners)
    for attributes in ({}, {"strides": [2, 3]},
                       {"pads": [1, 0, 2, 1], "dilations": [2, 1]}):
        strides = attributes.get("strides", [1, 1])
        pads = attributes.get("pads", [0] * 4)
        dilations = attributes.get("dilations", [1, 1])
        steps = [(size + pads[i] + pads[i + 2] - dilations[i] * (k - 1) - 1)
                 // strides[i] + 1
                 for i, (size, k) in enumerate(((9, 3), (8, 2)))]
        yield Case("Col2Im", floats(2, 4 * 6, steps[0] * steps[1]),
                   integers(9, 8), integers(3, 2), opset=18, **attributes)
    for parts in (1, 2):
        signal = floats(2, 7, 5, parts)
        for length in (None, number(6, np.int64), number(9, np.int64)):
            yield Case("DFT", signal, length, opset=17, axis=2)
            yield Case("DFT", signal, length, opset=20)
            yield Case("DFT", signal, length, number(1, np.int64), opset=20,
                       inverse=parts - 1, onesided=2 - parts)


class GraphCase(Case):
    """y = the first output of a graph with an input x, in onnx's text form."""

    def __init__(self, name, x, text):
        super().__init__(name, x)
        self.text = text

    def model(self):
        return onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 16]>\n{self.text}')


def control_flow():
    x = floats(3, 2)
    # The trip count and the condition are computed.
    yield GraphCase("Loop", x, """
        g (float[3,2] x) => (float[A,B,C] y) {
          most = Constant <value = int64 {20}> ()
          yes = Constant <value = bool {1}> ()
          first = ReduceMax <keepdims = 0> (x)
          state, y = Loop <body = b (int64 i, bool c, float s)
                                   => (bool d, float t, float[3,2] row) {
            five = Constant <value = float {5.0}> ()
            one = Constant <value = float {1.0}> ()
            t = Add (s, one)
            d = Less (t, five)
            row = Mul (x, t)
          }> (most, yes, first)
        }""")
    yield GraphCase("Loop", x, """
        g (float[3,2] x) => (float[3,2] y) {
          sizes = Shape (x)
          at = Constant <value = int64 {0}> ()
          n = Gather (sizes, at)
          y = Loop <body = b (int64 i, bool c, float[3,2] s)
                          => (bool d, float[3,2] t) {
            f = Cast <to = 1> (i)
            inner = Loop <body = e (int64 j, bool p, float[3,2] u)
                                => (bool q, float[3,2] v) {
              v = Add (u, f)
              q = Identity (p)
            }> (n, , s)
            t = Mul (inner, x)
            d = Identity (c)
          }> (n, , x)
        }""")
    body = """
          last, y = Scan <num_scan_inputs = 1%s,
                          body = b (float[2] s, float[%s] v)
                                 => (float[2] t, float[2] row) {
            m = ReduceMean <keepdims = 0> (v)
            t = Add (s, m)
            row = Mul (t, s)
          }> (zero, x)"""
    for attributes, row, shape in (
            ("", 2, "3,2"), (", scan_input_axes = [1]", 3, "2,2"),
            (", scan_output_axes = [1]", 2, "2,3"),
            (", scan_input_directions = [1], scan_output_directions = [1]", 2,
             "3,2")):
        yield GraphCase("Scan", x, f"""
        g (float[3,2] x) => (float[{shape}] y) {{
          zero = Constant <value = float[2] {{0.5, 1.0}}> ()
          {body % (attributes, row)}
        }}""")


def cases():
    for group in (convolutions, transposed_convolutions, pools, products,
                  quantization, elementwise, axes, movement, resizes, newer,
                  selection, volumes, bits_grids_and_transforms,
                  control_flow):
        yield from group()


def by_onnx_runtime(model, x):
    session = reference_session(model.SerializeToString())
    return session.run(None, {"x": x})[0]


def by_octet(octet, model, x, folder):
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "x.npy", x)
    done = subprocess.run(
        [octet, "predict", "m.onnx", "--input", "x.npy", "--output", "y.npy"],
        cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return np.load(folder / "y.npy")


def problem(y, expected):
    """Returns a description of the problem, or nothing."""
    if y.dtype != expected.dtype or y.shape != expected.shape:
        return (f"expected {expected.dtype} {expected.shape}, got {y.dtype} "
                f"{y.shape}")
    if y.dtype != np.float32 or y.size == 0:
        wrong = int((y != expected).sum())
        return f"{wrong} of {y.size} differ" if wrong else ""
    difference = float(np.abs(y - expected).max() / max(
        1e-6, np.abs(expected).max()))
    # A NaN fails.
    return "" if difference <= TOLERANCE else f"differs by {difference:.2g}"


def main():
    if len(sys.argv) != 2:
        print("usage: compare_operators.py OCTET", file=sys.stderr)
        return 2
    octet = str(pathlib.Path(sys.argv[1]).resolve())
    count = problems = 0
    with tempfile.TemporaryDirectory() as name:
        for case in cases():
            count += 1
            try:
                model = case.model()
                text = problem(
                    by_octet(octet, model, case.x, pathlib.Path(name)),
                    by_onnx_runtime(model, case.x))
            except Exception as error:  # from onnx or onnxruntime
                text = str(error).strip().splitlines()[0]
            problems += bool(text)
            if text:
                print(f"FAIL  {case}  {text}")
    print(f"{count} operators, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
