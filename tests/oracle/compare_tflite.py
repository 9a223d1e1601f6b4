#!/usr/bin/env python3
"""Runs exported .tflite files in LiteRT and TensorFlow Lite Micro.

    compare_tflite.py FOLDER

FOLDER is the output of tests/e2e/tflite_export: <name>.int8.tflite and
<name>.int16.tflite with inputs and the outputs of Octet's reference, which
LiteRT's reference kernels and TensorFlow Lite Micro must give bit for bit, and
LiteRT's default kernels (XNNPACK) for int8 to within one step on 90 % of the
outputs; <name>.float.tflite with the outputs of the model.

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files.
"""

import contextlib
import os
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

try:
    from tflite_micro import runtime
except ImportError:
    runtime = None


def run_litert(path, x, resolver):
    interpreter = Interpreter(model_path=str(path),
                              experimental_op_resolver_type=resolver)
    place = interpreter.get_input_details()[0]["index"]
    output = interpreter.get_output_details()[0]["index"]
    interpreter.allocate_tensors()
    rows = []
    for sample in range(len(x)):
        interpreter.set_tensor(place, x[sample:sample + 1])
        interpreter.invoke()
        rows.append(interpreter.get_tensor(output))
    return np.concatenate(rows)


def run_micro(path, x):
    interpreter = runtime.Interpreter.from_file(str(path))
    rows = []
    for sample in range(len(x)):
        interpreter.set_input(x[sample:sample + 1], 0)
        interpreter.invoke()
        rows.append(interpreter.get_output(0))
    return np.concatenate(rows)


def steps(a, b):
    return int(np.abs(a.astype(np.int32) - b.astype(np.int32)).max())


def judge_integers(stem):
    x = np.load(f"{stem}.in.npy")
    y = np.load(f"{stem}.out.npy")
    of_litert = np.load(f"{stem}.litert.npy")
    path = f"{stem}.tflite"
    exact = run_litert(path, x, OpResolverType.BUILTIN_REF)
    problems, text = [], ""
    if exact.shape != y.shape:
        return f"shape {y.shape}, LiteRT {exact.shape}", ["shape"]
    if steps(exact, of_litert):
        problems.append(
            f"reference kernels differ by {steps(exact, of_litert)} in "
            f"{(exact != of_litert).sum()} of {y.size}")
    if y.dtype == np.int8:
        fast = run_litert(path, x, OpResolverType.AUTO)
        # Default kernels compute the multiplier in float.
        far = np.abs(fast.astype(np.int32) - y) > 1
        if far.mean() > 0.1:
            problems.append(f"default kernels differ by {steps(fast, y)}")
        text = f"default kernels differ in {(fast != y).sum()} of {y.size}"
    if runtime is not None:
        micro = run_micro(path, x)
        if micro.size != y.size or steps(micro.reshape(y.shape), y):
            problems.append("TensorFlow Lite Micro differs by "
                            f"{steps(micro.reshape(y.shape), y)}")
    return text, problems


def judge_float(stem):
    x = np.load(f"{stem}.in.npy")
    y = np.load(f"{stem}.out.npy")
    got = run_litert(f"{stem}.tflite", x, OpResolverType.AUTO)
    if got.shape != y.shape:
        return "", [f"shape {y.shape}, LiteRT {got.shape}"]
    error = float(np.abs(got - y).max() / max(1e-6, np.abs(y).max()))
    return f"relative error {error:.1e}", [] if error < 1e-5 else ["differs"]


@contextlib.contextmanager
def quiet():
    """Drops the log of the interpreters."""
    saved = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(null)


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = pathlib.Path(sys.argv[1])
    files = sorted(folder.glob("*.tflite"))
    if not files:
        print(f"{folder}: expected .tflite files, got none", file=sys.stderr)
        return 2
    failures = 0
    for file in files:
        stem = str(file).removesuffix(".tflite")
        integers = pathlib.Path(stem).suffix in (".int8", ".int16")
        judge = judge_integers if integers else judge_float
        try:
            with quiet():
                text, problems = judge(stem)
        except Exception as error:  # of an interpreter
            text, problems = "", [str(error).strip().splitlines()[0]]
        failures += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '}  {file.stem:28}  "
              f"{'; '.join(problems + [text])}")
    print(f"{len(files)} files, {failures} problems"
          f"{'' if runtime else '; tflite-micro is not installed'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
