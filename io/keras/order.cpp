#include "keras/order.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

// Layers with the option data_format.
constexpr std::string_view kImageClasses[] = {
    "AveragePooling2D",       "Conv2D",
    "Conv2DTranspose",        "Cropping2D",
    "DepthwiseConv2D",        "Flatten",
    "GlobalAveragePooling2D", "GlobalMaxPooling2D",
    "MaxPooling2D",           "SeparableConv2D",
    "SpatialDropout2D",       "UpSampling2D",
    "ZeroPadding2D",
};

// Layers that do the same to every value, wherever it is.
constexpr std::string_view kPointwiseClasses[] = {
    "Activation", "ActivityRegularization",
    "Add",        "Average",
    "ELU",        "GaussianNoise",
    "LeakyReLU",  "Maximum",
    "Minimum",    "Multiply",
    "ReLU",       "Subtract",
};

template <size_t N>
bool is_among(const std::string_view (&classes)[N], std::string_view name) {
  return std::ranges::find(classes, name) != std::end(classes);
}

SymbolicTensor rearranged(const SymbolicTensor& x, const char* class_name,
                          const char* option, Config::List list) {
  return call(create_layer(class_name, Config().set(option, std::move(list))),
              {x});
}
SymbolicTensor permuted(const SymbolicTensor& x, Config::List dims) {
  return rearranged(x, "Permute", "dims", std::move(dims));
}

const Order kPlain{};
const Order kChannelsFirst{.channels_first = true};

// The numbers of an option that is an integer or a list of them.
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

// Keras' axis of [n,c,h,w] where Octet has it.
int64_t in_nhwc(int64_t axis) {
  constexpr int64_t kAxes[] = {0, 3, 1, 2};
  return axis >= 0 && axis < 4 ? kAxes[axis] : axis;
}

// The order in which the only axis of statistics is the last one.
Order for_channels(const Step& step, const Value& x) {
  const int rank = x.tensor.shape().rank();
  std::vector<int64_t> axes = integers(step.config, "axis");
  if (axes.empty()) axes.push_back(-1);
  const int64_t axis = from_zero(axes[0], rank);
  if (axes.size() == 1 && axis == 1 && rank == 4) return kChannelsFirst;
  if (axes.size() != 1 || axis != rank - 1) {
    throw UnsupportedError(
        fmt::format("axis: expected that of the channels of {}, got [{}]",
                    keras_shape(x).to_string(), fmt::join(axes, ",")));
  }
  return rank == 2 ? x.order : kPlain;
}

// Lists of numbers are for the last axis. Keras 3 has them for the channels
// where these come first, which only its settings say, not the file.
// Source: keras/src/layers/preprocessing/rescaling.py, call().
Order for_numbers(const Step& step, const Value& x) {
  for (const char* key : {"scale", "offset"}) {
    const Config* value = step.config.find(key);
    if (value == nullptr || !value->is_list()) continue;
    const auto size = static_cast<int64_t>(value->as_list().size());
    const bool channels =
        x.order.channels_first && size == x.tensor.shape()[-1];
    if (size > 1 && !channels) return kPlain;
  }
  return x.order;
}

Order for_merge(std::span<const Value> inputs) {
  const Value& first = inputs[0];
  bool first_order = true;
  bool any_channels_first = false;
  for (const Value& x : inputs) {
    if (x.tensor.shape().rank() != first.tensor.shape().rank()) return kPlain;
    first_order = first_order && x.order == first.order;
    any_channels_first |= x.order.channels_first;
  }
  if (first_order) return first.order;
  return any_channels_first ? kChannelsFirst : kPlain;
}

}  // namespace

OrderRule order_rule(const Step& step) {
  if (step.factory != nullptr) return OrderRule::plain;
  if (is_among(kImageClasses, step.class_name)) return OrderRule::image;
  constexpr std::string_view kAnyAxis[] = {
      "BatchNormalization", "Concatenate", "Dropout",   "LayerNormalization",
      "Normalization",      "PReLU",       "Rescaling", "Softmax",
  };
  const bool neutral = is_among(kPointwiseClasses, step.class_name) ||
                       is_among(kAnyAxis, step.class_name);
  return neutral ? OrderRule::neutral : OrderRule::plain;
}

Shape keras_shape(const Value& value) {
  const Shape& x = value.tensor.shape();
  if (!value.order.channels_first) return x;
  return {x[0], x[3], x[1], x[2]};
}

