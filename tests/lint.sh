#!/usr/bin/env bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
  cat <<'END'
Usage: tests/lint.sh [BASE]

Checks without building: the format of all C++ files, the lists of messages
(tests/messages.py) and, of the files changed since BASE (default: HEAD~1),
that headers compile by themselves and that clang-tidy finds nothing. The exit
code is 1 if there is something to mend.

  --fix     format files in place
  --help    this text

With CI=true clang-tidy reads at most 8 files; it takes 5 to 30 s for each.
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
# The first commit has no parent.
if ! git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
  printf 'lint.sh: no commit %s, so no changed files\n' "$base" >&2
  base=HEAD
fi

runtime/cmake/install_packages.sh clang-format clang-tidy-16
status=0

mapfile -t sources < <(git ls-files '*.cpp' '*.h' '*.inl')
if ((fix)); then
  clang-format -i "${sources[@]}"
elif ! clang-format --dry-run -Werror "${sources[@]}"; then
  printf 'lint.sh: not formatted; tests/lint.sh --fix formats\n' >&2
  status=1
fi

tests/messages.py || status=1

cmake --preset lint --log-level=WARNING >/dev/null
mapfile -t changed < <(git diff --name-only --diff-filter=d "$base")

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

for file in "${changed[@]}"; do
  case $file in
    *.inl | benchmarks/* | examples/consumer/*) continue ;;
    *.h)
      if ! eval "$(flags "$file") -fsyntax-only -x c++ -include $file /dev/null"; then
        printf 'lint.sh: %s does not compile by itself\n' "$file" >&2
        status=1
      fi
      ;;
  esac
done

mapfile -t tidy < <(printf '%s\n' "${changed[@]}" |
  grep -E '^(runtime|layers|quant|train|io|examples)/.*\.cpp$' |
  grep -vE '^examples/(consumer|tensorrt_engine)' || true)
most=${#tidy[@]}
if [[ ${CI:-} == true ]] && ((most > 8)); then
  printf 'lint.sh: clang-tidy reads 8 of %d changed files\n' "$most"
  most=8
fi
if ((most > 0)); then
  printf '%s\0' "${tidy[@]:0:most}" |
    xargs -0 -n 1 -P 2 clang-tidy-16 --quiet --warnings-as-errors='*' \
      -p build/lint || status=1
fi
exit $status
