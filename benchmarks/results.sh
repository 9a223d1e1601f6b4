#!/usr/bin/env bash
# Measures accuracy of zoo networks on Fashion-MNIST per policy: float,
# calibrated, fine-tuned, and the exported file in ONNX Runtime, as a Markdown
# table. Takes hours; an interrupted run resumes.
#
#   benchmarks/results.sh [--epochs N] [--limit N] [--policies P,...] [--out DIR] [NETWORK...]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

cmake --preset release -S "$root" --log-level=WARNING
cmake --build "$root/build/release" --target train_zoo
bash "$root/runtime/cmake/make_venv.sh"
exec "$root/build/venv/bin/python" "$root/benchmarks/results.py" "$@"
