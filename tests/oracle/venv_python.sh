#!/usr/bin/env bash
# venv_python.sh SCRIPT [ARGUMENTS]: runs a script of this folder with the
# Python of build/venv. Exit code 77 (skipped) if that is missing, unless
# CI=true.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$root/build/venv/bin/python
if [[ ! -x $python ]]; then
  echo "build/venv: expected it with ONNX Runtime, got none;" \
    "runtime/cmake/make_venv.sh makes it"
  [[ ${CI:-} == true ]] && exit 1
  exit 77
fi
script=$1
shift
exec "$python" "$root/tests/oracle/$script" "$@"
