"""Trains networks, evaluates the files and writes the accuracy table; see
results.sh."""

import argparse
import json
import pathlib
import subprocess
import sys

import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/oracle"))
from fashion_mnist import FOLDER as DATA, accuracy, test_set  # noqa: E402
# With options that fit large networks to images of 28x28.
NETWORKS = {
    "resnet20": [],
    "mobilenet_v1_025": [],
    "mobilenet_v2": ["--alpha", "0.5", "--update-statistics"],
    "efficientnet_b0": ["--alpha", "0.5"],
    "inception_small": ["--alpha", "0.5"],
    "densenet40": [],
    "vit_tiny": ["--alpha", "0.333", "--patch-size", "4",
                 "--optimizer", "adamw"],
}
POLICIES = ["tensorrt", "toolkit", "patterns"]


def session_of(path):
    return onnxruntime.InferenceSession(
        str(path), providers=["CPUExecutionProvider"])


def train(network, policy, arguments):
    """Runs train_zoo --qat, resuming an interrupted run; returns its folder."""
    out = arguments.out / network / policy
    if (out / "summary.json").exists():
        return out
    command = [str(ROOT / "build/release/bin/train_zoo"), network, "--qat",
               *NETWORKS.get(network, []), "--policy", policy, "--epochs", str(arguments.epochs),
               "--out", str(out), "--resume",
               # All policies share the float phase.
               "--checkpoint", str(arguments.out / network / "states")]
    if arguments.limit:
        command += ["--limit", str(arguments.limit)]
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, check=True, stdout=sys.stderr)
    return out


def joined(percents):
    return " / ".join(f"{each:.2f}" for each in percents)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--limit", type=int, help="number of training images (default: all)")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "build/results")
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("network", nargs="*",
                        default=list(NETWORKS))
    arguments = parser.parse_args()
    images, labels = test_set(arguments.data)
    policies = arguments.policies.split(",")
    rows = [f"| accuracy, % ({' / '.join(policies)}) | FP32 | calibrated | fine-tuned | "
            "ONNX Runtime | Q/DQ pairs |",
            "|---|---|---|---|---|---|"]
    for network in arguments.network:
        outs = [train(network, policy, arguments) for policy in policies]
        summaries = [json.loads((out / "summary.json").read_text())
                     for out in outs]
        judged = [accuracy(session_of(out / f"{network}.int8.onnx"),
                           images * summary["input_scale"], labels)
                  for out, summary in zip(outs, summaries)]
        floats = {f"{summary['fp32_accuracy']:.2f}" for summary in summaries}
        if len(floats) != 1:
            sys.exit(f"{network}: policies differ in FP32 accuracy: {floats}")
        cells = [network, *floats,
                 joined(s["ptq_accuracy"] for s in summaries),
                 joined(s["qat_accuracy"] for s in summaries),
                 joined(judged),
                 " / ".join(str(s["qdq_pairs"]) for s in summaries)]
        rows.append(f"| {' | '.join(cells)} |")
    table = "\n".join(rows) + "\n"
    (arguments.out / "results.md").write_text(table)
    print(table, end="")


if __name__ == "__main__":
    main()
