#!/usr/bin/env bash
# run_compare.sh FOLDER MODEL [ARGUMENTS]: compares FOLDER/MODEL.onnx in ONNX
# Runtime with Octet's logits in the same folder. Exit code 77 (skipped) if
# build/venv is missing, unless CI=true.
set -euo pipefail

folder=$1
model=$2
shift 2
if [[ ! -e $folder/summary.json ]]; then
  echo "error: $folder: expected the results of one run, got none that is" \
    "whole: there is no summary.json" >&2
  exit 2
fi
samples=$(($(stat -c %s "$folder/test_labels.i64") / 8))
exec "$(dirname "${BASH_SOURCE[0]}")/venv_python.sh" compare_onnx.py \
  "$folder/$model.onnx" \
  --inputs "$folder/test_inputs.f32" --shape "$samples,1,28,28" \
  --labels "$folder/test_labels.i64" --logits "$folder/${model}_logits.f32" \
  "$@"
