#!/usr/bin/env bash
# Renders docs/images/report.png: the report of a quantized LeNet from its verdict
# to the noise of the layers, without summary and table of scores.
# Needs chromium, Fashion-MNIST (FASHION_MNIST, default: the Debian package) and
# the octet program (OCTET, default: build/release/bin/octet).
set -euo pipefail

images=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
octet=${OCTET:-$images/../../build/release/bin/octet}
data=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

names=T-shirt,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Boot
"$octet" train zoo:lenet --data "$data" --epochs 5 --class-names "$names" \
  -o lenet.h5
"$octet" qat lenet.h5 --data "$data" --epochs 1 -o int8.h5
"$octet" report int8.h5 --data "$data" --reference lenet.h5 -o report.html \
  --command "octet qat lenet.h5 --data $data --epochs 1 -o int8.h5"
sed -i -E 's/<section id="(summary|accuracy)"/& hidden/' report.html
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-lcd-text \
  --screenshot="$work/report.png" --window-size=1120,1335 \
  "file://$work/report.html"
mv "$work/report.png" "$images/report.png"
