#!/usr/bin/env python3
"""Writes tests/golden/keras/toolkit_*: models as quantized by NVIDIA's
tensorflow-quantization, with ranges and outputs.

For developers; tests only read the files:

    python3 -m venv v2 && v2/bin/pip install tensorflow-cpu==2.15.1 "numpy<2" h5py
    v2/bin/python tests/oracle/make_toolkit_golden.py

The toolkit itself needs TensorFlow 2.8, which current Python versions do not run.
Its wrappers are reimplemented here with the names, order and values of their
variables. Source: quantize_wrapper_base.py, quantize_wrappers.py and
quantizers.py of tensorflow-quantization 0.2.0.
"""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from keras_files import fill, numbers, write_outputs

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "keras"
layers = tf.keras.layers


class Untracked:
    """Holds variables without tracking by Keras, to avoid counting them twice.
    """


class QuantizeWrapper(layers.Wrapper):
    """Wraps a built layer. `kernel` is the attribute to quantize, or None;
    `inputs` are the indices to quantize, None for a layer with one quantized
    input."""

    def __init__(self, layer, kernel=None, inputs=None, **kwargs):
        super().__init__(layer, name=f"quant_{layer.name}", **kwargs)
        self.kernel, self.indices = kernel, inputs
        self.held = Untracked()
        self.channels = 2 if kernel == "depthwise_kernel" else -1

    def range(self, name, shape=None):
        return [
            self.layer.add_weight(f"{name}_{end}", shape=shape, trainable=False,
                                  initializer=tf.constant_initializer(value))
            for end, value in (("min", -6.0), ("max", 6.0))]

    def build(self, input_shape):
        super().build(input_shape)
        self.optimizer_step = self.add_weight(
            "optimizer_step", dtype=tf.int32, trainable=False,
            initializer=tf.constant_initializer(-1))
        if self.kernel:
            self.held.variable = getattr(self.layer, self.kernel)
            self.held.kernel_range = self.range(
                self.held.variable.name.split(":")[0],
                (self.held.variable.shape[self.channels],))
            # The variable that call() replaces by a tensor.
            self._trainable_weights.append(self.held.variable)
        if self.indices is None:
            self.held.input_ranges = {0: self.range(f"{self.layer.name}_ip")}
        else:
            self.held.input_ranges = {
                index: self.range(f"{self.layer.name}_ip{k}")
                for k, index in enumerate(self.indices)}

    def quantized(self, x, limits, training, axis=None):
        if training:
            others = (None if axis is None else
                      [i for i in range(len(x.shape)) if i != axis % len(x.shape)])
            size = tf.reduce_max(tf.abs(x), axis=others)
            limits[0].assign(-size)
            limits[1].assign(size)
        return tf.quantization.quantize_and_dequantize_v2(
            x, limits[0], limits[1], num_bits=8, narrow_range=True, axis=axis,
            range_given=True)

    def call(self, inputs, training=None):
        if self.kernel:
            axis = self.channels % len(self.held.variable.shape)
            setattr(self.layer, self.kernel, self.quantized(
                self.held.variable, self.held.kernel_range, training, axis))
        several = isinstance(inputs, (list, tuple))
        values = list(inputs) if several else [inputs]
        for index, limits in self.held.input_ranges.items():
            values[index] = self.quantized(values[index], limits, training)
        return self.layer.call(values if several else values[0])

    def get_config(self):
        return {**super().get_config(), "quantize_config": None}

    @property
    def trainable_weights(self):
        return self.layer.trainable_weights + self._trainable_weights

    @property
    def non_trainable_weights(self):
        return self.layer.non_trainable_weights + self._non_trainable_weights


KERNELS = {"Conv2D": "kernel", "Dense": "kernel",
           "DepthwiseConv2D": "depthwise_kernel"}


def quantize(model, inputs_of):
    """`inputs_of` maps the layers to quantize to None or indices of inputs."""
    def wrap(layer):
        if layer.name not in inputs_of:
            return layer
        kind = layer.__class__.__name__
        wrapper = type(f"{kind}QuantizeWrapper", (QuantizeWrapper,), {})
        return wrapper(layer, KERNELS.get(kind), inputs_of[layer.name])
    return tf.keras.models.clone_model(model, clone_function=wrap)


def train_ranges(model, x, share):
    """Sets ranges as after one step, and weights slightly larger or smaller
    than then."""
    model(x, training=True)
    for i, variable in enumerate(model.trainable_weights):
        variable.assign(variable * (share if i % 2 else 1 / share))


def save(model, name, x):
    model.save(GOLDEN / f"{name}.h5", save_format="h5", include_optimizer=False)
    model.save_weights(GOLDEN / f"{name}.legacy_weights.h5", save_format="h5")
    if name == "toolkit_residual":
        GOLDEN.joinpath(f"{name}.architecture.json").write_text(
            model.to_json())
    y = model.predict(x, verbose=0)
    write_outputs(GOLDEN / f"{name}.json",
                  f"TensorFlow {tf.__version__}, wrapped as by "
                  "tensorflow-quantization 0.2.0", [x], [y])


def residual():
    """Every class of wrapper, and an Add with one quantized input."""
    x = i = layers.Input((7, 6, 3), name="image")
    x = layers.Conv2D(4, 3, padding="same", use_bias=False, name="conv")(x)
    x = layers.BatchNormalization(name="bn")(x)
    x = shortcut = layers.Activation("relu", name="relu")(x)
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2,
                               name="depthwise")(x)
    x = layers.Conv2D(4, 1, name="project")(x)
    x = layers.BatchNormalization(name="project_bn")(x)
    x = layers.Add(name="add")([x, shortcut])
    x = layers.BatchNormalization(name="preact")(x)
    x = layers.MaxPooling2D(2, padding="same", name="max_pool")(x)
    y = layers.AveragePooling2D(2, padding="same", name="average_pool")(x)
    z = layers.MaxPooling2D(2, padding="same", name="left_alone")(x)
    x = layers.Concatenate(name="concatenate")([y, z])
    g = layers.GlobalAveragePooling2D(name="gate_pool", keepdims=True)(x)
    g = layers.Conv2D(8, 1, activation="sigmoid", name="gate")(g)
    x = layers.Multiply(name="multiply")([x, g])
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(5, name="logits")(x)
    model = tf.keras.Model(i, x, name="residual")
    quantized = {name: None for name in
                 ("conv", "depthwise", "project", "preact", "max_pool",
                  "average_pool", "gate_pool", "gate", "logits")}
    return model, quantized | {
        "add": [1], "concatenate": [0, 1], "multiply": [0, 1]}


def sequence():
    model = tf.keras.Sequential([
        layers.Reshape((6, 5, 1), input_shape=(6, 5), name="reshape"),
        layers.Conv2D(3, 3, activation="relu", name="conv"),
        layers.Flatten(name="flatten"),
        layers.Dense(4, name="dense")], name="sequence")
    return model, {"conv": None, "dense": None}


if __name__ == "__main__":
    for make in (residual, sequence):
        model, sites = make()
        fill(model)
        name = f"toolkit_{make.__name__}"
        x = numbers(f"{name} input", (3, *model.input_shape[1:]))
        wrapped = quantize(model, sites)
        train_ranges(wrapped, x, 1.03)
        save(wrapped, name, x)
