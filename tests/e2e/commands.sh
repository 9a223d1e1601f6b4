#!/usr/bin/env bash
# Workflows with the octet command alone: from a folder of images, and from a
# Keras network, to an INT8 file.
#
#   commands.sh OCTET SOURCE WORK
#
# Exit code 77 without Python 3. Uses ONNX Runtime if build/venv has it, and
# real keywords if the shared test data is available.
set -euo pipefail

export PYTHONDONTWRITEBYTECODE=1
octet=$1 source=$2 work=$3
here=$source/tests/e2e
python=$(command -v python3) || exit 77
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() {
  echo "commands.sh: $*" >&2
  exit 1
}
# value FILE KEY: a number in JSON.
value() { "$python" -c "import json, sys
tree = json.load(open(sys.argv[1]))
for key in sys.argv[2].split('/'): tree = tree[key]
print(tree)" "$1" "$2"; }
# expect A OP B: compares numbers.
expect() {
  "$python" -c "import sys; sys.exit(not ($1 $2 $3))" ||
    fail "expected $1 $2 $3"
}
# right MODEL: number of correctly classified test images, by ONNX Runtime, or by
# octet predict.
right() {
  if "$source/tests/oracle/venv_python.sh" answer_accuracy.py "$1" \
    shapes/test.x.npy shapes/test.y.npy 2>/dev/null; then
    return
  fi
  "$octet" predict "$1" --input shapes/test.x.npy --labels shapes/test.y.npy |
    sed -n 's/.*(\([0-9]*\) of .*/\1/p'
}

# ---- from images to INT8

"$python" "$here/make_shapes.py" shapes/train 100 1
"$python" "$here/make_shapes.py" shapes/test 40 2
mkdir -p images
mv shapes/train shapes/test images/

"$octet" train zoo:resnet8 --data images --input-shape 28,36,3 --augment flip \
  --epochs 8 --batch 32 --rate 0.003 -o model.h5
"$octet" evaluate model.h5 --data images --json >float.json
expect "$(value float.json samples)" == 120
expect "$(value float.json accuracy)" '>' 0.8

"$octet" qat model.h5 --data images -o int8.onnx --epochs 2 --json >qat.json
expect "$(value qat.json float/accuracy)" == "$(value float.json accuracy)"
expect "$(value qat.json fine-tuned/accuracy)" '>' 0.8

# Compare with an independent implementation.
"$octet" evaluate int8.onnx --data images --json >int8.json
told=$(value int8.json accuracy)
found=$(right int8.onnx) # of 120
expect "abs(120 * $told - $found)" '<=' 1
"$octet" predict int8.onnx --input shapes/test.x.npy --output y.npy
[[ -s y.npy ]] || fail "expected y.npy"

# A file with uint8 input.
"$octet" convert model.h5 bytes.onnx --from-bytes trained --layout nhwc \
  --golden >/dev/null
"$octet" inspect bytes.onnx | grep -q 'uint8 \[N,28,36,3\]' ||
  fail "bytes.onnx: expected bytes with channels last"
"$octet" evaluate bytes.onnx --data images --json >bytes.json
expect "$(value bytes.json accuracy)" == "$(value float.json accuracy)"

if "$octet" convert model.h5 wrong.onnx --from-bytes tf >out.txt 2>&1; then
  fail "expected another mode than the model's to be refused"
fi
grep -q -- "--from-bytes.*'unit'" out.txt ||
  fail "$(cat out.txt)"
if "$octet" convert bytes.onnx twice.onnx --from-bytes unit >out.txt 2>&1; then
  fail "expected a second preprocessing to be refused"
fi
"$octet" convert model.h5 first.onnx
"$octet" convert model.h5 last.onnx --layout nhwc
"$octet" compare first.onnx last.onnx --data shapes/test.x.npy >out.txt ||
  fail "expected one network in both orders of axes: $(cat out.txt)"

# Class names are kept: other folders are rejected.
for model in model.h5 int8.onnx; do
  "$octet" inspect "$model" >out.txt
  grep -q "classes: 3 ('bar', 'cross', 'disc')" out.txt || fail "$model: $(cat out.txt)"
done
mkdir other
cp -r images/test/bar other/triangle
cp -r images/test/cross images/test/disc other/
for model in model.h5 int8.onnx; do
  if "$octet" evaluate "$model" --data other >out.txt 2>&1; then
    fail "$model: expected other classes to be refused"
  fi
  grep -q "'triangle'\|'bar'" out.txt || fail "$(cat out.txt)"
done

# ---- a network of Keras

data=${OCTET_TESTDATA:-$source/../shared/testdata}
if [[ ! -d $data/kws01 ]]; then
  echo "no shared test data: done without the network of Keras"
  exit 0
fi
"$python" "$here/make_keywords.py" "$data/kws01" . 200
model=$data/models/kws_ref_model_converted.h5
"$octet" evaluate "$model" --data x.npy --labels y.npy --json >kws.json
# Measured independently; see testdata/README.md.
expect "$(value kws.json accuracy)" == 0.913
"$octet" quantize "$model" -o kws.onnx --data few.npy --labels few_labels.npy
"$octet" evaluate kws.onnx --data x.npy --labels y.npy --json >kws_int8.json
expect "$(value kws_int8.json accuracy)" '>' 0.89
"$octet" verify kws.onnx --input few.npy >verify.txt || fail "$(cat verify.txt)"
"$octet" lint kws.onnx --target tensorrt10 >lint.txt || fail "$(cat lint.txt)"
# The range of the input causes most of the loss.
"$octet" sensitivity "$model" --data few.npy --labels few_labels.npy \
  >sensitivity.txt
sed 3q sensitivity.txt | grep -q "'conv2d'" ||
  fail "$(sed 3q sensitivity.txt)"
"$octet" report kws.onnx --data x.npy --labels y.npy --reference "$model" \
  --command "octet quantize $model -o kws.onnx --data few.npy" -o report.html
grep -q "id=\"confusion\"" report.html || fail "a report without confusion"
"$octet" quantize "$model" -o kws_u8.onnx --data few.npy \
  --labels few_labels.npy --target onnxruntime
"$octet" evaluate kws_u8.onnx --data x.npy --labels y.npy --json >kws_u8.json
expect "$(value kws_u8.json accuracy)" '>' 0.89
echo "done"
