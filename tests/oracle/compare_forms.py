#!/usr/bin/env python3
"""Compares export variants of the same model.

    compare_forms.py FOLDER

FOLDER is the output of tests/e2e/form_export: <name>.onnx, variants of the same
model as <name>.<form>.onnx, and inputs in <name>.json. Each file must pass onnx'
checker, and all variants but float16 must give the same bits in ONNX Runtime
without fusion.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import sys

import numpy as np
import onnx
from onnx import numpy_helper

from compare_layers import read_golden, run
from verdicts import Disagreement, judge_folder


def constants_of(model):
    return {tensor.name: tensor for tensor in model.graph.initializer}


def check_int8_weights(path, base):
    """Checks that weights are INT8, and the file is about a quarter of the
    size."""
    model = onnx.load(path)
    constants = constants_of(model)
    left = [node.name for node in model.graph.node
            if node.op_type == "QuantizeLinear" and node.input[0] in constants]
    if left:
        raise Disagreement(f"expected codes, got floats before {left[0]}")
    of_floats = sum(
        int(np.prod(constants_of(base)[node.input[0]].dims))
        for node in base.graph.node if node.op_type == "QuantizeLinear"
        and node.input[0] in constants_of(base))
    saved = base.ByteSize() - model.ByteSize()
    if saved < 3 * of_floats:
        raise Disagreement(f"expected {3 * of_floats} bytes less, got {saved}")


# Relative to the largest output. Float16 rounds to 5e-4, which adds up over the
# layers to 1.4e-3 in unet; near a tie it changes a quantized value, with
# differences of up to 0.05.
HALF_TOLERANCE = 5e-3
HALF_CODE_TOLERANCE = 0.1


def check_float16(path, _):
    """Checks for float32 only at inputs and outputs, except for feature
    normalization and scales that float16 does not represent to within 1/256."""
    model = onnx.load(path)
    left = [tensor.name for tensor in model.graph.initializer
            if tensor.data_type == onnx.TensorProto.FLOAT
            and not tensor.name.split("/")[-1] in ("two", "epsilon")
            and not (tensor.name.endswith("/scale")
                     and numpy_helper.to_array(tensor).min() < 2 ** -17)]
    if left:
        raise Disagreement(f"expected float16, got float32 as {left[0]}")


def agrees(form, y, e, quantized):
    if y.shape != e.shape:
        return False
    if form != "float16":
        return y.tobytes() == e.tobytes()
    tolerance = HALF_CODE_TOLERANCE if quantized else HALF_TOLERANCE
    return bool(np.abs(y - e).max() <= tolerance * np.abs(e).max())


# IR version of each opset. Source: onnx/docs/Versioning.md.
IR_VERSIONS = {14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10}


def check_opset(path, _):
    """Checks for the opset in the file name, and its IR version."""
    model = onnx.load(path)
    expected = int(path.name.split(".opset")[1].split(".")[0])
    got = [entry.version for entry in model.opset_import]
    if got != [expected] or model.ir_version != IR_VERSIONS[expected]:
        raise Disagreement(f"expected opset {expected} and IR version "
                           f"{IR_VERSIONS[expected]}, got {got} and "
                           f"{model.ir_version}")


def check_batch(path, _):
    """Checks that inputs and outputs have no dynamic sizes."""
    graph = onnx.load(path).graph
    sizes = [value.type.tensor_type.shape.dim[0].dim_value
             for value in [*graph.input, *graph.output]]
    if set(sizes) != {3}:
        raise Disagreement(f"expected 3 samples, got {sizes}")


CHECKS = {"batch": check_batch,
          "float16": check_float16,
          "int8_weights": check_int8_weights,
          "int8_weights_opset21": check_int8_weights}
CHECKS |= {f"opset{opset}": check_opset for opset in IR_VERSIONS}


def judge(name, folder):
    """Compares all variants of a network."""
    _, inputs, _ = read_golden(folder / f"{name}.json")
    base = folder / f"{name}.onnx"
    expected, _ = run(base, inputs)
    forms = []
    for path in sorted(folder.glob(f"{name}.*.onnx")):
        form = path.name[len(name) + 1:].removesuffix(".onnx")
        if form.startswith("int8") and not form.startswith("int8_"):
            continue  # of the quantized network
        try:
            outputs, _ = run(path, inputs)
            if form in CHECKS:
                CHECKS[form](path, onnx.load(base))
        except Exception as error:
            raise Disagreement(f"{form}: {error}") from error
        for y, e in zip(outputs, expected, strict=True):
            if not agrees(form, y, e, name.endswith(".int8")):
                raise Disagreement(f"{form}: differs by "
                                   f"{np.abs(y - e).max() / np.abs(e).max():.2g}")
        forms.append(form)
    return ", ".join(forms)


if __name__ == "__main__":
    sys.exit(judge_folder("Compare the forms of exported models.", judge))
