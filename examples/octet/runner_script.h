// Python script that measures ONNX files with another runtime.
#pragma once

namespace octet::program {

/// Arguments: "onnxruntime" or "openvino", rounds, seconds per round and file,
/// threads, files. Prints a line of JSON: milliseconds, a row per round. Exit
/// code 4: the package is missing; 5: a file cannot be loaded or run.
inline constexpr const char* kRunnerScript = R"py(
import json
import statistics
import sys
import time


def fail(code, error):
    print(f"{type(error).__name__}: {error}".strip(), file=sys.stderr)
    sys.exit(code)


try:
    import numpy
    if sys.argv[1] == "onnxruntime":
        import onnxruntime
    else:
        import openvino
except ImportError as error:
    fail(4, error)

LIBRARY, ROUNDS = sys.argv[1], int(sys.argv[2])
SECONDS, THREADS = float(sys.argv[3]), int(sys.argv[4])
ONNX_TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16",
              "tensor(int64)": "int64", "tensor(int32)": "int32",
              "tensor(uint8)": "uint8", "tensor(int8)": "int8"}


def sample(shape, dtype):
    dims = [d if isinstance(d, int) and d > 0 else 1 for d in shape]
    if dtype.startswith("float"):
        return numpy.random.RandomState(1).uniform(0, 1, dims).astype(dtype)
    return numpy.zeros(dims, dtype)


def onnxruntime_call(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"])
    feeds = {x.name: sample(x.shape, ONNX_TYPES[x.type])
             for x in session.get_inputs()}
    return lambda: session.run(None, feeds)


def openvino_call(path):
    core = openvino.Core()
    compiled = core.compile_model(path, "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": THREADS})
    request = compiled.create_infer_request()
    feeds = []
    for port in compiled.inputs:
        dims = [d.get_length() if d.is_static else 1
                for d in port.get_partial_shape()]
        feeds.append(sample(dims, port.get_element_type().to_dtype().name))
    return lambda: request.infer(feeds)


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


calls, repeats = [], []
try:
    for path in sys.argv[5:]:
        call = (onnxruntime_call if LIBRARY == "onnxruntime"
                else openvino_call)(path)
        call()
        once = min(seconds_of(call) for _ in range(3))
        calls.append(call)
        repeats.append(max(1, min(1000, round(SECONDS / once))))
except Exception as error:
    fail(5, error)

rows = []
for number in range(ROUNDS):
    row = [0.0] * len(calls)
    order = range(len(calls))
    for i in reversed(order) if number % 2 else order:
        calls[i]()
        row[i] = 1e3 * statistics.median(
            seconds_of(calls[i]) for _ in range(repeats[i]))
    rows.append(row)
print(json.dumps({"milliseconds": rows}))
)py";

}  // namespace octet::program
