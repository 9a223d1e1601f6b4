"""ONNX graphs in the form of real exporters, for compare_import.py.

Forms are those of torch.onnx.export (TorchScript-based and dynamo), tf2onnx and
scikit-learn's converters; weights are random. All sizes differ.
"""

import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(7)


class Graph:
    """A graph under construction; a node method returns the name of its first
    output."""

    def __init__(self, opset=17):
        self.opset = opset
        self.nodes, self.inputs, self.outputs = [], [], []
        self.initializers = {}
        self.samples = []

    def input(self, name, sample, batch="N"):
        """`sample` has shape [batch size, ...]; `batch` is the size declared in
        the file."""
        shape = [batch] + list(sample[1:])
        self.inputs.append(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.samples.append(
            RANDOM.uniform(-1, 1, sample).astype(np.float32))
        return name

    def indices(self, name, sample, below, dims=None, type=TensorProto.INT64):
        """Whole numbers in [0, below); `dims` are those declared in the file,
        by default with the batch first."""
        self.inputs.append(helper.make_tensor_value_info(
            name, type, dims or ["N", *sample[1:]]))
        self.samples.append(RANDOM.integers(0, below, sample).astype(
            helper.tensor_dtype_to_np_dtype(type)))
        return name

    def steps_first(self, name, sample):
        """An input [t,N,c]."""
        self.input(name, sample)
        self.inputs[-1] = helper.make_tensor_value_info(
            name, TensorProto.FLOAT, [sample[0], "N", sample[2]])
        return name

    def weight(self, name, *shape, scale=None):
        fan_in = max(1, int(np.prod(shape[1:])))
        scale = scale or (2.0 / fan_in) ** 0.5
        values = RANDOM.normal(0, scale, shape).astype(np.float32)
        return self.constant(name, values)

    def constant(self, name, values):
        self.initializers[name] = numpy_helper.from_array(
            np.array(values, order="C"), name)
        return name

    def floats(self, values):
        return self.constant(f"k{len(self.initializers)}",
                             np.array(values, np.float32))

    def integers(self, *values):
        return self.constant(f"k{len(self.initializers)}",
                             np.array(values, np.int64))

    def integer(self, value):
        return self.constant(f"k{len(self.initializers)}",
                             np.array(value, np.int64))

    def node(self, op, *inputs, name=None, outputs=1, **attributes):
        name = name or f"/{op}_{len(self.nodes)}"
        made = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(op, list(inputs), made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def __getattr__(self, op):
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda *inputs, **attributes: self.node(op, *inputs,
                                                       **attributes)

    def output(self, value, rank=2):
        shape = [f"{value}_{axis}" for axis in range(rank)]
        self.outputs.append(
            helper.make_tensor_value_info(value, TensorProto.FLOAT, shape))

    def model(self):
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs,
                                  self.outputs,
                                  list(self.initializers.values()))
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset],
                                 ir_version=7 if self.opset < 15 else 8 if self.opset < 23 else 11,
                                 producer_name="pytorch")

    # --- parts of networks ---------------------------------------------------

    def conv(self, x, name, c, k, size=3, stride=1, pad=None, group=1,
             bias=True, **more):
        size = size if isinstance(size, (list, tuple)) else [size, size]
        pad = [s // 2 for s in size] * 2 if pad is None else pad
        operands = [x, self.weight(f"{name}.weight", k, c // group, *size)]
        if bias:
            operands.append(self.weight(f"{name}.bias", k, scale=0.1))
        return self.node("Conv", *operands, name=f"/{name}/Conv",
                         kernel_shape=size, strides=[stride] * len(size),
                         pads=pad, dilations=more.pop("dilations",
                                                      [1] * len(size)),
                         group=group, **more)

    def batch_norm(self, x, name, c):
        operands = [
            self.constant(f"{name}.weight", RANDOM.uniform(.5, 1.5, c)
                          .astype(np.float32)),
            self.weight(f"{name}.bias", c, scale=0.1),
            self.weight(f"{name}.running_mean", c, scale=0.1),
            self.constant(f"{name}.running_var", RANDOM.uniform(.5, 1.5, c)
                          .astype(np.float32)),
        ]
        return self.node("BatchNormalization", x, *operands,
                         name=f"/{name}/BatchNormalization", epsilon=1e-5,
                         momentum=0.9)

    def gemm(self, x, name, c, k):
        return self.node("Gemm", x, self.weight(f"{name}.weight", k, c),
                         self.weight(f"{name}.bias", k, scale=0.1),
                         name=f"/{name}/Gemm", alpha=1.0, beta=1.0, transB=1)

    def linear(self, x, name, c, k):
        """nn.Linear with more than two axes: MatMul and Add."""
        y = self.node("MatMul", x, self.weight(f"{name}.weight", c, k,
                                               scale=(1 / c) ** 0.5),
                      name=f"/{name}/MatMul")
        return self.node("Add", self.weight(f"{name}.bias", k, scale=0.1), y,
                         name=f"/{name}/Add")

    def layer_norm(self, x, name, c, decomposed=False):
        gamma = self.constant(f"{name}.weight", RANDOM.uniform(.5, 1.5, c)
                              .astype(np.float32))
        beta = self.weight(f"{name}.bias", c, scale=0.1)
        if not decomposed:
            return self.node("LayerNormalization", x, gamma, beta,
                             name=f"/{name}/LayerNormalization", axis=-1,
                             epsilon=1e-6)
        mean = self.ReduceMean(x, axes=[-1])
        centred = self.Sub(x, mean)
        variance = self.ReduceMean(self.Pow(centred, self.floats(2)),
                                   axes=[-1])
        deviation = self.Sqrt(self.Add(variance, self.floats(1e-6)))
        y = self.Mul(self.Div(centred, deviation), gamma)
        return self.Add(y, beta)

    def gelu(self, x):
        erf = self.Erf(self.Div(x, self.floats(2.0 ** 0.5)))
        return self.Mul(self.Mul(x, self.Add(erf, self.floats(1))),
                        self.floats(0.5))

    def size(self, x, axis):
        """x.shape[axis] in the form of the TorchScript exporter."""
        return self.Gather(self.Shape(x), self.integer(axis), axis=0)

    def sizes(self, *values):
        """A list of sizes from numbers and names of scalars."""
        parts = [
            self.Unsqueeze(value, self.integers(0))
            if isinstance(value, str) else self.integers(value)
            for value in values
        ]
        return self.Concat(*parts, axis=0)


CASES = {}


def case(build):
    """Registers a case with its own random stream."""
    def seeded():
        global RANDOM
        RANDOM = np.random.default_rng(zlib.crc32(build.__name__.encode()))
        return build()

    CASES[build.__name__] = seeded
    return build


@case
def mlp():
    g = Graph()
    x = g.input("input", [3, 1, 5, 7])
    x = g.Relu(g.gemm(g.Flatten(x, axis=1), "fc1", 35, 19))
    g.output(g.gemm(x, "fc2", 19, 4))
    return g


@case
def mlp_of_products():
    g = Graph(13)
    x = g.input("float_input", [3, 11])
    x = g.Add(g.MatMul(x, g.weight("w0", 11, 9)), g.weight("b0", 9))
    x = g.Add(g.MatMul(g.Tanh(x), g.weight("w1", 9, 3)), g.weight("b1", 1, 3))
    g.output(g.Softmax(x, axis=1))
    return g


@case
def mixer():
    """Weights as left operands: of tokens, and of pixels after a convolution.
    """
    g = Graph(17)
    x = g.input("tokens", [3, 7, 5])
    y = g.Add(g.MatMul(g.weight("mix", 4, 7), x), g.weight("mix.bias", 4, 1))
    y = g.MatMul(g.Relu(y), g.weight("features", 5, 6))
    g.output(g.MatMul(g.weight("again", 9, 4), y), 3)
    image = g.input("image", [3, 3, 5, 8])
    z = g.conv(image, "conv", 3, 4)
    z = g.MatMul(g.weight("rows", 6, 5), z)
    g.output(z, 4)
    g.output(g.Flatten(g.MatMul(g.weight("rows2", 2, 6), g.Relu(z))))
    return g


def basic_block(g, x, name, c, k, stride, batch_norm):
    def conv(y, part, c, k, stride=1, size=3):
        y = g.conv(y, f"{name}.{part}", c, k, size, stride,
                   bias=not batch_norm)
        return g.batch_norm(y, f"{name}.bn_{part}", k) if batch_norm else y

    y = g.Relu(conv(x, "conv1", c, k, stride))
    y = conv(y, "conv2", k, k)
    if stride != 1 or c != k:
        x = conv(x, "downsample", c, k, stride, 1)
    return g.Relu(g.Add(y, x))


def resnet_of(batch_norm):
    g = Graph()
    x = g.input("input", [2, 3, 33, 40])
    x = g.conv(x, "conv1", 3, 8, 7, 2, bias=not batch_norm)
    if batch_norm:
        x = g.batch_norm(x, "bn1", 8)
    x = g.MaxPool(g.Relu(x), kernel_shape=[3, 3], strides=[2, 2],
                  pads=[1, 1, 1, 1], ceil_mode=0)
    x = basic_block(g, x, "layer1.0", 8, 8, 1, batch_norm)
    x = basic_block(g, x, "layer2.0", 8, 12, 2, batch_norm)
    x = g.Flatten(g.GlobalAveragePool(x), axis=1)
    g.output(g.gemm(x, "fc", 12, 5))
    return g


@case
def resnet():
    return resnet_of(False)


@case
def resnet_with_batch_norm():
    return resnet_of(True)


@case
def mobilenet_v2():
    g = Graph(13)
    x = g.input("input", [2, 3, 32, 41], batch=2)

    def relu6(y):
        low = g.node("Constant", value=numpy_helper.from_array(
            np.array(0, np.float32)))
        high = g.node("Constant", value=numpy_helper.from_array(
            np.array(6, np.float32)))
        return g.Clip(y, low, high)

    x = relu6(g.conv(x, "features.0.0", 3, 8, stride=2))
    y = relu6(g.conv(x, "features.1.expand", 8, 24, 1))
    y = relu6(g.conv(y, "features.1.depthwise", 24, 24, 3, group=24))
    x = g.Add(x, g.conv(y, "features.1.project", 24, 8, 1))
    y = relu6(g.conv(x, "features.2.depthwise", 8, 16, 5, 2, group=8))
    x = relu6(g.conv(y, "features.2.grouped", 16, 12, 3, group=4))
    x = g.ReduceMean(x, axes=[2, 3], keepdims=0)
    g.output(g.gemm(x, "classifier.1", 12, 6))
    return g


def squeeze_excite(g, x, name, c, reduced, gate):
    s = g.ReduceMean(x, axes=[2, 3], keepdims=1) if gate == "taken apart" \
        else g.GlobalAveragePool(x)
    s = g.Relu(g.conv(s, f"{name}.fc1", c, reduced, 1))
    s = g.conv(s, f"{name}.fc2", reduced, c, 1)
    if gate == "sigmoid":
        s = g.Sigmoid(s)
    elif gate == "taken apart":
        s = g.Div(g.Clip(g.Add(s, g.floats(3)), g.floats(0), g.floats(6)),
                  g.floats(6))
    else:
        s = g.HardSigmoid(s, alpha=0.1666666716337204)
    return g.Mul(s, x)


@case
def mobilenet_v3():
    g = Graph(14)
    x = g.input("input", [2, 3, 32, 41])
    x = g.HardSwish(g.conv(x, "features.0", 3, 8, stride=2))
    x = squeeze_excite(g, x, "features.1.block.1", 8, 4, "hard sigmoid")
    x = g.conv(x, "features.2", 8, 10, 3)
    x = g.Div(g.Mul(x, g.Clip(g.Add(x, g.floats(3)), g.floats(0),
                              g.floats(6))), g.floats(6))
    x = squeeze_excite(g, x, "features.3", 10, 4, "taken apart")
    x = g.conv(x, "features.4", 10, 12, 3, stride=2)
    x = g.Mul(x, g.HardSigmoid(x, alpha=0.1666666716337204, beta=0.5))
    x = g.Flatten(g.GlobalAveragePool(x), axis=1)
    x = g.HardSwish(g.gemm(x, "classifier.0", 12, 16))
    g.output(g.gemm(x, "classifier.3", 16, 5))
    return g


@case
def efficientnet():
    g = Graph()
    x = g.input("input", [2, 3, 33, 40])
    x = g.conv(x, "stem", 3, 8, stride=2)
    x = g.Mul(x, g.Sigmoid(x))
    x = squeeze_excite(g, x, "block", 8, 2, "sigmoid")
    x = g.conv(x, "head", 8, 12, 1)
    x = g.Mul(g.Sigmoid(x), x)
    x = g.GlobalAveragePool(x)
    x = g.Squeeze(g.Squeeze(x, g.integers(3)), g.integers(2))
    g.output(g.gemm(x, "fc", 12, 5))
    return g


@case
def flatten_by_sizes():
    g = Graph(11)
    x = g.input("input", [3, 2, 8, 9])
    x = g.MaxPool(g.Relu(g.conv(x, "conv", 2, 5)), kernel_shape=[2, 2],
                  strides=[2, 2])
    batch = g.node("Gather", g.Shape(x), g.integer(0), axis=0)
    flat = g.Concat(g.node("Unsqueeze", batch, axes=[0]), g.integers(-1),
                    axis=0)
    x = g.Reshape(x, flat)
    g.output(g.gemm(x, "fc", 80, 4))
    return g


@case
def flatten_by_view():
    g = Graph(13)
    x = g.input("input", [1, 2, 8, 9], batch=1)
    x = g.Relu(g.conv(x, "conv", 2, 5, 3, 2))
    x = g.Reshape(x, g.integers(1, -1))
    x = g.batch_norm(x, "bn", 100)
    x = g.Reshape(g.gemm(x, "fc", 100, 12), g.integers(-1, 12))
    g.output(g.gemm(x, "fc2", 12, 3))
    return g


@case
def features_in_order():
    """A flattened image is an output, and the input of BatchNormalization."""
    g = Graph(13)
    x = g.input("input", [3, 2, 4, 5])
    x = g.Flatten(g.conv(x, "conv", 2, 3), axis=1)
    g.output(x)
    g.output(g.Relu(g.batch_norm(x, "bn", 60)))
    return g


@case
def unet():
    g = Graph()
    x = g.input("input", [2, 3, 16, 24])
    a = g.Relu(g.conv(x, "down1", 3, 6))
    b = g.MaxPool(a, kernel_shape=[2, 2], strides=[2, 2])
    b = g.Relu(g.conv(b, "down2", 6, 10))
    up = g.ConvTranspose(b, g.weight("up.weight", 10, 6, 2, 2),
                         g.weight("up.bias", 6), kernel_shape=[2, 2],
                         strides=[2, 2], pads=[0, 0, 0, 0])
    y = g.Concat(a, up, axis=1)
    y = g.Relu(g.conv(y, "up1", 12, 5))
    z = g.Resize(b, "", g.floats([1, 1, 2, 2]), mode="nearest",
                 coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor")
    z = g.conv(z, "side", 10, 5, 1)
    g.output(g.conv(g.Add(y, z), "out", 5, 4, 1), 4)
    return g


@case
def transposed_with_output_padding():
    g = Graph(13)
    x = g.input("input", [2, 3, 5, 7])
    x = g.ConvTranspose(x, g.weight("w", 3, 4, 3, 3), g.weight("b", 4),
                        kernel_shape=[3, 3], strides=[2, 2],
                        pads=[1, 1, 1, 1], output_padding=[1, 1])
    x = g.ConvTranspose(x, g.weight("w2", 4, 2, 3, 2), strides=[2, 3],
                        kernel_shape=[3, 2], pads=[1, 0, 0, 0],
                        dilations=[2, 1])
    g.output(x, 4)
    return g


@case
def transposed_with_groups():
    g = Graph(13)
    x = g.input("input", [2, 6, 5, 7])
    x = g.ConvTranspose(g.Relu(x), g.weight("w", 6, 4, 3, 2),
                        g.weight("b", 12), kernel_shape=[3, 2],
                        strides=[2, 3], pads=[1, 0, 0, 1], group=3)
    x = g.ConvTranspose(g.Relu(x), g.weight("w2", 12, 1, 4, 4),
                        kernel_shape=[4, 4], strides=[2, 2],
                        pads=[1, 1, 1, 1], group=12)
    g.output(g.conv(g.batch_norm(x, "bn", 12), "out", 12, 4, 1), 4)
    return g


@case
def transposed_sequences():
    g = Graph(13)
    x = g.conv(g.input("signal", [2, 6, 11]), "conv", 6, 8, [3])
    y = g.ConvTranspose(g.Relu(x), g.weight("w", 8, 3, 4), g.weight("b", 6),
                        kernel_shape=[4], strides=[2], pads=[1, 1],
                        output_padding=[1], group=2)
    z = g.ConvTranspose(x, g.weight("w2", 8, 5, 3), output_shape=[19],
                        kernel_shape=[3], strides=[2])
    g.output(g.Relu(y), 3)
    g.output(z, 3)
    return g


@case
def channels_last_at_the_ends():
    """tf2onnx: images [N,h,w,c], transposed before and after convolutions."""
    g = Graph(13)
    x = g.input("input_1:0", [2, 9, 12, 3])
    x = g.Transpose(x, perm=[0, 3, 1, 2])
    x = g.Relu(g.conv(x, "conv", 3, 5, bias=False))
    x = g.Add(x, g.weight("bias", 1, 5, 1, 1))
    x = g.Transpose(x, perm=[0, 2, 3, 1])
    x = g.Mul(x, g.weight("scale", 5))
    g.output(x, 4)
    x = g.Reshape(x, g.integers(-1, 540))
    g.output(g.Add(g.MatMul(x, g.weight("w", 540, 4)), g.weight("b", 4)))
    return g


@case
def shuffle():
    g = Graph()
    x = g.input("input", [2, 3, 10, 13])
    x = g.Relu(g.conv(x, "conv", 3, 6))
    x = g.Reshape(x, g.integers(0, 2, 3, 10, 13))
    x = g.Transpose(x, perm=[0, 2, 1, 3, 4])
    x = g.Reshape(x, g.integers(-1, 6, 10, 13))
    x = g.conv(x, "depthwise", 6, 6, group=6)
    g.output(g.gemm(g.Flatten(x), "fc", 780, 4))
    return g


@case
def conv_next():
    g = Graph()
    x = g.input("input", [2, 3, 32, 40])
    x = g.conv(x, "stem", 3, 8, 4, 4, pad=[0, 0, 0, 0])
    y = g.conv(x, "block.dwconv", 8, 8, 7, group=8)
    y = g.Transpose(y, perm=[0, 2, 3, 1])
    y = g.layer_norm(y, "block.norm", 8)
    y = g.gelu(g.linear(y, "block.pwconv1", 8, 20))
    y = g.linear(y, "block.pwconv2", 20, 8)
    y = g.Mul(y, g.weight("block.gamma", 8, scale=1.0))
    y = g.Transpose(y, perm=[0, 3, 1, 2])
    x = g.Add(x, y)
    x = g.ReduceMean(x, axes=[-2, -1], keepdims=0)
    g.output(g.gemm(g.layer_norm(x, "norm", 8, True), "head", 8, 5))
    return g


@case
def pools():
    g = Graph(13)
    x = g.input("input", [2, 3, 17, 23])
    y = g.MaxPool(x, kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1)
    z = g.AveragePool(x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    g.output(y, 4)
    g.output(z, 4)
    g.output(g.AveragePool(x, kernel_shape=[3, 3], strides=[2, 2],
                           pads=[1, 1, 0, 1], count_include_pad=1), 4)
    g.output(g.AveragePool(x, kernel_shape=[3, 3], strides=[2, 2],
                           pads=[1, 1, 0, 1]), 4)
    g.output(g.AveragePool(x, kernel_shape=[2, 4], strides=[2, 2],
                           auto_pad="SAME_LOWER"), 4)
    g.output(g.MaxPool(x, kernel_shape=[3, 4], strides=[2, 2],
                       auto_pad="SAME_UPPER"), 4)
    g.output(g.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2],
                       pads=[1, 0, 1, 2]), 4)
    g.output(g.MaxPool(x, kernel_shape=[3, 2], strides=[2, 1],
                       dilations=[2, 5], pads=[2, 0, 1, 1], ceil_mode=1), 4)
    g.output(g.GlobalMaxPool(x), 4)
    g.output(g.ReduceMax(x, axes=[2, 3], keepdims=0))
    return g


@case
def convolutions():
    g = Graph(13)
    x = g.input("input", [2, 4, 15, 18])
    for i, more in enumerate((dict(pad=[1, 0, 2, 1]),
                              dict(pad=[2, 2, 2, 2], dilations=[2, 2]),
                              dict(pad=[0, 1, 0, 1], stride=2),
                              dict(size=[1, 3]))):
        g.output(g.conv(x, f"c{i}", 4, 6, **more), 4)
    g.output(g.Conv(x, g.weight("w", 8, 1, 3, 3), group=4, strides=[2, 1],
                    auto_pad="SAME_LOWER"), 4)
    g.output(g.Conv(x, g.weight("w2", 2, 4, 3, 3),
                    auto_pad="SAME_UPPER", strides=[2, 2]), 4)
    pads = g.integers(0, 0, 1, 2, 0, 0, 3, 0)
    y = g.Pad(x, pads, g.floats(0), mode="constant")
    g.output(g.conv(y, "padded", 4, 3, pad=[0, 0, 0, 0]), 4)
    g.output(g.Slice(x, g.integers(1, 2), g.integers(-2, 100),
                     g.integers(2, 3)), 4)
    return g


@case
def activations():
    g = Graph(13)
    x = g.input("input", [2, 3, 5, 7])
    for op, attributes in (("Relu", {}), ("LeakyRelu", {"alpha": 0.05}),
                           ("Elu", {"alpha": 0.7}), ("Selu", {}),
                           ("Sigmoid", {}), ("Tanh", {}), ("Softplus", {}),
                           ("Softsign", {}), ("Exp", {})):
        g.output(g.node(op, x, **attributes), 4)
    g.output(g.PRelu(x, g.weight("slopes", 3, 1, 1)), 4)
    g.output(g.PRelu(x, g.weight("slope", 1)), 4)
    g.output(g.Softmax(x, axis=1), 4)
    g.output(g.Softmax(x, axis=-1), 4)
    g.output(g.Clip(x, g.floats(0)), 4)
    return g


@case
def arithmetic():
    g = Graph(13)
    x = g.input("a", [2, 3, 5, 7])
    z = g.input("b", [2, 3, 5, 7])
    g.output(g.Sub(x, z), 4)
    g.output(g.Max(x, z), 4)
    g.output(g.Min(x, z), 4)
    g.output(g.Sum(x, z, x), 4)
    g.output(g.Mean(x, z), 4)
    g.output(g.Sub(g.floats(1), x), 4)
    g.output(g.Div(g.Sub(x, g.weight("mean", 1, 3, 1, 1)),
                   g.constant("std", np.array([.2, .3, .4], np.float32)
                              .reshape(3, 1, 1))), 4)
    g.output(g.Add(g.Mul(x, g.floats(3)), g.floats([[[0.5]]])), 4)
    g.output(g.Mul(x, g.ReduceMean(z, axes=[2, 3])), 4)
    g.output(g.Neg(x), 4)
    return g


@case
def sequences():
    g = Graph(13)
    x = g.input("signal", [2, 3, 50])
    x = g.conv(x, "conv1", 3, 6, [5], 2, pad=[2, 2])
    x = g.Relu(g.batch_norm(x, "bn", 6))
    x = g.MaxPool(x, kernel_shape=[3], strides=[2], pads=[1, 1])
    x = g.Relu(g.conv(x, "depthwise", 6, 6, [3], pad=[1, 1], group=6))
    g.output(x, 3)
    g.output(g.MaxPool(x, kernel_shape=[3], dilations=[2], pads=[2, 1]), 3)
    g.output(g.gemm(g.Flatten(x), "fc", 78, 4))
    g.output(g.gemm(g.ReduceMean(x, axes=[-1], keepdims=0), "fc2", 6, 3))
    return g


def attention(g, x, name, tokens, heads, width):
    """nn.MultiheadAttention's scaled_dot_product_attention."""
    d = width // heads
    batch = g.size(x, 0)

    def head(part, perm):
        y = g.linear(x, f"{name}.{part}", width, width)
        y = g.Reshape(y, g.sizes(batch, tokens, heads, d))
        return g.Transpose(y, perm=perm)

    scale = g.floats(d ** -0.25)
    q = g.Mul(head("q", [0, 2, 1, 3]), scale)
    k = g.Mul(head("k", [0, 2, 3, 1]), scale)
    weights = g.Softmax(g.MatMul(q, k), axis=-1)
    y = g.MatMul(weights, head("v", [0, 2, 1, 3]))
    y = g.Transpose(y, perm=[0, 2, 1, 3])
    y = g.Reshape(y, g.sizes(batch, tokens, width))
    return g.linear(y, f"{name}.proj", width, width)


def vit_of(decomposed, fixed):
    g = Graph(17)
    x = g.input("pixels", [1 if fixed else 2, 3, 16, 24],
                batch=1 if fixed else "N")
    x = g.conv(x, "patch_embed", 3, 12, 8, 8, pad=[0, 0, 0, 0])
    if fixed:
        x = g.Reshape(x, g.integers(1, 12, 6))
        token = g.weight("cls_token", 1, 1, 12)
    else:
        batch = g.size(x, 0)
        x = g.Reshape(x, g.sizes(batch, 12, -1))
        token = g.Expand(g.weight("cls_token", 1, 1, 12),
                         g.sizes(batch, 1, 1))
    x = g.Transpose(x, perm=[0, 2, 1])
    x = g.Concat(token, x, axis=1)
    x = g.Add(x, g.weight("pos_embed", 1, 7, 12, scale=0.2))
    for i in range(2):
        y = g.layer_norm(x, f"blocks.{i}.norm1", 12, decomposed)
        x = g.Add(x, attention(g, y, f"blocks.{i}.attn", 7, 3, 12))
        y = g.layer_norm(x, f"blocks.{i}.norm2", 12, decomposed)
        y = g.gelu(g.linear(y, f"blocks.{i}.mlp.fc1", 12, 20))
        x = g.Add(x, g.linear(y, f"blocks.{i}.mlp.fc2", 20, 12))
    x = g.layer_norm(x, "norm", 12, decomposed)
    x = g.Gather(x, g.integer(0), axis=1)
    g.output(g.gemm(x, "head", 12, 5))
    return g


@case
def vit():
    return vit_of(True, False)


@case
def vit_of_one_image():
    return vit_of(False, True)


def packed_attention(g, x, name, tokens, heads, width, taken):
    """Queries, keys and values of one Linear, as in timm."""
    d = width // heads
    y = g.linear(x, f"{name}.qkv", width, 3 * width)
    y = g.Reshape(y, g.integers(-1, tokens, 3, heads, d))
    y = g.Transpose(y, perm=[2, 0, 3, 1, 4])
    if taken == "gather":
        q, k, v = (g.Gather(y, g.integer(i), axis=0) for i in range(3))
    else:
        q, k, v = (g.Squeeze(part, g.integers(0))
                   for part in g.node("Split", y, outputs=3, axis=0))
    scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
    weights = g.Softmax(g.Mul(scores, g.floats(0.3)), axis=-1)
    y = g.Transpose(g.MatMul(weights, v), perm=[0, 2, 1, 3])
    y = g.Reshape(y, g.integers(-1, tokens, width))
    return g.linear(y, f"{name}.proj", width, width)


@case
def packed_heads():
    g = Graph(13)
    x = g.input("tokens", [2, 5, 12])
    x = g.Add(x, packed_attention(g, x, "a", 5, 3, 12, "gather"))
    x = g.Add(x, packed_attention(g, x, "b", 5, 2, 12, "split"))
    g.output(g.ReduceMean(x, axes=[1], keepdims=0))
    return g


@case
def tokens_before_samples():
    """nn.MultiheadAttention transposes [N,t,d] to [t,N,d] and packs its
    weights."""
    g = Graph(13)
    x = g.input("tokens", [2, 5, 12])
    y = g.Transpose(x, perm=[1, 0, 2])
    y = g.linear(y, "in_proj", 12, 36)
    y = g.Reshape(y, g.sizes(5, g.size(x, 0), 3, 12))
    y = g.Unsqueeze(y, g.integers(0))
    y = g.Transpose(y, perm=[3, 1, 2, 0, 4])
    y = g.Squeeze(y, g.integers(3))
    parts = []
    for i in range(3):
        part = g.Gather(y, g.integer(i), axis=0)
        part = g.Reshape(part, g.sizes(5, g.size(x, 0), 3, 4))
        parts.append(g.Transpose(part, perm=[1, 2, 0, 3]))
    q, k, v = parts
    k = g.Transpose(k, perm=[0, 1, 3, 2])
    weights = g.Softmax(g.MatMul(g.Mul(q, g.floats(0.5)), k), axis=-1)
    y = g.Transpose(g.MatMul(weights, v), perm=[2, 0, 1, 3])
    y = g.Reshape(y, g.sizes(5, g.size(x, 0), 12))
    y = g.Transpose(g.linear(y, "out_proj", 12, 12), perm=[1, 0, 2])
    g.output(g.Add(x, y), 3)
    return g


def heads_beside_samples_of(batch, samples, sizes):
    """nn.MultiheadAttention: bmm over samples and heads, merged into one axis.

    `sizes(g, *values)` returns the shape for Reshape; values may be "N", "N*3".
    """
    g = Graph(17)
    x = g.input("tokens", [samples, 5, 12], batch)
    g.batch = g.size(x, 0) if batch == "N" else None
    y = g.Transpose(x, perm=[1, 0, 2])
    parts = []
    for part in "qkv":
        z = g.linear(y, f"{part}_proj", 12, 12)
        z = g.Reshape(z, sizes(g, 5, "N*3", 4))
        parts.append(g.Transpose(z, perm=[1, 0, 2]))
    q, k, v = parts
    scores = g.MatMul(g.Mul(q, g.floats(0.5)),
                      g.Transpose(k, perm=[0, 2, 1]))
    y = g.MatMul(g.Softmax(scores, axis=-1), v)
    y = g.Reshape(g.Transpose(y, perm=[1, 0, 2]), sizes(g, "5*N", 12))
    y = g.gemm(y, "out_proj", 12, 12)
    y = g.Reshape(y, sizes(g, 5, "N", 12))
    y = g.layer_norm(y, "norm", 12)
    g.output(g.Add(x, g.Transpose(y, perm=[1, 0, 2])), 3)
    return g


def fixed_sizes(samples):
    factors = {"N": samples, "N*3": 3 * samples, "5*N": 5 * samples}
    return lambda g, *values: g.integers(*(factors.get(v, v) for v in values))


@case
def heads_beside_samples():
    """Computed sizes, as in TorchScript's exporter."""
    def sizes(g, *values):
        factors = {"N*3": 3, "5*N": 5}
        return g.sizes(*(
            g.Mul(g.batch, g.integer(factors[v])) if v in factors
            else g.batch if v == "N" else v for v in values))
    return heads_beside_samples_of("N", 2, sizes)


@case
def heads_beside_open_samples():
    """Sizes in the form of dynamo."""
    def sizes(g, *values):
        return g.integers(*(-1 if isinstance(v, str) else v for v in values))
    return heads_beside_samples_of("N", 2, sizes)


@case
def heads_beside_one_sample():
    return heads_beside_samples_of(1, 1, fixed_sizes(1))


@case
def heads_beside_two_samples():
    return heads_beside_samples_of(2, 2, fixed_sizes(2))


@case
def tokens_beside_samples():
    """x.reshape(b * l, c), Linear, BatchNorm1d and Softmax, and back."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 12])
    batch = g.size(x, 0)
    y = g.Reshape(x, g.sizes(g.Mul(batch, g.integer(5)), 12))
    y = g.batch_norm(g.gemm(y, "fc1", 12, 7), "bn", 7)
    y = g.Softmax(g.gemm(g.Relu(y), "fc2", 7, 6), axis=1)
    g.output(g.Reshape(y, g.sizes(batch, 5, 6)), 3)
    g.output(g.Reshape(y, g.sizes(g.Div(g.Mul(batch, g.integer(30)),
                                        g.integer(30)), 30)))
    return g


@case
def values_beside_samples():
    """Sums of merged axes, as in MobileViT, a factor per head, as in XCiT, and
    Flatten of samples and tokens, as in LeViT."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 12])
    y = g.Reshape(x, g.integers(-1, 12))
    y = g.Add(y, g.gemm(y, "fc1", 12, 12))
    z = g.Flatten(x, axis=2)
    y = g.Mul(y, g.gemm(z, "fc2", 12, 12))
    y = g.Transpose(g.Reshape(y, g.integers(-1, 5, 3, 4)), perm=[0, 2, 1, 3])
    scores = g.MatMul(y, g.Transpose(y, perm=[0, 1, 3, 2]))
    scores = g.Mul(scores, g.weight("temperature", 3, 1, 1))
    y = g.MatMul(g.Softmax(scores, axis=-1), y)
    y = g.Add(g.Mul(y, g.weight("gamma", 3, 1, 1)), g.weight("beta", 3, 1, 1))
    g.output(g.Transpose(y, perm=[0, 2, 1, 3]), 4)
    return g


def masked_attention_of(hide):
    """Causal attention: later tokens are masked."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 12])
    batch = g.size(x, 0)
    q, k, v = (g.Transpose(
        g.Reshape(g.linear(x, part, 12, 12), g.sizes(batch, 5, 3, 4)),
        perm=[0, 2, 1, 3]) for part in "qkv")
    # dynamo transposes the last two axes of a value of rank 3.
    k = g.Transpose(g.Reshape(k, g.integers(-1, 5, 4)), perm=[0, 2, 1])
    k = g.Reshape(k, g.sizes(batch, 3, 4, 5))
    scores = hide(g, g.Mul(g.MatMul(q, k), g.floats(0.5)))
    y = g.MatMul(g.Softmax(scores, axis=-1), v)
    y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.sizes(batch, 5, 12))
    g.output(g.linear(y, "out", 12, 4), 3)
    return g


@case
def masked_attention():
    mask = np.where(np.tri(5, dtype=bool), 0, -np.inf)
    return masked_attention_of(lambda g, scores: g.Add(scores, g.floats(mask)))


@case
def filled_attention():
    """Masks by masked_fill(), and by torch.where() with a low number."""
    later = ~np.tri(5, dtype=bool)

    def hide(g, scores):
        filled = g.Where(g.constant("later", later), g.floats(-np.inf), scores)
        return g.Where(g.constant("now", np.tri(5, dtype=bool)[None]), filled,
                       g.floats(-3e38))

    return masked_attention_of(hide)


@case
def attention_of_windows():
    """Swin: windows merged with samples, a bias per pair of tokens, and a mask
    per window."""
    g = Graph(17)
    x = g.input("pixels", [2, 8, 6, 10], batch="N")
    x = g.Transpose(x, perm=[0, 2, 3, 1])
    y = g.Reshape(x, g.integers(-1, 2, 3, 2, 5, 8))
    y = g.Transpose(y, perm=[0, 1, 3, 2, 4, 5])
    y = g.Reshape(y, g.integers(-1, 15, 8))
    y = g.layer_norm(y, "norm", 8)
    parts = g.Reshape(g.linear(y, "qkv", 8, 24), g.integers(-1, 15, 3, 2, 4))
    parts = g.Transpose(parts, perm=[2, 0, 3, 1, 4])
    q, k, v = (g.Gather(parts, g.integer(i), axis=0) for i in range(3))
    scores = g.MatMul(g.Mul(q, g.floats(0.5)),
                      g.Transpose(k, perm=[0, 1, 3, 2]))
    scores = g.Add(scores, g.weight("bias", 1, 2, 15, 15))
    scores = g.Reshape(scores, g.integers(-1, 4, 2, 15, 15))
    mask = np.where(RANDOM.uniform(size=(1, 4, 1, 15, 15)) < 0.3, -100, 0)
    scores = g.Reshape(g.Add(scores, g.floats(mask)),
                       g.integers(-1, 2, 15, 15))
    y = g.MatMul(g.Softmax(scores, axis=-1), v)
    y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.integers(-1, 15, 8))
    y = g.linear(y, "proj", 8, 8)
    y = g.Reshape(y, g.integers(-1, 2, 2, 3, 5, 8))
    y = g.Transpose(y, perm=[0, 1, 3, 2, 4, 5])
    y = g.Reshape(y, g.integers(-1, 6, 10, 8))
    g.output(g.ReduceMean(g.Add(x, y), axes=[1, 2], keepdims=0))
    return g


@case
def products_of_values():
    g = Graph(17)
    x = g.input("left", [2, 3, 5, 7])
    y = g.input("right", [2, 3, 7, 4])
    g.output(g.MatMul(x, y), 4)
    g.output(g.Einsum(x, y, equation="b h i d, b h d j -> b j h i"), 4)
    g.output(g.Einsum(x, y, equation="nhid,nhdj->nhij"), 4)
    z = g.Transpose(x, perm=[0, 1, 3, 2])
    g.output(g.MatMul(g.Relu(x), z), 4)
    # Softmax over rows, which is not attention.
    scores = g.Softmax(g.MatMul(g.Sigmoid(x), z), axis=2)
    g.output(g.MatMul(scores, x), 4)
    return g


@case
def gelu_by_tanh():
    """torch.nn.GELU("tanh") of both exporters, and of opset 20."""
    g = Graph(20)
    x = g.linear(g.input("tokens", [2, 5, 8]), "a", 8, 12)
    for cube, scale_first in ((g.Mul(x, g.Mul(x, x)), True),
                              (g.Pow(x, g.floats(3)), False)):
        inner = g.Add(x, g.Mul(g.floats(0.044715), cube))
        gate = g.Add(g.floats(1), g.Tanh(g.Mul(g.floats(0.7978845608), inner)))
        y = (g.Mul(g.floats(0.5), g.Mul(x, gate)) if scale_first
             else g.Mul(g.Mul(g.floats(0.5), x), gate))
        x = g.linear(y, f"after{scale_first}", 12, 12)
    g.output(g.Gelu(x, approximate="tanh"), 3)
    return g


@case
def equations():
    """torch.einsum with weights: layers, matrices of heads, factors."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 3, 8])
    heads = g.Einsum(x, g.weight("query", 3, 8, 2, 7),
                     equation="bthd,hdef->btef")
    g.output(heads, 4)
    g.output(g.Einsum(heads, g.weight("project", 2, 7, 6),
                      equation="bhtd,tdo -> bho"), 3)
    y = g.Einsum(x, g.weight("last", 8, 4), equation="...d,df->...f")
    g.output(y, 4)
    g.output(g.Einsum(g.weight("first", 6, 5), x, equation="st,bthd->bhsd"), 4)
    g.output(g.Einsum(x, g.weight("tables", 3, 5, 9, 8),
                      equation="bqhc,hqkc->bhqk"), 4)
    g.output(g.Einsum(x, g.weight("one", 1, 3, 9, 8),
                      equation="bqhc,bhkc->bhqk"), 4)
    g.output(g.Einsum(x, g.weight("factors", 3, 5), equation="bthd,ht"), 2)
    gate = g.Sigmoid(g.ReduceMean(x, axes=[1], keepdims=0))
    g.output(g.Einsum(x, gate, equation="bthd,bhd->btdh"), 4)
    g.output(g.Einsum(x, g.weight("scale", 3, 5), equation="bthd,ht->bthd"), 4)
    g.output(g.Einsum(gate, gate, equation="bhd,bhe->bde"), 3)
    g.output(g.Einsum(y, y, equation="bthd,bshe->btdse"), 5)
    g.output(g.Einsum(x, y, equation="bthd,bthf->bdf"), 3)
    return g


@case
def all_values_by_number():
    """as_strided in the form of dynamo."""
    g = Graph(17)
    x = g.input("pixels", [1, 6, 5, 3], batch=1)
    y = g.Reshape(g.ReduceMean(x, axes=[-1, -2], keepdims=1), g.integers(-1))
    y = g.Gather(y, g.constant("numbers", np.arange(6).reshape(1, 6, 1, 1)),
                 axis=0)
    g.output(g.gemm(g.Flatten(y), "fc", 6, 4))
    return g


@case
def parts_of_channels():
    g = Graph(13)
    x = g.input("input", [2, 3, 10, 14])
    x = g.Relu(g.conv(x, "conv", 3, 8))
    a, b = g.node("Split", x, g.integers(3, 5), outputs=2, axis=1)
    b = g.conv(b, "b", 5, 5)
    y = g.Concat(b, a, axis=1)
    y = g.Add(g.Slice(y, g.integers(2), g.integers(6), g.integers(1)),
              g.conv(a, "a", 3, 4, 1))
    g.output(g.DepthToSpace(y, blocksize=2, mode="CRD"), 4)
    g.output(g.conv(g.DepthToSpace(y, blocksize=2, mode="DCR"), "d", 1, 2), 4)
    y = g.SpaceToDepth(x, blocksize=2)
    g.output(g.conv(y, "s", 32, 4, 1), 4)
    g.output(g.Gather(x, g.integers(1, 2), axis=2), 4)
    return g


@case
def near_forms():
    """Almost matches of patterns, and matches with other consumers."""
    g = Graph(17)
    x = g.input("input", [2, 5, 8])
    y = g.layer_norm(x, "norm", 8)
    g.output(g.Mul(y, g.floats([2.0])), 3)
    g.output(g.Add(g.Mul(y, g.floats(2)), g.weight("b", 8)), 3)
    s = g.Sigmoid(x)
    g.output(g.Mul(x, s), 3)
    g.output(s, 3)
    g.output(g.Mul(g.Sigmoid(y), x), 3)
    m = g.MatMul(x, g.weight("w", 8, 6))
    g.output(g.Add(m, g.weight("bias", 6)), 3)
    g.output(g.Relu(m), 3)
    g.output(g.Add(g.MatMul(x, g.weight("w2", 8, 6)),
                   g.weight("position", 1, 5, 6)), 3)
    g.output(g.Mul(g.HardSigmoid(y, alpha=1 / 6), x), 3)
    return g


@case
def activations_by_parts():
    """Activations as Darknet, Keras and PyTorch write them, and near misses."""
    g = Graph(17)
    x = g.linear(g.input("tokens", [2, 5, 8]), "first", 8, 8)
    one, three, six = g.floats(1), g.floats(3), g.floats(6)
    zero, half, tenth = g.floats(0), g.floats(0.5), g.floats(0.1)
    sigmoid = g.Reciprocal(g.Add(g.Exp(g.Neg(x)), one))
    softplus = g.Log(g.Add(one, g.Exp(x)))
    erf = g.Erf(g.Div(x, g.floats(2 ** 0.5)))
    relu6 = g.Min(g.Max(g.Add(three, x), zero), six)
    line = g.Clip(g.Add(g.Mul(x, g.floats(0.2)), half), zero, one)
    cubic = g.Mul(g.Mul(x, x), g.floats(0.044715))
    inner = g.Mul(g.Mul(x, g.Add(cubic, one)), g.floats((2 / np.pi) ** 0.5))
    for y in (sigmoid, softplus, line,
              g.Div(x, g.Add(one, g.Exp(g.Mul(x, g.floats(-1))))),
              g.Mul(g.Sigmoid(x), x), g.Mul(x, g.Tanh(g.Softplus(x))),
              g.Mul(g.Mul(x, relu6), g.floats(1 / 6)),
              g.Max(g.Mul(x, tenth), x), g.Max(g.Mul(x, three), x),
              g.Mul(x, g.Add(g.Mul(erf, half), half)),
              g.Mul(g.Mul(g.Add(one, g.Tanh(inner)), x), half),
              g.Mul(x, g.Sigmoid(g.Mul(x, g.floats(1.702)))),
              g.Mul(x, g.Add(g.Mul(erf, half), tenth))):
        g.output(y, 3)
    return g


@case
def normalizations_by_parts():
    """LayerNorm and RMSNorm with Reciprocal, InstanceNorm of tf2onnx, lengths by
    ReduceSum."""
    g = Graph(17)
    x = g.linear(g.input("tokens", [2, 5, 8]), "first", 8, 8)
    epsilon = g.floats(0.01)

    def moments(x, axes):
        d = g.Sub(x, g.ReduceMean(x, axes=axes))
        return d, g.ReduceMean(g.Mul(d, d), axes=axes)

    d, variance = moments(x, [-1])
    y = g.Mul(d, g.Reciprocal(g.Sqrt(g.Add(variance, epsilon))))
    y = g.Add(g.weight("beta", 8), g.Mul(y, g.weight("gamma", 8)))
    y = g.linear(y, "second", 8, 8)
    root = g.Reciprocal(g.Sqrt(g.Add(
        epsilon, g.ReduceMean(g.Pow(y, g.floats(2)), axes=[-1]))))
    y = g.linear(g.Mul(g.weight("rms", 8), g.Mul(y, root)), "third", 8, 8)
    length = g.Sqrt(g.ReduceSum(g.Mul(y, y), g.integers(-1)))
    g.output(g.Div(y, g.Max(g.floats(1e-12), length)), 3)
    image = g.conv(g.input("pixels", [2, 3, 9, 7]), "stem", 3, 6)
    d, variance = moments(image, [2, 3])
    z = g.Div(d, g.Sqrt(g.Add(variance, epsilon)))
    z = g.Add(g.Mul(z, g.weight("scale", 6, 1, 1)), g.weight("bias", 6, 1, 1))
    g.output(g.conv(z, "out", 6, 5, 1), 4)
    return g


def scaled_attention(scaled, causal=None):
    """`scaled` returns the scores of queries [N,3,5,4] and keys."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 12])
    batch = g.size(x, 0)
    q, k, v = (g.Transpose(
        g.Reshape(g.linear(x, part, 12, 12), g.sizes(batch, 5, 3, 4)),
        perm=[0, 2, 1, 3]) for part in "qkv")
    scores = scaled(g, q, g.Transpose(k, perm=[0, 1, 3, 2]))
    y = g.MatMul(g.Softmax(scores, axis=-1), v)
    y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.sizes(batch, 5, 12))
    g.output(g.linear(y, "out", 12, 4), 3)
    return g


@case
def attention_scaled_by_a_shape():
    """A divisor that only shapes determine, as in Hugging Face's exports."""
    def scaled(g, q, k):
        size = g.Cast(g.Gather(g.Shape(q), g.integer(-1)),
                      to=TensorProto.FLOAT)
        return g.Div(g.MatMul(q, k), g.Sqrt(size))
    return scaled_attention(scaled)


@case
def attention_scaled_per_head():
    """Learned temperatures, as in XCiT."""
    return scaled_attention(lambda g, q, k: g.Mul(
        g.MatMul(q, k), g.weight("temperature", 3, 1, 1)))


@case
def attention_with_a_computed_mask():
    def scaled(g, q, k):
        scores = g.Mul(g.MatMul(q, k), g.floats(0.5))
        size = g.Slice(g.Shape(scores), g.integers(2), g.integers(4))
        mask = g.Trilu(g.ConstantOfShape(size, value=helper.make_tensor(
            "one", TensorProto.FLOAT, [1], [-1e9])), g.integer(1), upper=1)
        return g.Add(scores, mask)
    return scaled_attention(scaled)


@case
def blocks_of_detectors():
    """Focus and SPPF of YOLOv5, squeeze-and-excite of MobileNetV3."""
    g = Graph(13)
    x = g.input("pixels", [2, 3, 16, 12])
    ends = g.integers(2 ** 31 - 1)

    def every_second(x, axis, start):
        return g.Slice(x, g.integers(start), ends, g.integers(axis),
                       g.integers(2))

    x = g.Concat(*(every_second(every_second(x, 2, i), 3, j)
                   for j in (0, 1) for i in (0, 1)), axis=1)
    x = g.Relu(g.conv(x, "focus", 12, 8))
    parts = [x]
    for _ in range(3):
        parts.append(g.MaxPool(parts[-1], kernel_shape=[5, 5],
                               pads=[2, 2, 2, 2]))
    x = g.conv(g.Concat(*parts, axis=1), "sppf", 32, 8, 1)
    s = g.conv(g.ReduceMean(x, axes=[2, 3]), "reduce", 8, 4, 1)
    s = g.Sigmoid(g.conv(g.Relu(s), "expand", 4, 8, 1))
    g.output(g.conv(g.Mul(x, s), "out", 8, 5, 1), 4)
    return g


@case
def other_axes():
    g = Graph(13)
    x = g.input("input", [2, 3, 5, 7])
    x = g.Add(x, g.weight("image", 1, 3, 5, 7))
    x = g.Add(x, g.weight("column", 7))
    g.output(g.conv(x, "conv", 3, 4), 4)
    g.output(g.ReduceMean(x, axes=[2]), 4)
    g.output(g.ReduceMean(x, axes=[1], keepdims=0), 3)
    g.output(g.ReduceSum(x, g.integers(1, 3)), 4)
    g.output(g.ReduceMax(x, axes=[1, 2], keepdims=0))
    g.output(g.ReduceSum(x, g.integers(1, 2), keepdims=0))
    return g


@case
def functions_of_values():
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7])
    size = g.Add(g.Abs(x), g.floats(0.5))
    for y in (g.Sqrt(size), g.Log(size), g.Reciprocal(size),
              g.Pow(x, g.floats(2)), g.Pow(size, g.floats(0.5)),
              g.Div(x, size), g.Div(g.floats(1), size),
              g.Div(g.floats(3), size), g.Clip(x, g.floats(-0.3),
                                               g.floats(0.4)),
              g.Clip(x, "", g.floats(0.25)), g.Max(x, g.floats(0.1)),
              g.Min(g.floats(-0.1), x), g.HardSigmoid(x),
              g.ThresholdedRelu(x, alpha=0.2), g.Celu(x),
              g.Mul(x, g.Tanh(g.Softplus(x))), g.LogSoftmax(x, axis=1),
              g.LogSoftmax(x, axis=2), g.LogSoftmax(x)):
        g.output(y, 4)
    return g


@case
def other_normalizations():
    """GroupNorm, InstanceNorm2d and LocalResponseNorm of PyTorch."""
    g = Graph(17)
    x = g.input("input", [2, 3, 9, 7])
    x = g.conv(x, "stem", 3, 6)
    y = g.Reshape(x, g.integers(0, 2, -1))
    y = g.InstanceNormalization(y, g.floats([1, 1]), g.floats([0, 0]),
                                epsilon=1e-4)
    y = g.Reshape(y, g.Shape(x))
    y = g.Mul(y, g.weight("norm.weight", 6, 1, 1))
    y = g.Add(y, g.weight("norm.bias", 6, 1, 1))
    z = g.InstanceNormalization(x, g.weight("w", 6), g.weight("b", 6))
    y = g.LRN(g.Relu(g.Add(y, z)), size=3, alpha=0.2, beta=0.6, bias=1.5)
    g.output(g.conv(y, "out", 6, 5, 1), 4)
    return g


@case
def lengths():
    """Rows divided by their norm or root mean square."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 8])
    length = g.Clip(g.ReduceL2(x, axes=[-1]), g.floats(1e-12))
    y = g.linear(g.Div(x, length), "first", 8, 6)
    mean = g.ReduceMean(g.Pow(y, g.floats(2)), axes=[-1])
    root = g.Sqrt(g.Add(mean, g.floats(1e-5)))
    y = g.Mul(g.Div(y, root), g.weight("norm", 6))
    g.output(g.linear(y, "second", 6, 3), 3)
    return g


@case
def reductions():
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7])
    g.output(g.ReduceMin(x, axes=[1]), 4)
    g.output(g.ReduceMin(x, axes=[2, 3], keepdims=0))
    g.output(g.ReduceL1(x, axes=[3], keepdims=0), 3)
    g.output(g.ReduceL2(x, axes=[1]), 4)
    g.output(g.ReduceSumSquare(x, axes=[1, 2]), 4)
    return g


@case
def resized():
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7], batch=2)
    sizes = g.integers(2, 3, 3, 4)
    y = g.Resize(x, "", "", sizes, mode="linear",
                 coordinate_transformation_mode="pytorch_half_pixel")
    g.output(g.conv(y, "conv", 3, 4), 4)
    g.output(g.Resize(x, "", g.floats([1, 1, 1.4, 2]), mode="linear"), 4)
    return g


@case
def padded_axes():
    """Pads of any axis, with values and negative; slices of several axes."""
    g = Graph(19)
    x = g.input("input", [2, 3, 5, 7])
    y = g.Pad(x, g.integers(0, 1, 0, 2, 0, 0, 2, 1), g.floats(0.75))
    g.output(g.conv(y, "conv", 4, 3), 4)
    y = g.Pad(x, g.integers(0, -1, 2, 0, 0, 1, -1, -3), mode="edge")
    g.output(g.Relu(y), 4)
    g.output(g.Pad(x, g.integers(1, 2, 0, 1), "", g.integers(1, 3),
                   mode="wrap"), 4)
    g.output(g.Slice(x, g.integers(1, -1, 0), g.integers(3, -9, 7),
                     g.integers(1, 2, 3), g.integers(1, -2, 3)), 4)
    tokens = g.Reshape(x, g.integers(0, 3, 35))
    g.output(g.Pad(tokens, g.integers(0, 2, 0, 0, 1, 4), g.floats(-1)), 3)
    g.output(g.ReduceLogSumExp(x, g.integers(1, 3), keepdims=0))
    g.output(g.ReduceLogSumExp(tokens, g.integers(-1)), 3)
    return g


@case
def chosen_entries():
    """Indexed pixels: reflected and repeated borders, tiles, odd sizes."""
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7])
    y = g.Pad(x, g.integers(0, 0, 2, 3, 0, 0, 1, 0), mode="reflect")
    y = g.conv(y, "conv1", 3, 4, pad=[0, 0, 0, 0])
    y = g.Pad(y, g.integers(0, 0, 1, 2, 0, 0, 4, 3), mode="edge")
    g.output(g.conv(y, "conv2", 4, 5), 4)
    g.output(g.Gather(x, g.integers(2, 0, 0, 1), axis=1), 4)
    g.output(g.Gather(x, g.integers(-1, 3, 3), axis=3), 4)
    table = np.array([[0, 1, 2], [1, 2, -1]])
    g.output(g.Gather(x, g.constant("table", table), axis=2), 5)
    g.output(g.Tile(x, g.integers(1, 2, 1, 3)), 4)
    size = g.ReduceMean(x, axes=[2, 3])
    g.output(g.Expand(size, g.integers(1, 3, 4, 2)), 4)
    for scales, attributes in (
            ([1, 1, 1.5, 0.75], dict(coordinate_transformation_mode=
                                     "asymmetric", nearest_mode="floor")),
            ([1, 1, 2.2, 0.5], dict()),
            ([1, 1, 0.4, 2.5], dict(nearest_mode="round_prefer_ceil"))):
        pixels = g.Pad(x, g.integers(0, 0, 0, 0, 0, 0, 5, 1))  # 10 and 8
        g.output(g.Resize(pixels, "", g.floats(scales), mode="nearest",
                          **attributes), 4)
    return g


@case
def entries_in_place():
    """dynamo's form of x[:, 1:3] = y, and x[:] = y."""
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7])
    x = g.Transpose(g.conv(x, "conv", 3, 6), perm=[1, 0, 2, 3])
    two = g.Relu(g.Slice(x, g.integers(3), g.integers(5), g.integers(0)))
    y = g.ScatterND(x, g.constant("two", np.array([[1], [2]])), two)
    g.output(g.Transpose(y, perm=[1, 0, 2, 3]), 4)
    all_six = np.array([[0], [1], [2], [3], [-2], [-1]])
    y = g.ScatterND(x, g.constant("all", all_six), g.Sigmoid(x))
    g.output(g.Transpose(y, perm=[1, 0, 2, 3]), 4)
    return g


