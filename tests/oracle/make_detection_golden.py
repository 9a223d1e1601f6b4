#!/usr/bin/env python3
"""Writes tests/golden/detection.json: random boxes and the scores that
pycocotools (pip) computes for them.

    make_detection_golden.py tests/golden/detection.json
"""

import contextlib
import io
import json
import random
import sys

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

CLASSES = 4


def rounded(values):
    return [round(v, 2) for v in values]


def box(rng):
    w, h = rng.uniform(4, 60), rng.uniform(4, 60)
    return rounded([rng.uniform(0, 100 - w / 2), rng.uniform(0, 80 - h / 2), w, h])


def moved(rng, b, by):
    return [v + rng.gauss(0, by * s) for v, s in zip(b, (b[2], b[3], b[2] / 2, b[3] / 2))]


def case(seed, images, by, crowds):
    """Objects, and detections near them, elsewhere, and twice."""
    rng = random.Random(seed)
    objects, detections = [], []
    for image in range(images):
        for _ in range(rng.choice((0, 1, 3, 8, 40))):
            b, label = box(rng), rng.randrange(CLASSES - 1)
            objects.append({"image": image, "label": label, "box": b,
                            "crowd": rng.random() < crowds})
            for _ in range(rng.choice((0, 1, 1, 2, 4))):
                other = rng.randrange(CLASSES) if rng.random() < 0.1 else label
                near = moved(rng, b, by)
                near = rounded(near[:2] + [max(v, 1) for v in near[2:]])
                score = round(rng.random(), rng.choice((1, 6)))  # with ties
                detections.append({"image": image, "label": other, "box": near,
                                   "score": score})
        for _ in range(rng.choice((0, 0, 2))):
            detections.append({"image": image, "label": rng.randrange(CLASSES),
                               "box": box(rng), "score": round(rng.random() / 2, 6)})
    return {"images": images, "objects": objects, "detections": detections}


def exact_case():
    """Overlaps of exactly 0.85 and 0.9, and recalls of k / 100: equal to the
    thresholds, which numpy.linspace() rounds."""
    objects = [{"image": 0, "label": k // 100, "box": [k, 0, 1, 20],
                "crowd": False} for k in range(200)]
    detections = [{"image": 0, "label": o["label"],
                   "box": o["box"][:3] + [17 if k % 2 else 18],
                   "score": round(1 - k / 400, 6)}
                  for k, o in enumerate(objects) if k % 3]
    return {"images": 1, "objects": objects, "detections": detections}


def scores(c):
    coco = COCO()
    coco.dataset = {
        "images": [{"id": i + 1} for i in range(c["images"])],
        "categories": [{"id": k} for k in range(CLASSES)],
        "annotations": [{"id": i + 1, "image_id": o["image"] + 1,
                         "category_id": o["label"], "bbox": o["box"],
                         "area": o["box"][2] * o["box"][3],
                         "iscrowd": int(o["crowd"])}
                        for i, o in enumerate(c["objects"])]}
    coco.createIndex()
    found = coco.loadRes([{"image_id": d["image"] + 1, "category_id": d["label"],
                           "bbox": d["box"], "score": d["score"]}
                          for d in c["detections"]])
    e = COCOeval(coco, found, "bbox")
    e.evaluate()
    e.accumulate()
    e.summarize()
    precision = e.eval["precision"][:, :, :, 0, -1]  # [overlap, recall, class]
    per_class = [np.where(precision[:, :, k] > -1, precision[:, :, k], np.nan)
                 for k in range(CLASSES)]
    mean = lambda v: None if np.isnan(v).all() else float(np.mean(v))
    return {"average": float(e.stats[0]), "at_50": float(e.stats[1]),
            "at_75": float(e.stats[2]), "recall": float(e.stats[8]),
            "classes": [{"average": mean(p), "at_50": mean(p[0]),
                         "at_75": mean(p[5])} for p in per_class]}


def main():
    cases = [case(1, 1, 0.05, 0), case(2, 6, 0.1, 0), case(3, 12, 0.2, 0.2),
             case(4, 30, 0.15, 0.05), case(5, 4, 0.02, 0.5),
             exact_case()]
    for c in cases:
        with contextlib.redirect_stdout(io.StringIO()):
            c["expected"] = scores(c)
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump({"classes": CLASSES, "cases": cases}, file,
                  separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
