#!/usr/bin/env python3
"""Writes tests/golden/layers: Keras' outputs and gradients of each layer.

For developers, when a layer or a case is added; tests only read the files:

    python3 -m venv venv && venv/bin/pip install keras==3.15.1 jax==0.10.2
    KERAS_BACKEND=jax venv/bin/python tests/oracle/make_layer_golden.py

Each case is a layer with random weights and inputs: its output in inference
and, for a random upstream gradient, the gradients of inputs and weights.
BatchNormalization, which differs in training, is recorded there, too, with its
updated statistics. Keras computes in float64 from float32 numbers, so that a
comparison only sees the tested rounding (Keras casts a few functions, like tanh,
to float32 nevertheless). Layers that Keras does not have are defined here
(DEFINITIONS). Each case has its own random stream: a new one changes no other.
"""

import argparse
import json
import os
import pathlib
import zlib

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import keras
import jax.numpy as jnp

import layer_cases

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


# --- numbers -----------------------------------------------------------------

def draw(rng, shape, name=""):
    """Returns distinct normal float32 numbers with five decimals, the last one
    5: none is at a kink or a tie."""
    size = int(np.prod(shape))
    numbers = np.zeros(0)
    while numbers.size < size:
        more = np.round(rng.normal(size=2 * size + 8) * 1e4) / 1e4 + 5e-5
        numbers = np.concatenate([numbers, more])
        numbers = numbers[np.sort(np.unique(numbers, return_index=True)[1])]
    numbers = numbers[:size]
    if name == "moving_variance":
        numbers = 0.5 + np.abs(numbers)
    elif name == "gamma":
        numbers = 1 + 0.25 * numbers
    elif name:  # different weights
        numbers = 0.5 * numbers
    return np.round(numbers, 7).astype(np.float32).reshape(shape)


def text_of(value):
    """Returns the shortest text that parses to the same float32; 9 digits
    otherwise."""
    if isinstance(value, np.float32):
        return np.format_float_positional(value, unique=True, trim="-")
    return f"{float(value):.9g}"


def array(value, name=None):
    value = np.asarray(value)
    assert np.isfinite(value).all()
    head = {} if name is None else {"name": name}
    return head | {"shape": list(value.shape), "values": list(value.ravel())}


class Encoder(json.JSONEncoder):
    """Encodes NumPy values and tuples of configs."""

    def default(self, o):
        if isinstance(o, np.generic):
            return o.item()
        if isinstance(o, np.ndarray):
            return o.tolist()
        return super().default(o)


def dump(value):
    if isinstance(value, np.floating):
        return text_of(value)
    if isinstance(value, list) and value and isinstance(
            value[0], (np.floating, dict)):
        return "[" + ",".join(dump(entry) for entry in value) + "]"
    if isinstance(value, dict) and "values" in value:
        return "{" + ",".join(
            f"{json.dumps(key)}:{dump(entry)}"
            for key, entry in value.items()) + "}"
    return json.dumps(value, cls=Encoder, separators=(",", ":"))


