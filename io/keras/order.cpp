#include "keras/order.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

SymbolicTensor rearranged(const SymbolicTensor& x, const char* class_name,
                          const char* option, Config::List list) {
  return call(create_layer(class_name, Config().set(option, std::move(list))),
              {x});
}
SymbolicTensor permuted(const SymbolicTensor& x, Config::List dims) {
  return rearranged(x, "Permute", "dims", std::move(dims));
}

const AxisOrder kPlain{};
const AxisOrder kChannelsFirst{.channels_first = true};

// Returns an option that is an integer or a list of integers.
std::vector<int64_t> integers(const Config& config, const char* key) {
  const Config* value = config.find(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_list()) return {value->as_int()};
  std::vector<int64_t> result;
  for (const Config& entry : value->as_list()) {
    result.push_back(entry.as_int());
  }
  return result;
}

int64_t from_zero(int64_t axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

// Whether values are images or sequences, which may have channels first.
bool has_pixels(int rank) { return rank == 3 || rank == 4; }

// Returns Octet's axis for Keras' axis of [n,c,h,w] or [n,c,l].
int64_t in_nhwc(int64_t axis, int rank) {
  if (axis < 1 || axis >= rank) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

// Transposes [n,c,h,w] to [n,h,w,c], and sequences likewise.
SymbolicTensor channels_last(const SymbolicTensor& x) {
  return x.shape().rank() == 3 ? permuted(x, {2, 1}) : permuted(x, {2, 3, 1});
}
SymbolicTensor channels_first(const SymbolicTensor& x) {
  return x.shape().rank() == 3 ? permuted(x, {2, 1}) : permuted(x, {3, 1, 2});
}

// Returns the axis order in which the channel axis is the last.
AxisOrder for_channels(const LayerSpec& step, const KerasValue& x) {
  const int rank = x.tensor.shape().rank();
  std::vector<int64_t> axes = integers(step.config, "axis");
  if (axes.empty()) axes.push_back(-1);
  const int64_t axis = from_zero(axes[0], rank);
  if (axes.size() == 1 && axis == 1 && has_pixels(rank)) return kChannelsFirst;
  if (axes.size() != 1 || axis != rank - 1) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format("must be the channel axis of {}, got [{}]",
                    keras_shape(x).to_string(), fmt::join(axes, ",")));
  }
  return rank == 2 ? x.order : kPlain;
}

// Lists of values apply to the last axis. In Keras 3 they apply to the channels
// of images if these come first, which its settings define, not the file.
// Source: keras/src/layers/preprocessing/rescaling.py, call().
AxisOrder for_constants(const LayerSpec& step, const KerasValue& x) {
  for (const char* key : {"scale", "offset"}) {
    const Config* value = step.config.find(key);
    if (value == nullptr || !value->is_list()) continue;
    const auto size = static_cast<int64_t>(value->as_list().size());
    const Shape& shape = x.tensor.shape();
    const bool channels =
        x.order.channels_first && shape.rank() == 4 && size == shape[-1];
    if (size > 1 && !channels) return kPlain;
    if (size > 1 && shape[-2] == size) {
      warn("unknown_layout", "Rescaling",
           fmt::format(
               "{} has as many values as the image has channels and columns, "
               "and the file does not record the axis; assuming channels, as "
               "in Keras if image_data_format() is channels_first",
               key));
    }
  }
  return x.order;
}

AxisOrder for_merge(std::span<const KerasValue> inputs) {
  const KerasValue& first = inputs[0];
  bool first_order = true;
  bool any_channels_first = false;
  for (const KerasValue& x : inputs) {
    if (x.tensor.shape().rank() != first.tensor.shape().rank()) return kPlain;
    first_order = first_order && x.order == first.order;
    any_channels_first |= x.order.channels_first;
  }
  if (first_order) return first.order;
  return any_channels_first ? kChannelsFirst : kPlain;
}

// Softmax normalizes over channels, and noise_shape has Keras' order.
AxisOrder for_values(const LayerSpec& step,
                     std::span<const KerasValue> inputs) {
  const Config* function = step.config.find("activation");
  const bool over_channels = has_pixels(inputs[0].tensor.shape().rank()) &&
                             function != nullptr && function->is_string() &&
                             function->as_string().ends_with("softmax");
  const bool keras =
      over_channels || step.config.find("noise_shape") != nullptr;
  return keras ? kPlain : for_merge(inputs);
}

// Flattened features of several images are not contiguous in another order.
AxisOrder for_axis(std::span<const KerasValue> inputs) {
  const AxisOrder order = for_merge(inputs);
  return inputs.size() == 1 || order.channels_first ? order : kPlain;
}

AxisOrder for_statistics(const LayerSpec& step, const KerasValue& x) {
  const std::vector<int64_t> axes = integers(step.config, "axis");
  const int rank = x.tensor.shape().rank();
  const bool channels = axes.size() == 1 && from_zero(axes[0], rank) == 1;
  return channels && x.order.channels_first ? x.order : kPlain;
}

}  // namespace

KerasLayout layout_of(const LayerSpec& step) {
  if (step.factory != nullptr) return KerasLayout::keras;
  const LayerDef* def = find_layer_def(step.class_name);
  return def == nullptr ? KerasLayout::keras : def->keras.layout;
}

bool takes_any_order(KerasLayout layout) {
  switch (layout) {
    case KerasLayout::keras:
    case KerasLayout::image:
    case KerasLayout::flatten:
    case KerasLayout::features:
      return false;
    default:
      return true;
  }
}

