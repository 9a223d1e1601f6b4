#!/usr/bin/env python3
"""Checks that octet preserves the interface of ONNX files.

    compare_interface.py OCTET [FAULTS]

OCTET is the command line program. Graphs are built here in both axis orders, with
distinct and with equal sizes; FAULTS/*.onnx are tested as well. Each is rewritten
by octet convert and fold, by way of an .h5 file, and quantized on samples in the
file's axis order. Inputs and outputs must keep names, element types and sizes,
and ONNX Runtime's outputs for the same inputs must agree.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(48)
# Relative to the largest output: float sums in another order.
TOLERANCE = 1e-4
# dB, of INT8 against float. A wrong axis order is below 5 dB.
LEAST_SQNR = 15
FAULTS = ["uint8_input", "bool_input", "transposes_reshape", "transposes_heads"]


class Graph:
    """A graph under construction; node() returns the name of its output."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]))
        return self.constant(
            RNG.uniform(-2 * scale, 2 * scale, shape).astype(np.float32))

    def node(self, op, *inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, list(inputs), [name], name, **attributes))
        return name

    def conv(self, x, out, into, *kernel):
        return self.node("Relu", self.node(
            "Conv", x, self.weight(out, into, *kernel), kernel_shape=kernel,
            pads=[k // 2 for k in kernel] * 2))

    def model(self, inputs, outputs):
        nodes = list(self.nodes)
        for value, name, _, _ in outputs:
            nodes.append(helper.make_node("Identity", [value], [name]))
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "g", [info(*i) for i in inputs],
            [info(name, kind, dims) for _, name, kind, dims in outputs],
            self.constants)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def detector(channels, h, w):
    """Returns anchors [N,H*W*2,3] of an image, as in SSD and YOLO heads."""
    g = Graph()
    y = g.conv("image", 6, channels, 3, 3)
    y = g.node("Transpose", y, perm=[0, 2, 3, 1])
    y = g.node("Reshape", y, g.constant(np.array([0, -1, 3])))
    return g.model([("image", 1, ["N", channels, h, w])],
                   [(y, "boxes", 1, ["N", h * w * 2, 3])])


def segments(channels, h, w):
    g = Graph()
    y = g.conv("image", 5, channels, 3, 3)
    return g.model([("image", 1, ["batch", channels, h, w])],
                   [(g.conv(y, 4, 5, 1, 1), "masks", 1, ["batch", 4, h, w])])


def channels_last(channels, h, w):
    g = Graph()
    y = g.node("Transpose", "image", perm=[0, 3, 1, 2])
    y = g.conv(y, 5, channels, 3, 3)
    y = g.node("Transpose", y, perm=[0, 2, 3, 1])
    return g.model([("image", 1, ["N", h, w, channels])],
                   [(y, "features", 1, ["N", h, w, 5])])


def classifier(channels, h, w, batch):
    g = Graph()
    y = g.conv("image", 5, channels, 3, 3)
    y = g.node("Flatten", g.node("GlobalAveragePool", y))
    y = g.node("Gemm", y, g.weight(7, 5), transB=1)
    return g.model([("image", 1, [batch, channels, h, w])],
                   [(y, "scores", 1, [batch, 7])])


def sequence(channels, length, last):
    g = Graph()
    y = "signal"
    if last:
        y = g.node("Transpose", y, perm=[0, 2, 1])
    y = g.conv(y, 6, channels, 3)
    dims = ["N", 6, length]
    if last:
        y, dims = g.node("Transpose", y, perm=[0, 2, 1]), ["N", length, 6]
    shape = [length, channels] if last else [channels, length]
    return g.model([("signal", 1, ["N"] + shape)], [(y, "out", 1, dims)])


def tokens(length, features):
    g = Graph()
    y = g.node("Relu", g.node("MatMul", "tokens", g.weight(features, 8)))
    y = g.node("MatMul", y, g.weight(8, features))
    return g.model([("tokens", 1, ["N", length, features])],
                   [(y, "out", 1, ["N", length, features])])


def heads(length, count, size):
    """Returns [N,heads,length,size] of tokens."""
    g = Graph()
    y = g.node("MatMul", "tokens", g.weight(10, count * size))
    y = g.node("Reshape", y, g.constant(np.array([0, 0, count, size])))
    y = g.node("Transpose", y, perm=[0, 2, 1, 3])
    return g.model([("tokens", 1, ["N", length, 10])],
                   [(y, "out", 1, ["N", count, length, size])])


def several():
    g = Graph()
    a = g.conv("left/image", 4, 3, 3, 3)
    b = g.conv("right:0", 4, 3, 3, 3)
    y = g.node("Concat", a, b, axis=1)
    map_ = g.conv(y, 3, 8, 3, 3)
    score = g.node("Gemm", g.node("Flatten", g.node("GlobalAveragePool", y)),
                   g.weight(2, 8), transB=1)
    sizes = ["B", 3, 6, 8]
    return g.model([("left/image", 1, sizes), ("right:0", 1, sizes)],
                   [(map_, "map", 1, sizes), (score, "score", 1, ["B", 2])])


def integers():
    """int64 pixels as input, bool as output."""
    g = Graph()
    x = g.node("Cast", "pixels", to=TensorProto.FLOAT)
    y = g.conv(g.node("Mul", x, g.constant(np.float32(1 / 255))), 4, 3, 3, 3)
    y = g.node("Greater", y, g.constant(np.float32(0.25)))
    return g.model([("pixels", TensorProto.INT64, ["N", 3, 5, 8])],
                   [(y, "is_large", TensorProto.BOOL, ["N", 4, 5, 8])])


def cases():
    yield "detector", detector(3, 6, 10)
    yield "detector_cube", detector(4, 4, 4)
    yield "segments", segments(3, 6, 10)
    yield "segments_cube", segments(4, 4, 4)
    yield "channels_last", channels_last(3, 6, 10)
    yield "channels_last_cube", channels_last(5, 5, 5)
    yield "classifier", classifier(3, 6, 10, "N")
    yield "fixed_batch", classifier(3, 6, 10, 2)
    yield "sequence_ncl", sequence(3, 12, False)
    yield "sequence_nlc", sequence(3, 12, True)
    yield "sequence_square", sequence(6, 6, False)
    yield "tokens", tokens(12, 10)
    yield "tokens_square", tokens(10, 10)
    yield "heads", heads(6, 2, 5)
    yield "heads_cube", heads(4, 4, 4)
    yield "several", several()
    yield "integers", integers()


def port(value):
    tensor = value.type.tensor_type
    return (value.name, tensor.elem_type,
            [d.dim_value or d.dim_param for d in tensor.shape.dim])


def interface(model):
    constants = {tensor.name for tensor in model.graph.initializer}
    return ([port(i) for i in model.graph.input if i.name not in constants],
            [port(o) for o in model.graph.output])


def samples_of(model, count):
    dtypes = {TensorProto.FLOAT: np.float32, TensorProto.UINT8: np.uint8,
              TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_}
    samples = {}
    for name, kind, dims in interface(model)[0]:
        shape = [count] + dims[1:]
        if kind == TensorProto.FLOAT:
            x = RNG.standard_normal(shape)
        else:
            x = RNG.integers(0, 2 if kind == TensorProto.BOOL else 256, shape)
        samples[name] = x.astype(dtypes[kind])
    return samples


def run(model, samples):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, samples)


def octet(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)],
                            capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"octet {' '.join(map(str, arguments))}: "
                           f"{result.stdout}{result.stderr}")


