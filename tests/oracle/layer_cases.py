"""Layer cases of make_layer_golden.py: (name, layer, input shapes).

Shapes include the batch, which is 1 or 2; height, width and channels all differ,
so that mistakes show. Sizes are small: each case is a file.
"""

from keras import layers, saving

IMAGE = (2, 5, 4, 3)
LINE = (1, 4, 6, 1)  # one channel
WIDE = (1, 3, 2, 17)  # more channels than a vector register holds
VECTOR = (2, 12)  # divisible by 4: also a flattened image
TOKENS = (2, 3, 5)  # [n,t,d]
SIGNAL = (2, 9, 3)  # [n,l,c]; file tests distinguish l and c by size
TRACE = (1, 7, 1)  # one channel
BANDS = (1, 5, 17)
STEPS = (2, 9)  # mask of SIGNAL

ACTIVATIONS = [
    "linear", "relu", "relu6", "sigmoid", "tanh", "softmax", "silu", "gelu",
    "hard_sigmoid", "hard_silu", "leaky_relu", "elu", "selu", "softplus",
    "softsign", "exponential", "celu", "hard_shrink", "hard_tanh",
    "log_sigmoid", "log_softmax", "mish", "soft_shrink", "sparse_plus",
    "sparse_sigmoid", "squareplus", "tanh_shrink",
]


def convolutions():
    conv, depthwise = layers.Conv2D, layers.DepthwiseConv2D
    separable, transpose = layers.SeparableConv2D, layers.Conv2DTranspose
    return [
        ("conv2d_valid", conv(2, 3), [IMAGE]),
        ("conv2d_same", conv(4, (3, 2), padding="same"), [IMAGE]),
        ("conv2d_strides", conv(2, 3, strides=(2, 1), padding="same"),
         [(2, 6, 5, 3)]),
        ("conv2d_strides_valid", conv(2, (2, 3), strides=2), [(1, 7, 6, 3)]),
        ("conv2d_dilation", conv(2, (2, 3), dilation_rate=(2, 1)), [IMAGE]),
        ("conv2d_dilation_same",
         conv(2, 3, dilation_rate=2, padding="same"), [(1, 6, 5, 3)]),
        ("conv2d_groups", conv(6, 3, groups=3, padding="same"),
         [(2, 4, 3, 6)]),
        ("conv2d_groups_strides", conv(4, 2, groups=2, strides=2),
         [(1, 5, 4, 4)]),
        ("conv2d_no_bias_relu", conv(3, 2, use_bias=False, activation="relu"),
         [LINE]),
        ("conv2d_tanh", conv(2, 1, activation="tanh"), [IMAGE]),
        ("conv2d_wide", conv(17, 1), [WIDE]),
        ("depthwise_conv2d", depthwise(3), [IMAGE]),
        ("depthwise_conv2d_multiplier",
         depthwise((2, 3), depth_multiplier=2, padding="same"), [IMAGE]),
        ("depthwise_conv2d_strides",
         depthwise(3, strides=2, padding="same", activation="relu6"),
         [(2, 6, 5, 3)]),
        ("depthwise_conv2d_dilation",
         depthwise(2, dilation_rate=2, use_bias=False), [IMAGE]),
        ("depthwise_conv2d_wide",
         depthwise(3, padding="same"), [WIDE]),
        ("depthwise_conv2d_line", depthwise(2, depth_multiplier=3), [LINE]),
        ("separable_conv2d", separable(4, 3), [IMAGE]),
        ("separable_conv2d_multiplier",
         separable(2, (3, 2), depth_multiplier=2, padding="same",
                   activation="relu"), [IMAGE]),
        ("separable_conv2d_strides",
         separable(2, 3, strides=2, padding="same", use_bias=False),
         [(1, 6, 5, 3)]),
        ("separable_conv2d_dilation", separable(3, 2, dilation_rate=2),
         [IMAGE]),
        ("conv2d_transpose_output_padding",
         transpose(2, 3, strides=2, padding="same", output_padding=0),
         [IMAGE]),
        ("conv2d_transpose_output_padding_one",
         transpose(3, (3, 4), strides=(3, 2), padding="same",
                   output_padding=(2, 1)), [(1, 4, 3, 2)]),
        ("conv2d_transpose_output_padding_even",
         transpose(2, 4, strides=2, padding="same", output_padding=0),
         [LINE]),
        ("conv2d_transpose_output_padding_valid",
         transpose(2, (3, 2), strides=(2, 3), output_padding=(1, 2)),
         [IMAGE]),
        ("conv2d_transpose_output_padding_pixel",
         transpose(2, 1, strides=2, padding="same", output_padding=1),
         [IMAGE]),
        ("conv2d_transpose_valid", transpose(2, 3), [(2, 3, 2, 3)]),
        ("conv2d_transpose_same", transpose(2, (3, 2), padding="same"),
         [(2, 3, 2, 3)]),
        ("conv2d_transpose_strides_2",
         transpose(2, 3, strides=2, padding="same"), [(2, 3, 2, 3)]),
        ("conv2d_transpose_strides_2_valid",
         transpose(2, 3, strides=2, activation="relu"), [(1, 3, 2, 3)]),
        ("conv2d_transpose_strides_3",
         transpose(1, (2, 4), strides=3, padding="same", use_bias=False),
         [(1, 3, 2, 4)]),
        ("conv2d_transpose_strides_3_valid", transpose(1, 2, strides=3),
         [(1, 2, 3, 4)]),
        ("conv2d_transpose_strides_mixed",
         transpose(2, 2, strides=(1, 2), padding="same"), [(1, 3, 2, 1)]),
    ]