Shape keras_shape(const KerasValue& value) {
  const Shape& x = value.tensor.shape();
  if (!value.order.channels_first) return x;
  if (x.rank() == 3) return {x[0], x[2], x[1]};
  return {x[0], x[3], x[1], x[2]};
}

KerasValue materialize(const KerasValue& value, const AxisOrder& wanted) {
  if (value.order == wanted) return value;
  const Shape& x = value.tensor.shape();
  KerasValue result = value;
  const auto flat = [&](const SymbolicTensor& t) {
    return call(create_layer("Flatten", Config::Object()), {t});
  };
  if (value.order.channels_first) {
    result = {channels_first(value.tensor), kPlain};
  } else if (value.order.flattened.rank() == 3) {
    const Shape& s = value.order.flattened;
    const auto image =
        rearranged(value.tensor, "Reshape", "target_shape", {s[1], s[2], s[0]});
    result = {flat(channels_first(image)), kPlain};
  }
  if (wanted.channels_first && has_pixels(x.rank())) {
    return {channels_last(result.tensor), wanted};
  }
  const Shape& s = wanted.flattened;
  if (s.rank() == 3 && x.rank() == 2 && s.size() == x[1]) {
    const auto image = rearranged(result.tensor, "Reshape", "target_shape",
                                  {s[0], s[1], s[2]});
    return {flat(channels_last(image)), wanted};
  }
  return result;
}

AxisOrder order_for(const LayerSpec& step, std::span<const KerasValue> inputs) {
  const KerasValue& x = inputs[0];
  const int rank = x.tensor.shape().rank();
  const bool image = has_pixels(rank);
  if (step.in_keras_order) return kPlain;
  switch (layout_of(step)) {
    case KerasLayout::keras:
      return kPlain;
    case KerasLayout::image:
      return image && has_channels_first(step.config) ? kChannelsFirst : kPlain;
    case KerasLayout::flatten:
      return image && has_channels_first(step.config) ? kChannelsFirst
                                                      : x.order;
    case KerasLayout::pointwise:
      return for_values(step, inputs);
    case KerasLayout::features:
      return rank == 2 ? x.order : kPlain;
    case KerasLayout::axis:
      return for_axis(inputs);
    case KerasLayout::channels:
      return for_channels(step, x);
    case KerasLayout::statistics:
      return for_statistics(step, x);
    case KerasLayout::shared_axes:
      return image ? x.order : kPlain;
    case KerasLayout::constants:
      return for_constants(step, x);
  }
  throw InternalError("internal", "order_for", "unknown layout");
}

Config config_in(const AxisOrder& order, const LayerSpec& step, int rank) {
  Config config = step.config;
  if (!order.channels_first) return config;
  const auto moved = [&](int64_t axis) {
    return in_nhwc(from_zero(axis, rank), rank);
  };
  switch (layout_of(step)) {
    case KerasLayout::axis: {
      const Config* axis = config.find("axis");
      config.set("axis", moved(axis == nullptr ? -1 : axis->as_int()));
      break;
    }
    case KerasLayout::channels:
    case KerasLayout::statistics:
      config.set("axis", Config::List{rank - 1});
      break;
    case KerasLayout::shared_axes: {
      Config::List axes;
      for (const int64_t axis : integers(config, "shared_axes")) {
        axes.emplace_back(moved(axis));
      }
      config.set("shared_axes", std::move(axes));
      break;
    }
    default:
      break;
  }
  return config;
}

AxisOrder order_after(const AxisOrder& order, const LayerSpec& step,
                      const Shape& input, const Shape& output) {
  const KerasLayout layout = layout_of(step);
  if (layout == KerasLayout::keras || layout == KerasLayout::features) {
    return kPlain;
  }
  if (layout == KerasLayout::flatten) {
    // Keras transposes to channels last first, if it knows the data format.
    if (!order.channels_first) return order;
    const int64_t h = input.rank() == 3 ? 1 : input[1];
    const int64_t w = input[-2];
    const bool same = input[-1] == 1 || (h == 1 && w == 1);
    if (has_channels_first(step.config) || same) return kPlain;
    return {.flattened = {input[-1], h, w}};
  }
  // Global pooling leaves features, which have one order.
  return order.channels_first && !has_pixels(output.rank()) ? kPlain : order;
}

WeightOrder weight_order(const AxisOrder& order, const LayerSpec& step,
                         const std::string& parameter, const Shape& shape) {
  const KerasLayout layout = layout_of(step);
  if (order.channels_first && layout == KerasLayout::shared_axes) {
    if (shape.rank() == 2) {
      return {{shape[1], shape[0]}, [](const Tensor& alpha) {
                return alpha.transposed({1, 0});
              }};
    }
    return {{shape[2], shape[0], shape[1]}, [](const Tensor& alpha) {
              return alpha.transposed({1, 2, 0});
            }};
  }
  const bool by_feature =
      (layout == KerasLayout::features && parameter == "kernel") ||
      layout == KerasLayout::channels;
  if (order.flattened.rank() != 3 || !by_feature) return {shape, {}};
  return {shape, [s = order.flattened, shape](const Tensor& w) {
            return w.reshaped({s[0], s[1], s[2], Shape::kAnySize})
                .transposed({1, 2, 0, 3})
                .reshaped(shape);
          }};
}

}  // namespace octet::io
