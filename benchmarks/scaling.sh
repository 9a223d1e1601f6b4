#!/usr/bin/env bash
# Measures training steps on 1 and 2 ranks against 1 and 2 threads on this
# machine, and extrapolates to more machines. Run nothing else at the same time.
#
#   benchmarks/scaling.sh [NETWORK [BATCH [STEPS]]]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
network=${1:-resnet20}
batch=${2:-128}
steps=${3:-20}

cmake --preset bench -S "$root" --log-level=WARNING
if ! cmake --build "$root/build/bench" --target scaling; then
  printf 'scaling: needs MPI. Hint: %s\n' \
    'apt-get install libopenmpi-dev openmpi-bin' >&2
  exit 1
fi

run() { # RANKS THREADS [ARGUMENTS]
  mpirun --allow-run-as-root --oversubscribe --bind-to none -np "$1" \
    "$root/build/bench/bin/scaling" "$network" --batch "$batch" \
    --steps "$steps" --threads "$2" "${@:3}"
}

run 1 1
whole=$(run 1 2)
printf '%s\n' "$whole"
compute=$(sed -n 's/.*: \([0-9.]*\) ms per step.*/\1/p' <<<"$whole")
run 2 1 --compute "$compute"
synchronized=$(run 1 2 --sync-batch-norm)
printf '%s\n' "$synchronized"
compute=$(sed -n 's/.*: \([0-9.]*\) ms per step.*/\1/p' <<<"$synchronized")
run 2 1 --sync-batch-norm --compute "$compute"