Value arranged(const Value& value, const Order& wanted) {
  if (value.order == wanted) return value;
  const Shape& x = value.tensor.shape();
  Value result = value;
  const auto flat = [&](const SymbolicTensor& t) {
    return call(create_layer("Flatten", Config::Object()), {t});
  };
  if (value.order.channels_first) {
    result = {permuted(value.tensor, {3, 1, 2}), kPlain};
  } else if (value.order.flattened.rank() == 3) {
    const Shape& s = value.order.flattened;
    const auto image =
        rearranged(value.tensor, "Reshape", "target_shape", {s[1], s[2], s[0]});
    result = {flat(permuted(image, {3, 1, 2})), kPlain};
  }
  if (wanted.channels_first && x.rank() == 4) {
    return {permuted(result.tensor, {2, 3, 1}), wanted};
  }
  const Shape& s = wanted.flattened;
  if (s.rank() == 3 && x.rank() == 2 && s.size() == x[1]) {
    const auto image = rearranged(result.tensor, "Reshape", "target_shape",
                                  {s[0], s[1], s[2]});
    return {flat(permuted(image, {2, 3, 1})), wanted};
  }
  return result;
}

Order order_for(const Step& step, std::span<const Value> inputs) {
  const std::string& name = step.class_name;
  const Value& x = inputs[0];
  const int rank = x.tensor.shape().rank();
  const OrderRule rule = order_rule(step);
  if (rule == OrderRule::image) {
    if (name != "Flatten") {
      return rank == 4 && has_channels_first(step.config) ? kChannelsFirst
                                                          : kPlain;
    }
    if (rank == 4 && has_channels_first(step.config)) return kChannelsFirst;
    return x.order;
  }
  if (rule == OrderRule::neutral) {
    if (name == "BatchNormalization" || name == "LayerNormalization") {
      const Order order = for_channels(step, x);
      const bool rows = name == "LayerNormalization" && rank == 2;
      return rows ? kPlain : order;
    }
    if (name == "Activation") {
      const bool over_axis =
          rank == 4 && *step.config.find("activation") == Config("softmax");
      return over_axis ? kPlain : x.order;
    }
    if (name == "Softmax") return x.order;
    if (name == "PReLU") return rank == 4 ? x.order : kPlain;
    if (name == "Concatenate") {
      const Order order = for_merge(inputs);
      return order.channels_first ? order : kPlain;
    }
    if (name == "Rescaling") return for_numbers(step, x);
    if (name == "Dropout") {
      return step.config.find("noise_shape") == nullptr ? x.order : kPlain;
    }
    if (name == "Normalization") {
      const std::vector<int64_t> axes = integers(step.config, "axis");
      const bool one = axes.size() == 1 && from_zero(axes[0], rank) == 1;
      return one && x.order.channels_first ? x.order : kPlain;
    }
    return for_merge(inputs);
  }
  return name == "Dense" && rank == 2 ? x.order : kPlain;
}

Config config_in(const Order& order, const Step& step, int rank) {
  Config config = step.config;
  if (!order.channels_first) return config;
  const auto moved = [&](int64_t axis) {
    return in_nhwc(from_zero(axis, rank));
  };
  const std::string& name = step.class_name;
  if (name == "Concatenate" || name == "Softmax") {
    const Config* axis = config.find("axis");
    config.set("axis", moved(axis == nullptr ? -1 : axis->as_int()));
  } else if (name == "LayerNormalization" || name == "Normalization") {
    config.set("axis", Config::List{3});
  } else if (name == "PReLU") {
    Config::List axes;
    for (const int64_t axis : integers(config, "shared_axes")) {
      axes.emplace_back(moved(axis));
    }
    config.set("shared_axes", std::move(axes));
  }
  return config;
}

Order order_after(const Order& order, const Step& step,
                  const SymbolicTensor& input) {
  const std::string& name = step.class_name;
  if (order_rule(step) == OrderRule::plain) return kPlain;
  if (name == "Flatten") {
    // Keras brings the channels to the end first, if it knows of them.
    if (!order.channels_first) return order;
    const Shape& x = input.shape();
    const bool same = x[3] == 1 || (x[1] == 1 && x[2] == 1);
    if (has_channels_first(step.config) || same) return kPlain;
    return {.flattened = {x[3], x[1], x[2]}};
  }
  if (name.starts_with("Global")) {
    const Config* keepdims = step.config.find("keepdims");
    const bool image = keepdims != nullptr && keepdims->as_bool();
    return image ? order : kPlain;
  }
  return order;
}

WeightOrder weight_order(const Order& order, const Step& step,
                         const std::string& parameter, const Shape& shape) {
  const std::string& name = step.class_name;
  if (order.channels_first && name == "PReLU") {
    return {{shape[2], shape[0], shape[1]}, [](const Tensor& alpha) {
              return alpha.transposed({1, 2, 0});
            }};
  }
  const bool rows = name == "Dense" && parameter == "kernel";
  if (order.flattened.rank() != 3 || (!rows && name != "BatchNormalization")) {
    return {shape, {}};
  }
  return {shape, [s = order.flattened, shape](const Tensor& w) {
            return w.reshaped({s[0], s[1], s[2], Shape::kAnySize})
                .transposed({1, 2, 0, 3})
                .reshaped(shape);
          }};
}

}  // namespace octet::io
