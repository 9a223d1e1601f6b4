#!/usr/bin/env python3
"""Compares OpenVINO's integer inference with Octet's for classifiers on real data.

    compare_integers.py IMPORT_CHECK OCTET FOLDER MAIN_JOB [TRAIN_ZOO]

IMPORT_CHECK is tests/e2e/import_check, OCTET the command line program, FOLDER
the output folder. MAIN_JOB is the output of the main job: its INT8 network is
evaluated on 10,000 test images, and a Keras network quantized by OCTET on 1,000
sounds. With TRAIN_ZOO, the example of this name, networks of the zoo are trained
briefly on Fashion-MNIST and evaluated on its test images.

Octet's outputs are those of a session of the imported file. Top-1 answers must
agree on 99.9 %, accuracies within 0.1 points. If OpenVINO disagrees more often,
ONNX Runtime decides: Octet must agree with it that well, and OpenVINO with both
alike. A barely trained network may depend on rounding everywhere: then Octet
must agree as well as `octet predict`, which runs the file node by node with other
kernels.

Exit codes: 0 all bounds hold, 1 one is missed, 77 test data are missing, 2
wrong usage.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np

from openvino_judge import File
from reference import reference_session
from verdicts import Disagreement

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTDATA = pathlib.Path(os.environ.get("OCTET_TESTDATA",
                                       ROOT.parent / "shared/testdata"))
LEAST_AGREEMENT = 0.999
MOST_ACCURACY_DIFFERENCE = 0.001
# With options for images of 28x28 and brief training.
ZOO = {
    "resnet8": [],
    "resnet20": [],
    "mobilenet_v1_025": [],
    "mobilenet_v2": ["--alpha", "0.5", "--update-statistics"],
    "vit_tiny": ["--alpha", "0.333", "--patch-size", "4", "--optimizer",
                 "adamw"],
    "efficientnet_b0": ["--alpha", "0.5"],
}


def run(*command):
    subprocess.run([str(word) for word in command], check=True,
                   stdout=subprocess.DEVNULL)


def keyword_network(octet, folder):
    """Returns a Keras network as INT8 file, its inputs and labels."""
    sounds = TESTDATA / "kws01"
    inputs = np.fromfile(sounds / "features_int8_1000x49x10.bin", np.int8)
    # Source: testdata/README.md.
    inputs = (inputs.reshape(1000, 49, 10, 1).astype(np.float32) - 83) * \
        np.float32(0.5847029)
    labels = np.fromfile(sounds / "labels_u8_1000.bin", np.uint8)
    np.save(folder / "some.npy", inputs[:400])
    path = folder / "keywords.onnx"
    run(octet, "quantize", TESTDATA / "models/kws_ref_model_converted.h5",
        "--data", folder / "some.npy", "--target", "openvino", "-o", path)
    return path, inputs.transpose(0, 3, 1, 2), labels


def trained_network(program, name, folder, images):
    """Returns a network of the zoo, trained and fine-tuned in INT8."""
    run(program, name, *ZOO[name], "--qat", "--limit", 20000, "--epochs", 3,
        "--out", folder / name)
    scale = 255 if name == "efficientnet_b0" else 1
    return folder / name / f"{name}.int8.onnx", images * scale


def by_onnxruntime(path, inputs, batch=500):
    session = reference_session(str(path))
    name = session.get_inputs()[0].name
    return np.concatenate([
        session.run(None, {name: inputs[at:at + batch]})[0].argmax(axis=1)
        for at in range(0, len(inputs), batch)])


def node_by_node(octet, place, inputs):
    np.save(place / "some.npy", inputs)
    run(octet, "predict", place / "it.onnx", "--input", place / "some.npy",
        "--output", place / "answers.npy")
    return np.load(place / "answers.npy").argmax(axis=1)


def judge(path, inputs, labels, import_check, octet, folder):
    """Returns the figures of one file."""
    place = folder / "reading"
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    (place / "it.onnx").write_bytes(path.read_bytes())
    np.save(place / "it.x0.npy", inputs)
    run(import_check, place)
    if (place / "it.refused.txt").exists():
        raise Disagreement((place / "it.refused.txt").read_text())
    ours = np.load(place / "it.y0.npy").argmax(axis=1)
    file = File(path)
    answers = file(inputs).argmax(axis=1)
    agreement = float(np.mean(ours == answers))
    accuracy, own = (float(np.mean(a == labels)) for a in (answers, ours))
    note = ""
    if not (agreement >= LEAST_AGREEMENT
            and abs(accuracy - own) <= MOST_ACCURACY_DIFFERENCE):
        third = by_onnxruntime(path, inputs)
        with_octet, with_openvino = (float(np.mean(third == each))
                                     for each in (ours, answers))
        note = (f", ONNX Runtime's {100 * with_octet:.2f} % as Octet and "
                f"{100 * with_openvino:.2f} % as OpenVINO")
        least = LEAST_AGREEMENT
        if with_octet < least:
            nodes = node_by_node(octet, place, inputs[:2000])
            least = min(least, float(np.mean(third[:2000] == nodes)))
            note += f" and {100 * least:.2f} % as node by node"
        if not (with_octet >= least
                and abs(with_openvino - agreement) <= 1 - LEAST_AGREEMENT):
            raise Disagreement(f"{100 * agreement:.2f} % of the answers agree"
                               + note)
    return (f"{100 * agreement:.2f} % of {len(labels)} answers agree{note}, "
            f"accuracy {100 * accuracy:.2f} and {100 * own:.2f} %; {file.summary()}")


def main():
    if len(sys.argv) not in (5, 6):
        print(__doc__, file=sys.stderr)
        return 2
    import_check, octet = sys.argv[1:3]
    folder, main_job = (pathlib.Path(each) for each in sys.argv[3:5])
    if not (TESTDATA / "kws01").exists():
        print(f"{TESTDATA}: expected the shared test data, got none")
        return 1 if os.environ.get("CI") == "true" else 77
    folder.mkdir(parents=True, exist_ok=True)
    labels = np.fromfile(main_job / "test_labels.i64", np.int64)
    images = np.fromfile(main_job / "test_inputs.f32", np.float32)
    images = images.reshape(-1, 1, 28, 28)
    cases = {"main job": lambda: (main_job / "int8.onnx", images, labels),
             "keywords": lambda: keyword_network(octet, folder)}
    if len(sys.argv) == 6:
        for name in ZOO:
            cases[name] = lambda name=name: (
                *trained_network(sys.argv[5], name, folder, images), labels)
    problems = 0
    for name, case in cases.items():
        try:
            print(f"ok    {name:16}  "
                  f"{judge(*case(), import_check, octet, folder)}", flush=True)
        except (Disagreement, subprocess.CalledProcessError) as error:
            problems += 1
            print(f"FAIL  {name:16}  {error}", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
