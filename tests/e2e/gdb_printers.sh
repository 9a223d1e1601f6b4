#!/usr/bin/env bash
# gdb_printers.sh GDB PROGRAM PRINTERS: stops the program at show() and compares
# GDB's text of its arguments.
set -euo pipefail

output=$("$1" -nx -batch -ex "source $3" -ex 'break show' -ex run \
  -ex 'print shape' -ex 'print floats' -ex 'print bytes' -ex 'print none' \
  -ex 'print leaf' "$2" 2>&1 </dev/null) || true
if grep -q 'ptrace: Operation not permitted' <<<"$output"; then
  printf 'gdb_printers.sh: GDB may not trace programs here\n' >&2
  exit 77
fi
status=0
expect() {
  if ! grep -qF -- "$1" <<<"$output"; then
    printf 'gdb_printers.sh: expected: %s\n' "$1" >&2
    status=1
  fi
}
expect '= Shape [N,3]'
expect '= Tensor f32 [2,2] = {1, -2.5, 3, 1e+10}'
expect '= Tensor i8 [3] = {-128, 0, 127}'
expect '= empty tensor'
expect '= Variable of leaf, requires_grad: Tensor f32 [2,2] = {1, -2.5, 3, 1e+10}'
if ((status)); then printf '%s\n' "$output" >&2; fi
exit $status
