// Functions of keras.ops and tf that have settings, as calls of
// octet/layers/ops.h.
// Sources: keras/src/ops of Keras 3 (class names); tensorflow/python/ops.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/dense.h>
#include <octet/layers/ops.h>
#include <octet/layers/preprocessing.h>
#include <octet/runtime/error.h>

#include "keras/function_call.h"

namespace octet::io {
namespace {

using Call = FunctionCall;
using Axes = std::vector<int64_t>;

// --- elementwise and along an axis -------------------------------------------

Outputs apply_cast(Call& c) {
  const Config type = c.settings.find_or_positional({"dtype"});
  if (type == Config("float32")) return {c.x()};
  throw UnsupportedError(
      "unsupported_attribute", "dtype",
      fmt::format("must be float32, the type of all activations, got {}",
                  type.is_string() ? type.as_string() : "another type"));
}

Outputs apply_clip(Call& c) {
  const Config low = c.settings.find({"x_min", "clip_value_min"});
  const Config high = c.settings.find({"x_max", "clip_value_max"});
  if (!low.is_number() || !high.is_number()) {
    throw UnsupportedError("unsupported_attribute", "x_min, x_max",
                           "must be numbers");
  }
  return {clip(c.x(), static_cast<float>(low.as_number()),
               static_cast<float>(high.as_number()))};
}

// Keras and Octet round half to even.
Outputs apply_round(Call& c) {
  c.settings.expect("decimals", 0);
  return {round(c.x())};
}

// With axis=None, Keras 3 normalizes over all values of all samples: an error.
// An absent axis is the last.
int64_t softmax_axis(const Call& c) {
  const Config axis = c.settings.find({"axis"});
  if (c.settings.is_none("axis") || (!axis.is_null() && !axis.is_number())) {
    throw UnsupportedError("unsupported_attribute", "axis",
                           "must be an axis of a sample");
  }
  return c.axis(axis.is_null() ? Config(-1) : axis);
}

// The smallest divisor is the square root of epsilon in tf, epsilon in Keras 3.
// Sources:
// tensorflow/python/ops/nn_impl.py, l2_normalize(); keras/src/ops/nn.py.
Outputs apply_l2_normalize(Call& c) {
  return {normalize(c.x(), c.axes(c.settings.find_or_positional({"axis"})),
                    std::sqrt(c.settings.number({"epsilon"}, 1e-12)))};
}

Outputs apply_normalize(Call& c) {
  c.settings.expect("order", 2);
  return {normalize(c.x(), c.axes(c.settings.find_or_positional({"axis"})),
                    c.settings.number({"epsilon"}, 1e-7))};
}

using Reduction = SymbolicTensor (*)(const SymbolicTensor&, const Axes&,
                                     Keepdims);

template <Reduction kReduce>
Outputs apply_reduction(Call& c) {
  c.settings.expect("initial", {});
  const bool keepdims = c.settings.is_true({"keepdims", "keep_dims"});
  const Config given = c.settings.find_or_positional({"axis"});
  Axes axes = c.axes(given);
  // Global pooling works in any axis order, other reductions in Keras'.
  const bool pools =
      (c.rank() == 3 || c.rank() == 4) &&
      (kReduce == Reduction(octet::mean) || kReduce == Reduction(octet::max)) &&
      axes == (c.rank() == 4 ? Axes{1, 2} : Axes{1});
  if (!pools) {
    c.arrange({});
    axes = c.axes(given);
  }
  if (std::ssize(axes) == c.rank() - 1 && !keepdims) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format("must leave an axis of {} besides the batch",
                    c.x().shape().to_string()));
  }
  if (!keepdims) c.order = {};
  return {kReduce(c.x(), axes, keepdims ? Keepdims::yes : Keepdims::no)};
}

Outputs apply_any(Call& c) {
  const Axes axes = c.axes(c.settings.find_or_positional({"axis"}));
  if (std::ssize(axes) == c.rank() - 1) {
    throw UnsupportedError("unsupported_attribute", "axis",
                           "must leave an axis besides the batch");
  }
  const bool boolean = c.x().node->layer->class_name() == "Compare";
  return {octet::max(
      boolean ? c.x() : not_equal(c.x(), 0), axes,
      c.settings.is_true({"keepdims"}) ? Keepdims::yes : Keepdims::no)};
}

// --- several tensors ---------------------------------------------------------

