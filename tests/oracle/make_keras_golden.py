#!/usr/bin/env python3
"""Writes tests/golden/keras: Keras files with the outputs of their models.

For developers; tests only read the files. Each version writes its own:

    python3 -m venv v3 && v3/bin/pip install keras==3.15.1 jax==0.10.2 h5py
    KERAS_BACKEND=jax v3/bin/python tests/oracle/make_keras_golden.py

and the same with keras==3.0.5 "jax<0.5" h5py, and with tensorflow-cpu==2.15.1
"numpy<2", which contains Keras 2. The first also writes files of Keras 1, in the
form of its source (keras_1_files.py), for models that Keras 3 computes.
"""

import os
import pathlib
import shutil
import zipfile

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import keras_files
from keras_files import fill, flat, numbers, write_outputs

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "keras"
VERSION = keras.__version__
layers = keras.layers


def origin():
    return f"Keras {VERSION}"


def computed(model, inputs):
    feed = inputs[0] if len(inputs) == 1 else inputs
    outputs = model.predict(feed, verbose=0)
    return flat(outputs)


def values_for(name, x, samples):
    """Returns numbers; indices below 10, padded with 0 at both ends and inside,
    for an input of integers; steps of 0 for one named "padded"."""
    shape = (samples, *x.shape[1:])
    value = numbers(name, shape)
    if "int" in str(x.dtype):
        value = np.abs(np.round(value * 5)).astype(np.int32) % 9 + 1
        value[0, -2:], value[1, 0], value[1, 2] = 0, 0, 0
    if x.name.startswith("padded"):
        value[0, -2:], value[1, 0] = 0, 0
    return value


def record(name, model, samples=2):
    """Records the outputs for some inputs. Images are [n,h,w,c], sequences
    [n,l,c]."""
    first = keras.config.image_data_format() if VERSION[0] == "3" else ""
    inputs = [values_for(f"{name} input {i}", x, samples)
              for i, x in enumerate(model.inputs)]
    outputs = computed(model, inputs)
    if first == "channels_first":
        def nhwc(a):
            axes = {3: (0, 2, 1), 4: (0, 2, 3, 1)}.get(a.ndim)
            return a if axes is None else a.transpose(axes)
        inputs, outputs = [[nhwc(np.asarray(a)) for a in group]
                           for group in (inputs, outputs)]
    write_outputs(GOLDEN / f"{name}.json", origin(), inputs, outputs)


def save(model, name, suffixes):
    for suffix in suffixes:
        path = GOLDEN / (name + suffix)
        if suffix == ".weights.h5":
            model.save_weights(path)
        elif suffix == ".architecture.json":
            path.write_text(model.to_json())
        elif suffix == ".legacy_weights.h5":
            save_legacy_weights(model, path)
        elif suffix == ".deflated.keras":
            path = GOLDEN / (name + ".keras")
            model.save(path)
            deflate(path)
        else:
            model.save(path)