def sequences():
    conv, depthwise = layers.Conv1D, layers.DepthwiseConv1D
    separable = layers.SeparableConv1D
    cases = [
        ("conv1d", conv(2, 3), [SIGNAL]),
        ("conv1d_same", conv(4, 4, padding="same"), [SIGNAL]),
        ("conv1d_causal", conv(2, 4, padding="causal"), [SIGNAL]),
        ("conv1d_causal_dilation",
         conv(2, 3, padding="causal", dilation_rate=3, activation="relu"),
         [SIGNAL]),
        ("conv1d_causal_strides",
         conv(3, 3, padding="causal", strides=2, use_bias=False), [SIGNAL]),
        ("conv1d_strides", conv(2, 3, strides=3), [(1, 11, 3)]),
        ("conv1d_strides_same", conv(2, 5, strides=2, padding="same"),
         [(2, 8, 3)]),
        ("conv1d_dilation", conv(2, 2, dilation_rate=5), [SIGNAL]),
        ("conv1d_dilation_same",
         conv(2, 4, dilation_rate=2, padding="same"), [SIGNAL]),
        ("conv1d_groups", conv(6, 3, groups=3, padding="causal"),
         [(2, 5, 6)]),
        ("conv1d_groups_strides", conv(4, 2, groups=2, strides=2),
         [(1, 7, 4)]),
        ("conv1d_one_channel", conv(3, 3, padding="same"), [TRACE]),
        ("conv1d_wide", conv(17, 1, activation="tanh"), [BANDS]),
        ("depthwise_conv1d", depthwise(3), [SIGNAL]),
        ("depthwise_conv1d_multiplier",
         depthwise(4, depth_multiplier=2, padding="same"), [SIGNAL]),
        ("depthwise_conv1d_strides",
         depthwise(3, strides=2, padding="same", activation="relu6"),
         [(2, 8, 3)]),
        ("depthwise_conv1d_dilation",
         depthwise(2, dilation_rate=3, use_bias=False), [SIGNAL]),
        ("depthwise_conv1d_wide", depthwise(3, padding="same"), [BANDS]),
        ("depthwise_conv1d_one_channel", depthwise(2, depth_multiplier=3),
         [TRACE]),
        ("separable_conv1d", separable(4, 3), [SIGNAL]),
        ("separable_conv1d_multiplier",
         separable(2, 4, depth_multiplier=2, padding="same",
                   activation="relu"), [SIGNAL]),
        ("separable_conv1d_strides",
         separable(2, 3, strides=2, padding="same", use_bias=False),
         [(1, 8, 3)]),
        ("separable_conv1d_dilation", separable(3, 2, dilation_rate=3),
         [SIGNAL]),
        ("zero_padding1d", layers.ZeroPadding1D(2), [SIGNAL]),
        ("zero_padding1d_ends", layers.ZeroPadding1D((3, 0)), [TRACE]),
        ("cropping1d", layers.Cropping1D(), [SIGNAL]),
        ("cropping1d_ends", layers.Cropping1D((0, 3)), [SIGNAL]),
        ("up_sampling1d", layers.UpSampling1D(), [SIGNAL]),
        ("up_sampling1d_size", layers.UpSampling1D(3), [TRACE]),
        ("spatial_dropout1d", layers.SpatialDropout1D(0.3), [SIGNAL]),
        ("batch_normalization_signal", layers.BatchNormalization(),
         [(3, 7, 4)]),
        # Layers that are also exported channels-first.
        ("normalization_signal",
         layers.Normalization(mean=[0.5, -1.0, 0.25],
                              variance=[0.25, 4.0, 1.0]), [SIGNAL]),
        ("rescaling_signal",
         layers.Rescaling([0.5, 0.25, 2.0], offset=[0.1, 0.0, -1.0]),
         [SIGNAL]),
        ("prelu_signal", layers.PReLU(), [SIGNAL]),
        ("add_signal", layers.Add(), [SIGNAL, SIGNAL, (2, 1, 3)]),
        ("add_signal_vector", layers.Add(), [SIGNAL, (2, 3)]),
        ("concatenate_signal", layers.Concatenate(),
         [(2, 7, 1), (2, 7, 3)]),
        ("reshape_to_signal", layers.Reshape((-1, 1)), [VECTOR]),
    ]
    for stem, pool, whole in (
            ("max", layers.MaxPooling1D, layers.GlobalMaxPooling1D),
            ("average", layers.AveragePooling1D,
             layers.GlobalAveragePooling1D)):
        cases += [
            (f"{stem}_pooling1d", pool(2), [SIGNAL]),
            (f"{stem}_pooling1d_same", pool(2, padding="same"), [TRACE]),
            (f"{stem}_pooling1d_overlapping", pool(3, strides=2),
             [(1, 10, 3)]),
            (f"{stem}_pooling1d_overlapping_same",
             pool(4, strides=1, padding="same"), [SIGNAL]),
            (f"{stem}_pooling1d_wide", pool(3, strides=2, padding="same"),
             [BANDS]),
            (f"global_{stem}_pooling1d", whole(), [SIGNAL]),
            (f"global_{stem}_pooling1d_keepdims", whole(keepdims=True),
             [TRACE]),
            (f"global_{stem}_pooling1d_wide", whole(), [BANDS]),
        ]
    return cases