def write(path, case):
    lines = [f"{json.dumps(key)}: {dump(value)}" for key, value in case.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


# --- Keras -------------------------------------------------------------------

class KerasLayer:
    """A Keras layer in float64 as a function of its weights and inputs."""

    def __init__(self, layer, shapes, name=""):
        self.config = layer.get_config()
        self.config.pop("name")
        # Inputs after x: initial states, then a mask.
        self.masked = "masked" in name
        self.states = len(shapes) - 1 - self.masked if "state" in name else 0
        double = type(layer).from_config(
            self.config | {"name": "layer", "dtype": "float64"})
        inputs = [jnp.zeros(shape) for shape in shapes]
        self.separate = isinstance(layer, keras.layers.MultiHeadAttention)
        args, more = self.arguments(inputs)
        double(*args, **more)
        if self.states:
            self.config["initial_state"] = True
        self.layer = double
        self.trainable = list(double.trainable_variables)
        # Excludes seeds of random layers and the like.
        self.fixed = list(double.non_trainable_variables)
        self.origin = f"Keras {keras.__version__}, JAX {jax.__version__}"
        self.class_name = type(layer).__name__

    def arguments(self, inputs):
        if self.separate:
            return inputs, {}
        inputs, more = list(inputs), {}
        if self.masked:
            more["mask"] = inputs.pop() > 0
        if self.states:
            more["initial_state"] = inputs[1:]
            inputs = inputs[:1]
        return [inputs[0] if len(inputs) == 1 else inputs], more

    def weight_names(self):
        return ([self.name_of(v) for v in self.trainable],
                [self.name_of(v) for v in self.fixed if self.is_weight(v)])

    def name_of(self, variable):
        # For nested layers, the whole path without the outer name.
        path = variable.path.split("/")
        return "/".join(path[1:]) if self.separate else path[-1]

    @staticmethod
    def is_weight(variable):
        return "float" in str(variable.dtype) and "seed" not in variable.path

    def shapes(self):
        return ([v.shape for v in self.trainable],
                [v.shape for v in self.fixed if self.is_weight(v)])

    def run(self, trainable, fixed, inputs, training=False):
        fixed = iter(fixed)
        state = [next(fixed) if self.is_weight(v) else v.value
                 for v in self.fixed]
        args, extra = self.arguments(inputs)
        if "training" in self.layer._call_signature.parameters:
            extra["training"] = training
        y, after = self.layer.stateless_call(
            trainable, state, *args, **extra)
        return y, [value for value, v in zip(after, self.fixed)
                   if self.is_weight(v)]


# --- layers that Keras does not have -----------------------------------------

def scaled_dot_product_attention(config, weights, inputs):
    """softmax(q k^T / sqrt(d)) v in each head; heads are equal parts of the
    features."""
    def heads(x):
        n, t, d = x.shape
        count = config["num_heads"]
        return x.reshape(n, t, count, d // count)
    q, k, v = map(heads, inputs)
    scores = jnp.einsum("nqhd,nkhd->nhqk", q, k) / np.sqrt(q.shape[-1])
    y = jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(scores, axis=-1), v)
    return y.reshape(y.shape[0], y.shape[1], -1)


def constant(config, weights, inputs):
    """The value, repeated for each sample of the input."""
    value, = weights
    return jnp.broadcast_to(value, (inputs[0].shape[0],) + value.shape)


def class_token(config, weights, inputs):
    """A learned token in front of the others."""
    x, = inputs
    token, = weights
    first = jnp.broadcast_to(token.reshape(1, 1, -1),
                             (x.shape[0], 1, x.shape[2]))
    return jnp.concatenate([first, x], axis=1)


def position_embedding(config, weights, inputs):
    """x + a learned vector per position."""
    return inputs[0] + weights[0]


def select_token(config, weights, inputs):
    """One token of each sample; negative indices count from the end."""
    return inputs[0][:, config["index"], :]


def layer_scale(config, weights, inputs):
    """A factor per channel. Source: keras/src/applications/convnext.py."""
    return inputs[0] * weights[0]


def gather(config, weights, inputs):
    return jnp.take(inputs[0], jnp.array(config["indices"]),
                    axis=config.get("axis", -1))


def pad(config, weights, inputs):
    """Any axes of a sample, in the modes of numpy.pad."""
    widths = [(0, 0), *zip(config["begin"], config["end"])]
    mode = config.get("mode", "constant")
    values = {"constant_values": config["value"]} if mode == "constant" else {}
    return jnp.pad(inputs[0], widths, mode=mode, **values)


def unary(config, weights, inputs):
    return {"abs": jnp.abs, "ceil": jnp.ceil, "cos": jnp.cos,
            "floor": jnp.floor, "log": jnp.log, "reciprocal": lambda x: 1 / x,
            "round": jnp.round, "sign": jnp.sign, "sin": jnp.sin,
            "sqrt": jnp.sqrt, "square": jnp.square}[config["operation"]](
                inputs[0])


def reduce(config, weights, inputs):
    return getattr(jnp, config["operation"])(
        inputs[0], axis=tuple(config["axes"]),
        keepdims=config.get("keepdims", False))


def power(config, weights, inputs):
    return inputs[0] ** config["exponent"]


def compare(config, weights, inputs):
    x = inputs[0]
    y = config["value"] if "value" in config else inputs[1]
    return getattr(jnp, config["operation"])(x, y).astype(jnp.float64)


def where(config, weights, inputs):
    condition, *given = inputs
    x = config["x"] if "x" in config else given.pop(0)
    y = config["y"] if "y" in config else given.pop(0)
    return jnp.where(condition != 0, x, y)


def divide(config, weights, inputs):
    return inputs[0] / inputs[1]


def matmul(config, weights, inputs):
    a, b = inputs
    if config.get("transpose_a"):
        a = a.swapaxes(-1, -2)
    if config.get("transpose_b"):
        b = b.swapaxes(-1, -2)
    return a @ b


def clip_by_value(config, weights, inputs):
    return jnp.clip(inputs[0], config.get("min"), config.get("max"))


def local_response_normalization(config, weights, inputs):
    """ONNX LRN-13, channels last."""
    x, = inputs
    size, c = config["size"], inputs[0].shape[-1]
    first = (size - 1) // 2
    squares = jnp.pad(x * x, ((0, 0), (0, 0), (0, 0),
                              (first, size - 1 - first)))
    sums = sum(squares[..., i:i + c] for i in range(size))
    return x / (config["bias"] + config["alpha"] / size * sums) ** config[
        "beta"]


def interpolate(config, weights, inputs):
    """ONNX Resize-19 along one axis and then the other."""
    def matrix(size, target):
        rows = np.zeros((target, size))
        for i in range(target):
            place = {"half_pixel": (i + 0.5) * size / target - 0.5,
                     "align_corners": i * (size - 1) / max(target - 1, 1),
                     "asymmetric": i * size / target}[config["coordinates"]]
            low = int(np.floor(place))
            for at in range(low - 1, low + 3):
                d = abs(place - at)
                if config["mode"] == "bilinear":
                    weight = max(0, 1 - d)
                else:
                    a = config["cubic_coefficient"]
                    weight = ((a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else
                              a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
                              if d < 2 else 0)
                rows[i, min(max(at, 0), size - 1)] += weight
        return jnp.array(rows, inputs[0].dtype)
    x, = inputs
    return jnp.einsum("ah,bw,nhwc->nabc", matrix(x.shape[1], config["height"]),
                      matrix(x.shape[2], config["width"]), x)


# Functions with a restricted domain, or that grow without bound.
OF_POSITIVE = {"unary_log", "unary_sqrt", "unary_reciprocal", "divide",
               "divide_channels", "divide_broadcast", "power_of_positive"}

# (name, class, config, function, weights [(name, shape)], input shapes)
DEFINITIONS = [
    ("scaled_dot_product_attention", "ScaledDotProductAttention",
     {"num_heads": 1}, scaled_dot_product_attention, [],
     [(2, 4, 5), (2, 3, 5), (2, 3, 6)]),
    ("scaled_dot_product_attention_heads", "ScaledDotProductAttention",
     {"num_heads": 3}, scaled_dot_product_attention, [],
     [(2, 4, 6), (2, 4, 6), (2, 4, 9)]),
    ("scaled_dot_product_attention_wide", "ScaledDotProductAttention",
     {"num_heads": 2}, scaled_dot_product_attention, [],
     [(1, 2, 34), (1, 3, 34), (1, 3, 34)]),
    ("class_token", "ClassToken", {}, class_token,
     [("class_token", (1, 1, 5))], [(2, 3, 5)]),
    ("constant", "Constant", {"shape": [4, 2, 5]}, constant,
     [("value", (4, 2, 5))], [(3, 2, 7)]),
    ("constant_tokens", "Constant", {"shape": [3, 17]}, constant,
     [("value", (3, 17))], [(1, 5, 4, 3)]),
    ("position_embedding", "PositionEmbedding", {}, position_embedding,
     [("position_embedding", (1, 3, 5))], [(2, 3, 5)]),
    ("layer_scale", "LayerScale", {"init_values": 0.1, "projection_dim": 3},
     layer_scale, [("gamma", (3,))], [(2, 5, 4, 3)]),
    ("layer_scale_tokens", "LayerScale", {}, layer_scale,
     [("gamma", (17,))], [(1, 3, 17)]),
    *((f"unary_{name}", "Unary", {"operation": name}, unary, [],
       [(2, 5, 4, 3)])
      for name in ("abs", "ceil", "cos", "floor", "log", "reciprocal", "round",
                   "sign", "sin", "sqrt", "square")),
    *((f"reduce_{name}", "Reduce", {"operation": name, "axes": axes}, reduce,
       [], [shape])
      for name, axes, shape in (("max", [3], (2, 5, 4, 3)),
                                ("mean", [1], (2, 5, 4, 3)),
                                ("min", [-2], (2, 5, 4, 3)),
                                ("prod", [3, 1], (2, 5, 4, 3)),
                                ("sum", [2, 1], (1, 4, 6, 17)))),
    *((f"reduce_{name}_keepdims", "Reduce",
       {"operation": name, "axes": axes, "keepdims": True}, reduce, [],
       [shape])
      for name, axes, shape in (("max", [1], (1, 3, 17)),
                                ("mean", [2, -1], (2, 5, 4, 3)),
                                ("min", [1], (2, 12)),
                                ("prod", [2], (2, 5, 3)),
                                ("sum", [1, 2, 3], (2, 5, 4, 3)))),
    ("reduce_mean_steps", "Reduce", {"operation": "mean", "axes": [1]}, reduce,
     [], [(2, 5, 3)]),
    ("reduce_sum_channels", "Reduce", {"operation": "sum", "axes": [2]},
     reduce, [], [(1, 3, 17)]),
    ("power", "Power", {"exponent": 3.0}, power, [], [(2, 5, 4, 3)]),
    ("power_of_positive", "Power", {"exponent": 0.4}, power, [], [(1, 3, 17)]),
    *((f"compare_{name}", "Compare", {"operation": name}, compare, [],
       [(2, 5, 4, 3), (2, 1, 4, 3)])
      for name in ("equal", "not_equal", "greater", "greater_equal", "less",
                   "less_equal")),
    ("compare_number", "Compare", {"operation": "less", "value": 0.5}, compare,
     [], [(1, 3, 17)]),
    ("where", "Where", {}, where, [], [(2, 5, 4, 3)] * 3),
    ("where_broadcast", "Where", {}, where, [],
     [(2, 5, 4, 1), (2, 1, 4, 3), (2, 1, 1, 3)]),
    ("where_number", "Where", {"y": -0.5}, where, [], [(2, 12), (2, 12)]),
    ("where_numbers", "Where", {"x": 2.0, "y": -1.0}, where, [],
     [(1, 3, 17)]),
    ("divide", "Divide", {}, divide, [], [(2, 12), (2, 12)]),
    ("divide_channels", "Divide", {}, divide, [],
     [(2, 5, 4, 3), (2, 1, 1, 3)]),
    ("divide_broadcast", "Divide", {}, divide, [], [(1, 3, 1), (1, 3, 17)]),
    ("matmul", "Matmul", {}, matmul, [], [(2, 3, 5), (2, 5, 4)]),
    ("matmul_heads", "Matmul", {"transpose_b": True}, matmul, [],
     [(2, 3, 5, 7), (2, 3, 4, 7)]),
    ("matmul_columns", "Matmul", {"transpose_a": True}, matmul, [],
     [(1, 17, 3), (1, 17, 1)]),
    ("matmul_broadcast", "Matmul", {"transpose_a": True, "transpose_b": True},
     matmul, [], [(2, 3, 1, 5, 4), (2, 1, 2, 6, 5)]),
    *((f"interpolate_{where}_{how}", "Interpolate",
       {"height": h, "width": w, "mode": how, "coordinates": where,
        "cubic_coefficient": -0.75}, interpolate, [], [(2, 5, 4, 3)])
      for where, how, h, w in (("align_corners", "bilinear", 9, 7),
                               ("align_corners", "bicubic", 3, 11),
                               ("asymmetric", "bilinear", 10, 3),
                               ("half_pixel", "bicubic", 7, 8))),
    ("gather", "Gather", {"indices": [2, 0, 0]}, gather, [], [(2, 5, 4, 3)]),
    ("gather_mirrored", "Gather", {"indices": [2, 1, 0, 1, 2, -1], "axis": 1},
     gather, [], [(1, 3, 2, 17)]),
    ("gather_width", "Gather", {"indices": [5, 1], "axis": -2}, gather, [],
     [(1, 4, 6, 1)]),
    ("gather_signal", "Gather", {"indices": [8, 8, 3], "axis": 1}, gather, [],
     [(2, 9, 3)]),
    ("gather_vector", "Gather", {"indices": [11, 3, 4]}, gather, [],
     [(2, 12)]),
    *((f"pad_{mode}", "Pad",
       {"begin": [1, 0, 2], "end": [2, 3, 0], "mode": mode, "value": -0.75},
       pad, [], [(2, 5, 4, 3)])
      for mode in ("constant", "edge", "reflect", "symmetric", "wrap")),
    ("pad_tokens", "Pad",
     {"begin": [2, 1], "end": [0, 1], "mode": "constant", "value": 0.5},
     pad, [], [(2, 9, 3)]),
    ("pad_vector", "Pad",
     {"begin": [2], "end": [3], "mode": "reflect", "value": 0.0}, pad, [],
     [(2, 12)]),
    ("clip_by_value", "ClipByValue", {"min": -0.5, "max": 0.75},
     clip_by_value, [], [(2, 5, 4, 3)]),
    ("clip_by_value_min", "ClipByValue", {"min": 0.25}, clip_by_value, [],
     [(2, 12)]),
    ("clip_by_value_max", "ClipByValue", {"max": -0.25}, clip_by_value, [],
     [(1, 3, 17)]),
    ("local_response_normalization", "LocalResponseNormalization",
     {"size": 5, "alpha": 0.5, "beta": 0.75, "bias": 1.0},
     local_response_normalization, [], [(1, 3, 2, 17)]),
    ("local_response_normalization_three", "LocalResponseNormalization",
     {"size": 3, "alpha": 0.3, "beta": 0.5, "bias": 2.0},
     local_response_normalization, [], [(2, 5, 4, 3)]),
    ("local_response_normalization_wide", "LocalResponseNormalization",
     {"size": 9, "alpha": 0.1, "beta": 1.0, "bias": 0.5},
     local_response_normalization, [], [(1, 4, 6, 1)]),
    ("select_token", "SelectToken", {"index": 0}, select_token, [],
     [(2, 3, 5)]),
    ("select_token_last", "SelectToken", {"index": -1}, select_token, [],
     [(2, 3, 5)]),
]


class DefinedLayer:
    def __init__(self, class_name, config, function, weights):
        self.class_name, self.config, self.function = (
            class_name, config, function)
        self.weights = weights
        self.origin = f"definition in float64, JAX {jax.__version__}"

    def weight_names(self):
        return [name for name, _ in self.weights], []

    def shapes(self):
        return [shape for _, shape in self.weights], []

    def run(self, trainable, fixed, inputs, training=False):
        return self.function(self.config, trainable, inputs), []


# --- one case ----------------------------------------------------------------

def record(name, layer, shapes):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    inputs = [draw(rng, shape) for shape in shapes]
    if name in OF_POSITIVE:
        inputs = [np.round(np.abs(x) + np.float32(0.25), 7) for x in inputs]
    if layer.class_name == "Where":
        inputs[0] = (inputs[0] > 0).astype(np.float32)
    if layer.class_name == "Embedding":
        inputs[0] = rng.integers(0, layer.config["input_dim"],
                                 shapes[0]).astype(np.float32)
    if layer.class_name == "Masking":
        inputs[0][:, 1::3] = layer.config["mask_value"]
    if "masked" in name:  # the first and the last step, and others
        mask = (inputs[-1] > 0).astype(np.float32)
        mask[0, 0], mask[-1, -1], mask[:, 2] = 0, 0, 1
        inputs[-1] = mask
    names, fixed_names = layer.weight_names()
    sizes, fixed_sizes = layer.shapes()
    weights = [draw(rng, *pair) for pair in zip(sizes, names)]
    fixed = [draw(rng, *pair) for pair in zip(fixed_sizes, fixed_names)]
    double = lambda arrays: [jnp.asarray(a, jnp.float64) for a in arrays]

    def run(training):
        def compute(w, x):
            y, after = layer.run(w, double(fixed), x, training)
            return y.astype(jnp.float64), after
        return jax.vjp(compute, double(weights), double(inputs), has_aux=True)

    y, vjp, _ = run(training=False)
    upstream = draw(rng, y.shape)
    gradients = lambda grads: [array(g, n) for n, g in zip(names, grads)]
    dw, dx = vjp(jnp.asarray(upstream, jnp.float64))
    case = {
        "origin": layer.origin,
        "class_name": layer.class_name,
        "config": layer.config,
        "inputs": [array(x) for x in inputs],
        "weights": [array(w, n) for n, w in
                    zip(names + fixed_names, weights + fixed)],
        "output": array(y),
        "upstream": array(upstream),
        "input_gradients": [array(g) for g in dx],
        "weight_gradients": gradients(dw),
    }
    if layer.class_name == "BatchNormalization":
        y, vjp, after = run(training=True)
        dw, dx = vjp(jnp.asarray(upstream, jnp.float64))
        case |= {
            "training_output": array(y),
            "training_input_gradients": [array(g) for g in dx],
            "training_weight_gradients": gradients(dw),
            "training_statistics": [array(a, n) for n, a in
                                    zip(fixed_names, after)],
        }
    return case


def main():
    parser = argparse.ArgumentParser(
        description="Write tests/golden/layers from Keras.")
    parser.add_argument("names", nargs="*", help="of cases; all by default")
    chosen = set(parser.parse_args().names)
    total = 0
    made = []

    def make(folder, name, layer, shapes):
        nonlocal total
        if chosen and name not in chosen:
            return
        path = GOLDEN / folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, record(name, layer(), shapes))
        made.append(name)
        total += path.stat().st_size

    for name, layer, shapes in layer_cases.all_cases():
        make("layers", name, lambda: KerasLayer(layer, shapes, name), shapes)
    for name, class_name, config, function, weights, shapes in DEFINITIONS:
        make("layers", name,
             lambda: DefinedLayer(class_name, config, function, weights),
             shapes)
    for name, layer, shapes in layer_cases.composites():
        make("composites", name, lambda: KerasLayer(layer, shapes), shapes)
    assert len(made) == len(set(made)), "two cases of one name"
    missing = chosen - set(made)
    if missing:
        raise SystemExit(f"no such case: {', '.join(sorted(missing))}")
    print(f"{len(made)} cases, {total} bytes")


if __name__ == "__main__":
    main()