@case
def samples_behind_others():
    """Means over an axis in front of the samples, and slices of windows merged
    with samples, as in CrossViT and MaxxViT."""
    g = Graph(17)
    x = g.input("input", [2, 3, 4, 6])
    x = g.conv(x, "conv", 3, 8)
    a = g.gemm(g.Flatten(x, axis=1), "a", 8 * 24, 5)
    b = g.gemm(g.Flatten(g.Relu(x), axis=1), "b", 8 * 24, 5)
    both = g.Concat(g.Unsqueeze(a, g.integers(0)), g.Unsqueeze(b, g.integers(0)),
                    axis=0)
    g.output(g.ReduceMean(both, axes=[0], keepdims=0), 2)
    g.output(g.Transpose(g.ReduceMax(both, axes=[2], keepdims=1),
                         perm=[1, 0, 2]), 3)
    windows = g.Reshape(x, g.integers(-1, 8, 2, 2, 3, 2))
    windows = g.Transpose(windows, perm=[0, 2, 4, 3, 5, 1])
    windows = g.Reshape(windows, g.integers(-1, 4, 2, 4))
    part = g.Slice(windows, g.integers(1, 0), g.integers(3, 3),
                   g.integers(1, 3))
    g.output(g.Reshape(g.Relu(part), g.integers(-1, 6, 2, 2, 3)), 5)
    return g


