#!/usr/bin/env python3
"""Data and table of examples/mlperf_tiny.sh, in the current folder.

    mlperf_tiny.py data NAME TESTDATA   NAME.x.npy; kws.y.npy; ad.onnx
    mlperf_tiny.py inputs NAME          NAME.in.bin: quantized inputs
    mlperf_tiny.py table NAME...        prints the table

The table compares the C code with TensorFlow Lite Micro, bit for bit. Exit
codes: 0, 1 different outputs, a larger arena or a low accuracy, 2 wrong usage.
"""

import contextlib
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

INPUTS = {"ic": (32, 32, 3), "vww": (96, 96, 3), "ad": (640,)}
TITLES = {
    "kws": "keyword spotting (DS-CNN)",
    "ic": "image classification (ResNet-8)",
    "vww": "visual wake words (MobileNetV1-0.25)",
    "ad": "anomaly detection (autoencoder)",
}
KWS_BAR = 90.0  # % of MLPerf Tiny's closed division


def write_autoencoder(path):
    """Writes MLPerf Tiny's anomaly detection network with random weights."""
    import onnx
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(1)
    nodes, constants, value, size = [], [], "input", 640

    def constant(name, array):
        constants.append(
            numpy_helper.from_array(array.astype(np.float32), name))
        return name

    units = [128, 128, 128, 128, 8, 128, 128, 128, 128, 640]
    for i, count in enumerate(units):
        bound = np.sqrt(6 / (size + count))
        weights = constant(f"w{i}", rng.uniform(-bound, bound, (size, count)))
        bias = constant(f"b{i}", rng.uniform(-0.1, 0.1, count))
        nodes.append(
            helper.make_node("Gemm", [value, weights, bias], [f"dense{i}"],
                             name=f"dense{i}"))
        value, size = f"dense{i}", count
        if i + 1 < len(units):
            norm = [
                constant(f"{name}{i}", rng.uniform(low, high, count))
                for name, low, high in [("gamma", 0.8, 1.2), ("beta", -0.1, 0.1),
                                        ("mean", -0.1, 0.1), ("var", 0.8, 1.2)]
            ]
            nodes.append(
                helper.make_node("BatchNormalization", [value] + norm,
                                 [f"norm{i}"], name=f"norm{i}"))
            nodes.append(
                helper.make_node("Relu", [f"norm{i}"], [f"relu{i}"],
                                 name=f"relu{i}"))
            value = f"relu{i}"
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "ad", [helper.make_tensor_value_info("input", floats, ["N", 640])],
        [helper.make_tensor_value_info(value, floats, ["N", 640])], constants)
    onnx.save(
        helper.make_model(graph, ir_version=8,
                          opset_imports=[helper.make_opsetid("", 13)]), path)


def write_data(name, testdata):
    if name == "kws":
        folder = pathlib.Path(testdata) / "kws01"
        q = np.fromfile(folder / "features_int8_1000x49x10.bin", np.int8)
        x = (q.astype(np.float32) - 83) * np.float32(0.5847029)
        x = x.reshape(1000, 49, 10, 1)
        labels = np.fromfile(folder / "labels_u8_1000.bin", np.uint8)
        np.save("kws.y.npy", labels.astype(np.int64))
    else:
        rng = np.random.default_rng(2)
        x = rng.uniform(-1, 1, (64,) + INPUTS[name]).astype(np.float32)
        if name == "ic":
            x = np.floor(127.5 * (x + 1))
    np.save(f"{name}.x.npy", x)
    if name == "ad":
        write_autoencoder("ad.onnx")


def write_inputs(name):
    """Quantizes the samples with the scale that the C code declares."""
    header = pathlib.Path(name, "model.h").read_text(encoding="utf-8")
    scale = np.float32(re.search(r"INPUT_SCALE ([-+.e\d]+)f", header)[1])
    zero = int(re.search(r"INPUT_ZERO_POINT \(?(-?\d+)", header)[1])
    x = np.load(f"{name}.x.npy")
    q = np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)
    q.tofile(f"{name}.in.bin")


@contextlib.contextmanager
def captured_log():
    """Collects the text that a library writes to stdout and stderr."""
    lines = []
    with tempfile.TemporaryFile() as file:
        saved = [(fd, os.dup(fd)) for fd in (1, 2)]
        for fd, _ in saved:
            os.dup2(file.fileno(), fd)
        try:
            yield lines
        finally:
            for fd, copy in saved:
                os.dup2(copy, fd)
                os.close(copy)
            file.seek(0)
            lines.append(file.read().decode(errors="replace"))


