"""Writes files of Keras 1, which does not run on current Python versions.

Format: keras/models.py, keras/engine/topology.py and keras/layers of Keras 1.2.2,
for models whose outputs Keras 3 computes. Kernels of channels-first models are
[o,c,kh,kw]; with Theano they are also flipped.
"""

import json

import h5py
import keras
import numpy as np

from keras_files import fill, numbers, write_outputs

layers = keras.layers


def twin(name):
    """The same model in Keras 3, channels last."""
    image = keras.Input((6, 5, 3), name="image")
    x = layers.Conv2D(4, (3, 2), padding="same", strides=(1, 2),
                      activation="relu", name="conv")(image)
    x = layers.BatchNormalization(epsilon=1e-5, name="bn")(x)
    a = layers.Conv2D(4, 1, use_bias=False, dilation_rate=2, name="atrous")(x)
    x = layers.Add(name="sum")([x, a])
    x = layers.Concatenate(name="both")([x, a])
    x = layers.ReLU(threshold=0.25, name="clip")(x)
    x = layers.MaxPooling2D((2, 1), name="pool")(x)
    x = layers.ZeroPadding2D(((1, 0), (0, 2)), name="pad")(x)
    # Keras 1 flattens in its own axis order.
    if name.startswith("k1_th"):
        x = layers.Permute((3, 1, 2))(x)
    x = layers.Flatten(name="flat")(x)
    x = layers.Dropout(0.25, name="drop")(x)
    x = layers.Dense(5, name="dense")(x)
    # clip(0.2 x + 0.5, 0, 1), the hard_sigmoid of Keras 1.
    x = layers.Rescaling(0.2, 0.5)(x)
    x = layers.ReLU(max_value=1.0)(x)
    return keras.Model(image, x, name=name)


def config(name, ordering):
    shape = [None, 6, 5, 3] if ordering == "tf" else [None, 3, 6, 5]
    conv = {"trainable": True, "init": "glorot_uniform", "border_mode": "same",
            "dim_ordering": ordering, "W_regularizer": None,
            "b_regularizer": None, "activity_regularizer": None,
            "W_constraint": None, "b_constraint": None}

    def node(*names):
        return [[[name, 0, 0] for name in names]] if names else []

    def layer(class_name, layer_name, inbound, **options):
        return {"class_name": class_name, "name": layer_name,
                "config": {"name": layer_name, **options},
                "inbound_nodes": node(*inbound)}

    return {"class_name": "Model", "config": {
        "name": name,
        "layers": [
            layer("InputLayer", "image", [], batch_input_shape=shape,
                  input_dtype="float32", sparse=False),
            layer("Convolution2D", "conv", ["image"],
                  **{**conv, "nb_filter": 4, "nb_row": 3, "nb_col": 2,
                     "subsample": [1, 2], "activation": "relu", "bias": True}),
            layer("BatchNormalization", "bn", ["conv"], trainable=True,
                  epsilon=1e-5, mode=0, momentum=0.99,
                  axis=-1 if ordering == "tf" else 1,
                  gamma_regularizer=None, beta_regularizer=None),
            layer("AtrousConvolution2D", "atrous", ["bn"],
                  **{**conv, "nb_filter": 4, "nb_row": 1, "nb_col": 1,
                     "atrous_rate": [2, 2], "subsample": [1, 1],
                     "activation": "linear", "bias": False}),
            layer("Merge", "sum", ["bn", "atrous"], mode="sum",
                  mode_type="raw", concat_axis=-1, dot_axes=-1,
                  output_shape=None, output_shape_type="raw", layers=[]),
            layer("Merge", "both", ["sum", "atrous"], mode="concat",
                  mode_type="raw", concat_axis=-1 if ordering == "tf" else 1,
                  dot_axes=-1, output_shape=None, output_shape_type="raw"),
            layer("ThresholdedReLU", "clip", ["both"], trainable=True,
                  theta=0.25),
            layer("MaxPooling2D", "pool", ["clip"], trainable=True,
                  pool_size=[2, 1], strides=[2, 1], border_mode="valid",
                  dim_ordering=ordering),
            layer("ZeroPadding2D", "pad", ["pool"], trainable=True,
                  padding=[1, 0, 0, 2], dim_ordering=ordering),
            layer("Flatten", "flat", ["pad"], trainable=True),
            layer("Dropout", "drop", ["flat"], trainable=True, p=0.25),
            layer("Dense", "dense", ["drop"], trainable=True, output_dim=5,
                  init="glorot_uniform", activation="hard_sigmoid", bias=True,
                  input_dim=None),
        ],
        "input_layers": [["image", 0, 0]],
        "output_layers": [["dense", 0, 0]],
    }}


def stored(layer, ordering, theano):
    """Returns (name, value) of each weight in the form of Keras 1."""
    names = {"kernel": "W", "bias": "b", "moving_mean": "running_mean",
             "moving_variance": "running_std"}
    for weight in layer.weights:
        value = np.array(weight)
        name = weight.name.split("/")[-1]
        if value.ndim == 4 and theano:
            value = value[::-1, ::-1]
        if value.ndim == 4 and ordering == "th":
            value = value.transpose(3, 2, 0, 1)
        yield f"{layer.name}_{names.get(name, name)}", value


def write_file(path, name, model, ordering, theano):
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = b"1.2.2"
        file.attrs["model_config"] = json.dumps(
            config(name, ordering)).encode("utf8")
        group = file.create_group("model_weights")
        order = [entry["name"] for entry in config(name, ordering)["config"][
            "layers"]]
        group.attrs["layer_names"] = [entry.encode("utf8") for entry in order]
        for entry in order:
            inner = group.create_group(entry)
            try:
                weights = list(stored(model.get_layer(entry), ordering, theano))
            except ValueError:  # Keras 3 replaces this layer
                weights = []
            inner.attrs["weight_names"] = [
                weight.encode("utf8") for weight, _ in weights]
            for weight, value in weights:
                inner[weight] = value


def write(folder, origin):
    for name, ordering, theano in (("k1_tf", "tf", False),
                                   ("k1_th", "th", False),
                                   ("k1_th_theano", "th", True)):
        model = twin(name)
        fill(model)
        write_file(folder / f"{name}.h5", name, model, ordering, theano)
        x = numbers(f"{name} input", (2, 6, 5, 3))
        write_outputs(folder / f"{name}.json",
                      f"{origin}, in the form of Keras 1.2.2", [x],
                      [model.predict(x, verbose=0)])
