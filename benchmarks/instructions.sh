#!/usr/bin/env bash
# Instructions per inference of octet compile's code on a Cortex-M4 in qemu, for
# the four networks of MLPerf Tiny.
#
#   benchmarks/instructions.sh [DIR]
#
# DIR: the output of examples/mlperf_tiny.sh (default: build/mlperf_tiny). Needs
# gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm. With
# ONNX2C=PROGRAM, the float networks in code of onnx2c, built with the same
# flags, are counted, too: DIR/NAME.onnx with batch size 1.
#
# -icount shift=0 runs an instruction per nanosecond of the machine, whose
# SysTick counts 25 MHz: 40 instructions per tick.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/mlperf_tiny}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/count.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include PROGRAM
int main(void) {
  volatile uint32_t* const tick = (volatile uint32_t*)0xE000E010u;
  uint32_t start, end;
  run(); /* the first run fills caches of the emulator alone */
  tick[1] = 0xFFFFFFu;
  tick[2] = 0;
  tick[0] = 5;
  while (tick[2] == 0) {
  }
  start = tick[2];
  run();
  end = tick[2];
  printf("%lu\n", 40ul * (unsigned long)(start - end));
  return 0;
}
END

# Prints the instructions of run() in a header; more arguments: sources, flags.
count() {
  local header=$1
  shift
  sed 's/LENGTH = 512K/LENGTH = 4M/' \
    "$root/examples/microcontroller/qemu/link.ld" >"$work/link.ld"
  arm-none-eabi-gcc -std=gnu99 -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard \
    -mfpu=fpv4-sp-d16 -ffp-contract=off --specs=rdimon.specs -T "$work/link.ld" \
    -DPROGRAM="\"$header\"" "$root/examples/microcontroller/qemu/startup.c" \
    "$work/count.c" "$@" -lm -o "$work/count.elf"
  qemu-system-arm -M mps2-an386 -nographic -semihosting -icount shift=0 \
    -kernel "$work/count.elf" </dev/null
}

printf '| network | multiply-adds | instructions | per multiply-add |'
printf ' onnx2c, float |\n|---|---|---|---|---|\n'
for name in kws ic vww ad; do
  [[ -d $folder/$name ]] || continue
  cat >"$work/net.h" <<'END'
#include "model.h"
static uint32_t arena[NET_ARENA_BYTES / 4 + 1];
static int8_t x[NET_INPUT_SIZE], y[NET_OUTPUT_SIZE];
static void run(void) { (void)net_run(x, y, arena); }
END
  instructions=$(count "$work/net.h" -I "$folder/$name" "$folder/$name/model.c")
  # The total is larger than that of each layer.
  adds=$(grep -o '"multiply_adds": *[0-9]*' "$folder/$name.json" |
    grep -o '[0-9]*$' | sort -n | tail -1)
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
    other=$(count "$work/other.h")
  fi
  printf "| %s | %d | %d | %.1f | %s |\n" "$name" "$adds" "$instructions" \
    "$(awk "BEGIN {print $instructions / $adds}")" "$other"
done
