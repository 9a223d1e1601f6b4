#!/usr/bin/env python3
"""Runs training steps of build/bench/bin/train_step and of torch_step.py
alternately and prints a Markdown table. Run nothing else at the same time.

    cmake --preset bench && cmake --build --preset bench --target train_step
    benchmarks/steps.py [--python PYTHON] [NETWORK:BATCH...]
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build/bench/bin/train_step"
WORKLOADS = ["lenet:64", "resnet8:32", "resnet8:128", "resnet20:128",
             "mobilenet_v1_025:32", "resnet18:8", "resnet50:4", "vit_tiny:8",
             "unet:2"]
OCTET = {"FP32": "fp32", "QAT": "qat", "QAT, learned scales": "qat_learned"}
TORCH = {"PyTorch FP32": "fp32", "frozen Q/DQ": "qdq", "QAT by FX": "fx",
         "QAT by PT2E": "pt2e"}


def run(*command):
    """Returns the JSON of a program's last line, or None if it failed."""
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))}: {done.stderr.strip()[-300:]}",
              file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def measure(column, network, batch, options):
    if column in OCTET:
        return run(PROGRAM, "--model", network, "--mode", OCTET[column],
                   "--batch", batch, "--threads", options.threads, "--seconds",
                   options.seconds, "--json")
    return run(options.python, HERE / "torch_step.py", network, batch,
               options.threads, options.seconds, TORCH[column])


def median_of(results):
    """Returns the median time in ms, or None if all runs failed."""
    times = [r["ms_median"] for r in results if r]
    return statistics.median(times) if times else None


def cell(results):
    time = median_of(results)
    if time is None:
        return ""
    memory = max(r["peak_rss_mb"] for r in results if r)
    return f"{time:.3g} ({memory:,.0f})"


def ratio(time, base):
    return "" if time is None or base is None else f"{time / base:.2f}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS,
                        metavar="NETWORK:BATCH")
    parser.add_argument("--python", default=sys.executable,
                        help="Python that has torch (default: this one)")
    parser.add_argument("--threads", type=int, default=2,
                        help="number of threads")
    parser.add_argument("--rounds", type=int, default=3,
                        help="runs per column and workload")
    parser.add_argument("--seconds", type=float, default=2,
                        help="minimum duration of a run")
    options = parser.parse_args()
    columns = [*OCTET, *TORCH]
    titles = [*OCTET, "QAT / FP32", "learned / FP32", *TORCH]
    print("ms per step (peak memory in MB), median of the rounds\n")
    print("| |", " | ".join(titles), "|")
    print("|---" * (len(titles) + 1) + "|")
    for workload in options.workloads:
        network, batch = workload.split(":")
        found = {column: [] for column in columns}
        for _ in range(options.rounds):
            for column in columns:
                found[column].append(measure(column, network, batch, options))
        cells = [cell(found[column]) for column in columns]
        fp32, qat, learned = (median_of(found[column]) for column in OCTET)
        cells[len(OCTET):len(OCTET)] = [ratio(qat, fp32), ratio(learned, fp32)]
        print(f"| {network} b{batch} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
