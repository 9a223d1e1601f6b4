#!/usr/bin/env bash
# run_read_events.sh FOLDER: what TensorBoard reads from event files, by
# read_events.py. Exit code 77 where build/venv is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$root/build/venv/bin/python
if [[ ! -x $python ]]; then
  echo "build/venv: expected it with TensorBoard, got none;" \
    "runtime/cmake/make_venv.sh makes it"
  exit 77
fi
exec "$python" "$root/tests/oracle/read_events.py" "$@"
