#!/usr/bin/env bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
  cat <<'END'
Usage: tests/lint.sh [--fix] [BASE]

Checks the format of all C++ files, the lists of messages (tests/messages.py),
the docstrings of public headers (tests/docstrings.py), links and code blocks of
Markdown files (docs/check.py), the charts of the README (docs/images/charts.py)
and, of the files changed since BASE (default: HEAD~1), that headers compile by
themselves and that clang-tidy finds nothing.
Installs missing tools and configures build/lint. The exit code is 1 if a check
fails.

  --fix     format files in place
  --help    this text

With CI=true, changes of more than 40 headers or 8 other files are too large for
these two checks, which take 2 s for a header and 5 to 30 s for a file; the
output says so. Run them by hand: tests/lint.sh BASE.
END
}

fix=0
base=HEAD~1
for argument in "$@"; do
  case $argument in
    -h | --help)
      usage
      exit 0
      ;;
    --fix) fix=1 ;;
    -*)
      printf 'lint.sh: unknown option %s\n' "$argument" >&2
      exit 2
      ;;
    *) base=$argument ;;
  esac
done
# Without a repository (an archive of the sources) no file counts as changed; the
# first commit has no parent.
sources=()
changed=()
if git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
  mapfile -t sources < <(git ls-files '*.cpp' '*.h' '*.inl')
  if git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
    mapfile -t changed < <(git diff --name-only --diff-filter=d "$base")
  else
    printf 'lint.sh: no commit %s, so no changed files\n' "$base" >&2
  fi
else
  mapfile -t sources < <(find benchmarks examples io layers quant runtime \
    session tests train -name '*.cpp' -o -name '*.h' -o -name '*.inl')
fi

runtime/cmake/install_packages.sh clang-format clang-tidy-16 doxygen
status=0

if ((fix)); then
  clang-format -i "${sources[@]}"
elif ! clang-format --dry-run -Werror "${sources[@]}"; then
  printf 'lint.sh: not formatted; tests/lint.sh --fix formats\n' >&2
  status=1
fi

tests/messages.py || status=1
tests/docstrings.py || status=1
docs/check.py || status=1
docs/images/charts.py --check || status=1

cmake --preset lint --log-level=WARNING >/dev/null
# A header that clang-tidy needs; without FlatBuffers there is no such target.
cmake --build build/lint --target io/flatbuffers/tflite_generated.h \
  >/dev/null 2>&1 || true

# flags FILE: the compiler and flags that build/lint has for it, or, of a
# header, for a source file of its module.
flags() {
  python3 - "$1" <<'END'
import json, shlex, sys
path = sys.argv[1]
commands = json.load(open("build/lint/compile_commands.json"))
parts = path.split("/")
def closeness(command):
    other = command["file"].split("/")
    return sum(part in other for part in parts)
best = max(commands, key=closeness)
words = shlex.split(best["command"])
skipped = {best["file"], "-c"}
out = words.index("-o")
del words[out : out + 2]
words = [w for w in words if w not in skipped and not w.endswith("ccache")]
if words[0].endswith("cmake"):  # cmake -E env NAME=value compiler
    words = words[next(i for i, w in enumerate(words) if "++" in w) :]
print(shlex.join(words))
END
}

mapfile -t headers < <(printf '%s\n' "${changed[@]}" | grep -E '\.h$' |
  grep -vE '^(benchmarks|examples/consumer)/' || true)
mapfile -t tidy < <(printf '%s\n' "${changed[@]}" |
  grep -E '^(runtime|layers|quant|session|train|io|examples)/.*\.cpp$' |
  grep -vE '^examples/(consumer|tensorrt_engine)' || true)
if [[ ${CI:-} == true ]]; then
  if ((${#headers[@]} > 40)); then
    printf 'lint.sh: %d headers changed, not compiled one by one\n' \
      "${#headers[@]}"
    headers=()
  fi
  if ((${#tidy[@]} > 8)); then
    printf 'lint.sh: %d sources changed, without clang-tidy\n' "${#tidy[@]}"
    tidy=()
  fi
fi

for file in "${headers[@]}"; do
  if ! eval "$(flags "$file") -fsyntax-only -x c++ -include $file /dev/null"
  then
    printf 'lint.sh: %s does not compile by itself\n' "$file" >&2
    status=1
  fi
done
if ((${#tidy[@]} > 0)); then
  printf '%s\0' "${tidy[@]}" |
    xargs -0 -n 1 -P 2 clang-tidy-16 --quiet --warnings-as-errors='*' \
      -p build/lint || status=1
fi
exit $status
