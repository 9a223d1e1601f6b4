#!/usr/bin/env python3
"""Compares Octet's import of files of ONNX Runtime's quantizer.

    compare_quantized_import.py PROGRAM [NAME...]

PROGRAM is tests/e2e/import_check. Each graph of import_graphs.py is quantized by
onnxruntime.quantization.quantize_static in five forms: with default options (int8
activations with any zero point), symmetric int8 with weights per channel, uint8
with weights per channel, uint8 for weights, too, with any zero point (which are
imported as floats), and QOperator. ONNX Runtime is the reference for the
model's outputs, for the model exported again, and for the model after one
training step with the file's scales.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage.
"""

import contextlib
import io
import logging
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType

from compare_import import (INT8_TOLERANCE, TOLERANCE, as_file, difference,
                            outputs_of, run)
from import_graphs import CASES

FORMS = {
    "default": {},
    "symmetric": {
        "activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8,
        "per_channel": True,
        "extra_options": {"ActivationSymmetric": True,
                          "WeightSymmetric": True}},
    "uint8": {"activation_type": QuantType.QUInt8, "per_channel": True},
    "weights": {"activation_type": QuantType.QUInt8,
                "weight_type": QuantType.QUInt8},
    "qoperator": {"activation_type": QuantType.QUInt8,
                  "quant_format": QuantFormat.QOperator},
}

# Part of the error of files that cannot be imported.
REFUSED = {
    # Infinities of the mask result in infinite scales.
    "masked_attention": "got inf",
    # The quantizer declares shapes that contradict its own output.
    "resized": "Inferred shape and existing shape differ",
    # The transposed weight keeps scales of the former channel axis.
    "large_weight_read_twice.symmetric": "150 scales for axis 1",
    "large_weight_read_twice.uint8": "150 scales for axis 1",
    # The quantizer writes an axis, which opset 11 does not have.
    "flatten_by_sizes.symmetric": "Unrecognized attribute: axis",
    "flatten_by_sizes.uint8": "Unrecognized attribute: axis",
    # Rows of a table of integers, which are dequantized.
    "padding_mask_of_attention.qoperator": "must be a QuantizeLinear",
    "words_of_keras.qoperator": "must be a QuantizeLinear",
    "words_of_pytorch.qoperator": "must be a QuantizeLinear",
    "words_steps_first.qoperator": "must be a QuantizeLinear",
}


class Samples(quantization.CalibrationDataReader):
    def __init__(self, graph):
        names = [entry.name for entry in graph.inputs]
        self.feeds = iter([dict(zip(names, graph.samples, strict=True))])

    def get_next(self):
        return next(self.feeds, None)


def quantize(graph, options, path):
    """Returns false if ONNX Runtime cannot quantize the graph."""
    with tempfile.TemporaryDirectory() as folder:
        source = f"{folder}/float.onnx"
        onnx.save(graph.model(), source)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                quantization.quantize_static(source, str(path), Samples(graph),
                                             **options)
        except Exception as error:  # many types
            print(f"{path.name}: not quantized: {str(error)[:100]}")
            return False
    return True


def judge(what, ours, theirs, bound):
    """Returns problems. Ties may round differently, which changes few outputs.
    """
    problems = []
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        largest = difference(a, b)
        if not isinstance(largest, float) or not largest <= INT8_TOLERANCE:
            problems.append(f"{what}, output {i}: {largest}")
            continue
        scale = max(1.0, float(np.nanmax(np.abs(b), initial=0)))
        gap = np.abs(as_file(a, b).astype(np.float64) - b) / scale
        if np.nanmedian(gap) > bound:
            problems.append(
                f"{what}, output {i}: median {np.nanmedian(gap):.1e}")
    return problems


def compare(folder, name, graph):
    theirs = run(folder / f"{name}.onnx", graph.samples)
    ours = outputs_of(folder, name, len(theirs))
    problems = judge("model", ours, theirs, TOLERANCE)
    again = run(folder / f"{name}.again.onnx", graph.samples)
    problems += judge("exported again", again, theirs, TOLERANCE)
    trained = folder / f"{name}.int8.onnx"
    if not trained.exists():
        return problems
    return problems + judge(
        "trained", outputs_of(folder, f"{name}.int8", len(theirs)),
        run(trained, graph.samples), TOLERANCE)


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    logging.disable(logging.WARNING)
    failed, refused, trained = 0, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        graphs = {}
        for case in sys.argv[2:] or sorted(CASES):
            for form, options in FORMS.items():
                graph, name = CASES[case](), f"{case}_{form}"
                if not quantize(graph, options, folder / f"{name}.onnx"):
                    continue
                graphs[name] = (graph, case, form)
                for i, x in enumerate(graph.samples):
                    np.save(folder / f"{name}.x{i}.npy", x)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        for name, (graph, case, form) in graphs.items():
            reason = folder / f"{name}.refused.txt"
            expected = REFUSED.get(f"{case}.{form}", REFUSED.get(case))
            trained += (folder / f"{name}.int8.onnx").exists()
            if not reason.exists():
                problems = compare(folder, name, graph)
            elif expected is not None and expected in reason.read_text():
                refused += 1
                continue
            else:
                problems = [reason.read_text()]
            failed += bool(problems)
            for problem in problems:
                print(f"FAILED: {name}: {problem}", file=sys.stderr)
    read = len(graphs) - refused
    print(f"{read - failed} of {read} files agree, {trained} after training; "
          f"{refused} are refused, as expected")
    return 1 if failed or trained == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
