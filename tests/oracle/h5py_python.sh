#!/usr/bin/env bash
# h5py_python.sh SCRIPT [ARGUMENTS]: runs a script of this folder with Debian's
# Python and its h5py. Exit code 77 (skipped) if that is missing, unless
# CI=true.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=/usr/bin/python3
if ! "$python" -c 'import h5py' 2>/dev/null; then
  echo "$python: expected it with h5py, got none;" \
    "runtime/cmake/install_packages.sh installs python3-h5py"
  [[ ${CI:-} == true ]] && exit 1
  exit 77
fi
script=$1
shift
exec "$python" "$root/tests/oracle/$script" "$@"
