"""ONNX graphs that passes rewrite before import, for compare_import.py: subgraphs
with a known course, other float types, spellings of older opsets.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from import_graphs import Graph

SPELLINGS = {}


def spelling(build):
    SPELLINGS[build.__name__] = build
    return build


def image(opset=17):
    g = Graph(opset)
    x = g.input("input", [2, 3, 9, 8])
    return g, g.conv(x, "stem", 3, 4, pad=[1, 1, 1, 1])


def subgraph(name, nodes, output, inputs=(), constants=None):
    tensors = [numpy_helper.from_array(np.array(value), key)
               for key, value in (constants or {}).items()]
    outputs = [helper.make_tensor_value_info(value, kind, None)
               for value, kind in output.items()]
    return helper.make_graph(
        [helper.make_node(op, ins, outs, name=f"/{name}/{outs[0]}", **more)
         for op, ins, outs, more in nodes], name, list(inputs), outputs,
        tensors)


def squeezed(g, x, axis):
    """x.squeeze(axis) of the TorchScript exporter."""
    one = g.Equal(g.size(x, axis), g.integer(1))
    then = subgraph("then", [("Squeeze", [x, "axes"], ["a"], {})],
                    {"a": TensorProto.FLOAT}, constants={"axes": [axis]})
    other = subgraph("else", [("Identity", [x], ["b"], {})],
                     {"b": TensorProto.FLOAT})
    return g.If(one, then_branch=then, else_branch=other)


@spelling
def squeeze_by_conditions():
    g, x = image()
    x = squeezed(g, squeezed(g, squeezed(g, g.GlobalAveragePool(x), 3), 2), 1)
    g.output(g.gemm(x, "head", 4, 5))
    return g


@spelling
def loop_of_layers():
    g = Graph(17)
    x = g.input("input", [2, 7])
    g.weight("w", 7, 7)
    body = subgraph(
        "body", [("MatMul", ["state", "w"], ["product"], {}),
                 ("Tanh", ["product"], ["next"], {}),
                 ("Identity", ["go"], ["on"], {})],
        {"on": TensorProto.BOOL, "next": TensorProto.FLOAT},
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, ["N", 7])])
    x = g.Loop(g.integer(3), g.constant("true", np.array(True)), x, body=body)
    g.output(g.gemm(x, "head", 7, 5))
    return g


@spelling
def float16_inside():
    g = Graph(17)
    x = g.Cast(g.input("input", [2, 3, 9, 8]), to=TensorProto.FLOAT16)
    x = g.Relu(g.conv(x, "stem", 3, 4))
    x = g.batch_norm(g.conv(x, "next", 4, 6), "norm", 6)
    x = g.gemm(g.Flatten(g.GlobalAveragePool(x)), "head", 6, 5)
    g.output(g.Cast(x, to=TensorProto.FLOAT))
    for name, tensor in g.initializers.items():
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32:
            g.constant(name, values.astype(np.float16))
    g.tolerance = 2e-3  # rounded activations
    return g


@spelling
def transposed_convolutions():
    g, x = image()
    parts = []
    for i, more in enumerate([
            {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"},
            {"output_shape": [18, 16]},
            {"output_shape": [18, 16], "output_padding": [1, 1]}]):
        parts.append(g.ConvTranspose(x, g.weight(f"w{i}", 4, 3 + i, 3, 3),
                                     strides=[2, 2], **more))
    g.output(g.Concat(*parts, axis=1), 4)
    return g


@spelling
def pads_of_all_kinds():
    g, x = image()
    x = g.Pad(x, g.integers(0, 0, -1, 2, 0, 0, 1, -2))
    x = g.Pad(x, g.integers(0, 1, 2, 1, 0, 0, 1, 1), g.floats(0.5))
    x = g.Pad(x, g.integers(0, 0, -1, 1, 0, 0, 2, 1), mode="reflect")
    g.output(g.Pad(x, g.integers(0, -1, 0, 0, 0, 0, 0, -2)), 4)
    return g


@spelling
def softmax_of_several_axes():
    g, x = image(11)
    parts = [g.Softmax(x), g.Softmax(x, axis=2), g.LogSoftmax(x, axis=1),
             g.LogSoftmax(x, axis=-2)]
    g.output(g.Concat(*parts, axis=1), 4)
    return g


@spelling
def layer_norm_of_several_axes():
    g, x = image()
    scale = g.weight("scale", 4, 9, 8, scale=1.0)
    x = g.LayerNormalization(x, scale, g.weight("bias", 4, 9, 8, scale=0.1),
                             axis=1)
    x = g.LayerNormalization(x, g.weight("inner", 9, 8, scale=1.0), axis=-2)
    g.output(x, 4)
    return g


@spelling
def upsampled_by_opset_9():
    g, x = image(9)
    x = g.Upsample(x, g.floats([1, 1, 2, 3]), mode="linear")
    g.output(g.Upsample(x, g.floats([1, 1, 2, 2]), mode="nearest"), 4)
    return g


@spelling
def sizes_and_squeezes():
    g, x = image()
    per = g.Cast(g.Div(g.Size(x), g.size(x, 0)), to=TensorProto.FLOAT)
    x = g.Div(x, per)
    g.Tan(x)  # without consumers
    g.output(g.gemm(g.Squeeze(g.GlobalMaxPool(x)), "head", 4, 5))
    return g


@spelling
def clips_of_quantized_values():
    """Brevitas' QCDQ with 4 bits."""
    g = Graph(13)
    x = g.input("input", [2, 3, 9, 8])
    zero = g.constant("zero", np.array(0, np.int8))
    low = g.constant("low", np.array(-8, np.int8))
    high = g.constant("high", np.array(7, np.int8))
    scale = g.floats(0.13)
    q = g.Clip(g.QuantizeLinear(x, scale, zero), low, high)
    x = g.DequantizeLinear(q, scale, zero)
    scales = g.floats([.05, .06, .07, .08])
    zeros = g.constant("zeros", np.zeros(4, np.int8))
    w = g.QuantizeLinear(g.weight("w", 4, 3, 3, 3), scales, zeros, axis=0)
    w = g.DequantizeLinear(g.Clip(w, low, high), scales, zeros, axis=0)
    g.output(g.Conv(x, w), 4)
    return g
