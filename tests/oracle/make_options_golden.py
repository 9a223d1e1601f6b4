#!/usr/bin/env python3
"""Writes tests/golden/options.json: layers as typed by users.

For developers, when an option is added; the test only reads the file. Needs the
packages of make_layer_golden.py:

    KERAS_BACKEND=jax venv/bin/python tests/oracle/make_options_golden.py

Each entry is a call in the style of Keras' documentation, with its output shape
and number of parameters for one input. tests/layers/options_test.cpp has the same
calls in C++.
"""

import json
import os
import pathlib

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
from keras import layers

TARGET = (pathlib.Path(__file__).resolve().parent.parent / "golden" /
          "options.json")

# Input shape -> calls. Height, width and channels differ.
CALLS = {
    (9, 14, 3): [
        'Conv2D(4, 3)',
        'Conv2D(4, (3, 5))',
        'Conv2D(filters=4, kernel_size=3)',
        'Conv2D(filters=4, kernel_size=(2, 5))',
        'Conv2D(4, 3, 2)',
        'Conv2D(4, 3, strides=2)',
        'Conv2D(4, 3, strides=(1, 3))',
        'Conv2D(4, 3, padding="same")',
        'Conv2D(4, 3, strides=2, padding="same")',
        'Conv2D(4, 3, padding="valid")',
        'Conv2D(4, 3, dilation_rate=2)',
        'Conv2D(4, 3, dilation_rate=(1, 3))',
        'Conv2D(6, 3, groups=3)',
        'Conv2D(4, 3, use_bias=False)',
        'Conv2D(4, 3, activation="relu")',
        'DepthwiseConv2D(3)',
        'DepthwiseConv2D((3, 5))',
        'DepthwiseConv2D(kernel_size=3, strides=2)',
        'DepthwiseConv2D(3, depth_multiplier=2, padding="same")',
        'DepthwiseConv2D(3, dilation_rate=2, use_bias=False)',
        'SeparableConv2D(4, 3)',
        'SeparableConv2D(4, (3, 5), strides=2)',
        'SeparableConv2D(4, 3, padding="same", depth_multiplier=2)',
        'SeparableConv2D(4, 3, dilation_rate=2)',
        'Conv2DTranspose(4, 3)',
        'Conv2DTranspose(4, (3, 5), strides=2)',
        'Conv2DTranspose(4, 3, strides=2, padding="same")',
        'Conv2DTranspose(4, 3, strides=(1, 3), padding="same")',
        'Conv2DTranspose(4, 3, dilation_rate=2)',
        'MaxPooling2D()',
        'MaxPooling2D(3)',
        'MaxPooling2D((2, 3))',
        'MaxPooling2D(pool_size=3, strides=2)',
        'MaxPooling2D(3, 2)',
        'MaxPooling2D(pool_size=(2, 3), strides=None)',
        'MaxPooling2D(pool_size=3, strides=1, padding="same")',
        'AveragePooling2D(3)',
        'AveragePooling2D((2, 3))',
        'AveragePooling2D(pool_size=3, strides=2)',
        'AveragePooling2D(3, (1, 2), padding="same")',
        'ZeroPadding2D()',
        'ZeroPadding2D(2)',
        'ZeroPadding2D(padding=(1, 2))',
        'ZeroPadding2D(padding=((1, 0), (2, 3)))',
        'Cropping2D(2)',
        'Cropping2D(cropping=(1, 2))',
        'Cropping2D(cropping=((1, 0), (2, 3)))',
        'UpSampling2D()',
        'UpSampling2D(3)',
        'UpSampling2D(size=(2, 3))',
        'UpSampling2D(size=2, interpolation="bilinear")',
        'GlobalAveragePooling2D()',
        'GlobalAveragePooling2D(keepdims=True)',
        'GlobalMaxPooling2D()',
        'GlobalMaxPooling2D(keepdims=True)',
        'Dense(5)',
        'Dense(units=5, activation="relu")',
        'Dense(5, use_bias=False)',
        'BatchNormalization()',
        'BatchNormalization(momentum=0.9, epsilon=1e-5)',
        'BatchNormalization(center=False)',
        'BatchNormalization(center=False, scale=False)',
        'LayerNormalization()',
        'LayerNormalization(center=False, scale=False)',
        'PReLU()',
        'PReLU(shared_axes=[1, 2])',
        'Flatten()',
        'Reshape((14, 27))',
        'Reshape(target_shape=(-1, 3))',
        'Permute((3, 1, 2))',
        'Permute(dims=(2, 1, 3))',
        'Activation("relu")',
        'ReLU()',
        'ReLU(max_value=6)',
        'ReLU(6.0)',
        'LeakyReLU()',
        'LeakyReLU(negative_slope=0.1)',
        'ELU(alpha=0.5)',
        'Softmax()',
        'Softmax(axis=1)',
        'Dropout(0.25)',
        'SpatialDropout2D(0.25)',
        'GaussianNoise(0.1)',
        'ActivityRegularization(l1=0.01)',
        'Rescaling(1 / 255.0)',
        'Rescaling(scale=2, offset=-1)',
        'Normalization(mean=0.5, variance=2.0)',
        'Normalization(axis=-1, mean=[1, 2, 3], variance=[1, 2, 3])',
        'Normalization(axis=None, mean=0.5, variance=2.0)',
    ],
    (14, 3): [
        'Conv1D(4, 3)',
        'Conv1D(4, 3, 2)',
        'Conv1D(filters=4, kernel_size=5, strides=2)',
        'Conv1D(4, 3, padding="same")',
        'Conv1D(4, 3, padding="causal", dilation_rate=2)',
        'Conv1D(4, 3, strides=2, padding="causal")',
        'Conv1D(6, 3, groups=3, use_bias=False)',
        'DepthwiseConv1D(3)',
        'DepthwiseConv1D(3, depth_multiplier=2, padding="same")',
        'SeparableConv1D(4, 3)',
        'SeparableConv1D(4, 3, strides=2, depth_multiplier=2)',
        'MaxPooling1D()',
        'MaxPooling1D(3, 2)',
        'MaxPooling1D(pool_size=3, strides=None)',
        'AveragePooling1D(3)',
        'AveragePooling1D(pool_size=3, strides=2, padding="same")',
        'GlobalAveragePooling1D()',
        'GlobalAveragePooling1D(keepdims=True)',
        'GlobalMaxPooling1D()',
        'ZeroPadding1D()',
        'ZeroPadding1D(2)',
        'ZeroPadding1D(padding=(1, 3))',
        'Cropping1D()',
        'Cropping1D(cropping=(0, 3))',
        'UpSampling1D()',
        'UpSampling1D(size=3)',
        'SpatialDropout1D(0.25)',
        'BatchNormalization()',
    ],
    (7,): [
        'Dense(5)',
        'BatchNormalization()',
        'Softmax()',
        'Reshape((7, 1, 1))',
        'Dropout(rate=0.5)',
    ],
}


def entry(call, shape):
    x = keras.Input(shape)
    layer = eval(call, {name: getattr(layers, name) for name in dir(layers)})
    return {"call": call, "input": list(shape),
            "output": list(layer(x).shape[1:]),
            "parameters": layer.count_params()}


def main():
    entries = [entry(call, shape)
               for shape, calls in CALLS.items() for call in calls]
    text = ",\n  ".join(json.dumps(e) for e in entries)
    TARGET.write_text("[\n  " + text + "\n]\n")
    print(f"{len(entries)} calls, Keras {keras.__version__}")


if __name__ == "__main__":
    main()
