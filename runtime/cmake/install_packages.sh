#!/usr/bin/env bash
# Installs the packages needed to build, test and run Octet: their only list.
# The names are those of Debian 12 and 13 and Ubuntu 24.04. Returns immediately
# if all are installed.
#
#   runtime/cmake/install_packages.sh [ADDITIONAL_PACKAGE...]
#
# OCTET_INSTALL=0 disables installation.
set -euo pipefail

say() { printf 'install_packages: %s\n' "$*" >&2; }

system=$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID:-}" \
  "${VERSION_ID:-}" || true)
jpeg=libjpeg62-turbo-dev
if [[ $system == ubuntu* ]]; then
  jpeg=libjpeg-turbo8-dev
fi

# Required to build.
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
# Optional: without them builds are slower or lack features.
useful=(
  ca-certificates
  ccache
  dataset-fashion-mnist
  flatbuffers-compiler
  git
  "$jpeg"
  libflatbuffers-dev
  libopenmpi-dev
  libpng-dev
  mold
  openmpi-bin
  python3
  python3-h5py
  python3-venv
)

# Prints the given packages that are not installed, one per line.
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

# Reports the effect of a missing optional package.
explain() {
  case $1 in
    dataset-fashion-mnist)
      say "dataset-fashion-mnist: not installed. Install it from Debian's" \
        "component 'main', or put the four Fashion-MNIST .gz files into a" \
        "folder and use --data DIR."
      ;;
    python3 | python3-venv)
      say "$1: not installed. Exported models are not compared with ONNX Runtime."
      ;;
    python3-h5py)
      say "python3-h5py: not installed. HDF5 files are not compared with" \
        "h5py."
      ;;
    libpng-dev | "$jpeg")
      say "$1: not installed. Octet is built without support for these images."
      ;;
    flatbuffers-compiler | libflatbuffers-dev)
      say "$1: not installed. Octet is built without .tflite files."
      ;;
    libopenmpi-dev | openmpi-bin)
      say "$1: not installed. Octet is built without multi-machine training."
      ;;
    ccache) say "ccache: not installed. Full builds take longer." ;;
    *) say "$1: not installed." ;;
  esac
}

if [[ ${OCTET_INSTALL:-1} == 0 ]]; then
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "apt-get not found: not a Debian system. Octet needs the contents of" \
    "these Debian packages: ${required[*]} ${useful[*]}"
  for command in cmake g++ ninja protoc; do
    if ! command -v "$command" >/dev/null; then
      say "command '$command' not found. Hint: install it and run this script" \
        "again."
      exit 1
    fi
  done
  say "build tools found; continuing."
  exit 0
fi

if [[ $system == "ubuntu 22.04" ]]; then
  say "Ubuntu 22.04 has CMake 3.22 and ONNX 1.7; Octet needs 3.25 and 1.12." \
    "Hint: use Ubuntu 24.04, or build octet::session alone (docs/installation.md)"
  exit 1
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
    say "installing packages needs root or sudo. Hint: ask an administrator to" \
      "run: apt-get install ${missing[*]}"
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
# Continue if a package source is unreachable: others may suffice.
apt update || say "apt-get update failed; using the existing package lists."

# apt-get installs nothing if any package is unknown.
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
    say "cannot install: ${missing_required[*]}. Hint: see the message of" \
      "apt-get above; Debian 12 has all packages in 'main'."
    exit 1
  fi
  mapfile -t missing < <(missing_of "${useful[@]}")
  for package in "${missing[@]}"; do explain "$package"; done
fi
