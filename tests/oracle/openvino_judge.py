"""Runs files in OpenVINO, which computes quantized layers in integers."""

import os

# With AMX, OpenVINO 2026.4 moves other quantizers and ResNet-18 has other
# outputs: use the same kernels on every processor.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")

import numpy as np
import onnx
import openvino

from verdicts import Disagreement

# Linear layers, in the file and in OpenVINO's graph.
LAYERS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
PRODUCTS = {"Convolution", "Deconvolution", "FullyConnected", "MatMul"}
CODES = {"i8", "u8"}
# Operators that commute with quantization.
MOVES = {"Reshape", "Transpose", "Flatten", "MaxPool", "Squeeze", "Unsqueeze"}


class File:
    """A compiled file. `count` is the number of linear layers; `floats` are the
    layers that OpenVINO computes in float32, each with the reason. Raises
    Disagreement if OpenVINO computes a quantized layer in floats."""

    def __init__(self, path):
        core = openvino.Core()
        # Floats stay float32 on processors with bfloat16, too.
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
            if info["layerType"] == "Subgraph":  # fused attention
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
        """Returns the output for each sample."""
        return np.concatenate([
            self.compiled(inputs[at:at + batch])[0].copy()
            for at in range(0, len(inputs), batch)])

    def summary(self):
        """Returns one line: the number of integer layers, and reasons for the
        others."""
        text = f"{self.count - len(self.floats)} of {self.count} in integers"
        for why in sorted(set(self.floats.values())):
            names = [name for name in self.floats if self.floats[name] == why]
            text += f"; {why}: {names[0]}"
            text += f" and {len(names) - 1} more" if len(names) > 1 else ""
        return text


class FileGraph:
    """The layers of a file, and the producers of their operands."""

    def __init__(self, graph):
        self.inputs = {each.name for each in graph.input}
        self.nodes = {node.name: node for node in graph.node}
        self.makers = {name: node
                       for node in graph.node for name in node.output}
        self.layers = {name: node for name, node in self.nodes.items()
                       if node.op_type in LAYERS}

    def layer_of(self, names):
        """Returns the layer with one of these OpenVINO names: its own, or a
        consumer's."""
        for name in names:
            node = self.nodes.get(name)
            while node is not None:
                if node.name in self.layers:
                    return node
                node = self.makers.get(node.input[0]) if node.input else None
        raise Disagreement(f"no layer of the file is {names[0]}")

    def products_of(self, names):
        """Returns the MatMuls among these nodes, and those whose results they
        scale."""
        nodes = [self.nodes[name] for name in names if name in self.nodes]
        nodes += [self.makers[node.input[0]] for node in nodes
                  if node.input and node.input[0] in self.makers]
        return [node for node in nodes if node.op_type == "MatMul"]

    def has_codes(self, name):
        """Returns whether a value comes from a DequantizeLinear."""
        node = self.makers.get(name)
        while node is not None and node.op_type in MOVES:
            node = self.makers.get(node.input[0])
        return node is not None and node.op_type == "DequantizeLinear"

    def is_weight(self, name):
        """Returns whether a value is computed from constants only."""
        node = self.makers.get(name)
        return name not in self.inputs if node is None else all(
            self.is_weight(each) for each in node.input)

    def reason(self, layer):
        """Returns why a layer is computed in floats; "" if there is no known
        reason."""
        missing = [i for i in (0, 1) if not self.has_codes(layer.input[i])]
        if len(missing) == 2:
            return "both operands are floats in the file"
        if missing:
            return f"operand {missing[0]} is float in the file"
        if layer.op_type == "MatMul" and not self.is_weight(layer.input[1]):
            return "two activations, attention that OpenVINO fuses in floats"
        values = {a.name: list(a.ints) for a in layer.attribute}
        # OpenVINO's graph optimization selects the pixels before the
        # convolution, and multiplies the selection as floats: quantized values
        # times their scale.
        if (set(values.get("kernel_shape", [])) == {1}
                and max(values.get("strides", [1])) > 1):
            return "1x1 with a stride, which OpenVINO makes a pooling of"
        return ""