def micro(name, q):
    """Returns outputs and arena size of TensorFlow Lite Micro, or None."""
    try:
        from tflite_micro import runtime
    except ImportError:
        return None
    with captured_log() as log:
        interpreter = runtime.Interpreter.from_file(
            f"{name}.tflite", intrepreter_config=runtime.InterpreterConfig.
            kAllocationRecording)
        rows = []
        for sample in q:
            interpreter.set_input(sample[None], 0)
            interpreter.invoke()
            rows.append(interpreter.get_output(0).ravel())
        interpreter.print_allocations()
    arena = re.search(r"Arena allocation total (\d+) bytes", log[0])
    head = re.search(r"Arena allocation head (\d+) bytes", log[0])
    return np.stack(rows), int(arena[1]), int(head[1])


def litert_time(name, q):
    """Returns the µs per inference of LiteRT on one thread, or None."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        return None
    import time
    with captured_log():
        interpreter = Interpreter(f"{name}.tflite", num_threads=1)
        interpreter.allocate_tensors()
        place = interpreter.get_input_details()[0]["index"]
        times = []
        for sample in q[:100]:
            interpreter.set_tensor(place, sample[None])
            start = time.perf_counter()
            interpreter.invoke()
            times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def vela_cycles(name):
    """Returns Vela's cycles on Ethos-U55-128 and operators on the CPU."""
    vela = pathlib.Path(sys.executable).parent / "vela"
    if not vela.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([
            vela, f"{name}.tflite", "--accelerator-config", "ethos-u55-128",
            "--output-dir", folder
        ], capture_output=True, text=True, check=True)
        summary = next(pathlib.Path(folder).glob(f"{name}*summary*.csv"))
        with open(summary, encoding="utf-8") as file:
            cycles = float(next(csv.DictReader(file))["cycles_total"])
    return cycles, int(re.search(r"CPU operators = (\d+)", run.stdout)[1])


def row_of(name):
    with open(f"{name}.json", encoding="utf-8") as file:
        report = json.load(file)
    x = np.load(f"{name}.x.npy", mmap_mode="r")
    q = np.fromfile(f"{name}.in.bin", np.int8).reshape(x.shape)
    y = np.fromfile(f"{name}.out.bin", np.int8).reshape(len(q), -1)
    problems = []
    accuracy = "-"
    if name == "kws":
        percent = 100 * float(np.mean(y.argmax(1) == np.load("kws.y.npy")))
        accuracy = f"{percent:.1f} %"
        if percent < KWS_BAR:
            problems.append(f"accuracy {accuracy}, bar {KWS_BAR} %")
    total = report["arena"] + report["inputs"] + report["outputs"]
    arena_of_micro = "-"
    of_micro = micro(name, q)
    if of_micro:
        outputs, arena, head = of_micro
        arena_of_micro = f"{arena:,} ({head:,})"
        if not np.array_equal(outputs, y):
            problems.append(f"{(outputs != y).sum()} outputs of the C code "
                            "differ from TensorFlow Lite Micro")
        if total > arena:
            problems.append(f"{total} bytes of RAM, TensorFlow Lite Micro {arena}")
    cycles = "-"
    of_vela = vela_cycles(name)
    if of_vela:
        cycles = f"{of_vela[0]:,.0f}"
        if of_vela[1]:
            problems.append(f"{of_vela[1]} operators on the CPU")
    time_of_c = float(pathlib.Path(f"{name}.time").read_text(encoding="utf-8"))
    time_of_litert = litert_time(name, q)
    return [
        TITLES[name], accuracy, f"{os.path.getsize(f'{name}.tflite'):,}",
        f"{report['flash']:,}", f"{report['arena']:,} ({total:,})",
        arena_of_micro, f"{report['multiply_adds']:,}", cycles,
        f"{time_of_c:,.0f}",
        "-" if time_of_litert is None else f"{time_of_litert:,.0f}"
    ], problems


def print_table(names):
    titles = [
        "network", "accuracy", ".tflite", "flash", "arena (RAM)",
        "arena of TFLM", "multiply-adds", "Ethos-U55-128", "C", "LiteRT"
    ]
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    failed = False
    for name in names:
        cells, problems = row_of(name)
        print(f"| {' | '.join(cells)} |")
        for problem in problems:
            print(f"error: {name}: {problem}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def main():
    command, *names = sys.argv[1:] or [""]
    if command == "data" and len(names) == 2:
        write_data(*names)
    elif command == "inputs" and len(names) == 1:
        write_inputs(names[0])
    elif command == "table" and names:
        return print_table(names)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
