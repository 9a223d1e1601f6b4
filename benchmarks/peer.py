#!/usr/bin/env python3
"""Measures inference of an ONNX file by another engine; prints one line of JSON.

    peer.py onnxruntime|openvino FILE.onnx BATCH THREADS SECONDS
    peer.py quantize FP32.onnx OUT.onnx

The second form quantizes a float model with ONNX Runtime's static quantization:
uint8 activations, int8 weights per channel, as Q/DQ.
"""

import json
import resource
import statistics
import sys
import time

import numpy as np


def random_images(shape, batch):
    return np.random.default_rng(2).random([batch, *shape[1:]], np.float32)


def onnxruntime_run(path, batch, threads):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options,
                                   providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    x = random_images(entry.shape, batch)
    return lambda: session.run(None, {entry.name: x})


def openvino_run(path, batch, threads):
    import openvino as ov

    core = ov.Core()
    model = core.read_model(path)
    shape = [batch, *(d.get_length()
                      for d in list(model.inputs[0].partial_shape)[1:])]
    model.reshape({model.inputs[0].get_any_name(): shape})
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
        # The default would be bfloat16 on CPUs that support it.
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    x = random_images(shape, batch)
    return lambda: request.infer({0: x}, share_inputs=True)


def measure(engine, path, batch, threads, seconds):
    run = {"onnxruntime": onnxruntime_run,
           "openvino": openvino_run}[engine](path, batch, threads)
    for _ in range(3):
        run()
    times = []
    while len(times) < 5 or sum(times) < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({
        "engine": engine,
        "batch": batch,
        "images_per_second": round(batch / median, 1),
        "ms_median": round(median * 1e3, 3),
        "ms_best": round(min(times) * 1e3, 3),
        "ms_p99": round(sorted(times)[(len(times) - 1) * 99 // 100] * 1e3, 3),
        "peak_rss_mb": round(rss, 1),
    }))


def quantize(source, target):
    import onnx
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat,
                                          QuantType, quantize_static)

    entry = onnx.load(source).graph.input[0]
    shape = [d.dim_value for d in entry.type.tensor_type.shape.dim]

    class Images(CalibrationDataReader):
        left = [random_images(shape, 1) for _ in range(8)]

        def get_next(self):
            return {entry.name: self.left.pop()} if self.left else None

    quantize_static(source, target, Images(), per_channel=True,
                    quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "quantize":
        quantize(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 6:
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]),
                float(sys.argv[5]))
    else:
        sys.exit(__doc__)