@case
def chosen_values():
    """Comparisons, logic on their results, and Where."""
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7])
    y = g.conv(x, "conv", 3, 6)
    z = g.Sin(g.conv(x, "other", 3, 6))
    far = g.Or(g.Greater(y, z), g.LessOrEqual(g.floats([0.5]), y))
    near = g.Not(g.Equal(g.Floor(y), g.floats(0)))
    both = g.Xor(g.And(far, near), g.GreaterOrEqual(z, g.ReduceMean(
        z, axes=[2, 3])))
    g.output(g.Where(both, y, g.floats(-2)), 4)
    g.output(g.Where(g.Less(x, g.floats(0.1)), g.floats(3), g.floats(0)), 4)
    g.output(g.Cast(both, to=TensorProto.FLOAT), 4)
    steps = g.Add(g.Ceil(y), g.Sub(g.Round(g.Mul(z, g.floats(3))), g.Sign(y)))
    some = g.Cast(g.Relu(steps), to=TensorProto.BOOL)
    y = g.Where(some, g.Cos(y), g.ReduceMax(z, axes=[1]))
    g.output(g.Pow(g.Relu(y), g.floats(2.5)), 4)
    g.output(g.Pow(y, g.integer(3)), 4)
    return g


@case
def constants_beside_values():
    """Constant operands of several numbers, equal for all samples."""
    g = Graph(17)
    x = g.input("input", [2, 3, 5, 7])
    z = g.conv(x, "conv", 3, 6)
    table = g.weight("table", 6, 5, 7)
    some = g.constant("some", RANDOM.uniform(size=(5, 7)) < 0.4)
    y = g.Where(g.And(g.Greater(z, table), some), z, table)
    same = g.Equal(g.Less(z, g.floats(0)), some)
    g.output(g.Cast(same, to=TensorProto.FLOAT), 4)
    g.output(g.Where(some, y, g.weight("channels", 6, 1, 1)), 4)
    g.output(g.Mul(g.Max(y, g.weight("rows", 1, 5, 1)), table), 4)
    g.output(g.Add(g.Mul(z, g.floats(0)), g.floats(0.5)), 4)
    g.output(g.Div(g.weight("divided", 5, 7), g.Add(g.Abs(z), g.floats(2))), 4)
    g.output(g.Pad(z, g.integers(0, 0, 2, 0, 0, 0, 1, 3), g.floats(-1.5)), 4)
    return g


