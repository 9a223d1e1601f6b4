#!/usr/bin/env bash
# Accuracy of networks of the zoo on Fashion-MNIST: float, calibrated, fine-tuned,
# and the exported file in ONNX Runtime, by policy, as a Markdown table. Takes
# hours; what is done is not done again.
#
#   benchmarks/results.sh [--epochs N] [--limit N] [--policies P,...] [--out DIR] [NETWORK...]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

cmake --preset release -S "$root" --log-level=WARNING
cmake --build "$root/build/release" --target train_zoo
bash "$root/runtime/cmake/make_venv.sh"
exec "$root/build/venv/bin/python" "$root/benchmarks/results.py" "$@"
