"""Files run by OpenVINO, which computes quantized layers in integers."""

import os

# With AMX OpenVINO 2026.4 moves other quantizers than without, and ResNet-18
# answers otherwise: the same kernels judge on every processor.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")

import numpy as np
import onnx
import openvino

from verdicts import Disagreement

# Layers that are sums of products, in the file and in OpenVINO's graph.
LAYERS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
PRODUCTS = {"Convolution", "Deconvolution", "FullyConnected", "MatMul"}
CODES = {"i8", "u8"}
# What moves or picks values and leaves codes what they are.
MOVES = {"Reshape", "Transpose", "Flatten", "MaxPool", "Squeeze", "Unsqueeze"}


class File:
    """A compiled file.

    `count` layers are sums of products; `floats` are those that OpenVINO
    computes in float32, each with the reason. Raises Disagreement where the
    file has codes for a layer and OpenVINO takes floats.
    """

    def __init__(self, path):
        core = openvino.Core()
        # Floats stay float32, also where the processor has bfloat16.
        self.compiled = core.compile_model(
            core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        graph = FileGraph(onnx.load(path).graph)
        self.count = len(graph.layers)
        self.floats = {}
        integers = 0
        for op in self.compiled.get_runtime_model().get_ops():
            info = {key: str(value.value)
                    for key, value in op.get_rt_info().items()}
            names = info["originalLayersNames"].split(",")
            types = [each.get_element_type().to_string()
                     for each in op.inputs()[:2]]
            if info["layerType"] == "Subgraph":  # attention in one piece
                found = graph.products_of(names)
            elif info["layerType"] not in PRODUCTS:
                continue
            elif CODES.issuperset(types):
                integers += 1
                continue
            else:
                found = [graph.layer_of(names)]
            for layer in found:
                self.floats[layer.name] = graph.reason(layer)
        wrong = [name for name, why in self.floats.items() if not why]
        if wrong:
            raise Disagreement(f"OpenVINO takes floats for {wrong[0]}, which "
                               "has codes")
        if integers + len(self.floats) != self.count:
            raise Disagreement(
                f"of {self.count} layers {integers} are integers and "
                f"{len(self.floats)} floats")

    def __call__(self, inputs, batch=500):
        """Its output for each sample."""
        return np.concatenate([
            self.compiled(inputs[at:at + batch])[0].copy()
            for at in range(0, len(inputs), batch)])

    def summary(self):
        """One line: how much of it ran in integers, and why not all."""
        text = f"{self.count - len(self.floats)} of {self.count} in integers"
        for why in sorted(set(self.floats.values())):
            names = [name for name in self.floats if self.floats[name] == why]
            text += f"; {why}: {names[0]}"
            text += f" and {len(names) - 1} more" if len(names) > 1 else ""
        return text


class FileGraph:
    """The layers of a file, and where their operands come from."""

    def __init__(self, graph):
        self.inputs = {each.name for each in graph.input}
        self.nodes = {node.name: node for node in graph.node}
        self.makers = {name: node
                       for node in graph.node for name in node.output}
        self.layers = {name: node for name, node in self.nodes.items()
                       if node.op_type in LAYERS}

    def layer_of(self, names):
        """The layer that OpenVINO calls by these names: its own, or those of
        what follows it."""
        for name in names:
            node = self.nodes.get(name)
            while node is not None:
                if node.name in self.layers:
                    return node
                node = self.makers.get(node.input[0]) if node.input else None
        raise Disagreement(f"no layer of the file is {names[0]}")

    def products_of(self, names):
        """The MatMuls among these nodes, and those whose results they scale."""
        nodes = [self.nodes[name] for name in names if name in self.nodes]
        nodes += [self.makers[node.input[0]] for node in nodes
                  if node.input and node.input[0] in self.makers]
        return [node for node in nodes if node.op_type == "MatMul"]

    def has_codes(self, name):
        """Whether a value comes from a DequantizeLinear."""
        node = self.makers.get(name)
        while node is not None and node.op_type in MOVES:
            node = self.makers.get(node.input[0])
        return node is not None and node.op_type == "DequantizeLinear"

    def is_weight(self, name):
        """Whether a value is computed from constants alone."""
        node = self.makers.get(name)
        return name not in self.inputs if node is None else all(
            self.is_weight(each) for each in node.input)

    def reason(self, layer):
        """Why a layer is computed in floats; "" where none is known."""
        missing = [i for i in (0, 1) if not self.has_codes(layer.input[i])]
        if len(missing) == 2:
            return "both operands are floats in the file"
        if missing:
            return f"operand {missing[0]} is float in the file"
        if layer.op_type == "MatMul" and not self.is_weight(layer.input[1]):
            return "two activations, attention that OpenVINO fuses in floats"
        values = {a.name: list(a.ints) for a in layer.attribute}
        # Its graph optimization picks the cells before, and the products of
        # what it picked are floats: the codes times their scale.
        if (set(values.get("kernel_shape", [])) == {1}
                and max(values.get("strides", [1])) > 1):
            return "1x1 with a stride, which OpenVINO makes a pooling of"
        return ""
