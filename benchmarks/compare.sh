#!/usr/bin/env bash
# Inference of networks of the zoo by Octet, OpenVINO and ONNX Runtime, in turn
# on this machine, as a Markdown table. Nothing else should run beside it.
#
#   benchmarks/compare.sh [--threads T] [--rounds N] [--seconds S] [MODEL:BATCH...]
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