def dense():
    return [
        ("dense", layers.Dense(4), [VECTOR]),
        ("dense_relu_no_bias",
         layers.Dense(3, use_bias=False, activation="relu"), [VECTOR]),
        ("dense_softmax", layers.Dense(17, activation="softmax"), [VECTOR]),
        ("dense_gelu", layers.Dense(2, activation="gelu"), [(1, 17)]),
        ("dense_one", layers.Dense(1), [(1, 1)]),
        ("dense_rank_3", layers.Dense(4, activation="tanh"), [TOKENS]),
        ("dense_rank_4", layers.Dense(2), [IMAGE]),
        ("dense_rank_4_softmax", layers.Dense(4, activation="softmax"),
         [(1, 3, 2, 5)]),
    ]


def recurrent():
    lstm, gru, rnn = layers.LSTM, layers.GRU, layers.SimpleRNN
    return [
        ("lstm", lstm(4), [SIGNAL]),
        ("lstm_sequences", lstm(2, return_sequences=True), [SIGNAL]),
        ("lstm_backwards",
         lstm(3, return_sequences=True, go_backwards=True), [SIGNAL]),
        ("lstm_backwards_last", lstm(2, go_backwards=True), [TRACE]),
        ("lstm_wide", lstm(17, unit_forget_bias=False), [BANDS]),
        ("lstm_no_bias",
         lstm(3, use_bias=False, activation="relu",
              recurrent_activation="hard_sigmoid"), [SIGNAL]),
        ("lstm_one", lstm(1), [(3, 1, 1)]),
        ("lstm_batch", lstm(2, return_sequences=True), [(17, 3, 2)]),
        ("gru", gru(4), [SIGNAL]),
        ("gru_sequences", gru(2, return_sequences=True), [SIGNAL]),
        ("gru_backwards",
         gru(3, return_sequences=True, go_backwards=True), [SIGNAL]),
        ("gru_reset_before", gru(3, reset_after=False), [SIGNAL]),
        ("gru_reset_before_no_bias",
         gru(2, reset_after=False, use_bias=False, activation="linear",
             return_sequences=True), [TRACE]),
        ("gru_wide", gru(17, recurrent_activation="hard_sigmoid"), [BANDS]),
        ("gru_no_bias", gru(2, use_bias=False), [SIGNAL]),
        ("gru_one", gru(1), [(3, 1, 1)]),
        ("gru_batch", gru(2, return_sequences=True), [(17, 3, 2)]),
        # Keras on JAX computes tanh in float32, which its scan rejects.
        ("simple_rnn", rnn(4, activation="hard_sigmoid"), [SIGNAL]),
        ("simple_rnn_sequences",
         rnn(17, activation="relu", return_sequences=True), [BANDS]),
        ("simple_rnn_backwards",
         rnn(3, activation="relu", use_bias=False, return_sequences=True,
             go_backwards=True), [SIGNAL]),
        ("simple_rnn_one", rnn(1, activation="linear"), [(3, 1, 1)]),
        # With a mask [n,t], or initial states.
        ("lstm_masked", lstm(4), [SIGNAL, STEPS]),
        ("lstm_masked_sequences", lstm(3, return_sequences=True),
         [SIGNAL, STEPS]),
        ("lstm_masked_zeros",
         lstm(2, return_sequences=True, zero_output_for_mask=True),
         [SIGNAL, STEPS]),
        ("lstm_masked_backwards",
         lstm(3, return_sequences=True, go_backwards=True), [SIGNAL, STEPS]),
        ("lstm_masked_backwards_last", lstm(2, go_backwards=True),
         [SIGNAL, STEPS]),
        ("lstm_state", lstm(3, return_sequences=True),
         [SIGNAL, (2, 3), (2, 3)]),
        ("lstm_state_backwards", lstm(17, go_backwards=True),
         [BANDS, (1, 17), (1, 17)]),
        ("gru_masked", gru(4), [SIGNAL, STEPS]),
        ("gru_masked_sequences", gru(3, return_sequences=True),
         [SIGNAL, STEPS]),
        ("gru_masked_reset_before",
         gru(3, return_sequences=True, reset_after=False, go_backwards=True),
         [SIGNAL, STEPS]),
        ("gru_state", gru(3, return_sequences=True), [SIGNAL, (2, 3)]),
        ("gru_state_reset_before", gru(2, reset_after=False, use_bias=False),
         [SIGNAL, (2, 2)]),
        ("simple_rnn_masked",
         rnn(3, activation="hard_sigmoid", return_sequences=True),
         [SIGNAL, STEPS]),
        ("simple_rnn_masked_backwards",
         rnn(2, activation="relu", go_backwards=True), [SIGNAL, STEPS]),
        ("simple_rnn_state", rnn(3, activation="relu"), [SIGNAL, (2, 3)]),
    ]


