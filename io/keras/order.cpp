#include "keras/order.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <octet/io/onnx.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>

#include "arranged.h"

namespace octet::io {
namespace {

const AxisOrder kPlain{};
const AxisOrder kChannelsFirst{.channels_first = true};

int64_t from_zero(int64_t axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

// Whether values are images or sequences, which may have channels first.
bool has_pixels(int rank) { return rank == 3 || rank == 4; }

bool is_channels_first(const KerasValue& x) {
  return order_of(x).channels_first;
}

bool have_equal_order(const KerasValue& x, const KerasValue& y) {
  const AxisOrder a = order_of(x);
  const AxisOrder b = order_of(y);
  if (!a.features || !b.features) {
    return a.channels_first == b.channels_first && !a.features && !b.features;
  }
  const auto moves = between(*a.features, *b.features);
  return moves && moves->in_order();
}

// Returns the axis order in which the channel axis is the last.
AxisOrder for_channels(const LayerSpec& step, const KerasValue& x) {
  const int rank = x.tensor.shape().rank();
  std::vector<int64_t> axes = integers_of(step.config, "axis");
  if (axes.empty()) axes.push_back(-1);
  const int64_t axis = from_zero(axes[0], rank);
  if (axes.size() == 1 && axis == 1 && has_pixels(rank)) return kChannelsFirst;
  if (axes.size() != 1 || axis != rank - 1) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format("must be the channel axis of {}, got [{}]",
                    keras_shape(x).to_string(), fmt::join(axes, ",")));
  }
  return rank == 2 ? order_of(x) : kPlain;
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
        is_channels_first(x) && shape.rank() == 4 && size == shape[-1];
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
  return order_of(x);
}

AxisOrder for_merge(std::span<const KerasValue> inputs) {
  const KerasValue& first = inputs[0];
  bool first_order = true;
  bool any_channels_first = false;
  for (const KerasValue& x : inputs) {
    if (x.tensor.shape().rank() != first.tensor.shape().rank()) return kPlain;
    first_order = first_order && have_equal_order(x, first);
    any_channels_first |= is_channels_first(x);
  }
  if (first_order) return order_of(first);
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
  const std::vector<int64_t> axes = integers_of(step.config, "axis");
  const int rank = x.tensor.shape().rank();
  const bool channels = axes.size() == 1 && from_zero(axes[0], rank) == 1;
  return channels && is_channels_first(x) ? kChannelsFirst : kPlain;
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

KerasValue value_in(const AxisOrder& order, const SymbolicTensor& tensor) {
  AxisLayout layout(dims_of(tensor.shape()));
  const int rank = tensor.shape().rank();
  if (order.channels_first && has_pixels(rank)) {
    return {.tensor = tensor,
            .layout = layout.transposed(inverse_of(channels_first_axes(rank)))};
  }
  if (order.features && order.features->stored() == layout.stored()) {
    return {.tensor = tensor, .layout = *order.features};
  }
  return {.tensor = tensor, .layout = std::move(layout)};
}

AxisOrder order_of(const KerasValue& value) {
  const AxisLayout& layout = value.layout;
  if (layout.in_order() && layout.dims() == layout.stored()) return {};
  if (layout.dims().size() > 2) return kChannelsFirst;
  return {.features = layout};
}

Shape keras_shape(const KerasValue& value) {
  return shape_of(value.layout.dims());
}

KerasValue materialize(const KerasValue& value, const AxisOrder& wanted) {
  const std::vector<Dim> dims = value.layout.dims();
  const auto rank = static_cast<int>(dims.size());
  AxisLayout target(dims);
  if (wanted.channels_first && has_pixels(rank)) {
    target = AxisLayout(dims, channels_first_axes(rank));
  } else if (wanted.features && wanted.features->dims() == dims) {
    target = *wanted.features;
  }
  if (const auto moves = between(value.layout, target)) {
    return {arranged(value.tensor, *moves), std::move(target), value.unmasked,
            value.unused_mask, value.other_masked_steps};
  }
  const SymbolicTensor in_keras = arranged(value.tensor, value.layout);
  return {arranged(in_keras, between(AxisLayout(dims), target).value()),
          std::move(target), value.unmasked, value.unused_mask,
          value.other_masked_steps};
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
                                                      : order_of(x);
    case KerasLayout::pointwise:
      return for_values(step, inputs);
    case KerasLayout::features:
      return rank == 2 ? order_of(x) : kPlain;
    case KerasLayout::axis:
      return for_axis(inputs);
    case KerasLayout::channels:
      return for_channels(step, x);
    case KerasLayout::statistics:
      return for_statistics(step, x);
    case KerasLayout::shared_axes:
      return image ? order_of(x) : kPlain;
    case KerasLayout::constants:
      return for_constants(step, x);
  }
  throw InternalError("internal", "order_for", "unknown layout");
}

int64_t axis_in(const AxisOrder& order, int64_t axis, int rank) {
  if (!order.channels_first || axis < 1 || axis >= rank) return axis;
  return inverse_of(channels_first_axes(rank))[static_cast<size_t>(axis)];
}

Config config_in(const AxisOrder& order, const LayerSpec& step, int rank) {
  Config config = step.config;
  if (!order.channels_first) return config;
  const auto moved = [&](int64_t axis) {
    return axis_in(order, from_zero(axis, rank), rank);
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
      for (const int64_t axis : integers_of(config, "shared_axes")) {
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

KerasValue value_after(const AxisOrder& order, const KerasValue& x,
                       const LayerSpec& step, const SymbolicTensor& y) {
  const KerasLayout layout = layout_of(step);
  if (layout == KerasLayout::keras || layout == KerasLayout::features) {
    return value_in(kPlain, y);
  }
  if (layout != KerasLayout::flatten || !order.channels_first) {
    return value_in(order, y);
  }
  // Keras transposes to channels last first, if it knows the data format.
  if (has_channels_first(step.config)) return value_in(kPlain, y);
  const AxisLayout flat(dims_of(y.shape()));
  const int rank = x.tensor.shape().rank();
  return {.tensor = y,
          .layout = flat.reshaped(x.layout.stored())
                        ->transposed(inverse_of(channels_first_axes(rank)))
                        .reshaped(flat.stored())
                        .value()};
}

AxisLayout weight_layout(const AxisOrder& order, const LayerSpec& step,
                         const std::string& parameter, const Shape& shape) {
  const KerasLayout layout = layout_of(step);
  AxisLayout octet(dims_of(shape));
  std::vector<Dim> dims = octet.stored();
  if (order.channels_first && layout == KerasLayout::shared_axes) {
    // [c,h,w] in Keras, without the batch.
    std::vector<int> axes;
    for (const int axis : channels_first_axes(shape.rank() + 1)) {
      if (axis > 0) axes.push_back(axis - 1);
    }
    std::rotate(dims.rbegin(), dims.rbegin() + 1, dims.rend());
    return AxisLayout(dims).transposed(axes);
  }
  const bool by_feature =
      (layout == KerasLayout::features && parameter == "kernel") ||
      layout == KerasLayout::channels;
  if (!order.features || !by_feature) return octet;
  // The first axis as the features of a sample.
  const Rearrangement moves = order.features->rearrangement();
  std::vector<Dim> parts(moves.split.begin() + 1, moves.split.end());
  std::vector<int> axes;
  for (size_t i = 1; i < moves.order.size(); ++i) {
    axes.push_back(moves.order[i] - 1);
  }
  for (size_t i = 1; i < dims.size(); ++i) {
    axes.push_back(static_cast<int>(parts.size()));
    parts.push_back(dims[i]);
  }
  const AxisLayout keras =
      octet.reshaped(parts)->transposed(axes).reshaped(dims).value();
  return between(octet, keras).value();
}

}  // namespace octet::io
