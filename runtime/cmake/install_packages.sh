#!/usr/bin/env bash
# Installs the Debian packages that Octet is built, tested and run with: this
# is the one list of them. Does nothing, quickly, where all are there.
#
#   runtime/cmake/install_packages.sh [PACKAGE...]   # these, too
#
# OCTET_INSTALL=0 leaves the system as it is.
set -euo pipefail

# Octet does not build without these.
required=(
  cmake
  g++
  ninja-build
  libbenchmark-dev
  libcli11-dev
  libcsv-dev
  libeigen3-dev
  libfmt-dev
  libgmock-dev
  libgtest-dev
  libhdf5-dev
  libonnx-dev
  libprotobuf-dev
  libre2-dev
  libtbb-dev
  libtomlplusplus-dev
  nlohmann-json3-dev
  protobuf-compiler
  zlib1g-dev
)
required+=("$@")
# Without these it builds, but something is slower or left out.
useful=(
  ca-certificates
  ccache
  dataset-fashion-mnist
  git
  libjpeg62-turbo-dev
  libopenmpi-dev
  libpng-dev
  openmpi-bin
  python3
  python3-h5py
  python3-venv
)

say() { printf 'install_packages: %s\n' "$*" >&2; }

# What is missing of the packages given, one a line.
missing_of() {
  local package
  local -A installed=()
  while read -r package _; do
    installed[$package]=1
  done < <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" \
    2>/dev/null | grep ' installed$' || true)
  for package in "$@"; do
    [[ -n ${installed[$package]:-} ]] || printf '%s\n' "$package"
  done
}

# What a missing package of the useful ones means, and the way on.
explain() {
  case $1 in
    dataset-fashion-mnist)
      say "dataset-fashion-mnist: not installed. Debian has it in the" \
        "component 'main'; or put the four Fashion-MNIST .gz files into a" \
        "folder and use --data DIR."
      ;;
    python3 | python3-venv)
      say "$1: not installed. Exported models are not compared in ONNX Runtime."
      ;;
    python3-h5py)
      say "python3-h5py: not installed. What Octet reads and writes of HDF5 is" \
        "not compared with h5py."
      ;;
    libpng-dev | libjpeg62-turbo-dev)
      say "$1: not installed. Octet is built without reading such images."
      ;;
    libopenmpi-dev | openmpi-bin)
      say "$1: not installed. Octet is built without training on several" \
        "machines."
      ;;
    ccache) say "ccache: not installed. Builds from scratch take longer." ;;
    *) say "$1: not installed." ;;
  esac
}

if [[ ${OCTET_INSTALL:-1} == 0 ]]; then
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "expected a Debian system, got one without apt-get. Octet needs what" \
    "these Debian packages hold: ${required[*]} ${useful[*]}"
  for command in cmake g++ ninja protoc; do
    if ! command -v "$command" >/dev/null; then
      say "expected the command '$command', got none. Hint: install it and" \
        "call this again."
      exit 1
    fi
  done
  say "the build tools are there: going on."
  exit 0
fi

mapfile -t missing < <(missing_of "${required[@]}" "${useful[@]}")
if ((${#missing[@]} == 0)); then
  exit 0
fi
mapfile -t missing_required < <(missing_of "${required[@]}")

as_root=()
if ((EUID != 0)); then
  if command -v sudo >/dev/null; then
    as_root=(sudo)
  elif ((${#missing_required[@]} > 0)); then
    say "expected root or sudo to install packages, got neither. Hint: let an" \
      "administrator run: apt-get install ${missing[*]}"
    exit 1
  else
    for package in "${missing[@]}"; do explain "$package"; done
    exit 0
  fi
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

say "installing ${missing[*]}"
# One source that cannot be reached is no reason to stop: the others may do.
apt update || say "apt-get update failed; trying with the lists there are."

# apt-get gives up on all packages if it does not know one of them.
wanted=("${missing_required[@]}")
for package in "${missing[@]}"; do
  if [[ " ${useful[*]} " != *" $package "* ]]; then
    continue
  fi
  candidate=$(LC_ALL=C apt-cache policy "$package" |
    sed -n 's/^ *Candidate: //p')
  if [[ -z $candidate || $candidate == '(none)' ]]; then
    explain "$package"
  else
    wanted+=("$package")
  fi
done

if ((${#wanted[@]} > 0)) &&
  ! apt install -y --no-install-recommends "${wanted[@]}"; then
  mapfile -t missing_required < <(missing_of "${required[@]}")
  if ((${#missing_required[@]} > 0)); then
    say "expected all packages, got none of: ${missing_required[*]}. Hint: the" \
      "message of apt-get is above; Debian 12 has all of them in 'main'."
    exit 1
  fi
  mapfile -t missing < <(missing_of "${useful[@]}")
  for package in "${missing[@]}"; do explain "$package"; done
fi
