#!/usr/bin/env bash
# Instructions per inference of octet compile's code on a Cortex-M4 and a
# Cortex-M55 in qemu, for the four networks of MLPerf Tiny.
#
#   benchmarks/instructions.sh [DIR]
#
# DIR: the output of examples/mlperf_tiny.sh (default: build/mlperf_tiny). Needs
# gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm.
#
# OCTET_CMSIS_NN=FOLDER adds columns of code that calls the CMSIS-NN in FOLDER;
# OCTET (default: build/release/bin/octet) generates it. ONNX2C=PROGRAM adds a
# column of onnx2c's code of the float networks DIR/NAME.onnx, batch size 1,
# built with the same flags, on the Cortex-M4.
#
# -icount shift=0 runs an instruction per nanosecond of the machine. SysTick
# counts 25 MHz on the Cortex-M4, 40 instructions per tick, and 32 MHz on the
# Cortex-M55.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/mlperf_tiny}
octet=${OCTET:-$root/build/release/bin/octet}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/count.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include PROGRAM
int main(void) {
  volatile uint32_t* const tick = (volatile uint32_t*)0xE000E010u;
  uint32_t start, end;
  run(); /* fills the emulator's caches */
  tick[1] = 0xFFFFFFu;
  tick[2] = 0;
  tick[0] = 5;
  while (tick[2] == 0) {
  }
  start = tick[2];
  run();
  end = tick[2];
  printf("%lu\n", (unsigned long)(start - end) / 4ul * TICK);
  return 0;
}
END

m4=(-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -DTICK=160ul)
m55=(-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -DTICK=125ul)

# Prints the instructions of run() in a header; arguments: core, header, then
# sources and flags.
count() {
  local core=$1 header=$2 board=mps2-an386 memory=4M
  local -n flags=$core
  shift 2
  [[ $core == m4 ]] || { board=mps3-an547; memory=512K; }
  sed "s/LENGTH = 512K/LENGTH = $memory/" \
    "$root/examples/microcontroller/qemu/link.ld" >"$work/link.ld"
  arm-none-eabi-gcc -std=gnu99 -O2 "${flags[@]}" -ffp-contract=off \
    --specs=rdimon.specs -T "$work/link.ld" \
    -DPROGRAM="\"$header\"" "$root/examples/microcontroller/qemu/startup.c" \
    "$work/count.c" "$@" -lm -o "$work/count.elf"
  qemu-system-arm -M "$board" -nographic -semihosting -icount shift=0 \
    -kernel "$work/count.elf" </dev/null
}

# Compiles CMSIS-NN for a core into $work/CORE.a.
build_library() {
  local -n flags=$1
  mkdir "$work/$1"
  (cd "$work/$1" && arm-none-eabi-gcc -O2 "${flags[@]}" \
    -I "$OCTET_CMSIS_NN/Include" -c $(ls "$OCTET_CMSIS_NN"/Source/*/*.c |
      grep -Ev 'f16|f32|flt'))
  arm-none-eabi-ar rcs "$work/$1.a" "$work/$1"/*.o
}
if [[ -n ${OCTET_CMSIS_NN:-} ]]; then
  build_library m4
  build_library m55
fi

cat >"$work/net.h" <<'END'
#include "model.h"
static uint32_t arena[NET_ARENA_BYTES / 4 + 1];
static int8_t x[NET_INPUT_SIZE], y[NET_OUTPUT_SIZE];
static void run(void) { (void)net_run(x, y, arena); }
END

printf '| network | multiply-adds | Cortex-M4 | with CMSIS-NN | onnx2c, float |'
printf ' Cortex-M55 | with CMSIS-NN |\n|---|---|---|---|---|---|---|\n'
for name in kws ic vww ad; do
  [[ -d $folder/$name ]] || continue
  # The total is larger than that of each layer.
  adds=$(grep -o '"multiply_adds": *[0-9]*' "$folder/$name.json" |
    grep -o '[0-9]*$' | sort -n | tail -1)
  declare -A own=() library=([m4]=- [m55]=-)
  for core in m4 m55; do
    own[$core]=$(count $core "$work/net.h" -I "$folder/$name" \
      "$folder/$name/model.c")
    [[ -n ${OCTET_CMSIS_NN:-} ]] || continue
    "$octet" compile "$folder/$name.tflite" -o "$work/$name" \
      --arithmetic fixed --kernels cmsis-nn >"$work/log"
    library[$core]=$(count $core "$work/net.h" -I "$work/$name" \
      -isystem "$OCTET_CMSIS_NN/Include" "$work/$name/model.c" \
      "$work/$core.a")
  done
  other=-
  if [[ -n ${ONNX2C:-} && -f $folder/$name.onnx ]]; then
    "$ONNX2C" -d N:1 "$folder/$name.onnx" >"$work/other.c"
    # void entry(const float x[1][640], float y[1][640]){
    sed -n 's/^void entry(\(.*\)) *{.*/\1/p' "$work/other.c" | awk -F', *' '{
      print "#include \"other.c\""
      for (i = 1; i <= NF; ++i) {
        declaration = $i
        sub(/^const /, "", declaration)
        sub(/ [a-zA-Z_0-9]+/, " argument" i, declaration)
        print "static " declaration ";"
        call = call (i > 1 ? ", " : "") "argument" i
      }
      print "static void run(void) { entry(" call "); }"
    }' >"$work/other.h"
    other=$(count m4 "$work/other.h")
  fi
  printf "| %s | %s | %s | %s | %s | %s | %s |\n" "$name" "$adds" \
    "${own[m4]}" "${library[m4]}" "$other" "${own[m55]}" "${library[m55]}"
done
