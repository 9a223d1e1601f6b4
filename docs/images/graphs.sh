#!/usr/bin/env bash
# Renders docs/images/graphs.png, the picture of the README: LeNet in float and
# in INT8, as `octet graph` draws it. Needs chromium and the octet program
# (OCTET, default: build/release/bin/octet).
set -euo pipefail

images=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
octet=${OCTET:-$images/../../build/release/bin/octet}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$octet" graph zoo:lenet -o "$work/float.svg"
"$octet" graph zoo:lenet --int8 -o "$work/int8.svg"
cat >"$work/page.html" <<'END'
<body style="margin:0;background:#fff;display:flex;align-items:flex-start">
<img src="float.svg"><img src="int8.svg"></body>
END
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
  --screenshot="$work/graphs.png" --window-size=1280,1050 \
  "file://$work/page.html"
mv "$work/graphs.png" "$images/graphs.png"
