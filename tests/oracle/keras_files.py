"""Builds models with every feature that io::load_keras supports, and their outputs.

make_keras_golden.py writes them with the installed version of Keras.
"""

import json
import zlib

import numpy as np


def numbers(name, shape, scale=1.0):
    """Returns normal numbers with four decimals, from a random stream per name.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return np.round(rng.normal(size=shape) * scale, 4).astype(np.float32)


def fill(model):
    """Sets every weight to numbers that depend on its position and shape."""
    values = []
    for i, weight in enumerate(model.weights):
        name = weight.name.split("/")[-1].split(":")[0]
        shape = tuple(weight.shape)
        if "int" in str(weight.dtype):
            values.append(np.full(shape, 7))
            continue
        value = numbers(f"{model.name} {i}", shape, 0.5)
        if "variance" in name:
            value = np.abs(value) + np.float32(0.5)
        elif name == "gamma":
            value = value / 2 + 1
        values.append(value)
    model.set_weights(values)
    for layer in model.layers:
        # Normalization of Keras 3 computes with a copy.
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


def write_outputs(path, origin, inputs, outputs):
    def array(value):
        value = np.asarray(value)
        assert np.isfinite(value).all()
        return {"shape": list(value.shape),
                "values": [float(f"{v:.9g}") for v in value.ravel()]}
    case = {"origin": origin,
            "inputs": [array(x) for x in inputs],
            "outputs": [array(y) for y in outputs]}
    lines = [f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}"
             for k, v in case.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def flat(structure):
    """Returns the tensors of a list, or of a dictionary in the order of its
    keys."""
    if isinstance(structure, dict):
        return [structure[key] for key in sorted(structure)]
    if isinstance(structure, (list, tuple)):
        return list(structure)
    return [structure]
