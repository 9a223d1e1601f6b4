"""ONNX Runtime as the reference: the file's own operators, without fusion."""

import onnxruntime


def reference_session(model):
    """Returns a session. `model` is a path or the bytes of a file."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"])
