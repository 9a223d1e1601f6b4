"""Writes tests/golden/resize.json: images resized by Pillow and ONNX Runtime.

References: Pillow 13 for "antialias" and "bicubic", with the geometry of
torchvision's Resize and CenterCrop; ONNX Runtime's Resize (half_pixel), whose
formulas are those of tf.image.resize, for "bilinear" and "keras-bicubic"; the
geometry of Ultralytics for the letterbox. The image is a formula, repeated in the
test.

Needs numpy, pillow, onnx and onnxruntime:
    python tests/oracle/make_resize_golden.py tests/golden/resize.json
"""
import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from PIL import Image


def image(h, w, c):
    y, x, k = np.meshgrid(np.arange(h), np.arange(w), np.arange(c),
                          indexing="ij")
    return ((37 * x + 101 * y + 59 * k + 13 * x * y) % 256).astype(np.uint8)


def pillow(x, h, w, filter):
    return np.asarray(Image.fromarray(x).resize((w, h), filter))


def runtime(x, h, w, **attributes):
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"],
                            coordinate_transformation_mode="half_pixel",
                            **attributes)
    graph = helper.make_graph(
        [node], "resize",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, None, None, None])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("sizes", TensorProto.INT64, [4], [1, x.shape[2], h, w])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                              ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    batch = x.transpose(2, 0, 1)[None].astype(np.float32)
    return session.run(None, {"x": batch})[0][0].transpose(1, 2, 0)


def bilinear(x, h, w):
    return runtime(x, h, w, mode="linear")


def keras_bicubic(x, h, w):
    y = runtime(x, h, w, mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1)
    return np.clip(y, 0, 255)


def antialias(x, h, w):
    return pillow(x, h, w, Image.Resampling.BILINEAR)


def bicubic(x, h, w):
    return pillow(x, h, w, Image.Resampling.BICUBIC)


def nearest(x, h, w):
    return pillow(x, h, w, Image.Resampling.NEAREST)


def center_crop(resize, x, shorter, size):
    h, w = x.shape[:2]
    if w <= h:
        new = int(shorter * h / w), shorter
    else:
        new = shorter, int(shorter * w / h)
    y = resize(x, *new)
    top = int(round((new[0] - size[0]) / 2.0))
    left = int(round((new[1] - size[1]) / 2.0))
    return y[top:top + size[0], left:left + size[1]]


def letterbox(resize, x, size, value):
    h, w = x.shape[:2]
    r = min(size[0] / h, size[1] / w)
    new = round(h * r), round(w * r)
    top = round((size[0] - new[0]) / 2 - 0.1)
    left = round((size[1] - new[1]) / 2 - 0.1)
    y = np.full((*size, x.shape[2]), value, np.float32)
    y[top:top + new[0], left:left + new[1]] = resize(x, *new)
    return y


def main():
    cases = []

    def add(mode, x, y):
        cases.append({"mode": mode, "image": list(x.shape),
                      "size": list(y.shape[:2]),
                      "values": [round(float(v), 4) for v in y.ravel()]})

    filters = {"bilinear": bilinear, "antialias": antialias,
               "bicubic": bicubic, "keras-bicubic": keras_bicubic,
               "nearest": nearest}
    for name, resize in filters.items():
        for shape, size in [((7, 11, 3), (3, 4)), ((5, 4, 1), (9, 6)),
                            ((23, 17, 1), (4, 5))]:
            # New centers on the edge of two pixels: libraries round
            # differently.
            if name == "nearest" and size == (9, 6):
                continue
            x = image(*shape)
            channels = x if shape[2] == 3 else x[:, :, 0]
            y = (resize(x, *size) if name in ("bilinear", "keras-bicubic")
                 else resize(channels, *size).reshape(*size, shape[2]))
            add(name, x, y)
    for shape in [(13, 20, 3), (20, 13, 3), (16, 15, 3)]:
        x = image(*shape)
        for size, shorter in [((6, 6), 7), ((6, 6), 8), ((5, 5), 5)]:
            add(f"antialias crop {shorter}", x,
                center_crop(antialias, x, shorter, size))
        # timm: shorter side floor(size / crop_pct).
        add("bicubic crop 0.875", x, center_crop(bicubic, x, 8, (7, 7)))
        add("bilinear pad 114", x, letterbox(bilinear, x, (8, 9), 114))
    with open(sys.argv[1], "w") as file:
        json.dump({"cases": cases}, file, separators=(",", ":"))
        file.write("\n")


main()
