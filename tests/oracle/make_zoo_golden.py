#!/usr/bin/env python3
"""Writes the references of tests/layers/zoo_keras_test.cpp.

For each network of keras.applications in Octet, one file tests/golden/zoo/NAME.json:
a heading and then one layer per line, with its name, class, output shape (the
batch is null) and number of parameters. Weights are not included, so nothing is
downloaded.

    pip install keras==3.15.1 jax
    KERAS_BACKEND=jax python tests/oracle/make_zoo_golden.py tests/golden/zoo

The project's files come from Keras 3.15.1, without the last activation
(classifier_activation=None), since Octet's networks end in logits.
"""

import json
import pathlib
import sys

import keras

APPLICATIONS = {
    "resnet50": keras.applications.ResNet50,
    "resnet101": keras.applications.ResNet101,
    "resnet50_v2": keras.applications.ResNet50V2,
    "resnet101_v2": keras.applications.ResNet101V2,
    "mobilenet": keras.applications.MobileNet,
    "mobilenet_v2": keras.applications.MobileNetV2,
    "inception_v3": keras.applications.InceptionV3,
    "efficientnet_b0": keras.applications.EfficientNetB0,
    "efficientnet_b3": keras.applications.EfficientNetB3,
    "densenet121": keras.applications.DenseNet121,
}


def layer_record(layer):
    shape = layer.output.shape
    return {
        "name": layer.name,
        "class": type(layer).__name__,
        "output": list(shape),
        "parameters": layer.count_params(),
    }


def write(path, name, model):
    heading = {
        "origin": f"keras.applications.{name} of Keras {keras.__version__}, "
        "weights=None, classifier_activation=None",
        "parameters": model.count_params(),
        "trainable": sum(
            int(w.value.size) for w in model.trainable_weights
        ),
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(value)},"
        for key, value in heading.items()
    ]
    records = [json.dumps(layer_record(layer)) for layer in model.layers]
    path.write_text(
        "{" + "\n".join(lines) + '\n"layers": [\n'
        + ",\n".join(records) + "\n]}\n"
    )


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in APPLICATIONS.items():
        keras.backend.clear_session()  # restarts numbers in names at 0
        model = make(weights=None, classifier_activation=None)
        write(folder / f"{name}.json", make.__name__, model)
        print(name, model.count_params())
    return 0


if __name__ == "__main__":
    sys.exit(main())
