#!/usr/bin/env python3
"""Compares post-training quantization by Octet, ONNX Runtime and NNCF on the
same float networks and calibration samples, judged in ONNX Runtime.

    ptq_compare.py --octet build/bench/bin/octet [NETWORK...]

Networks: keywords (MLPerf Tiny's DS-CNN, OCTET_TESTDATA), and networks of the
zoo such as lenet, trained here on Fashion-MNIST (--epochs). With "/spread"
after the name, the output channels of each convolution that another follows,
directly or after a ReLU, are scaled by 2^-4 to 2^4, and the weights of the
other inversely.

Octet and NNCF use their defaults for ONNX Runtime; ONNX Runtime uses uint8
activations and int8 weights per channel with each of its calibration methods.
Prints a Markdown table: accuracy, agreement with the float network, and output
SQNR on samples outside of the calibration. Needs onnx and onnxruntime; NNCF is
omitted unless installed (pip install onnx onnxruntime nncf).
"""
import argparse
import contextlib
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime import quantization

ROOT = pathlib.Path(__file__).resolve().parents[1]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
TESTDATA = pathlib.Path(os.environ.get("OCTET_TESTDATA",
                                       ROOT.parent / "shared/testdata"))
CALIBRATED = 256
DEFAULT = ("keywords", "keywords/spread", "lenet")


def keywords(_):
    """Returns the model file, samples and labels."""
    folder = TESTDATA / "kws01"
    q = np.fromfile(folder / "features_int8_1000x49x10.bin", np.int8)
    x = ((q.astype(np.float32) - 83) * 0.5847029).reshape(-1, 49, 10, 1)
    y = np.fromfile(folder / "labels_u8_1000.bin", np.uint8)
    return TESTDATA / "models/kws_ref_model_converted.h5", x, y


def fashion(name, options):
    model = options.work / f"{name}.h5"
    if not model.exists():
        octet(options, "train", f"zoo:{name}", "--data", FASHION, "--epochs",
              options.epochs, "-o", model)
    with gzip.open(FASHION / "t10k-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read()[16:], np.uint8).reshape(-1, 28, 28, 1)
    with gzip.open(FASHION / "t10k-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read()[8:], np.uint8)
    return model, x[:options.samples].astype(np.float32) / 255, \
        y[:options.samples]


def octet(options, *words):
    words = [str(w) for w in (options.octet, *words)]
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{result.stdout}{result.stderr}")


def spread(path):
    """Scales the channels between consecutive convolutions by 2^-4 to 2^4;
    returns the number of pairs."""
    model = onnx.load(path)
    weights = {w.name: w for w in model.graph.initializer}
    array = {n: onnx.numpy_helper.to_array(w).copy()
             for n, w in weights.items()}
    consumers = {}
    for node in model.graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    changed = 0
    for node in model.graph.node:
        if node.op_type != "Conv" or node.input[1] not in array:
            continue
        chain = node
        while True:
            after = consumers.get(chain.output[0], [])
            if len(after) != 1 or after[0].op_type not in ("Relu", "Conv"):
                break
            chain = after[0]
            if chain.op_type == "Conv":
                break
        if chain is node or chain.op_type != "Conv" or \
                chain.input[1] not in array:
            continue
        w, v = array[node.input[1]], array[chain.input[1]]
        t = 2.0 ** np.random.default_rng(changed).uniform(-4, 4, len(w))
        t = t.astype(np.float32)
        depthwise = v.shape[1] == 1 and len(v) == len(w)
        if not depthwise and v.shape[1] != len(w):
            continue
        w *= t.reshape(-1, 1, 1, 1)
        if len(node.input) > 2:
            array[node.input[2]] *= t
        v /= t.reshape((-1, 1, 1, 1) if depthwise else (1, -1, 1, 1))
        changed += 1
    for name, w in weights.items():
        w.CopyFrom(onnx.numpy_helper.from_array(array[name], name))
    onnx.save(model, path)
    return changed


class Reader(quantization.CalibrationDataReader):

    def __init__(self, name, x):
        self.batches = iter([{name: x[i:i + 32]}
                             for i in range(0, len(x), 32)])

    def get_next(self):
        return next(self.batches, None)


def by_onnxruntime(method):
    def quantize(float_file, out, x, _):
        prepared = out.with_suffix(".prepared.onnx")
        quantization.shape_inference.quant_pre_process(
            str(float_file), str(prepared), skip_symbolic_shape=True)
        name = onnx.load(float_file).graph.input[0].name
        quantization.quantize_static(
            str(prepared), str(out), Reader(name, x), per_channel=True,
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            calibrate_method=getattr(quantization.CalibrationMethod, method))
    return quantize


def by_nncf(float_file, out, x, _):
    import nncf
    model = onnx.load(float_file)
    name = model.graph.input[0].name
    samples = nncf.Dataset([x[i:i + 1] for i in range(len(x))],
                           lambda one: {name: one})
    onnx.save(nncf.quantize(model, samples, subset_size=len(x)), out)


def by_octet(*words):
    def quantize(float_file, out, x, options):
        data = out.with_suffix(".npy")
        np.save(data, x)
        octet(options, *words, float_file, "--data", data, "--target",
              "onnxruntime", "-o", out, "--layout", "nchw")
    return quantize


METHODS = {
    "octet quantize": by_octet("quantize", "--accept"),
    "octet quantize --pipeline": by_octet("quantize", "--pipeline",
                                          "--accept"),
    "ONNX Runtime, MinMax": by_onnxruntime("MinMax"),
    "ONNX Runtime, Percentile": by_onnxruntime("Percentile"),
    "ONNX Runtime, Entropy": by_onnxruntime("Entropy"),
    "NNCF": by_nncf,
}


def outputs(path, x):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options,
                                   providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: x[i:i + 64]})[0]
                           for i in range(0, len(x), 64)])