def embeddings():
    return [
        ("embedding", layers.Embedding(7, 3), [(2, 5)]),
        ("embedding_one", layers.Embedding(5, 1), [(3,)]),
        ("embedding_wide", layers.Embedding(40, 17), [(17, 2, 3)]),
        ("masking", layers.Masking(), [SIGNAL]),
        ("masking_value", layers.Masking(-1.5), [SIGNAL]),
        ("global_average_pooling1d_masked", layers.GlobalAveragePooling1D(),
         [SIGNAL, STEPS]),
        ("global_average_pooling1d_masked_keepdims",
         layers.GlobalAveragePooling1D(keepdims=True), [SIGNAL, STEPS]),
    ]


def normalizations():
    batch, layer = layers.BatchNormalization, layers.LayerNormalization
    return [
        ("batch_normalization", batch(), [IMAGE]),
        ("batch_normalization_momentum", batch(momentum=0.6, epsilon=1e-2),
         [(2, 3, 2, 17)]),
        ("batch_normalization_no_scale", batch(scale=False), [IMAGE]),
        ("batch_normalization_no_center", batch(center=False), [IMAGE]),
        ("batch_normalization_plain", batch(center=False, scale=False),
         [LINE]),
        ("batch_normalization_rank_2", batch(), [(6, 8)]),
        ("batch_normalization_rank_3", batch(), [TOKENS]),
        ("layer_normalization", layer(), [TOKENS]),
        ("layer_normalization_epsilon", layer(epsilon=0.1), [VECTOR]),
        ("layer_normalization_no_scale", layer(scale=False), [TOKENS]),
        ("layer_normalization_no_center", layer(center=False), [IMAGE]),
        ("layer_normalization_plain", layer(center=False, scale=False),
         [(1, 2, 17)]),
        ("layer_normalization_rank_4", layer(), [IMAGE]),
        ("group_normalization", layers.GroupNormalization(2), [(2, 5, 4, 6)]),
        ("group_normalization_one", layers.GroupNormalization(1), [IMAGE]),
        ("group_normalization_instance", layers.GroupNormalization(-1),
         [IMAGE]),
        ("group_normalization_plain",
         layers.GroupNormalization(3, epsilon=0.1, center=False, scale=False),
         [(1, 3, 2, 6)]),
        ("group_normalization_no_center",
         layers.GroupNormalization(17, center=False), [WIDE]),
        ("group_normalization_no_scale",
         layers.GroupNormalization(1, scale=False), [LINE]),
        ("group_normalization_vector", layers.GroupNormalization(4), [VECTOR]),
        ("group_normalization_signal", layers.GroupNormalization(2),
         [(2, 9, 4)]),
        ("rms_normalization", layers.RMSNormalization(), [TOKENS]),
        ("rms_normalization_epsilon", layers.RMSNormalization(epsilon=0.1),
         [VECTOR]),
        ("rms_normalization_rank_4", layers.RMSNormalization(), [IMAGE]),
        ("rms_normalization_wide", layers.RMSNormalization(), [WIDE]),
        ("unit_normalization", layers.UnitNormalization(), [TOKENS]),
        ("unit_normalization_vector", layers.UnitNormalization(), [VECTOR]),
        ("unit_normalization_height", layers.UnitNormalization(axis=1),
         [IMAGE]),
        ("unit_normalization_image", layers.UnitNormalization(axis=[1, 2, 3]),
         [IMAGE]),
        ("unit_normalization_pixels", layers.UnitNormalization(axis=[-2, 1]),
         [WIDE]),
        ("normalization",
         layers.Normalization(mean=[0.5, -1.0, 0.25],
                              variance=[0.25, 4.0, 1.0]), [IMAGE]),
        ("normalization_vector",
         layers.Normalization(mean=[0.5, -1, 0.25, 0, 1, -0.5, 2, 0.1],
                              variance=[0.25, 4, 1, 0.5, 2, 0.1, 3, 1.5]),
         [(2, 8)]),
        ("normalization_one", layers.Normalization(mean=0.5, variance=0.3,
                                                   axis=None), [IMAGE]),
        ("rescaling", layers.Rescaling(1 / 127.5, offset=-1.0), [IMAGE]),
        ("rescaling_scale", layers.Rescaling(0.3), [VECTOR]),
    ]