@case
def queries_of_a_decoder():
    """Learned queries, repeated per sample, attend to the image, as in DETR and
    PyTorch's nn.Transformer with tokens first."""
    g = Graph(17)
    x = g.input("tokens", [2, 5, 12])
    batch = g.Gather(g.Shape(x), g.integer(0), axis=0)
    queries = g.weight("queries", 4, 12)
    repeated = g.Tile(g.Unsqueeze(queries, g.integers(1)),
                      g.Concat(g.integers(1), g.Unsqueeze(batch, g.integers(0)),
                               g.integers(1), axis=0))
    target = g.ConstantOfShape(g.Shape(repeated))
    y = g.Transpose(g.Add(target, repeated), perm=[1, 0, 2])
    q, k, v = (g.linear(value, name, 12, 12)
               for value, name in ((y, "q"), (x, "k"), (x, "v")))
    products = g.MatMul(q, g.Transpose(k, perm=[0, 2, 1]))
    seen = g.Softmax(g.Mul(products, g.floats(12 ** -0.5)), axis=-1)
    y = g.Add(g.MatMul(seen, v), queries)
    first = g.Concat(g.Unsqueeze(batch, g.integers(0)), g.integers(1, 1), axis=0)
    y = g.Concat(g.Expand(g.weight("registers", 1, 3, 12), first), y, axis=1)
    g.output(g.MatMul(g.weight("mixing", 1, 6, 7), y), 3)
    heads = g.Transpose(g.Reshape(y, g.integers(0, 7, 3, 4)), perm=[0, 2, 1, 3])
    g.output(g.MatMul(heads, g.weight("of_heads", 3, 4, 5)), 4)
    g.output(g.MatMul(g.weight("to_heads", 3, 2, 7), heads), 4)
    return g