Outputs apply_matmul(Call& c) {
  if (c.x().shape().rank() != c.x(1).shape().rank()) {
    throw UnsupportedError(
        "shape_mismatch", "inbound_nodes",
        fmt::format("must be two tensors of the same rank, got {} and {}",
                    c.x().shape().to_string(), c.x(1).shape().to_string()));
  }
  return {matmul(c.x(), c.x(1),
                 {.transpose_a = c.settings.is_true({"transpose_a"}),
                  .transpose_b = c.settings.is_true({"transpose_b"})})};
}

Outputs apply_add_n(Call& c) {
  return {call(create_layer("Add", Config::Object()), c.inputs)};
}

// CustomScaleLayer of keras.applications' InceptionResNetV2.
// Source: keras/src/applications/inception_resnet_v2.py.
Outputs apply_scaled_add(Call& c) {
  return {c.x() + c.settings.number({"scale"}, 1) * c.x(1)};
}

Outputs apply_concatenate(Call& c) {
  const Config axis = c.settings.find_or_positional({"axis"});
  return {concatenate(c.inputs, c.axis(axis.is_null() ? Config(-1) : axis))};
}

Outputs apply_einsum(Call& c) {
  const Config equation = c.settings.find_or_positional({"subscripts"});
  if (!equation.is_string()) {
    throw UnsupportedError("unsupported_attribute", "subscripts",
                           "must be an equation, as \"bij,bjk->bik\"");
  }
  return {einsum(equation.as_string(), c.x(), c.x(1))};
}

Outputs apply_stack(Call& c) {
  return {stack(c.inputs, c.axis(c.settings.find({"axis"}), c.rank() + 1))};
}

// --- axes, in Keras' order ---------------------------------------------------

int64_t block_size(const Call& c) {
  c.settings.expect("data_format", "NHWC");
  const Config block = c.settings.find_or_positional({"block_size"});
  return block.is_number() ? block.as_int() : 0;
}

Outputs apply_expand_dims(Call& c) {
  return {expand_dims(
      c.x(), c.axis(c.settings.find_or_positional({"axis"}), c.rank() + 1))};
}

Outputs apply_flip(Call& c) {
  SymbolicTensor y = c.x();
  for (const int64_t axis : c.axes(c.settings.find_or_positional({"axis"}))) {
    y = flip(y, axis);
  }
  return {std::move(y)};
}

Outputs apply_get_item(Call& c) {
  Config index = c.settings.find_or_positional({"slice_spec", "key"});
  if (index.is_list() &&
      std::ranges::any_of(index.as_list(), &Config::is_null)) {
    throw UnsupportedError("unsupported_attribute", "index",
                           "must not add axes (None). Hint: use expand_dims");
  }
  return {call(create_layer("GetItem", Config().set("index", std::move(index))),
               {c.x()})};
}

Outputs apply_moveaxis(Call& c) {
  const Axes from = integers_of(c.settings.find({"source"}));
  const Axes to = integers_of(c.settings.find({"destination"}));
  if (from.size() != 1 || to.size() != 1) {
    throw UnsupportedError("unsupported_attribute", "source, destination",
                           "must have one axis each");
  }
  return {moveaxis(c.x(), from[0], to[0])};
}

Outputs apply_pad(Call& c) {
  const Config given = c.settings.find_or_positional({"pad_width", "paddings"});
  const Config mode = c.settings.find({"mode"});
  std::vector<Ends> widths;
  for (const Config& each :
       given.is_list() ? given.as_list() : Config::List{}) {
    const Axes ends = integers_of(each);
    if (ends.size() != 2) break;
    widths.emplace_back(ends[0], ends[1]);
  }
  std::string name = mode.is_null() ? "constant" : mode.as_string();
  std::ranges::transform(name, name.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32)
                                          : letter;
  });
  return {pad(c.x(), widths, name, c.settings.number({"constant_values"}, 0))};
}

Outputs apply_repeat(Call& c) {
  return {repeat(c.x(), c.settings.find_or_positional({"repeats"}).as_int(),
                 c.axis(c.settings.find({"axis"})))};
}

Outputs apply_reshape(Call& c) {
  Axes shape;
  const Config given = c.settings.find_or_positional({"newshape", "shape"});
  if (given.is_list()) {
    for (const Config& size : given.as_list()) {
      shape.push_back(size.is_null() ? -1 : size.as_int());
    }
  }
  return {reshape(c.x(), shape)};
}