def activations():
    cases = [(f"activation_{name}", layers.Activation(name), [(1, 4, 3, 2)])
             for name in ACTIVATIONS]
    relu, leaky, prelu = layers.ReLU, layers.LeakyReLU, layers.PReLU
    return cases + [
        ("activation_softmax_vector", layers.Activation("softmax"), [VECTOR]),
        ("activation_gelu_tokens", layers.Activation("gelu"), [TOKENS]),
        ("relu", relu(), [IMAGE]),
        ("relu_vector", relu(), [VECTOR]),
        ("relu_max_value", relu(max_value=0.8), [IMAGE]),
        ("relu_negative_slope", relu(negative_slope=0.2), [IMAGE]),
        ("relu_threshold", relu(threshold=0.5), [IMAGE]),
        ("relu_everything",
         relu(max_value=0.9, negative_slope=0.1, threshold=0.3), [IMAGE]),
        ("leaky_relu", leaky(), [IMAGE]),
        ("leaky_relu_slope", leaky(negative_slope=0.05), [TOKENS]),
        ("prelu", prelu(), [(2, 3, 2, 4)]),
        ("prelu_vector", prelu(), [VECTOR]),
        ("prelu_shared", prelu(shared_axes=[1, 2]), [IMAGE]),
        ("prelu_shared_width", prelu(shared_axes=[2]), [IMAGE]),
        ("prelu_tokens", prelu(shared_axes=[1]), [TOKENS]),
        ("elu", layers.ELU(), [IMAGE]),
        ("elu_alpha", layers.ELU(alpha=0.4), [VECTOR]),
        ("softmax", layers.Softmax(), [VECTOR]),
        ("softmax_tokens", layers.Softmax(), [TOKENS]),
        ("softmax_tokens_time", layers.Softmax(axis=1), [TOKENS]),
        ("softmax_image", layers.Softmax(), [IMAGE]),
        ("softmax_height", layers.Softmax(axis=1), [IMAGE]),
        ("softmax_width", layers.Softmax(axis=-2), [(1, 2, 5, 3)]),
    ]


