#!/usr/bin/env bash
# Builds the documentation site into build/site. Fails on warnings, broken
# links, and pages that load anything from another server.
#
#   docs/build.sh          Installs mkdocs and Doxygen if they are missing.
#   docs/build.sh --serve  Then serves the site at http://localhost:8000.
#
# The reference needs the command octet: OCTET, or that of build/dev or
# build/release.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v mkdocs >/dev/null || ! command -v doxygen >/dev/null ||
  [[ ! -d /usr/share/mkdocs/themes/material ]]; then
  runtime/cmake/install_packages.sh doxygen mkdocs mkdocs-material
fi

out=build/documentation
mkdir -p "$out"
octet=${OCTET:-}
for preset in dev release; do
  if [[ -z $octet && -x build/$preset/bin/octet ]]; then
    octet=build/$preset/bin/octet
  fi
done
if [[ -z $octet ]]; then
  printf 'build.sh: no command octet: build the project, or set OCTET\n' >&2
  exit 1
fi
rm -rf docs/reference
docs/reference.py --octet "$octet" docs/reference
docs/check.py
docs/stage.py "$out"
rm -rf build/site
doxygen docs/doxygen/Doxyfile
mkdocs build --quiet --strict --config-file "$out/mkdocs.yml" \
  --site-dir "$PWD/build/site"
docs/check.py --site build/site
echo "build/site: $(find build/site -name '*.html' | wc -l) pages"

if [[ ${1:-} == --serve ]]; then
  exec python3 -m http.server --directory build/site 8000
fi