Outputs apply_roll(Call& c) {
  return {roll(c.x(), c.settings.find_or_positional({"shift"}).as_int(),
               c.axis(c.settings.find({"axis"})))};
}

Outputs apply_squeeze(Call& c) {
  const Config given = c.settings.find_or_positional({"axis"});
  if (!given.is_null()) return {squeeze(c.x(), c.axes(given))};
  Axes axes;
  for (int axis = 1; axis < c.rank(); ++axis) {
    if (c.x().shape()[axis] == 1) axes.push_back(axis);
  }
  return {axes.empty() ? c.x() : squeeze(c.x(), axes)};
}

Outputs apply_swapaxes(Call& c) {
  return {swapaxes(c.x(), c.axis(c.settings.find({"axis1"})),
                   c.axis(c.settings.find({"axis2"})))};
}

Outputs apply_tile(Call& c) {
  return {tile(c.x(), integers_of(c.settings.find_or_positional(
                          {"repeats", "multiples"})))};
}

Outputs apply_transpose(Call& c) {
  return {transpose(
      c.x(), integers_of(c.settings.find_or_positional({"axes", "perm"})))};
}

/// Returns the sections or sizes of a split, or null.
Config split_by(std::string_view name, const Settings& settings) {
  if (name == "Split") return settings.find({"indices_or_sections"});
  if (name == "split") {
    return settings.find_or_positional({"num_or_size_splits"});
  }
  return {};
}

Outputs apply_split(Call& c) {
  const Config by = split_by("Split", c.settings);
  const int64_t axis = c.axis(c.settings.find({"axis"}));
  if (!by.is_list()) return split(c.x(), by.as_int(), axis);
  return split(c.x(), integers_of(by), axis);
}

// In tf, a list contains sizes; in Keras 3, indices.
Outputs apply_tf_split(Call& c) {
  const Config by = split_by("split", c.settings);
  const int64_t axis = c.axis(c.settings.find({"axis"}));
  if (!by.is_list()) return split(c.x(), by.as_int(), axis);
  const int64_t size = c.x().shape()[static_cast<int>(axis)];
  Axes ends;
  int64_t end = 0;
  for (const int64_t part : integers_of(by)) {
    ends.push_back(end += std::clamp<int64_t>(part, 0, size));
  }
  if (end != size) {
    throw UnsupportedError(
        "unsupported_attribute", "sections",
        fmt::format("parts must cover axis {} of {}, got {} entries", axis,
                    c.x().shape().to_string(), end));
  }
  ends.pop_back();
  return split(c.x(), ends, axis);
}

// --- images ------------------------------------------------------------------

// tf.image requires channels_last; keras.ops.image defaults to
// image_data_format().
bool resizes_channels_first(const Call& c) {
  const Config format = c.settings.find({"data_format"});
  if (!format.is_null()) {
    return has_channels_first(Config().set("data_format", format));
  }
  if (!c.settings.is_none("data_format")) return false;
  if (c.formats.first && c.formats.last) {
    throw UnsupportedError(
        "unsupported_attribute", "data_format",
        "must be given in a model with both channels_last and channels_first");
  }
  if (!c.formats.first && !c.formats.last) {
    warn("unknown_layout", "image.resize",
         "data_format is not recorded; assuming channels_last, Keras' default "
         "unless image_data_format() is channels_first");
  }
  return c.formats.first;
}

Outputs apply_resize(Call& c) {
  for (const char* name : {"antialias", "crop_to_aspect_ratio",
                           "pad_to_aspect_ratio", "preserve_aspect_ratio"}) {
    c.settings.expect(name, false);
  }
  const Axes size = integers_of(c.settings.find_or_positional({"size"}));
  const Config method = c.settings.find({"interpolation", "method"});
  if (size.size() != 2 || c.rank() != 4) {
    throw UnsupportedError(
        "unsupported_attribute", "size",
        fmt::format("must be the height and width of an image, for {}",
                    c.x().shape().to_string()));
  }
  c.arrange({.channels_first = resizes_channels_first(c)});
  return {Resizing({.height = size[0],
                    .width = size[1],
                    .interpolation = method.is_null()
                                         ? "bilinear"
                                         : method.as_string()})(c.x())};
}