@case
def operators_of_opset_23():
    """Variants of Attention, and RMSNormalization."""
    g = Graph(23)
    x = g.input("tokens", [2, 5, 12])
    y = g.RMSNormalization(x, g.weight("norm", 12), epsilon=1e-4)
    q, k, v = (g.linear(y, name, 12, 12) for name in ("q", "k", "v"))
    heads = dict(q_num_heads=3, kv_num_heads=3)
    y = g.Attention(q, k, v, **heads)
    seen = g.constant("seen", np.tril(np.ones((5, 5)), 1).astype(bool))
    z = g.Attention(q, k, v, seen, scale=0.3, **heads)
    y = g.Add(y, g.Attention(z, k, v, g.weight("bias", 5, 5), **heads))
    # Depends on the inputs; for some queries all keys are masked.
    products = g.MatMul(q, g.Transpose(k, perm=[0, 2, 1]))
    near = g.Greater(g.Unsqueeze(products, g.integers(1)), g.floats(0.6))
    y = g.Add(y, g.Attention(q, k, y, near, **heads))
    y = g.Add(y, g.Attention(q, k, y, g.Where(near, g.floats(0.2),
                                              g.floats(-np.inf)), **heads))
    few, fewer = g.linear(x, "few", 12, 6), g.linear(x, "fewer", 12, 3)
    y = g.Add(y, g.Attention(q, few, few, near, q_num_heads=4,
                             kv_num_heads=2))
    y = g.Add(y, g.Attention(q, fewer, fewer, q_num_heads=4, kv_num_heads=1))
    q, k, v, few = (g.Transpose(g.Reshape(each, g.integers(0, 0, -1, 3)),
                                perm=[0, 2, 1, 3]) for each in (q, k, y, few))
    g.output(g.Attention(q, k, v, is_causal=1), 4)
    g.output(g.Attention(q, few, few), 4)
    g.output(g.linear(y, "out", 12, 4), 3)
    return g


