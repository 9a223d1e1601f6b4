#!/usr/bin/env bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
  cat <<'END'
Usage: tests/run.sh [--preset NAME] [--changed BASE] [CTEST ARGUMENTS]
       tests/run.sh --lint [BASE]

Installs missing packages, builds and runs the tests. The last line reads
"N passed, N failed"; the exit code is 0 only if tests ran and all passed.

  --preset NAME   build to test: dev (default), release, asan, tsan, clang
                  (version 16), coverage (gcovr writes build/coverage/html), or
                  aarch64 (cross-compiled, unit tests under qemu)
  --changed BASE  test only the modules that changed since the commit BASE, and
                  the modules that depend on them
  --lint [BASE]   check format, messages, headers and clang-tidy instead
                  (tests/lint.sh --help)
  --help          print this text

Other arguments are passed to ctest:
  tests/run.sh -L unit            tests with the label unit, grad or e2e
  tests/run.sh -R Adam            test suites whose name matches
  tests/run.sh -C long            all tests, including tests that take minutes
  tests/run.sh --preset asan -V   address and undefined behavior sanitizers

With CI=true a skipped test counts as a failure. OCTET_TESTDATA is the folder of
the shared test data (default: ../shared/testdata). With -C long, OCTET_CMSIS_NN
is a folder of CMSIS-NN, without which the tests that compile it are skipped.
END
}

