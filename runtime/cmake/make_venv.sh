#!/usr/bin/env bash
# Makes build/venv, the Python that judges exported models in ONNX Runtime,
# from tests/oracle/requirements.txt. Takes no time where it is up to date.
# Exits with 1 and a reason if this machine cannot; nothing else needs Python.
#
#   runtime/cmake/make_venv.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
requirements=$root/tests/oracle/requirements.txt
venv=$root/build/venv
stamp=$venv/requirements.stamp

say() { printf 'make_venv: %s\n' "$*" >&2; }

# The stamp is written last, so a broken attempt is made again.
if cmp -s "$requirements" "$stamp" && "$venv/bin/python" -c '' 2>/dev/null; then
  exit 0
fi

# Debian's own Python first: others on the PATH may be of any version.
python=/usr/bin/python3
if [[ ! -x $python ]]; then
  python=$(command -v python3) || {
    say "expected python3, got none. Hint: apt-get install python3-venv"
    exit 1
  }
fi

say "making build/venv with $("$python" --version)"
rm -rf "$venv"
mkdir -p "$root/build"
if ! "$python" -m venv "$venv"; then
  say "expected Python with venv, got an error. Hint: apt-get install" \
    "python3-venv"
  rm -rf "$venv"
  exit 1
fi
if ! "$venv/bin/python" -m pip install --quiet --no-input \
  --disable-pip-version-check --requirement "$requirements"; then
  say "expected to install tests/oracle/requirements.txt, got an error of" \
    "pip. Hint: it needs the network, once."
  exit 1
fi
cp "$requirements" "$stamp"