@case
def large_weight_read_twice():
    """One consumer of the weight, and one of its transpose, a constant
    expression."""
    g = Graph(17)
    x = g.input("input", [2, 150])
    w = g.weight("w", 150, 120)
    y = g.Relu(g.MatMul(x, w))
    y = g.MatMul(y, g.Transpose(w, perm=[1, 0]))
    g.output(g.Where(g.Less(y, g.floats(-0.5)), g.floats(2), y))
    return g


@case
def reductions():
    """All reductions that become layers, over any axes of a sample."""
    g = Graph(17)
    x = g.conv(g.input("image", [2, 3, 5, 4]), "conv", 3, 6, 1)
    positive = g.Add(g.Abs(x), g.floats(0.5))
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceMax",
               "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare"):
        for axes in ([1], [2], [3], [1, 3], [-2, -1], [1, 2, 3]):
            for keepdims in (0, 1):
                y = g.node(op, positive, axes=axes, keepdims=keepdims)
                g.output(y, 4 if keepdims else 4 - len(axes))
    for axes in ([1], [3, 2]):
        g.output(g.ReduceSum(x, g.integers(*axes), keepdims=0), 4 - len(axes))
    tokens = g.Transpose(g.Reshape(x, g.integers(-1, 6, 20)), perm=[0, 2, 1])
    g.output(g.ReduceMin(tokens, axes=[1], keepdims=0))
    g.output(g.ReduceProd(tokens, axes=[2], keepdims=1), 3)
    return g