SymbolicTensor argmax_over(const SymbolicTensor& x, const Axes& axes,
                           Keepdims keepdims) {
  return argmax(x, axes.at(0), keepdims);
}
SymbolicTensor argmin_over(const SymbolicTensor& x, const Axes& axes,
                           Keepdims keepdims) {
  return argmin(x, axes.at(0), keepdims);
}

constexpr auto kAxis = KerasFunction::Order::axis;
constexpr auto kElementwise = KerasFunction::Order::elementwise;
constexpr auto kKeras = KerasFunction::Order::keras;

constexpr KerasFunction kFunctions[] = {
    {"AddN", apply_add_n, kElementwise, 0},
    {"Amax", apply_reduction<octet::max>, kAxis},
    {"Amin", apply_reduction<octet::min>, kAxis},
    {"Any", apply_any},
    {"Argmax", apply_reduction<argmax_over>, kAxis},
    {"Argmin", apply_reduction<argmin_over>, kAxis},
    {"Cast", apply_cast, kElementwise},
    {"Celu",
     [](Call& c) -> Outputs {
       c.settings.expect("alpha", 1.0);
       return {celu(c.x())};
     },
     kElementwise},
    {"Clip", apply_clip, kElementwise},
    {"Concatenate", apply_concatenate, kAxis, 0},
    {"ConvertToTensor", [](Call& c) -> Outputs { return {c.x()}; },
     kElementwise},
    {"CustomScaleLayer", apply_scaled_add, kElementwise, 2},
    {"DepthToSpace",
     [](Call& c) -> Outputs { return {depth_to_space(c.x(), block_size(c))}; }},
    {"Einsum", apply_einsum, kKeras, 2},
    {"Elu",
     [](Call& c) -> Outputs {
       return {elu(c.x(), c.settings.number({"alpha"}, 1))};
     },
     kElementwise},
    {"ExpandDims", apply_expand_dims},
    {"Flip", apply_flip},
    {"Gelu",
     [](Call& c) -> Outputs {
       return {gelu(c.x(), c.settings.is_true({"approximate"}))};
     },
     kElementwise},
    {"GetItem", apply_get_item},
    {"L2Normalize", apply_l2_normalize},
    {"LeakyRelu",
     [](Call& c) -> Outputs {
       return {leaky_relu(c.x(),
                          c.settings.number({"negative_slope", "alpha"}, 0.2))};
     },
     kElementwise},
    {"LogSoftmax",
     [](Call& c) -> Outputs { return {log_softmax(c.x(), softmax_axis(c))}; }},
    {"Matmul", apply_matmul, kKeras, 2},
    {"Max", apply_reduction<octet::max>, kAxis},
    {"Mean", apply_reduction<octet::mean>, kAxis},
    {"Min", apply_reduction<octet::min>, kAxis},
    {"Moveaxis", apply_moveaxis},
    {"Normalize", apply_normalize},
    {"Pad", apply_pad},
    {"Prod", apply_reduction<octet::prod>, kAxis},
    {"Repeat", apply_repeat},
    {"Reshape", apply_reshape},
    {"Resize", apply_resize},
    {"Roll", apply_roll},
    {"Round", apply_round, kElementwise},
    {"Softmax",
     [](Call& c) -> Outputs { return {softmax(c.x(), softmax_axis(c))}; },
     kAxis},
    {"SpaceToDepth",
     [](Call& c) -> Outputs { return {space_to_depth(c.x(), block_size(c))}; }},
    {"Split", apply_split},
    {"Squeeze", apply_squeeze},
    {"Stack", apply_stack, kKeras, 0},
    {"Sum", apply_reduction<octet::sum>, kAxis},
    {"Swapaxes", apply_swapaxes},
    {"Tile", apply_tile},
    {"Transpose", apply_transpose},
    {"Where", [](Call& c) -> Outputs { return {where(c.x(), c.x(1), c.x(2))}; },
     kElementwise, 3},
    {"split", apply_tf_split},
};

}  // namespace

const KerasFunction* find_function(std::string_view name) {
  const std::string keras = keras_function_name(name);
  const auto* found =
      std::ranges::find(kFunctions, keras, &KerasFunction::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

int64_t outputs_of(std::string_view name, const Settings& settings) {
  const Config by = split_by(name, settings);
  if (by.is_list()) {
    return std::ssize(by.as_list()) + (name == "Split" ? 1 : 0);
  }
  return by.is_number() ? by.as_int() : 1;
}

}  // namespace octet::io
