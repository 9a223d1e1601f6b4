#!/usr/bin/env bash
# Builds the Debian packages:
#
#   packaging/build_packages.sh [FOLDER]
#
# Installs the packages that the build needs, builds in build/packages and
# copies the .deb files to FOLDER (default: build/packages).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/packages
folder=$(mkdir -p "${1:-$build}" && cd "${1:-$build}" && pwd)

"$root/runtime/cmake/install_packages.sh" dpkg-dev file
cmake -S "$root" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release \
  -D "CMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" -D OCTET_BUILD_TESTS=OFF
cmake --build "$build" --target octet octet_cli octet_session_static \
  octet_session_shared
cd "$build"
cpack -G DEB
for package in "$build"/*.deb; do
  [[ $folder == "$build" ]] || cp "$package" "$folder"
done
ls -l "$folder"/*.deb