def row(network, method, y, exact, labels):
    noise = float(((y - exact) ** 2).sum(dtype=np.float64))
    signal = float((exact ** 2).sum(dtype=np.float64))
    classes = y.argmax(1)
    return (f"| {network} | {method} | {100 * (classes == labels).mean():.2f} | "
            f"{100 * (classes == exact.argmax(1)).mean():.2f} | "
            f"{10 * np.log10(signal / max(noise, 1e-30)):.1f} |")


def compare(network, options):
    name, _, variant = network.partition("/")
    model, x, labels = keywords(options) if name == "keywords" else \
        fashion(name, options)
    float_file = options.work / f"{name}{variant}.onnx"
    octet(options, "convert", model, float_file, "--fold")
    if variant == "spread" and spread(float_file) == 0:
        sys.exit(f"{network}: no layers to scale")
    x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    order = np.random.default_rng(0).permutation(len(x))
    few, rest = order[:CALIBRATED], order[CALIBRATED:]
    exact = outputs(float_file, x[rest])
    accuracy = 100 * (exact.argmax(1) == labels[rest]).mean()
    print(f"| {network} | float | {accuracy:.2f} | | |", flush=True)
    for method, quantize in METHODS.items():
        out = options.work / "quantized.onnx"
        out.unlink(missing_ok=True)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                quantize(float_file, out, x[few], options)
            y = outputs(out, x[rest])
        except ImportError:
            continue
        except Exception as error:  # a peer that rejects the network
            print(f"| {network} | {method} | failed: "
                  f"{str(error).splitlines()[0][:60]} | | |", flush=True)
            continue
        print(row(network, method, y, exact, labels[rest]), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("networks", nargs="*", default=DEFAULT)
    parser.add_argument("--octet", default=ROOT / "build/bench/bin/octet")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--work", type=pathlib.Path,
                        help="folder for trained networks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.work = options.work or pathlib.Path(folder)
        options.work.mkdir(parents=True, exist_ok=True)
        print("| network | quantized by | accuracy in % | agreement in % | "
              "SQNR in dB |\n|---|---|---|---|---|")
        for network in options.networks:
            compare(network, options)


if __name__ == "__main__":
    main()