def activated(g, x, name, cin, cout, k=1, stride=1):
    y = g.conv(x, name, cin, cout, k, stride)
    return g.Mul(y, g.Sigmoid(y))


@case
def detector_of_bins():
    """YOLOv8's head: boxes by a softmax over bins, all scales in one tensor."""
    g = Graph(17)
    bins, classes, cells = 8, 7, (8 * 12, 4 * 6)
    p3 = activated(g, g.input("images", [2, 3, 16, 24]), "p3", 3, 11, 3, 2)
    p4 = activated(g, p3, "p4", 11, 13, 3, 2)
    scales = []
    for name, x, channels in (("a", p3, 11), ("b", p4, 13)):
        box = g.conv(x, f"{name}.box", channels, 4 * bins)
        score = g.conv(activated(g, x, f"{name}.stem", channels, 9, 3),
                       f"{name}.score", 9, classes)
        both = g.Concat(box, score, axis=1)
        scales.append(g.Reshape(both, g.integers(0, 4 * bins + classes, -1)))
    count = sum(cells)
    box, score = g.Split(g.Concat(*scales, axis=2),
                         g.integers(4 * bins, classes), axis=1, outputs=2)
    box = g.Reshape(box, g.integers(0, 4, bins, count))
    box = g.Softmax(g.Transpose(box, perm=[0, 2, 1, 3]), axis=1)
    numbers = np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1)
    box = g.Conv(box, g.constant("bins", numbers), kernel_shape=[1, 1])
    box = g.Reshape(box, g.integers(0, 4, count))
    first = g.Slice(box, g.integers(0), g.integers(2), g.integers(1))
    last = g.Slice(box, g.integers(2), g.integers(4), g.integers(1))
    anchors = g.weight("anchors", 1, 2, count)
    first, last = g.Sub(anchors, first), g.Add(anchors, last)
    middle = g.Div(g.Add(first, last), g.floats(2))
    box = g.Mul(g.Concat(middle, g.Sub(last, first), axis=1),
                g.weight("strides", 1, count))
    g.output(g.Concat(box, g.Sigmoid(score), axis=1), 3)
    return g


@case
def detector_of_anchors():
    """YOLOv5's head: anchors on a separate axis, numbers of a box last."""
    g = Graph(17)
    p3 = activated(g, g.input("images", [2, 3, 16, 24]), "p3", 3, 11, 3, 2)
    p4 = activated(g, p3, "p4", 11, 13, 3, 2)
    scales = []
    for name, x, channels, h, w in (("a", p3, 11, 8, 12), ("b", p4, 13, 4, 6)):
        y = g.conv(x, f"{name}.head", channels, 2 * 9)
        y = g.Reshape(y, g.integers(0, 2, 9, h, w))
        y = g.Sigmoid(g.Transpose(y, perm=[0, 1, 3, 4, 2]))
        at, size, rest = g.Split(y, g.integers(2, 2, 5), axis=4, outputs=3)
        at = g.Add(g.Mul(at, g.floats(2)), g.weight(f"{name}.at", 1, 2, h, w, 2))
        size = g.Mul(g.Pow(g.Mul(size, g.floats(2)), g.floats(2)),
                     g.weight(f"{name}.size", 1, 2, h, w, 2))
        y = g.Concat(at, size, rest, axis=4)
        scales.append(g.Reshape(y, g.integers(0, -1, 9)))
    g.output(g.Concat(*scales, axis=1), 3)
    return g


@case
def detector_of_boxes_and_scores():
    """SSD's head: channels last for boxes and scores of each scale."""
    g = Graph(17)
    p3 = activated(g, g.input("images", [2, 3, 16, 24]), "p3", 3, 11, 3, 2)
    p4 = activated(g, p3, "p4", 11, 13, 3, 2)
    boxes, scores = [], []
    for name, x, channels in (("a", p3, 11), ("b", p4, 13)):
        for what, size, parts in (("box", 4, boxes), ("score", 5, scores)):
            y = g.conv(x, f"{name}.{what}", channels, 3 * size, 3)
            y = g.Transpose(y, perm=[0, 2, 3, 1])
            parts.append(g.Reshape(y, g.integers(0, -1, size)))
    g.output(g.Concat(*boxes, axis=1), 3)
    g.output(g.Softmax(g.Concat(*scores, axis=1), axis=2), 3)
    return g


@case
def attention_over_pixels():
    """YOLOv11's attention: channels of heads beside all pixels."""
    g = Graph(17)
    x = g.conv(g.input("images", [2, 3, 8, 10]), "stem", 3, 16, 3)
    y = g.Reshape(g.conv(x, "qkv", 16, 32), g.integers(0, 2, 16, 80))
    q, k, v = g.Split(y, g.integers(4, 4, 8), axis=2, outputs=3)
    seen = g.MatMul(g.Transpose(q, perm=[0, 1, 3, 2]), k)
    seen = g.Softmax(g.Mul(seen, g.floats(0.5)), axis=-1)
    y = g.MatMul(v, g.Transpose(seen, perm=[0, 1, 3, 2]))
    y = g.Reshape(y, g.integers(0, 16, 8, 10))
    positions = g.Reshape(v, g.integers(0, 16, 8, 10))
    y = g.Add(y, g.Conv(positions, g.weight("positions", 16, 1, 3, 3),
                        kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=16))
    g.output(g.Add(x, g.conv(y, "project", 16, 16)), 4)
    return g