def poolings():
    maximum = layers.MaxPooling2D

    def average(pool_size=2, **options):
        return layers.AveragePooling2D(pool_size, **options)

    cases = []
    for stem, pool in (("max", maximum), ("average", average)):
        stem += "_pooling2d"
        cases += [
            (stem, pool(), [(2, 6, 4, 3)]),
            (f"{stem}_odd", pool(), [(2, 5, 7, 1)]),
            (f"{stem}_same", pool(padding="same"), [(2, 5, 3, 3)]),
            (f"{stem}_overlapping", pool((3, 2), strides=1), [(1, 5, 4, 3)]),
            (f"{stem}_overlapping_same",
             pool(3, strides=(1, 2), padding="same"), [(1, 5, 4, 3)]),
            (f"{stem}_wide", pool((1, 2)), [WIDE]),
        ]
    for stem, pool in (("max", layers.GlobalMaxPooling2D),
                       ("average", layers.GlobalAveragePooling2D)):
        stem = f"global_{stem}_pooling2d"
        cases += [
            (stem, pool(), [IMAGE]),
            (f"{stem}_keepdims", pool(keepdims=True), [IMAGE]),
            (f"{stem}_wide", pool(), [WIDE]),
        ]
    return cases


class GetItem(layers.Layer):
    """x[index] as a layer; the index is in Keras' serialized form."""

    def __init__(self, index, **options):
        super().__init__(**options)
        self.index = [i if isinstance(i, (int, dict)) else
                      saving.serialize_keras_object(i) for i in index]

    def get_config(self):
        return super().get_config() | {"index": self.index}

    def call(self, x):
        return x[tuple(i if isinstance(i, int) else
                       saving.deserialize_keras_object(i)
                       for i in self.index)]


def items():
    every = slice(None)
    return [
        ("get_item_rows", GetItem([every, slice(1, 4)]), [IMAGE]),
        ("get_item_channels", GetItem([Ellipsis, slice(None, None, 2)]),
         [IMAGE]),
        ("get_item_backwards",
         GetItem([every, slice(None, None, -1), slice(-1, -4, -2)]), [IMAGE]),
        ("get_item_row", GetItem([every, 2]), [IMAGE]),
        ("get_item_channel", GetItem([Ellipsis, -1]), [IMAGE]),
        ("get_item_pixel", GetItem([every, -1, 0]), [IMAGE]),
        ("get_item_token", GetItem([every, 0]), [TOKENS]),
        ("get_item_signal", GetItem([every, slice(2, None, 3), slice(0, 2)]),
         [SIGNAL]),
        ("get_item_wide", GetItem([every, every, every, slice(3, -1)]), [WIDE]),
        ("get_item_vector", GetItem([every, slice(-5, None)]), [VECTOR]),
        ("get_item_whole", GetItem([Ellipsis]), [LINE]),
    ]


