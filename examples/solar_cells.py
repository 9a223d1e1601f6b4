#!/usr/bin/env python3
"""Data and checks of examples/solar_cells.sh.

  solar_cells.py table OUT.csv [SEED]
      Lists the images of the package elpv-dataset: label, sample weight, and
      a split of 75 % and 25 %, stratified by label and kind of cell.
  solar_cells.py judge CELLS.csv INT8.onnx OCTET
      Runs the test images in ONNX Runtime, OpenVINO and Octet. Exit code 1 if
      the predicted classes agree in less than 99 % of the images.
  solar_cells.py picture CELLS.csv OUT.png
      Draws cells of each label.
"""

import csv
import os
import pathlib
import random
import subprocess
import sys
import tempfile

CLASSES = ["defective", "functional"]
SIDE = 224


def table(out, seed="1"):
    """Annotators gave 0 (functional), 1/3, 2/3 or 1 (defective): two answers,
    sure or unsure. Unsure cells have half the weight."""
    import elpv_dataset

    folder = pathlib.Path(elpv_dataset.__file__).parent / "data"
    groups = {}
    for line in (folder / "labels.csv").read_text().splitlines():
        name, probability, kind = line.split()
        groups.setdefault((float(probability), kind), []).append(name)
    rng = random.Random(int(seed))
    rows = []
    for (probability, kind), names in sorted(groups.items()):
        rng.shuffle(names)
        tests = round(len(names) / 4)
        label = CLASSES[0] if probability >= 0.5 else CLASSES[1]
        weight = 1 if probability in (0, 1) else 0.5
        for i, name in enumerate(names):
            path = os.path.relpath(folder / name, pathlib.Path(out).parent)
            rows.append([path, label, weight, "test" if i < tests else "train",
                         f"{probability:.2f}", kind])
    rows.sort()
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label", "sample_weight", "split",
                         "probability", "kind"])
        writer.writerows(rows)
    parts = [row[3] for row in rows]
    print(f"{out}: {parts.count('train')} training and {parts.count('test')} "
          "test images")


def rows_of(path):
    with open(path, newline="") as file:
        return [dict(row, path=str(pathlib.Path(path).parent / row["path"]))
                for row in csv.DictReader(file)]


def judge(cells, model, octet):
    import numpy as np
    import onnxruntime
    import openvino
    from PIL import Image

    rows = [row for row in rows_of(cells) if row["split"] == "test"]
    labels = np.array([CLASSES.index(row["label"]) for row in rows])
    images = np.stack([np.asarray(Image.open(row["path"]).resize(
        (SIDE, SIDE), Image.Resampling.BILINEAR)) for row in rows])
    x = (images.astype(np.float32) / 255 - 0.498) / 0.502
    x = np.repeat(x[:, None], 3, axis=1)

    session = onnxruntime.InferenceSession(model)
    name = session.get_inputs()[0].name
    compiled = openvino.Core().compile_model(model, "CPU")
    answers = {"ONNX Runtime": [], "OpenVINO": []}
    for at in range(0, len(x), 16):
        batch = x[at:at + 16]
        answers["ONNX Runtime"].append(session.run(None, {name: batch})[0])
        answers["OpenVINO"].append(compiled(batch)[0])
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/x.npy", x)
        subprocess.run([octet, "predict", model, "--input", folder + "/x.npy",
                        "-o", folder + "/y.npy"], check=True,
                       stdout=subprocess.DEVNULL)
        answers["Octet"] = [np.load(folder + "/y.npy")]
    classes = {key: np.concatenate(value).argmax(axis=1)
               for key, value in answers.items()}
    agree = True
    for key, found in classes.items():
        agreement = (found == classes["Octet"]).mean()
        agree = agree and agreement >= 0.99
        print(f"{key:<13} accuracy {100 * (found == labels).mean():6.2f} %  "
              f"agreement with Octet {100 * agreement:6.2f} %")
    sure = np.array([float(row["probability"]) in (0, 1) for row in rows])
    found = classes["Octet"]
    print(f"cells with a sure label: "
          f"{100 * (found == labels)[sure].mean():.2f} % of {sure.sum()}")
    for kind in ("mono", "poly"):
        of_kind = np.array([row["kind"] == kind for row in rows])
        print(f"{kind}crystalline: {100 * (found == labels)[of_kind].mean():.2f} "
              f"% of {of_kind.sum()}")
    return 0 if agree else 1


def picture(cells, out):
    from PIL import Image

    side, gap, each = 112, 4, 3
    columns = ["0.00", "0.33", "0.67", "1.00"]
    chosen = {(p, kind): [] for kind in ("mono", "poly") for p in columns}
    for row in rows_of(cells):
        found = chosen[row["probability"], row["kind"]]
        if len(found) < each // 2 + 1:
            found.append(row["path"])
    canvas = Image.new("L", (8 * side + 9 * gap, 2 * side + 3 * gap), 255)
    for (p, kind), paths in chosen.items():
        for i, path in enumerate(paths[:2]):
            x = (2 * columns.index(p) + i) * (side + gap) + gap
            y = ["mono", "poly"].index(kind) * (side + gap) + gap
            canvas.paste(Image.open(path).resize((side, side)), (x, y))
    canvas.save(out)


if __name__ == "__main__":
    commands = {"table": table, "judge": judge, "picture": picture}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