def recurrent(g, x, op, name, c, units, direction="forward", states=(),
              outputs=1, bias=True, **attributes):
    """An LSTM, GRU or RNN of [t,N,c]."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    both = 2 if direction == "bidirectional" else 1
    operands = [x, g.weight(f"{name}.W", both, gates * units, c, scale=0.5),
                g.weight(f"{name}.R", both, gates * units, units, scale=0.5)]
    if bias:
        operands.append(g.weight(f"{name}.B", both, 2 * gates * units,
                                 scale=0.5))
    if states:
        operands += ["", *states]
    return g.node(op, *operands, name=f"/{name}/{op}", hidden_size=units,
                  direction=direction, outputs=outputs, **attributes)


def zero_states(g, x, directions, units):
    """PyTorch's states of zero for [N,t,c]."""
    n = g.Unsqueeze(g.Gather(g.Shape(x), g.integer(0), axis=0), g.integers(0))
    shape = g.Concat(g.integers(directions), n, g.integers(units), axis=0)
    return g.ConstantOfShape(shape, value=helper.make_tensor(
        "value", TensorProto.FLOAT, [1], [0.0]))


@case
def lstm_of_pytorch():
    """nn.LSTM(batch_first=True) and a classifier of the last step."""
    g = Graph(17)
    x = g.input("x", [2, 7, 5])
    zeros = zero_states(g, x, 1, 4)
    y = recurrent(g, g.Transpose(x, perm=[1, 0, 2]), "LSTM", "rnn", 5, 4,
                  states=(zeros, zeros))
    y = g.Transpose(g.Squeeze(y, g.integers(1)), perm=[1, 0, 2])
    g.output(g.gemm(g.Gather(y, g.integer(-1), axis=1), "fc", 4, 3))
    return g


@case
def lstm_of_pytorch_in_both_directions():
    """Two layers of nn.LSTM(bidirectional=True)."""
    g = Graph(14)
    x = g.input("x", [2, 7, 5])
    y, width = g.Transpose(x, perm=[1, 0, 2]), 5
    zeros = zero_states(g, x, 4, 3)
    for i in range(2):
        state = g.Slice(zeros, g.integers(2 * i), g.integers(2 * i + 2),
                        g.integers(0))
        y = recurrent(g, y, "LSTM", f"rnn{i}", width, 3, "bidirectional",
                      states=(state, state))
        y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.integers(0, 0, -1))
        width = 6
    y = g.Transpose(y, perm=[1, 0, 2])
    g.output(g.linear(y, "fc", 6, 4), 3)
    return g


@case
def gru_of_pytorch():
    """Steps and final states of both directions."""
    g = Graph(17)
    x = g.input("x", [2, 7, 5])
    y, state = recurrent(g, g.Transpose(x, perm=[1, 0, 2]), "GRU", "rnn", 5, 4,
                         "bidirectional", outputs=2, linear_before_reset=1)
    y = g.Reshape(g.Transpose(y, perm=[2, 0, 1, 3]), g.integers(0, 0, -1))
    state = g.Reshape(g.Transpose(state, perm=[1, 0, 2]), g.integers(-1, 8))
    g.output(g.linear(y, "steps", 8, 3), 3)
    g.output(g.gemm(state, "fc", 8, 6))
    return g


@case
def gru_of_pytorch_with_fixed_batch():
    """Zeros that have the samples already, expanded to a computed shape."""
    g = Graph(17)
    x = g.Transpose(g.input("x", [2, 7, 5], batch=2), perm=[1, 0, 2])
    n = g.Unsqueeze(g.Gather(g.Shape(x), g.integer(1)), g.integers(0))
    shape = g.Concat(g.integers(1), n, g.integers(4), axis=0)
    zeros = g.Expand(g.constant("zeros", np.zeros((1, 2, 4), np.float32)),
                     shape)
    y = recurrent(g, x, "GRU", "rnn", 5, 4, states=(zeros,),
                  linear_before_reset=1)
    y = g.Transpose(g.Squeeze(y, g.integers(1)), perm=[1, 0, 2])
    g.output(g.gemm(g.Gather(y, g.integer(-1), axis=1), "fc", 4, 3))
    return g


@case
def gru_of_tensorflow():
    """tf2onnx: the final state, reset before the product, backwards."""
    g = Graph(13)
    x = g.input("x", [2, 7, 5])
    x = g.Transpose(x, perm=[1, 0, 2])
    y = recurrent(g, x, "GRU", "gru", 5, 3, "reverse", outputs=2,
                  linear_before_reset=0)[1]
    g.output(g.gemm(g.Squeeze(y, g.integers(0)), "fc", 3, 4))
    return g


@case
def lstm_with_hard_gates():
    """Functions other than the default ones, backwards, no bias."""
    g = Graph(17)
    x = g.Transpose(g.input("x", [2, 7, 5]), perm=[1, 0, 2])
    y = recurrent(g, x, "LSTM", "lstm", 5, 4, "reverse", bias=False,
                  activations=["HardSigmoid", "Relu", "Relu"])
    y = g.Transpose(g.Squeeze(y, g.integers(1)), perm=[1, 0, 2])
    g.output(g.linear(y, "fc", 4, 3), 3)
    return g


@case
def simple_recurrent_networks():
    """nn.RNN with both nonlinearities."""
    g = Graph(17)
    y = g.Transpose(g.input("x", [2, 7, 5]), perm=[1, 0, 2])
    y = recurrent(g, y, "RNN", "relu", 5, 4, activations=["Relu"])
    y = recurrent(g, g.Squeeze(y, g.integers(1)), "RNN", "tanh", 4, 3,
                  "reverse")
    y = g.Transpose(g.Squeeze(y, g.integers(1)), perm=[1, 0, 2])
    g.output(g.linear(y, "fc", 3, 4), 3)
    return g


@case
def words_of_pytorch():
    """nn.Embedding of words and of constant positions, and their mean."""
    g = Graph(17)
    ids = g.indices("ids", [3, 7], 20)
    x = g.Gather(g.weight("words.weight", 20, 8), ids)
    x = g.Add(x, g.Gather(g.weight("places.weight", 9, 8),
                          g.constant("positions", np.arange(7)[None])))
    x = g.layer_norm(x, "norm", 8)
    g.output(g.gemm(g.ReduceMean(x, axes=[1], keepdims=0), "fc", 8, 4))
    return g


@case
def words_of_keras():
    """tf2onnx: indices are float32 or int32, cast for Gather."""
    g = Graph(13)
    table = g.weight("words", 20, 8)
    a = g.indices("a", [3, 7], 20, type=TensorProto.FLOAT)
    b = g.indices("b", [3, 5], 20, type=TensorProto.INT32)
    a = g.Gather(table, g.Cast(a, to=TensorProto.INT32))
    b = g.Gather(table, g.Cast(b, to=TensorProto.INT64))
    x = g.Concat(a, b, axis=1)
    g.output(g.gemm(g.ReduceMean(x, axes=[1], keepdims=0), "fc", 8, 4))
    return g


@case
def padding_mask_of_attention():
    """Keys of index 0 get a low score."""
    g = Graph(17)
    ids = g.indices("ids", [3, 7], 6)
    mask = g.Unsqueeze(g.Equal(ids, g.integer(0)), g.integers(1, 2))
    low = g.Where(mask, g.floats(-1e9), g.floats(0.0))
    x = g.Gather(g.weight("words.weight", 6, 8), ids)
    q = g.Reshape(g.linear(x, "q", 8, 8), g.integers(0, 7, 2, 4))
    k = g.Reshape(g.linear(x, "k", 8, 8), g.integers(0, 7, 2, 4))
    v = g.Reshape(g.linear(x, "v", 8, 8), g.integers(0, 7, 2, 4))
    scores = g.MatMul(g.Transpose(q, perm=[0, 2, 1, 3]),
                      g.Transpose(k, perm=[0, 2, 3, 1]))
    scores = g.Add(g.Div(scores, g.floats(2.0)), low)
    y = g.MatMul(g.Softmax(scores, axis=-1), g.Transpose(v, perm=[0, 2, 1, 3]))
    y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), g.integers(0, 7, 8))
    g.output(g.linear(y, "o", 8, 6), 3)
    return g


@case
def steps_first_of_pytorch():
    """nn.GRU without batch_first: all steps and the final state."""
    g = Graph(17)
    x = g.steps_first("x", [7, 3, 5])
    y, state = recurrent(g, x, "GRU", "rnn", 5, 4, outputs=2,
                         linear_before_reset=1)
    y = g.linear(g.Squeeze(y, g.integers(1)), "steps", 4, 6)
    g.output(y, 3)
    g.output(state, 3)
    return g


@case
def steps_first_with_states():
    """States are inputs and outputs, as in streaming."""
    g = Graph(17)
    x = g.steps_first("x", [7, 3, 5])
    h, c = (g.steps_first(name, [1, 3, 4]) for name in "hc")
    y, h, c = recurrent(g, x, "LSTM", "rnn", 5, 4, states=(h, c), outputs=3)
    g.output(g.Squeeze(y, g.integers(1)), 3)
    g.output(h, 3)
    return g


@case
def words_steps_first():
    """A language model of [t,N] words: the state after the last step."""
    g = Graph(17)
    ids = g.indices("ids", [7, 3], 20, [7, "N"])
    x = g.Gather(g.weight("words.weight", 20, 8), ids)
    y = recurrent(g, x, "LSTM", "rnn", 8, 5, "bidirectional", outputs=2)[1]
    y = g.Reshape(g.Transpose(y, perm=[1, 0, 2]), g.integers(-1, 10))
    g.output(g.gemm(y, "fc", 10, 4))
    return g