def layouts():
    up = layers.UpSampling2D
    return [
        ("zero_padding2d", layers.ZeroPadding2D(1), [IMAGE]),
        ("zero_padding2d_pair", layers.ZeroPadding2D((2, 1)), [IMAGE]),
        ("zero_padding2d_sides", layers.ZeroPadding2D(((1, 0), (2, 3))),
         [LINE]),
        ("cropping2d", layers.Cropping2D(1), [IMAGE]),
        ("cropping2d_sides", layers.Cropping2D(((0, 2), (1, 0))), [IMAGE]),
        ("cropping2d_none", layers.Cropping2D(0), [LINE]),
        ("up_sampling2d", up(), [(2, 3, 2, 3)]),
        ("up_sampling2d_sizes", up((1, 3)), [(1, 3, 2, 3)]),
        ("up_sampling2d_bilinear", up(interpolation="bilinear"),
         [(2, 3, 2, 3)]),
        ("up_sampling2d_bilinear_sizes",
         up((3, 2), interpolation="bilinear"), [(1, 3, 4, 1)]),
        ("up_sampling2d_bilinear_one_row", up(2, interpolation="bilinear"),
         [(1, 1, 3, 2)]),
        ("resizing", layers.Resizing(3, 7), [IMAGE]),
        ("resizing_smaller", layers.Resizing(2, 3), [(1, 7, 8, 1)]),
        ("resizing_larger", layers.Resizing(7, 5), [(1, 3, 4, 3)]),
        ("resizing_same", layers.Resizing(4, 6), [LINE]),
        ("resizing_one", layers.Resizing(1, 1), [WIDE]),
        ("resizing_nearest", layers.Resizing(3, 7, interpolation="nearest"),
         [IMAGE]),
        ("resizing_nearest_thirds",
         layers.Resizing(1, 9, interpolation="nearest"), [(1, 6, 6, 3)]),
        ("resizing_nearest_whole",
         layers.Resizing(6, 4, interpolation="nearest"), [WIDE]),
        ("resizing_crop", layers.Resizing(4, 4, crop_to_aspect_ratio=True),
         [(2, 5, 8, 3)]),
        ("resizing_crop_high",
         layers.Resizing(3, 2, crop_to_aspect_ratio=True,
                         interpolation="nearest"), [(1, 9, 4, 1)]),
        ("resizing_pad", layers.Resizing(4, 4, pad_to_aspect_ratio=True,
                                         fill_value=0.5), [(2, 4, 8, 3)]),
        ("resizing_pad_high", layers.Resizing(6, 9, pad_to_aspect_ratio=True),
         [(1, 7, 4, 1)]),
        ("center_crop", layers.CenterCrop(3, 2), [IMAGE]),
        ("center_crop_odd", layers.CenterCrop(2, 3), [(1, 5, 6, 17)]),
        ("center_crop_same", layers.CenterCrop(4, 6), [LINE]),
        ("center_crop_enlarged", layers.CenterCrop(8, 6), [IMAGE]),
        ("center_crop_enlarged_width", layers.CenterCrop(3, 9), [IMAGE]),
        ("repeat_vector", layers.RepeatVector(3), [VECTOR]),
        ("repeat_vector_once", layers.RepeatVector(1), [(1, 17)]),
        ("flatten", layers.Flatten(), [IMAGE]),
        ("flatten_vector", layers.Flatten(), [VECTOR]),
        ("flatten_tokens", layers.Flatten(), [TOKENS]),
        ("reshape_to_image", layers.Reshape((2, 3, 4)), [(2, 24)]),
        ("reshape_to_tokens", layers.Reshape((-1, 3)), [IMAGE]),
        ("reshape_to_vector", layers.Reshape((60,)), [IMAGE]),
        ("reshape_image", layers.Reshape((3, 4, -1)), [IMAGE]),
        ("reshape_tokens", layers.Reshape((5, 3)), [TOKENS]),
        ("reshape_tokens_to_image", layers.Reshape((3, 2, 4)), [(2, 6, 4)]),
        ("permute_tokens", layers.Permute((2, 1)), [TOKENS]),
        ("permute_channels_first", layers.Permute((3, 1, 2)), [IMAGE]),
        ("permute_transposed", layers.Permute((2, 1, 3)), [IMAGE]),
        ("permute_same", layers.Permute((1, 2, 3)), [LINE]),
    ]