def difference(expected, got, least_sqnr):
    """Returns a description of the difference, or nothing."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return f"{got.dtype} {got.shape} in place of " \
               f"{expected.dtype} {expected.shape}"
    a, b = expected.astype(np.float64), got.astype(np.float64)
    if least_sqnr is None:
        error = np.abs(a - b).max() / max(np.abs(a).max(), 1e-9)
        return f"differs by {error:.2g}" if not error <= TOLERANCE else ""
    sqnr = 10 * np.log10((a * a).sum() / max(((a - b) ** 2).sum(), 1e-30))
    return f"SQNR {sqnr:.1f} dB" if not sqnr >= least_sqnr else ""


def judge(name, given, written, samples, expected, least_sqnr, problems):
    model = onnx.load(written)
    # Octet adds the shape of an output if the file has none.
    for old, new in zip(sum(interface(given), []), sum(interface(model), [])):
        if old[:2] != new[:2] or (old[2] and old[2] != new[2]):
            problems.append(f"{name}: {new} in place of {old}")
    try:
        got = run(model, samples)
    except Exception as error:  # pylint: disable=broad-except
        problems.append(f"{name}: {error}")
        return
    for a, b in zip(expected, got):
        text = difference(a, b, least_sqnr)
        if text:
            problems.append(f"{name}: {text}")


def judge_case(program, name, model, folder, problems):
    given = folder / f"{name}.onnx"
    onnx.save(model, given)
    samples = samples_of(model, 2)
    expected = run(model, samples)

    def check(kind, written, least_sqnr=None):
        judge(f"{name}, {kind}", model, written, samples, expected, least_sqnr,
              problems)

    converted = folder / f"{name}.converted.onnx"
    octet(program, "convert", given, converted)
    check("converted", converted)
    folded = folder / f"{name}.folded.onnx"
    octet(program, "fold", given, "-o", folded)
    check("folded", folded)
    octet(program, "fold", given, "-o", folder / f"{name}.h5")
    back = folder / f"{name}.back.onnx"
    octet(program, "convert", folder / f"{name}.h5", back)
    check("through .h5", back)
    if any(kind != TensorProto.FLOAT
           for ports in interface(model) for _, kind, _ in ports):
        return
    data = []
    for i, (port_name, x) in enumerate(samples_of(model, 64).items()):
        path = folder / f"{name}.{i}.npy"
        np.save(path, x)
        several_inputs = len(samples) > 1
        data += ["--data", f"{port_name}={path}" if several_inputs else path]
    int8 = folder / f"{name}.int8.onnx"
    octet(program, "quantize", given, "-o", int8, *data)
    check("quantized", int8, LEAST_SQNR)


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    program = arguments[0]
    graphs = list(cases())
    if len(arguments) == 2 and pathlib.Path(arguments[1]).is_dir():
        for name in FAULTS:
            graphs.append(
                (name, onnx.load(pathlib.Path(arguments[1]) / f"{name}.onnx")))
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in graphs:
            try:
                judge_case(program, name, model, pathlib.Path(folder), problems)
            except RuntimeError as error:
                problems.append(f"{name}: {error}")
    for problem in problems:
        print(problem)
    print(f"{len(graphs)} graphs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
