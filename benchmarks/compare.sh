#!/usr/bin/env bash
# Compares inference of zoo networks by Octet, OpenVINO and ONNX Runtime on this
# machine, as a Markdown table. Run nothing else at the same time.
#
#   benchmarks/compare.sh [--threads T] [--rounds N] [--seconds S] [--latency]
#                         [MODEL:BATCH...]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/build/peers

cmake --preset bench -S "$root" --log-level=WARNING
cmake --build "$root/build/bench" --target inference

if ! "$venv/bin/python" -c 'import openvino, onnxruntime' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy onnx onnxruntime openvino
fi
exec "$venv/bin/python" "$root/benchmarks/compare.py" "$@"
