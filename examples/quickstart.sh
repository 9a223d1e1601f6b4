#!/usr/bin/env bash
# From a clone to a verified INT8 model: installs missing packages, builds,
# trains and exports with fashion_mnist_qat, and compares the exported models
# in ONNX Runtime with Octet. Arguments are passed to fashion_mnist_qat:
#
#   examples/quickstart.sh [--epochs N] [--out DIR] ... [--help]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$root/build/release/bin/fashion_mnist_qat

say() { printf '%s\n' "$*"; }

# Keeps the working directory, because arguments may have relative paths.
out=$root/build/out
help=false
arguments=("$@")
if [[ " $* " != *" --out"[\ =]* ]]; then
  arguments+=(--out "$out")
fi
while (($# > 0)); do
  case $1 in
    -h | --help) help=true ;;
    --out=*) out=${1#--out=} ;;
    --out) out=${2:-} ;;  # the program rejects a missing value
  esac
  shift
done

if ! $help || [[ ! -x $program ]]; then
  "$root/runtime/cmake/install_packages.sh"
  (
    cd "$root"
    cmake --preset release --log-level=WARNING
    cmake --build --preset release --target fashion_mnist_qat octet_cli
  )
fi
if $help; then
  exec "$program" --help
fi

"$program" "${arguments[@]}"

if ! "$root/runtime/cmake/make_venv.sh"; then
  say "The models are written, but not compared in ONNX Runtime, because its" \
    "Python environment is missing (see above)."
  exit 0
fi

# The test set and Octet's logits are beside the models.
samples=$(($(stat -c %s "$out/test_labels.i64") / 8))
compare() {
  local name=$1
  shift
  "$root/build/venv/bin/python" "$root/tests/oracle/compare_onnx.py" \
    "$out/$name.onnx" --inputs "$out/test_inputs.f32" \
    --shape "$samples,1,28,28" --labels "$out/test_labels.i64" \
    --logits "$out/${name}_logits.f32" "$@"
}

say ""
say "ONNX Runtime against Octet on $samples test images:"
status=0
compare fp32 --max-logit-difference 1e-4 --min-agreement 1.0 || status=1
compare int8 --quantized --min-agreement 0.999 \
  --max-accuracy-difference 0.05 || status=1
exit $status