preset=dev
base=
ctest_arguments=()
while (($# > 0)); do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --preset=*) preset=${1#--preset=} ;;
    --preset)
      if (($# < 2)); then
        printf 'run.sh: --preset needs a name\n' >&2
        exit 2
      fi
      preset=$2
      shift
      ;;
    --changed)
      if (($# < 2)); then
        printf 'run.sh: --changed needs a commit\n' >&2
        exit 2
      fi
      base=$2
      shift
      ;;
    --lint)
      shift
      exec tests/lint.sh "$@"
      ;;
    *) ctest_arguments+=("$1") ;;
  esac
  shift
done

# labels_of_changes BASE: the labels of the tests that changes since BASE can
# affect, as a regular expression for ctest. A module affects those after it.
labels_of_changes() {
  local modules=(runtime layers quant session train io)
  local labels=() all=0 module path
  local changed
  changed=$(git diff --name-only "$1")
  for module in "${modules[@]}"; do
    if grep -q "^$module/" <<<"$changed"; then all=1; fi
    if ((all)) || grep -q "^tests/$module/" <<<"$changed"; then
      labels+=("unit_$module")
    fi
  done
  if grep -qE '^(runtime|layers|tests/gradients)/' <<<"$changed"; then
    labels+=(grad)
  fi
  if ((all)) || grep -qE '^(docs|examples|tests/(e2e|oracle|golden))/|^README' \
      <<<"$changed"; then
    labels+=(e2e)
  fi
  # Build files and headers of tests affect everything.
  for path in $changed; do
    case $path in
      *CMakeLists.txt | *.cmake | CMakePresets.json | tests/*.h | tests/run.sh)
        labels=(unit grad e2e)
        ;;
    esac
  done
  local IFS='|'
  printf '%s' "${labels[*]}"
}
if [[ -n $base ]]; then
  if ! labels=$(labels_of_changes "$base"); then
    exit 2
  fi
  if [[ -z $labels ]]; then
    printf 'run.sh: no tests depend on the changes since %s\n' "$base"
    exit 0
  fi
  printf 'run.sh: tests labeled %s\n' "$labels"
  ctest_arguments+=(-L "$labels")
fi
# The name becomes a folder of build/.
if [[ ! $preset =~ ^[A-Za-z0-9_-]+$ ]]; then
  printf "run.sh: invalid name of a preset: '%s'\n" "$preset" >&2
  exit 2
fi
if [[ $preset == bench ]]; then
  printf "run.sh: preset '%s' builds only the benchmarks, no tests\n" "$preset" >&2
  exit 2
fi

runtime/cmake/install_packages.sh
if [[ ${CI:-} == true ]]; then
  # The programs without which tests are skipped.
  runtime/cmake/install_packages.sh chromium fonts-dejavu-core graphviz
fi
# Cross compilers and emulators, for generated C code in long tests.
if [[ " ${ctest_arguments[*]} " == *" long "* ]]; then
  if ! runtime/cmake/install_packages.sh clang-16 gcc-arm-none-eabi \
    gcc-powerpc-linux-gnu gcc-riscv64-linux-gnu gcc-riscv64-unknown-elf \
    libc6-dev-powerpc-cross libc6-dev-riscv64-cross libnewlib-arm-none-eabi \
    picolibc-riscv64-unknown-elf qemu-system-arm qemu-user; then
    if [[ ${CI:-} == true ]]; then
      exit 1
    fi
    printf 'run.sh: tests of C code on other machines are skipped\n' >&2
  fi
fi
if ! runtime/cmake/make_venv.sh; then
  if [[ ${CI:-} == true ]]; then
    exit 1
  fi
  printf 'run.sh: tests that need ONNX Runtime are skipped\n' >&2
fi

case $preset in
  clang) runtime/cmake/install_packages.sh clang-16 ;;
  coverage) runtime/cmake/install_packages.sh gcovr ;;
  aarch64) runtime/cmake/make_aarch64_root.sh ;;
esac

build=build/$preset
cmake --preset "$preset" --log-level=WARNING
cmake --build --preset "$preset"

# The JUnit file has the output of each test, which names the cases of a suite.
report=$root/$build/tests.xml
rm -f "$report"
status=0
ctest --test-dir "$build" --output-on-failure -j2 --no-tests=error \
  --test-output-size-passed 65536 --test-output-truncation head \
  --output-junit "$report" \
  "${ctest_arguments[@]}" || status=$?

if [[ ! -f $report ]]; then
  printf 'run.sh: no tests ran\n' >&2
  printf '0 passed, 0 failed\n'
  exit 1
fi

# Prints "passed N", "failed NAME" and "skipped NAME": a line per case of a
# GoogleTest suite, or per other test. Output of tests is escaped in the file,
# so a tag at the start of a line is ctest's. A test that could not be started
# is "notrun" without one of ctest's reasons to skip. A suite
# without a summary ended early, even if its exit code is 0.
tests=$(awk -F'"' '
  function finish() {
    if (name == "") return
    if (suite && cases < 0) status = "failed"
    if (cases >= 0 && status == "passed") print "passed", cases
    else if (cases > 0 && listed) print "passed", cases
    else if (status == "passed") print "passed 1"
    if (status == "failed" && !listed || status == "skipped") print status, name
    name = ""
  }
  /^[ \t]*<testcase name="/ {
    finish()
    name = $2
    cases = -1
    suite = 0
    listed = 0
    status = "failed"
    if (/ status="run"/) status = "passed"
    if (/ status="disabled"/) status = "skipped"
  }
  /^[ \t]*<skipped message="SKIP_/ { status = "skipped" }
  /Running main\(\) from .*gtest/ { suite = 1 }
  /^\[  SKIPPED \] [0-9]+ tests?\.$/ {
    split($0, word, " ")
    for (i = 0; i < word[4]; ++i) print "skipped", name
  }
  /^\[  PASSED  \] [0-9]+ test/ { split($0, word, " "); cases = word[4] }
  /^\[  (FAILED  |SKIPPED )\] [^ ]+\./ {
    split($0, word, " ")
    outcome = word[2] == "FAILED" ? "failed" : "skipped"
    sub(/,$/, "", word[4])
    if (!((outcome, word[4]) in seen)) print outcome, word[4]
    seen[outcome, word[4]] = 1
    if (outcome == "failed") listed = 1
  }
  END { finish() }' "$report")
if [[ $preset == coverage ]]; then
  mkdir -p "$build/html"
  gcovr --root . --object-directory "$build" --exclude 'build/|tests/|examples/' \
    --gcov-ignore-parse-errors --html-details "$build/html/index.html" \
    --print-summary
fi
# How much of the gradients was compared, if that ran.
grep -o -m1 'gradient cases: [0-9]*' "$report" || true

count() { grep -c "^$1 " <<<"$tests" || true; }
passed=$(awk '/^passed / { sum += $2 } END { print sum + 0 }' <<<"$tests")
failed=$(count failed)
skipped=$(count skipped)

if ((skipped > 0)); then
  sed -n 's/^skipped /skipped: /p' <<<"$tests"
fi
line_end=
if [[ ${CI:-} == true ]]; then
  failed=$((failed + skipped))
elif ((skipped > 0)); then
  line_end=", $skipped skipped"
fi
if ((passed + failed + skipped == 0)); then
  printf 'run.sh: no tests ran\n' >&2
fi
printf '%d passed, %d failed%s\n' "$passed" "$failed" "$line_end"
if ((status != 0 || failed > 0 || passed == 0)); then
  exit 1
fi
