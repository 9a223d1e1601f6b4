#!/usr/bin/env python3
"""Compares Octet's import of ONNX files with ONNX Runtime.

    compare_import.py PROGRAM [NAME...]

PROGRAM is tests/e2e/import_check. For each graph of import_graphs.py and
spelling_graphs.py, it compares with the file's outputs: the imported model, and the
model exported again, which must have no more Transposes; and the quantized model,
trained for one step, with its own file. Then it compares the models that result from
PyTorch's files in ONNX' own tests (part of pip's onnx package) with the outputs stored
there.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from import_graphs import CASES
from reference import reference_session
from spelling_graphs import SPELLINGS

# Relative to the largest output: float32 sums in another order.
TOLERANCE = 1e-5
# Quantized values may differ near ties.
INT8_TOLERANCE = 5e-2


# Operators that transpose without a Transpose.
HIDDEN_TRANSPOSES = {"Attention", "Einsum", "GRU", "LSTM", "RNN"}


def run(path, samples):
    session = reference_session(str(path))
    names = [entry.name for entry in session.get_inputs()]
    return session.run(None, dict(zip(names, samples, strict=True)))


def added_transposes(folder, name):
    """Returns how many more Transposes the model has after import and export;
    0 for files whose operators hide some."""
    before, after = (onnx.load(str(folder / f"{name}{suffix}")).graph.node
                     for suffix in (".onnx", ".again.onnx"))
    if any(node.op_type in HIDDEN_TRANSPOSES for node in before):
        return 0
    count = [sum(node.op_type == "Transpose" for node in nodes)
             for nodes in (before, after)]
    return max(0, count[1] - count[0])


def as_file(y, like):
    """Returns an output in the axis order of another; all sizes differ, so
    shapes tell."""
    if y.shape == like.shape:
        return y
    for turned in (np.moveaxis(y, -1, 1), np.moveaxis(y, 0, 1)):
        if turned.shape == like.shape:
            return turned
    return np.moveaxis(y, 1, -1)


def difference(ours, theirs):
    ours = as_file(ours, theirs)
    if ours.shape != theirs.shape:
        return f"expected {theirs.shape}, got {ours.shape}"
    with np.errstate(over="ignore"):
        theirs = theirs.astype(np.float32)  # files of float64 may exceed it
    # Roots of negative numbers are NaN in both.
    none = (np.isnan(ours) & np.isnan(theirs)) | (np.isinf(theirs) &
                                                  (ours == theirs))
    largest = max(1.0, float(np.abs(theirs[~none]).max(initial=0)))
    gap = np.abs(ours[~none].astype(np.float64) - theirs[~none])
    return float(gap.max(initial=0)) / largest


def converted_difference(ours, theirs):
    """Returns the difference for small images, whose shapes may not tell the
    axis order."""
    orders = [ours] if ours.ndim < 3 else [ours, np.moveaxis(ours, -1, 1)]
    found = [difference(y, theirs) for y in orders if y.shape == theirs.shape]
    return min(found, default="another shape")


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def compare_converted(program):
    """Returns the number of files, the number imported, and one line per
    disagreement."""
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    problems, read, cases = [], 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for kind in ("pytorch-converted", "pytorch-operator"):
            for source in sorted((data / kind).glob("*/model.onnx")):
                name = f"{kind}_{source.parent.name}".replace(".", "_")
                sets = source.parent / "test_data_set_0"
                cases.append((name, sets))
                (folder / f"{name}.onnx").write_bytes(source.read_bytes())
                for i, path in enumerate(sorted(sets.glob("input_*.pb"))):
                    np.save(folder / f"{name}.x{i}.npy", read_tensor(path))
        subprocess.run([program, str(folder)], check=True)
        for name, sets in cases:
            if (folder / f"{name}.refused.txt").exists():
                continue
            read += 1
            for i, path in enumerate(sorted(sets.glob("output_*.pb"))):
                ours = np.load(folder / f"{name}.y{i}.npy")
                found = converted_difference(ours, read_tensor(path))
                if not isinstance(found, float) or not found <= TOLERANCE:
                    problems.append(f"{name}, output {i}: {found}")
    return len(cases), read, problems


def outputs_of(folder, name, count):
    return [np.load(folder / f"{name}.y{i}.npy") for i in range(count)]


def compare(folder, name, graph):
    refused = folder / f"{name}.refused.txt"
    if refused.exists():
        return [refused.read_text()]
    problems = []

    def check(what, ours, theirs, tolerance):
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            found = difference(a, b)
            if not isinstance(found, float) or not found <= tolerance:
                problems.append(f"{what}, output {i}: {found}")

    theirs = run(folder / f"{name}.onnx", graph.samples)
    count = len(theirs)
    tolerance = vars(graph).get("tolerance", TOLERANCE)
    check("model", outputs_of(folder, name, count), theirs, tolerance)
    again = run(folder / f"{name}.again.onnx", graph.samples)
    check("exported again", again, theirs, tolerance)
    if added := added_transposes(folder, name):
        problems.append(f"exported again: {added} more Transposes")
    int8 = folder / f"{name}.int8.onnx"
    if int8.exists():
        check("quantized", run(int8, graph.samples),
              outputs_of(folder, f"{name}.int8", count),
              vars(graph).get("int8_tolerance", INT8_TOLERANCE))
    return problems


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    cases = CASES | SPELLINGS
    names = sys.argv[2:] or sorted(cases)
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        graphs = {}
        for name in names:
            graph = graphs[name] = cases[name]()
            onnx.save(graph.model(), str(folder / f"{name}.onnx"))
            for i, x in enumerate(graph.samples):
                np.save(folder / f"{name}.x{i}.npy", x)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        for name, graph in graphs.items():
            problems = compare(folder, name, graph)
            failed += bool(problems)
            for problem in problems:
                print(f"FAILED: {name}: {problem}", file=sys.stderr)
    print(f"{len(names) - failed} of {len(names)} graphs agree")
    if sys.argv[2:]:
        return 1 if failed else 0
    count, read, problems = compare_converted(sys.argv[1])
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    print(f"{read} of {count} files of PyTorch became models, "
          f"{read - len(problems)} agree")
    return 1 if failed or problems or read == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
