#!/usr/bin/env bash
# From a Keras model to a program for a Cortex-M4 that prints spoken words.
# Needs gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm.
#
#   keyword_spotting.sh MODEL.h5 X.npy FEATURES.bin FOLDER
#
# MODEL.h5: the MLPerf Tiny keyword spotting network; X.npy: float samples
# [N,49,10,1] for calibration; FEATURES.bin: recordings of 490 int8 features
# each, of which the first 6 are compiled into the program. OCTET: the program
# `octet`.
set -euo pipefail

if (($# != 4)); then
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
octet=${OCTET:-octet}
model=$1 samples=$2 features=$3 folder=$4

mkdir -p "$folder"
"$octet" quantize "$model" --data "$samples" -o "$folder/kws.onnx" --samples 200
"$octet" compile "$folder/kws.onnx" -o "$folder/kws" --name kws

{
  printf '#include <stdint.h>\n#define FEATURES_COUNT 6\n'
  printf 'static const int8_t features[] = {\n'
  od -An -v -td1 -N $((6 * 490)) "$features" | sed 's/ *\([-0-9]\{1,\}\)/\1,/g'
  printf '};\n'
} >"$folder/features.h"

arm-none-eabi-gcc -std=c99 -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard \
  -mfpu=fpv4-sp-d16 -ffp-contract=off --specs=rdimon.specs \
  -T "$here/qemu/link.ld" -I "$folder" -I "$folder/kws" \
  "$here/qemu/startup.c" "$here/main.c" "$folder/kws/model.c" \
  -o "$folder/kws.elf"
arm-none-eabi-size "$folder/kws.elf"
qemu-system-arm -M mps2-an386 -nographic -semihosting \
  -kernel "$folder/kws.elf" </dev/null
