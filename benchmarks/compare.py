#!/usr/bin/env python3
"""Runs build/bench/bin/inference and its peers alternately; see compare.sh."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build/bench/bin/inference"
WORKLOADS = ["resnet8:128", "resnet20:128", "mobilenet_v1_025:32",
             "resnet50:8", "resnet50:1", "mobilenet_v2:8",
             "efficientnet_b0:8", "vit_tiny:8", "unet:1", "detector:1",
             "resnet8:1"]
LATENCIES = ["resnet8:1", "resnet20:1", "mobilenet_v1_025:1",
             "mobilenet_v2:1", "efficientnet_b0:1", "resnet50:1",
             "vit_tiny:1", "unet:1", "detector:1"]
NOISE = 1.2  # runs slower than the fastest by more than this are discarded
COLUMNS = {
    "octet fp32": ("octet", "fp32"),
    "octet int8": ("octet", "int8"),
    "OpenVINO fp32": ("openvino", "fp32"),
    "OpenVINO, Octet's INT8": ("openvino", "int8"),
    "OpenVINO, U8S8": ("openvino", "u8s8"),
    "ONNX Runtime fp32": ("onnxruntime", "fp32"),
    "ONNX Runtime, U8S8": ("onnxruntime", "u8s8"),
}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def measure(column, model, batch, folder, options):
    engine, form = COLUMNS[column]
    if engine == "octet":
        out = run(PROGRAM, "--model", model, "--mode", form, "--batch", batch,
                  "--threads", options.threads, "--seconds", options.seconds,
                  "--load", folder / f"{model}.{form}.h5", "--json")
    else:
        out = run(sys.executable, HERE / "peer.py", engine,
                  folder / f"{model}.{form}.onnx", batch, options.threads,
                  options.seconds)
    return json.loads(out.splitlines()[-1])


def undisturbed(rates):
    """Returns the rates of the runs without disturbance."""
    return [r for r in rates if r * NOISE >= max(rates)]


def write_files(model, folder):
    for form in ("fp32", "int8"):
        for kind in ("onnx", "h5"):
            run(PROGRAM, "--model", model, "--mode", form, "--seconds", 0,
                "--batch", 1, "--write", folder / f"{model}.{form}.{kind}")
    run(sys.executable, HERE / "peer.py", "quantize",
        folder / f"{model}.fp32.onnx", folder / f"{model}.u8s8.onnx")


def throughput(results):
    """Returns the table cell of runs of a column, and the number discarded."""
    kept = undisturbed([r["images_per_second"] for r in results])
    rate = statistics.median(kept)
    memory = max(r["peak_rss_mb"] for r in results)
    return (f"{rate:,.{0 if rate >= 100 else 1}f} ({memory:.0f})",
            len(results) - len(kept))


def latency(results):
    """The same for the percentiles of a run's duration."""
    fastest = min(r["ms_median"] for r in results)
    kept = [r for r in results if r["ms_median"] <= fastest * NOISE]
    p50, p99 = (statistics.median(r[key] for r in kept)
                for key in ("ms_median", "ms_p99"))
    return f"{p50:.3g} / {p99:.3g}", len(results) - len(kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="MODEL:BATCH")
    parser.add_argument("--latency", action="store_true",
                        help="print p50 and p99 of a run's duration, by "
                        "default with one image, instead of images/s")
    parser.add_argument("--threads", type=int, default=2,
                        help="number of threads")
    parser.add_argument("--rounds", type=int, default=5,
                        help="runs per engine and workload")
    parser.add_argument("--seconds", type=float, default=2,
                        help="minimum duration of a run")
    options = parser.parse_args()
    workloads = options.workloads or (
        LATENCIES if options.latency else WORKLOADS)
    cell_of = latency if options.latency else throughput

    print("p50 / p99 in ms" if options.latency
          else "images/s (peak memory in MB)", end="")
    print(": median of the rounds, without rounds slower than the\nfastest by "
          f"more than a factor of {NOISE}\n")
    print("| |", " | ".join(COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    peaks = {"fp32": 0, "int8": 0}
    left_out = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for workload in workloads:
            model, batch = workload.split(":")
            if not (folder / f"{model}.u8s8.onnx").exists():
                write_files(model, folder)
            found = {column: [] for column in COLUMNS}
            for _ in range(options.rounds):
                for column in COLUMNS:
                    found[column].append(
                        measure(column, model, batch, folder, options))
            cells = []
            for column in COLUMNS:
                cell, discarded = cell_of(found[column])
                cells.append(cell)
                left_out += discarded
            print(f"| {model} b{batch} |", " | ".join(cells), "|", flush=True)
            for form in peaks:
                peaks[form] = max(peaks[form], *(
                    r["peak_gflops_a_core"] for r in found[f"octet {form}"]))
    runs = len(workloads) * len(COLUMNS) * options.rounds
    print(f"\n{left_out} of {runs} runs discarded. Peak of a core, measured "
          f"alongside: {peaks['fp32']:,.0f} GFLOP/s,\n"
          f"{peaks['int8']:,.0f} GOP/s.")


if __name__ == "__main__":
    main()
