#!/usr/bin/env bash
# Downloads Debian's 64-bit ARM libraries into build/aarch64-root, for the
# preset aarch64. Installs only the cross compiler and qemu on the system.
# Returns immediately if everything exists.
#
#   runtime/cmake/make_aarch64_root.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD/build/aarch64-root
packages=(
  libc6-dev
  libcli11-dev
  libfmt-dev
  libgmock-dev
  libgtest-dev
  libhdf5-dev
  libjpeg62-turbo-dev
  libonnx-dev
  libpng-dev
  libprotobuf-dev
  libcsv-dev
  libeigen3-dev
  libre2-dev
  libtbb-dev
  nlohmann-json3-dev
  zlib1g-dev
)

say() { printf 'make_aarch64_root: %s\n' "$*" >&2; }

runtime/cmake/install_packages.sh g++-aarch64-linux-gnu qemu-user

wanted=$(printf '%s\n' "${packages[@]}")
if [[ -f $root/packages && $(<"$root/packages") == "$wanted" ]]; then
  exit 0
fi

# apt with separate lists and state, in which no package is installed.
apt=$root.part/apt
rm -rf "$root.part"
mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial
: >"$apt/status"
options=(
  -q
  -o APT::Architecture=arm64
  -o APT::Architectures::=arm64
  -o "Dir::State=$apt/state"
  -o "Dir::State::status=$apt/status"
  -o "Dir::Cache=$apt/cache"
  -o Debug::NoLocking=1
)
if ((EUID == 0)); then options+=(-o APT::Sandbox::User=root); fi
say 'downloading libraries'
apt-get "${options[@]}" update >/dev/null
apt-get "${options[@]}" install -y --download-only --no-install-recommends \
  "${packages[@]}" >/dev/null

# Debian 12 merges /lib and /usr/lib.
mkdir -p "$root.part/usr/lib"
ln -s usr/lib "$root.part/lib"
for package in "$apt"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -x --keep-directory-symlink -C "$root.part"
done
rm -rf "$apt" "$root"
printf '%s\n' "$wanted" >"$root.part/packages"
mv "$root.part" "$root"
