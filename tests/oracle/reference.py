"""ONNX Runtime as the judge: the file's own operators, nothing fused."""

import onnxruntime


def reference_session(model):
    """`model` is a path or the bytes of a file."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"])