def merges():
    cases = []
    for stem, merge, most in (
            ("add", layers.Add, 3), ("subtract", layers.Subtract, 2),
            ("multiply", layers.Multiply, 3), ("average", layers.Average, 3),
            ("maximum", layers.Maximum, 3), ("minimum", layers.Minimum, 3)):
        cases += [
            (stem, merge(), [IMAGE, IMAGE]),
            (f"{stem}_vectors", merge(), [VECTOR] * most),
            (f"{stem}_broadcast", merge(), [IMAGE, (2, 1, 1, 3)]),
        ]
    together = layers.Concatenate
    return cases + [
        ("multiply_broadcast_first", layers.Multiply(),
         [(2, 1, 1, 3), IMAGE]),
        ("multiply_broadcast_map", layers.Multiply(), [IMAGE, (2, 5, 4, 1)]),
        ("multiply_tokens", layers.Multiply(), [TOKENS, (2, 1, 5)]),
        ("dot", layers.Dot(axes=(2, 1)), [(2, 3, 5), (2, 5, 4)]),
        ("dot_first", layers.Dot(axes=1), [(2, 3, 5), (2, 3, 4)]),
        ("dot_last", layers.Dot(axes=-1), [(1, 3, 17), (1, 4, 17)]),
        ("dot_vectors", layers.Dot(axes=1), [VECTOR, VECTOR]),
        ("dot_cosine", layers.Dot(axes=1, normalize=True), [VECTOR, VECTOR]),
        ("dot_cosine_tokens", layers.Dot(axes=(1, 2), normalize=True),
         [(2, 3, 5), (2, 4, 3)]),
        ("dot_vector_left", layers.Dot(axes=(1, 2)), [(2, 5), (2, 3, 5)]),
        ("dot_vector_right", layers.Dot(axes=(1, -1)), [(2, 3, 5), (2, 3)]),
        ("concatenate", together(), [(2, 4, 3, 1), (2, 4, 3, 2)]),
        ("concatenate_three", together(),
         [(1, 2, 3, 2), (1, 2, 3, 1), (1, 2, 3, 17)]),
        ("concatenate_height", together(axis=1), [(2, 1, 4, 3), (2, 2, 4, 3)]),
        ("concatenate_width", together(axis=-2), [(2, 2, 4, 3), (2, 2, 1, 3)]),
        ("concatenate_vectors", together(), [(2, 12), (2, 8)]),
        ("concatenate_tokens", together(axis=1), [TOKENS, (2, 1, 5)]),
    ]


def identities():
    return [
        ("dropout", layers.Dropout(0.4), [VECTOR]),
        ("dropout_image", layers.Dropout(0.0), [(1, 3, 2, 4)]),
        ("spatial_dropout2d", layers.SpatialDropout2D(0.3), [(1, 3, 2, 4)]),
        ("gaussian_dropout", layers.GaussianDropout(0.3), [IMAGE]),
        ("alpha_dropout", layers.AlphaDropout(0.2), [VECTOR]),
        ("alpha_dropout_none", layers.AlphaDropout(0.0), [TOKENS]),
        ("gaussian_noise", layers.GaussianNoise(0.5), [TOKENS]),
        ("activity_regularization",
         layers.ActivityRegularization(l1=0.1, l2=0.02), [(1, 3, 2, 4)]),
    ]


def all_cases():
    return (convolutions() + sequences() + dense() + recurrent() + embeddings() +
            normalizations() +
            activations() +
            poolings() + items() + layouts() + merges() +
            identities())


def composites():
    """Keras layers that correspond to several Octet layers. Inputs are query,
    value, key: Keras' order."""
    attention = layers.MultiHeadAttention
    return [
        ("multi_head_attention", attention(num_heads=2, key_dim=3),
         [(2, 4, 5), (2, 3, 6), (2, 3, 7)]),
        ("multi_head_attention_value_dim",
         # Keras on JAX fails for value_dim != key_dim without dropout.
         attention(num_heads=3, key_dim=2, value_dim=4, use_bias=False,
                   dropout=0.1),
         [(1, 4, 5), (1, 4, 5), (1, 4, 5)]),
    ]