def save_legacy_weights(model, path):
    if VERSION[0] == "2":
        model.save_weights(path, save_format="h5")
        return
    import h5py
    from keras.src.legacy.saving import legacy_h5_format
    with h5py.File(path, "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, model)


def deflate(path):
    """Compresses the members of an archive, which Keras only stores."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, contents in members.items():
            new.writestr(name, contents)


# --- models ------------------------------------------------------------------

def encoder(name="encoder", shape=(6, 5, 3)):
    x = image = keras.Input(shape, name="image")
    x = layers.Conv2D(4, 3, name="conv1")(x)
    x = layers.BatchNormalization(name="bn1")(x)
    x = layers.Conv2D(4, 3, padding="same", strides=2, name="conv2")(x)
    return keras.Model(image, x, name=name)


def functional(outputs_as_dict):
    """Nested models called twice, one inside another, a shared layer, tensor
    arithmetic, layers as activations, attention, several inputs and outputs."""
    inner = encoder()
    middle_input = keras.Input((6, 5, 3), name="picture")
    middle = keras.Model(
        middle_input,
        layers.Activation("relu", name="act")(inner(middle_input)),
        name="middle")
    a = keras.Input((6, 5, 3), name="a")
    b = keras.Input((6, 5, 3), name="b")
    x, y = middle(a), middle(b)
    shared = layers.Conv2D(4, 1, activation=layers.LeakyReLU(0.125),
                           name="shared")
    z = layers.Add(name="sum")([shared(x), shared(y)])
    w = (x * 2.0 + y) / 4.0 - 0.5
    w = 1.0 - w
    z = layers.Concatenate(name="both")([z, w])
    head = keras.Sequential(
        [keras.Input((2, 2, 8)), layers.Flatten(), layers.Dropout(0.5),
         layers.Dense(6, activation="tanh", name="dense_in_head")],
        name="head")
    z = head(z)
    t = layers.Reshape((3, 2), name="tokens")(z)
    t = layers.Dense(8, activation="hard_sigmoid", name="wide")(t)
    t = layers.MultiHeadAttention(2, 3, value_dim=5, dropout=0.1,
                                  name="attention")(t, t)
    t = layers.LayerNormalization(name="norm")(t)
    z = layers.Dense(3, activation="softmax", name="scores")(z)
    ends = {"z": z, "t": t} if outputs_as_dict else [t, z]
    return keras.Model([a, b], ends, name="outer")


def sequence():
    """A chain of layers with all kinds of weights and constants."""
    return keras.Sequential([
        keras.Input((8, 6, 3)),
        layers.Rescaling([0.5, 0.25, 1.0], offset=-0.125),
        layers.Normalization(mean=[0.1, -0.2, 0.3], variance=[1.0, 4.0, 0.5]),
        layers.Normalization(axis=-1, name="learned"),
        layers.Conv2D(6, 3, groups=3, padding="same", activation="relu6"),
        layers.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False),
        layers.BatchNormalization(scale=False, epsilon=1e-4),
        layers.PReLU(shared_axes=[1, 2]),
        layers.SeparableConv2D(5, 2, activation="elu"),
        layers.Conv2DTranspose(4, 3, strides=2, padding="same"),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Cropping2D(((1, 2), (0, 3))),
        layers.ZeroPadding2D((1, 0)),
        layers.AveragePooling2D(3, strides=2, padding="same"),
        layers.SpatialDropout2D(0.25),
        layers.Permute((2, 1, 3)),
        layers.GlobalMaxPooling2D(keepdims=True),
        layers.Flatten(),
        layers.Dense(4),
        layers.Softmax(),
    ], name="sequence")


def branches():
    """Layers of equal shape on branches of different lengths: a file has Keras'
    order, not the order of creation."""
    x = stem = keras.Input((6, 6, 2), name="x")
    for name in ("s1", "s2"):
        x = layers.Conv2D(2, 1, name=f"{name}_shortcut")(stem)
        y = layers.Conv2D(2, 3, padding="same", name=f"{name}_first")(stem)
        y = layers.Conv2D(2, 1, name=f"{name}_second")(y)
        stem = layers.Add(name=f"{name}_add")([x, y])
    return keras.Model(keras.utils.get_source_inputs(stem), stem,
                       name="branches")


def signal():
    """Layers on sequences: a residual, all kinds of padding, a gate."""
    x = trace = keras.Input((23, 3), name="trace")
    x = layers.Rescaling([0.5, 0.25, 1.0], offset=-0.125, name="scale")(x)
    x = layers.Conv1D(6, 5, strides=2, padding="same", activation="relu",
                      name="stem")(x)
    x = layers.ZeroPadding1D((2, 0), name="pad")(x)
    x = layers.DepthwiseConv1D(3, depth_multiplier=2, use_bias=False,
                               name="depthwise")(x)
    x = layers.BatchNormalization(name="bn")(x)
    x = y = layers.PReLU(shared_axes=[1], name="act")(x)
    for i, rate in enumerate((1, 2, 4)):
        y = layers.Conv1D(12, 3, padding="causal", dilation_rate=rate,
                          groups=3 if rate == 2 else 1,
                          activation="tanh", name=f"causal{i}")(y)
        y = layers.SpatialDropout1D(0.25, name=f"drop{i}")(y)
    gate = layers.GlobalAveragePooling1D(keepdims=True, name="gap")(y)
    gate = layers.Dense(12, activation="sigmoid", name="gate")(gate)
    x = layers.Add(name="sum")([x, layers.Multiply(name="gated")([y, gate])])
    p = layers.MaxPooling1D(3, strides=2, padding="same", name="pool")(x)
    q = layers.AveragePooling1D(3, strides=2, padding="same", name="mean")(x)
    x = layers.Concatenate(name="both")([p, q])
    x = layers.SeparableConv1D(5, 3, activation="elu", name="separable")(x)
    x = layers.LayerNormalization(name="ln")(x)
    x = layers.Cropping1D((1, 0), name="crop")(x)
    x = layers.UpSampling1D(2, name="up")(x)
    steps = layers.Dense(2, activation="softmax", name="steps")(x)
    most = layers.GlobalMaxPooling1D(name="most")(x)
    flat = layers.Dense(4, name="scores")(layers.Flatten(name="flat")(x))
    return keras.Model(trace, [steps, most, flat], name="signal")


def recurrent():
    """All recurrent layers, in both directions and all merges."""
    x = keras.Input((9, 5), name="x")
    memory = layers.LSTM(4, return_sequences=True, name="memory")
    y = layers.Bidirectional(memory, name="both")(x)
    y = layers.GRU(3, return_sequences=True, name="gate")(y)
    y = layers.TimeDistributed(layers.Dense(4, activation="relu"),
                               name="each")(y)
    sums = layers.Bidirectional(
        layers.GRU(2, reset_after=False, return_sequences=True),
        merge_mode="sum", name="sum")(y)
    mean = layers.Bidirectional(layers.GRU(3), merge_mode="ave",
                                name="mean")(sums)
    product = layers.Bidirectional(
        layers.SimpleRNN(3, activation="linear"), merge_mode="mul",
        name="product")(y)
    back = layers.LSTM(2, go_backwards=True, return_sequences=True,
                       unit_forget_bias=False, name="back")(y)
    hard = layers.LSTM(3, recurrent_activation="hard_sigmoid", use_bias=False,
                       dropout=0.1, name="hard")(back)
    last = layers.Concatenate(name="all")([mean, product, hard])
    return keras.Model(x, [layers.Dense(4, name="scores")(last), back],
                       name="recurrent")


def masked():
    """Masks from indices through layers, a merge and attention, one that an
    operator loses, and states between recurrent layers."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    other = keras.Input((6,), dtype="int32", name="other")
    words = layers.Embedding(10, 4, mask_zero=True, name="words")
    x = words(ids)
    memory = words(other)
    d = layers.Dense(4, activation="relu", name="dense")(x)
    a = layers.MultiHeadAttention(2, 3, name="self")(
        d, d, use_causal_mask=True)
    s = layers.Add(name="sum")([d, a])
    s = layers.Dropout(0.1, name="drop")(s)
    n = layers.LayerNormalization(name="norm")(s)
    c = layers.MultiHeadAttention(2, 2, name="cross")(n, memory)
    both = layers.Bidirectional(layers.LSTM(3, return_sequences=True),
                                name="both")(c)
    last = layers.GRU(3, name="last")(both)
    mean = layers.GlobalAveragePooling1D(name="mean")(n)
    lost = layers.GlobalAveragePooling1D(name="lost")(n + x)
    y, h, cell = layers.LSTM(4, return_sequences=True, return_state=True,
                             name="encoder")(x)
    z = layers.LSTM(4, return_sequences=True, name="decoder")(
        memory, initial_state=[h, cell])
    out, state = layers.GRU(2, return_state=True, name="gate")(y)
    step = layers.TimeDistributed(layers.Dense(3), name="each")(z)
    rnn = layers.SimpleRNN(3, activation="relu", go_backwards=True,
                           name="back")(step)
    return keras.Model([ids, other],
                       [last, mean, lost, out, state, rnn, both],
                       name="masked")


def masked_operations():
    """Masks in operations of the file, and merges of equal masks."""
    padded = keras.Input((6, 3), name="padded")
    x = layers.Masking(name="masking")(padded)
    x = layers.SimpleRNN(4, return_sequences=True, name="memory")(x)
    a = layers.MultiHeadAttention(2, 3, name="self")(x, x)
    gated = layers.Multiply(name="gated")(
        [a, layers.Dense(4, activation="sigmoid", name="gate")(a)])
    last = layers.LSTM(3, name="last")(gated)
    top = layers.Maximum(name="top")([gated, a])
    mean = layers.GlobalAveragePooling1D(name="mean")(top)
    return keras.Model(padded, [last, mean], name="masked_operations")


def masked_chain():
    """Masks that no call of the file names."""
    return keras.Sequential([
        keras.Input((7, 3), name="padded"),
        layers.Masking(name="masking"),
        layers.Dense(5, name="wide"),
        layers.BatchNormalization(name="norm"),
        layers.Bidirectional(layers.GRU(4, return_sequences=True),
                             name="both"),
        layers.LSTM(3, return_sequences=True, name="memory"),
        layers.GlobalAveragePooling1D(name="mean"),
    ], name="masked_chain")


def signal_channels_first():
    trace = keras.Input((3, 14), name="trace")
    x = layers.Normalization(axis=1, mean=[0.1, -0.2, 0.3],
                             variance=[1.0, 4.0, 0.5], name="given")(trace)
    x = layers.BatchNormalization(axis=1, name="bn0")(x)
    x = layers.Conv1D(4, 3, padding="same", strides=2, name="conv")(x)
    x = layers.BatchNormalization(axis=1, name="bn")(x)
    x = layers.PReLU(name="each")(x)
    x = layers.PReLU(shared_axes=[2], name="by_channel")(x)
    p = layers.MaxPooling1D(2, name="pool")(x)
    q = layers.AveragePooling1D(2, name="mean")(x)
    x = layers.Concatenate(axis=1, name="both")([p, q])
    x = layers.ZeroPadding1D((0, 2), name="pad")(x)
    x = layers.DepthwiseConv1D(2, name="depthwise")(x)
    x = layers.SeparableConv1D(6, 2, name="separable")(x)
    soft = layers.Softmax(axis=1, name="soft")(x)
    rows = layers.Flatten(data_format="channels_last", name="rows")(x)
    rows = layers.Dense(4, name="row_dense")(rows)
    pixels = layers.Dense(3, name="pixel_dense")(
        layers.Flatten(name="pixels")(x))
    mean = layers.GlobalAveragePooling1D(name="gap")(x)
    kept = layers.GlobalMaxPooling1D(keepdims=True, name="gmp")(x)
    gated = layers.Multiply(name="gated")([soft, kept])
    x = layers.LayerNormalization(axis=1, name="ln")(x)
    # Not over the channels, which are first.
    wide = layers.Dense(2, name="wide")(x)
    wide = layers.Flatten(data_format="channels_last", name="wide_flat")(wide)
    flat = layers.Flatten(data_format="channels_last", name="flat")(gated)
    return keras.Model(trace, [rows, pixels, mean, wide, flat, gated],
                       name="signal_channels_first")


def channels_first():
    image = keras.Input((3, 8, 6), name="image")
    x = layers.Normalization(axis=1, mean=[0.1, -0.2, 0.3],
                             variance=[1.0, 4.0, 0.5], name="given")(image)
    x = layers.Normalization(axis=1, name="learned")(x)
    x = layers.BatchNormalization(axis=1, name="bn0")(x)
    x = layers.Conv2D(4, 3, padding="same", strides=(1, 2), name="conv")(x)
    x = layers.BatchNormalization(axis=1, name="bn")(x)
    x = layers.PReLU(name="each")(x)
    x = layers.PReLU(shared_axes=[2, 3], name="by_channel")(x)
    p = layers.MaxPooling2D(2, name="pool")(x)
    q = layers.AveragePooling2D(2, name="mean")(x)
    x = layers.Concatenate(axis=1, name="both")([p, q])
    x = layers.ZeroPadding2D(((1, 0), (0, 2)), name="pad")(x)
    x = layers.DepthwiseConv2D(2, name="depthwise")(x)
    x = layers.UpSampling2D((1, 2), name="up")(x)
    x = layers.Cropping2D(((0, 1), (1, 0)), name="crop")(x)
    soft = layers.Softmax(axis=1, name="soft")(x)
    rows = layers.Flatten(data_format="channels_last", name="rows")(x)
    rows = layers.BatchNormalization(name="row_bn")(rows)
    rows = layers.Dropout(0.5, name="drop")(rows)
    rows = layers.Dense(4, name="row_dense")(rows)
    pixels = layers.Dense(3, name="pixel_dense")(
        layers.Flatten(name="pixels")(x))
    mean = layers.GlobalAveragePooling2D(name="gap")(x)
    gate = layers.Reshape((8, 1, 1), name="gate")(mean)
    gated = layers.Multiply(name="gated")([soft, gate])
    x = layers.LayerNormalization(axis=1, name="ln")(x)
    x = layers.Rescaling(np.arange(1, 9) / 4, name="scale")(x)
    wide = layers.Dense(2, name="wide")(x)
    turned = layers.Permute((3, 1, 2), name="turned")(wide)
    vector = layers.Flatten(data_format="channels_last", name="vector")(gated)
    return keras.Model(
        image, [rows, pixels, mean, gated, layers.Flatten(
            data_format="channels_last", name="flat_turned")(turned), vector],
        name="channels_first")


# --- versions ----------------------------------------------------------------

def keras_2():
    model = functional(outputs_as_dict=False)
    fill(model)
    save(model, "k2_functional",
         [".h5", ".legacy_weights.h5", ".architecture.json", ".deflated.keras"])
    record("k2_functional", model)
    model = functions_of_tf()
    fill(model)
    save(model, "k2_functions", [".h5"])
    record("k2_functions", model)
    model = sequence()
    fill(model)
    save(model, "k2_sequence", [".h5"])
    record("k2_sequence", model)
    model = signal()
    fill(model)
    save(model, "k2_signal", [".h5"])
    record("k2_signal", model)
    model = recurrent()
    fill(model)
    save(model, "k2_recurrent", [".h5"])
    record("k2_recurrent", model)
    for make in masked, masked_chain:
        model = make()
        fill(model)
        save(model, f"k2_{model.name}", [".h5"])
        record(f"k2_{model.name}", model)


def keras_3_old():
    model = functional(outputs_as_dict=True)
    fill(model)
    save(model, "k30_functional", [".deflated.keras"])
    record("k30_functional", model)
    model = branches()
    fill(model)
    save(model, "k30_branches", [".weights.h5"])
    record("k30_branches", model)


def operations():
    """Functions of tensors: slices, keras.ops, arithmetic."""
    ops = keras.ops
    x = keras.Input((6, 5, 3), name="image")
    y = layers.Conv2D(4, 3, padding="same", name="conv")(x)
    left, right = y[:, :, :2], y[:, ::-1, 2:, 1]
    y = ops.concatenate([left, -left], axis=-1)
    y = ops.pad(y, ((0, 0), (1, 2), (0, 1), (0, 0)))
    tokens = ops.reshape(y, (-1, 27, 8))
    image = ops.mean(y, axis=(1, 2))
    most = ops.max(tokens, axis=1)
    z = ops.concatenate([image, most, tokens[:, 0], tokens[:, -1]], axis=1)
    z = layers.Dense(3, name="dense")(z[..., 1:])
    gram = ops.matmul(layers.Permute((2, 1), name="turned")(tokens), tokens)
    return keras.Model(x, [z, right, gram], name="operations")


def functions_of_tf():
    """The same functions as tf.*, in the form of Keras 2."""
    import tensorflow as tf
    image = keras.Input((6, 5, 3), name="image")
    x = layers.Conv2D(4, 3, padding="same", name="conv")(image)
    pooled = tf.concat([tf.reduce_mean(x, -1, True),
                        tf.reduce_max(x, axis=-1, keepdims=True)], -1)
    x *= layers.Conv2D(1, 3, padding="same", activation="sigmoid",
                       name="attention")(pooled)
    left, right = tf.split(x, [1, 3], axis=-1)
    x = tf.concat([tf.nn.gelu(left, approximate=True),
                   tf.nn.leaky_relu(right, 0.1)], axis=-1)
    x = x / (1.0 + tf.reduce_sum(tf.exp(x), axis=[1, 2], keepdims=True))
    big = tf.nn.depth_to_space(tf.pad(x, [[0, 0], [1, 0], [2, 1], [0, 0]]), 2)
    rows = tf.squeeze(tf.image.resize(big, (4, 7), method="nearest"), axis=[3])
    products = tf.matmul(rows, tf.nn.softmax(rows ** 2, axis=1),
                         transpose_b=True)
    stacked = tf.stack([products, tf.minimum(0.5, products)], axis=1)
    turned = tf.transpose(tf.reverse(stacked, axis=[2]), [0, 3, 1, 2])
    lengths = tf.math.l2_normalize(tf.math.rsqrt(
        tf.square(rows) + 0.25), axis=2)
    return keras.Model(
        image, [layers.Flatten(name="flat")(turned),
                tf.reshape(lengths, [-1, 28]),
                tf.reduce_min(tf.clip_by_value(rows, -1.0, 0.5), axis=[2])],
        name="functions_of_tf")


def functions():
    """keras.ops of attention, normalization and axes."""
    ops = keras.ops
    first = keras.config.image_data_format() == "channels_first"
    channels = 1 if first else -1
    pixels = (2, 3) if first else (1, 2)
    image = keras.Input((3, 6, 5) if first else (6, 5, 3), name="image")
    x = layers.Conv2D(4, 3, padding="same", name="conv")(image)
    # Convolutional block attention.
    pooled = ops.concatenate(
        [ops.mean(x, axis=channels, keepdims=True),
         ops.max(x, axis=channels, keepdims=True)], axis=channels)
    x = x * layers.Conv2D(1, 3, padding="same", activation="sigmoid",
                          name="attention")(pooled)
    left, right = ops.split(x, 2, axis=channels)
    x = ops.gelu(left) + ops.leaky_relu(right, 0.1) * ops.sum(
        right, axis=pixels, keepdims=True)
    x = ops.image.resize(x, (8, 7))
    # For tokens.
    rows = ops.transpose(x, (0, 3, 2, 1))
    scores = ops.softmax(rows ** 2, axis=2)
    scores = scores / ops.sum(ops.exp(rows), axis=-1, keepdims=True)
    lengths = ops.sqrt(ops.sum(ops.square(rows), axis=(1, 3)) + 1.0)
    low = ops.min(ops.maximum(rows, -0.25), axis=(1, 2))
    stacked = ops.stack([lengths, 1.0 / lengths], axis=-1)
    stacked = ops.normalize(ops.squeeze(ops.expand_dims(stacked, 1), 1))
    return keras.Model(
        image, [layers.Flatten(name="flat")(x),
                ops.mean(ops.swapaxes(scores, 1, 2), axis=(1, 3)),
                ops.reshape(stacked, (-1, 2 * lengths.shape[1])),
                ops.flip(low, axis=1)],
        name="functions")


def preprocessing(augments=True):
    """Augmentation, resizing and other image layers of Keras 3."""
    first = keras.config.image_data_format() == "channels_first"
    channels = 1 if first else -1
    x = image = keras.Input((3, 12, 10) if first else (12, 10, 3),
                            name="image")
    if augments:
        x = keras.Sequential(
            [layers.RandomFlip("horizontal"), layers.RandomRotation(0.1),
             layers.RandomZoom(0.1), layers.RandomTranslation(0.1, 0.1),
             layers.RandomContrast(0.1), layers.RandomBrightness(0.1)],
            name="augmentation")(x)
        x = layers.RandomErasing(name="erasing")(x)
    x = layers.Resizing(9, 11, name="resizing")(x)
    x = layers.CenterCrop(8, 7, name="middle")(x)
    x = layers.Conv2D(6, 3, activation="mish", name="conv")(x)
    x = layers.GroupNormalization(3, axis=channels, name="groups")(x)
    x = layers.Activation("squareplus", name="act")(x)
    x = layers.GaussianDropout(0.2, name="noise")(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same",
                               output_padding=1, activation="hard_tanh",
                               name="up")(x)
    x = layers.RMSNormalization(name="rms")(x)
    x = layers.AlphaDropout(0.2, name="alpha")(x)
    x = layers.Identity(name="same")(x)
    y = layers.UnitNormalization(axis=[1, 3], name="unit")(x)
    z = layers.GlobalAveragePooling2D(name="pool")(y)
    steps = layers.RepeatVector(3, name="steps")(z)
    steps = layers.Dense(5, activation="log_softmax", name="dense")(steps)
    pairs = layers.Dot(axes=(2, 2), normalize=True, name="pairs")(
        [steps, steps])
    whole = layers.GlobalAveragePooling2D(keepdims=True, name="whole")(x)
    return keras.Model(image, [pairs, layers.Flatten(name="flat")(whole)],
                       name="preprocessing")


def applications():
    """Custom classes of keras.applications, in a ConvNeXt with one block per
    stage and a block of InceptionResNetV2."""
    from keras.src.applications.convnext import ConvNeXt
    from keras.src.applications.inception_resnet_v2 import CustomScaleLayer
    body = ConvNeXt(depths=[1, 1, 1, 1], projection_dims=[4, 6, 8, 10],
                    drop_path_rate=0.1, weights=None, include_top=False,
                    input_shape=(32, 40, 3), name="convnext")
    x = body.output
    y = layers.Conv2D(5, 1, name="branch1")(x)
    y = layers.Conv2D(10, 3, padding="same", name="branch2")(y)
    x = CustomScaleLayer(0.17, name="scaled_sum")([x, y])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    return keras.Model(body.input, layers.Dense(3, name="scores")(x),
                       name="applications")


def keras_3():
    model = functional(outputs_as_dict=True)
    fill(model)
    save(model, "k3_functional",
         [".deflated.keras", ".h5", ".weights.h5", ".legacy_weights.h5",
          ".architecture.json"])
    record("k3_functional", model)
    model = sequence()
    fill(model)
    save(model, "k3_sequence", [".deflated.keras"])
    record("k3_sequence", model)
    model = signal()
    fill(model)
    save(model, "k3_signal", [".deflated.keras"])
    record("k3_signal", model)
    model = recurrent()
    fill(model)
    save(model, "k3_recurrent", [".deflated.keras", ".h5", ".weights.h5",
                                 ".architecture.json"])
    record("k3_recurrent", model)
    for make in masked, masked_chain, masked_operations:
        model = make()
        fill(model)
        # Keras cannot load its .h5 files with operations of masks.
        save(model, f"k3_{model.name}",
             [".deflated.keras"] + [".h5"] * isinstance(model, keras.Sequential))
        record(f"k3_{model.name}", model)
    model = operations()
    fill(model)
    save(model, "k3_operations", [".deflated.keras"])
    record("k3_operations", model)
    model = functions()
    fill(model)
    save(model, "k3_functions", [".deflated.keras"])
    record("k3_functions", model)
    model = preprocessing()
    fill(model)
    save(model, "k3_preprocessing", [".deflated.keras"])
    record("k3_preprocessing", model)
    # Keras 3 cannot store augmentation layers in this format.
    model = preprocessing(augments=False)
    fill(model)
    save(model, "k3_not_augmenting", [".h5"])
    record("k3_not_augmenting", model)
    model = applications()
    fill(model)
    save(model, "k3_applications", [".deflated.keras", ".h5"])
    record("k3_applications", model)
    model = blocks()
    fill(model)
    save(model, "k3_blocks", [".deflated.keras", ".h5"])
    record("k3_blocks", model)
    bfloat16()
    keras.config.set_image_data_format("channels_first")
    model = channels_first()
    fill(model)
    save(model, "k3_channels_first", [".deflated.keras", ".h5"])
    record("k3_channels_first", model)
    model = signal_channels_first()
    fill(model)
    save(model, "k3_signal_channels_first", [".deflated.keras"])
    record("k3_signal_channels_first", model)
    model = functions()
    fill(model)
    save(model, "k3_functions_channels_first", [".deflated.keras"])
    record("k3_functions_channels_first", model)
    model = preprocessing()
    fill(model)
    save(model, "k3_preprocessing_channels_first", [".deflated.keras"])
    record("k3_preprocessing_channels_first", model)
    keras.config.set_image_data_format("channels_last")
    import keras_1_files
    keras_1_files.write(GOLDEN, origin())


def blocks():
    """Layers that are several in Octet: equations, transposed convolutions of
    sequences, attention, a layer for each step; batch renormalization."""
    tokens = keras.Input((5, 6), name="tokens")
    x = layers.EinsumDense("abc,cde->abde", output_shape=(5, 2, 4),
                           bias_axes="de", activation="relu", name="heads")(
                               tokens)
    x = layers.EinsumDense("abde,edc->abc", output_shape=(5, 6),
                           bias_axes="c", name="join")(x)
    x = layers.EinsumDense("abc,bd->adc", output_shape=(5, 6),
                           bias_axes="d", name="mix")(x)
    x = layers.EinsumDense("...x,xy->...y", output_shape=6,
                           activation="softmax", name="last")(x)
    x = layers.MultiHeadAttention(2, 3, name="causal")(
        x, x, use_causal_mask=True)
    x = layers.Attention(name="look")([x, tokens], use_causal_mask=True)
    x = layers.Attention(name="see")([x, tokens, tokens])
    x = layers.TimeDistributed(layers.Dense(6, activation="relu", name="own"),
                               name="each")(x)
    x = layers.TimeDistributed(layers.LayerNormalization(), name="norms")(x)
    x = layers.TimeDistributed(layers.BatchNormalization(), name="bns")(x)
    x = layers.BatchNormalization(renorm=True, name="renorm")(x)
    x = layers.Conv1DTranspose(4, 3, strides=2, padding="same",
                               activation="relu", name="up")(x)
    x = layers.Conv1DTranspose(3, 5, strides=3, use_bias=False, name="more")(x)
    steps = keras.Input((4, 7, 3), name="steps")
    y = layers.TimeDistributed(layers.Conv1D(5, 3, padding="same"),
                               name="convs")(steps)
    y = layers.TimeDistributed(layers.MaxPooling1D(2), name="pools")(y)
    y = layers.TimeDistributed(layers.Flatten(), name="flats")(y)
    y = layers.TimeDistributed(layers.Dense(3), name="rows")(y)
    frames = keras.Input((3, 8, 6, 2), name="frames")
    net_input = keras.Input((8, 6, 2))
    net = layers.Conv2D(4, 3, name="conv")(net_input)
    net = layers.Dense(5)(layers.GlobalAveragePooling2D()(net))
    f = layers.TimeDistributed(layers.Conv2D(2, 3, padding="same"),
                               name="images")(frames)
    f = layers.TimeDistributed(keras.Model(net_input, net, name="net"),
                               name="nets")(f)
    image = keras.Input((8, 6, 3), name="image")
    z = layers.AdaptiveAveragePooling2D((4, 3), name="adapt")(image)
    z = layers.SpectralNormalization(layers.Conv2D(3, 1), name="spectral")(z)
    z = layers.AdaptiveMaxPooling2D(2, name="most")(
        layers.ZeroPadding2D(((0, 0), (0, 1)))(z))
    return keras.Model([tokens, steps, image, frames], [x, y, z, f],
                       name="blocks")


def bfloat16():
    """Weights of two bytes, and the outputs of a float32 model with the same
    values."""
    def small(policy):
        return keras.Sequential(
            [keras.Input((5,)), layers.Dense(4, activation="relu",
                                             dtype=policy, name="first"),
             layers.Dense(2, dtype=policy, name="second")], name="small")
    rounded = lambda w: (w.view(np.uint32) & 0xFFFF0000).view(np.float32)
    plain, half = small("float32"), small("bfloat16")
    fill(plain)
    plain.set_weights([rounded(np.array(w)) for w in plain.get_weights()])
    half.set_weights(plain.get_weights())
    save(half, "k3_bfloat16", [".keras"])
    record("k3_bfloat16", plain)


def main():
    GOLDEN.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(1)
    if VERSION[0] == "2":
        keras_2()
    elif VERSION.startswith("3.0."):
        keras_3_old()
    else:
        keras_3()
    shutil.rmtree(GOLDEN / "__pycache__", ignore_errors=True)


if __name__ == "__main__":
    main()
