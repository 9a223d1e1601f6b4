#!/usr/bin/env bash
# Creates build/venv from tests/oracle/requirements.txt: the Python environment
# that checks exported models with ONNX Runtime. Returns immediately if up to
# date. Exits with 1 and a reason on failure; nothing else needs Python.
#
#   runtime/cmake/make_venv.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
requirements=$root/tests/oracle/requirements.txt
venv=$root/build/venv
stamp=$venv/requirements.stamp

say() { printf 'make_venv: %s\n' "$*" >&2; }

# The stamp is written last, so that failed attempts are repeated.
if cmp -s "$requirements" "$stamp" && "$venv/bin/python" -c '' 2>/dev/null; then
  exit 0
fi

# Prefer Debian's Python: others on the PATH may be of any version.
python=/usr/bin/python3
if [[ ! -x $python ]]; then
  python=$(command -v python3) || {
    say "python3 not found. Hint: apt-get install python3-venv"
    exit 1
  }
fi

say "creating build/venv with $("$python" --version)"
rm -rf "$venv"
mkdir -p "$root/build"
if ! "$python" -m venv "$venv"; then
  say "cannot create a virtual environment. Hint: apt-get install python3-venv"
  rm -rf "$venv"
  exit 1
fi
if ! "$venv/bin/python" -m pip install --quiet --no-input \
  --disable-pip-version-check --requirement "$requirements"; then
  say "pip cannot install tests/oracle/requirements.txt. Hint: the first run" \
    "needs network access."
  exit 1
fi
cp "$requirements" "$stamp"
