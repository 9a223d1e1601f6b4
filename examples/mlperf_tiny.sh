#!/usr/bin/env bash
# The four networks of MLPerf Tiny: post-training quantization, .tflite files, C
# code, and a table of accuracy, memory, multiply-adds and times.
#
#   examples/mlperf_tiny.sh [--only NAME] [--out DIR]
#
# NAME: kws, ic, vww or ad. OCTET: the program octet (default:
# build/release/bin/octet, else on the PATH). PYTHON: with numpy and onnx; with
# ai-edge-litert, tflite-micro and ethos-u-vela for their columns (default:
# build/venv/bin/python, else python3). OCTET_TESTDATA: the test data (default:
# ../shared/testdata beside the repository).
#
# kws and ic have the weights of the reference networks, from the test data. vww
# and ad have random weights: their files and data are not part of the test
# data. Memory and multiply-adds do not depend on the weights; Vela's cycles do,
# because it compresses them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
testdata=${OCTET_TESTDATA:-$root/../shared/testdata}
only=
out=$root/build/mlperf_tiny

usage() { sed -n '2,/^set/{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }
while (($# > 0)); do
  case $1 in
    -h | --help) usage && exit ;;
    --only | --out)
      (($# > 1)) || { echo "error: $1 requires a value" >&2; exit 2; }
      printf -v "${1#--}" '%s' "$2"
      shift 2
      ;;
    *)
      echo "error: unknown argument '$1'; see --help" >&2
      exit 2
      ;;
  esac
done
case $only in
  '' | kws | ic | vww | ad) ;;
  *) echo "error: --only must be kws, ic, vww or ad, got '$only'" >&2; exit 2 ;;
esac

# Returns the absolute path of a file, without resolving links.
absolute() {
  if [[ $1 == /* ]]; then printf '%s' "$1"; else printf '%s/%s' "$PWD" "$1"; fi
}
if [[ -n ${OCTET:-} && ! -x $OCTET ]]; then
  echo "error: OCTET must be a program, got '$OCTET'" >&2
  exit 2
fi
octet=${OCTET:-$root/build/release/bin/octet}
[[ -x $octet ]] || octet=$(command -v octet) || {
  echo "error: program octet not found. Hint: set OCTET to its path" >&2
  exit 1
}
octet=$(absolute "$octet")
testdata=$(absolute "$testdata")
python=${PYTHON:-$root/build/venv/bin/python}
if [[ -x $python ]]; then python=$(absolute "$python"); else python=python3; fi
helper=$root/examples/mlperf_tiny.py

mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$out"
measured=()
for name in ${only:-kws ic vww ad}; do
  case $name in
    kws) model=$testdata/models/kws_ref_model_converted.h5 ;;
    ic) model=$testdata/models/pretrainedResnet.h5 ;;
    vww) model=zoo:mobilenet_v1_025 ;;
    ad) model=ad.onnx ;;
  esac
  "$python" "$helper" data "$name" "$testdata"
  "$octet" quantize "$model" -o "$name.tflite" --data "$name.x.npy" \
    --samples 200 --accept >"$name.log" 2>&1 ||
    { cat "$name.log" >&2; exit 1; }
  "$octet" compile "$name.tflite" -o "$name" \
    --arithmetic fixed --json >"$name.json"
  "$python" "$helper" inputs "$name"
  cc -std=c99 -O2 "$name/model.c" "$name/model_test.c" -o "$name.test"
  "./$name.test" >>"$name.log" 2>&1 || { cat "$name.log" >&2; exit 1; }
  cc -std=c99 -O2 -D_POSIX_C_SOURCE=199309L -I "$name" \
    "$root/examples/microcontroller/timed.c" "$name/model.c" -o "$name.program"
  "./$name.program" "$name.in.bin" "$name.out.bin" >"$name.time"
  measured+=("$name")
done
"$python" "$helper" table "${measured[@]}"
