#include "keras/operation_forms.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

// Without an axis, Keras 3 normalizes over all values of all samples, tf over
// the last axis.
Config softmax_axis(const Settings& settings) {
  const Config axis = settings.find({"axis"});
  if (settings.is_none("axis") || (!axis.is_null() && !axis.is_number())) {
    throw UnsupportedError("unsupported_attribute", "axis",
                           "must be an axis of a sample");
  }
  return axis.is_null() ? Config(-1) : axis;
}

void expect_last_axis(const Settings& settings, const Shape& x) {
  const Config axis = softmax_axis(settings);
  if (axis_of(axis, x.rank()) != x.rank() - 1) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format("must be the last axis of {}", x.to_string()));
  }
}

void expect_false(const Settings& settings, const char* name) {
  const Config value = settings.find({name});
  if (value.is_null() || value == Config(false)) return;
  throw UnsupportedError("unsupported_attribute", name, "must be false");
}

Steps cast_steps(const Settings& settings, const Operands&) {
  const Config type = settings.find_or_positional({"dtype"});
  if (type != Config("float32")) {
    throw UnsupportedError(
        "unsupported_attribute", "dtype",
        fmt::format("must be float32, the type of all activations, got {}",
                    type.is_string() ? type.as_string() : "another type"));
  }
  return {};
}

Steps clip_steps(const Settings& settings, const Operands&) {
  const Config low = settings.find({"x_min", "clip_value_min"});
  const Config high = settings.find({"x_max", "clip_value_max"});
  if (!low.is_number() || !high.is_number()) {
    throw UnsupportedError("unsupported_attribute", "x_min, x_max",
                           "must be numbers");
  }
  return {{"", "ClipByValue", Config().set("min", low).set("max", high)}};
}

Steps elu_steps(const Settings& settings, const Operands&) {
  const Config alpha = settings.find({"alpha"});
  return {{"", "ELU",
           Config().set("alpha", alpha.is_null() ? Config(1.0) : alpha)}};
}

Steps gelu_steps(const Settings& settings, const Operands&) {
  const bool tanh = settings.find({"approximate"}) == Config(true);
  return {{"", "Activation",
           Config().set("activation", tanh ? "gelu_tanh" : "gelu")}};
}

Steps leaky_relu_steps(const Settings& settings, const Operands&) {
  const Config slope = settings.find({"negative_slope", "alpha"});
  return {
      {"", "LeakyReLU",
       Config().set("negative_slope", slope.is_null() ? Config(0.2) : slope)}};
}

Steps log_softmax_steps(const Settings& settings, const Operands& x) {
  expect_last_axis(settings, x[0]);
  return {{"", "Activation", Config().set("activation", "log_softmax")}};
}

Steps add_steps(const Settings&, const Operands&) {
  return {{"", "Add", Config::Object()}};
}

Steps matmul_steps(const Settings& settings, const Operands& x) {
  if (x.size() != 2 || x[0].rank() != x[1].rank()) {
    throw UnsupportedError(
        "shape_mismatch", "inbound_nodes",
        fmt::format("must be two tensors of the same rank, got {}",
                    x.size() == 2
                        ? x[0].to_string() + " and " + x[1].to_string()
                        : fmt::format("{} tensors", x.size())));
  }
  const bool a = settings.find({"transpose_a"}) == Config(true);
  const bool b = settings.find({"transpose_b"}) == Config(true);
  return {{"", "Matmul", Config().set("transpose_a", a).set("transpose_b", b)}};
}

Steps negative_steps(const Settings&, const Operands&) {
  return {{"", "Rescaling", Config().set("scale", -1.0).set("offset", 0.0)}};
}

// Minimum length: epsilon is its square in tf, the length 1e-7 in Keras 3.
// Sources:
// tensorflow/python/ops/nn_impl.py, l2_normalize(); keras/src/ops/nn.py.
Steps normalized_steps(const Settings& settings, double epsilon) {
  Config axis = settings.find_or_positional({"axis"});
  if (axis.is_null()) {
    throw UnsupportedError("unsupported_attribute", "axis", "must be given");
  }
  return {{"", "UnitNormalization",
           Config().set("axis", std::move(axis)).set("epsilon", epsilon)}};
}

double epsilon_of(const Settings& settings, double otherwise) {
  const Config epsilon = settings.find({"epsilon"});
  return epsilon.is_null() ? otherwise : epsilon.as_number();
}

Steps normalize_steps(const Settings& settings, const Operands&) {
  const Config order = settings.find({"order"});
  if (!order.is_null() && order != Config(2)) {
    throw UnsupportedError("unsupported_attribute", "order",
                           "must be 2 (Euclidean norm)");
  }
  return normalized_steps(settings, epsilon_of(settings, 1e-7));
}

Steps l2_normalize_steps(const Settings& settings, const Operands&) {
  return normalized_steps(settings, std::sqrt(epsilon_of(settings, 1e-12)));
}

// tf.image has channels last, ops.image the default of Keras' settings.
Config usual_format(const DataFormats& formats, const Settings& settings) {
  if (!settings.is_none("data_format")) return "channels_last";
  if (formats.first && formats.last) {
    throw UnsupportedError(
        "unsupported_attribute", "data_format",
        "must be given in a model with both channels_last and channels_first");
  }
  if (!formats.first && !formats.last) {
    warn("unknown_layout", "image.resize",
         "data_format is not recorded; assuming channels_last, Keras' default "
         "unless image_data_format() is channels_first");
  }
  return formats.first ? "channels_first" : "channels_last";
}

Steps resize_steps(const Settings& settings, const Operands& x) {
  for (const char* name : {"antialias", "crop_to_aspect_ratio",
                           "pad_to_aspect_ratio", "preserve_aspect_ratio"}) {
    expect_false(settings, name);
  }
  const std::vector<int64_t> size =
      integers_of(settings.find_or_positional({"size"}));
  Config method = settings.find({"interpolation", "method"});
  if (method.is_null()) method = "bilinear";
  if (size.size() != 2 || x[0].rank() != 4) {
    throw UnsupportedError(
        "unsupported_attribute", "size",
        fmt::format("must be the height and width of an image, for {}",
                    x[0].to_string()));
  }
  Config config = Config()
                      .set("height", size[0])
                      .set("width", size[1])
                      .set("interpolation", std::move(method));
  Config format = settings.find({"data_format"});
  if (format.is_null()) format = usual_format(x.formats, settings);
  config.set("data_format", std::move(format));
  return {{"", "Resizing", std::move(config)}};
}

// Both round half to even.
Steps round_steps(const Settings& settings, const Operands&) {
  const Config decimals = settings.find({"decimals"});
  if (!decimals.is_null() && decimals != Config(0)) {
    throw UnsupportedError("unsupported_attribute", "decimals", "must be 0");
  }
  return {{"", "Unary", Config().set("operation", "round")}};
}

Steps rsqrt_steps(const Settings&, const Operands&) {
  return {{"/sqrt", "Unary", Config().set("operation", "sqrt")},
          {"", "Unary", Config().set("operation", "reciprocal")}};
}

Steps softmax_steps(const Settings& settings, const Operands&) {
  return {{"", "Softmax", Config().set("axis", softmax_axis(settings))}};
}

}  // namespace

Config Settings::find(std::initializer_list<std::string_view> names) const {
  read_.insert(names.begin(), names.end());
  for (const std::string_view name : names) {
    for (const auto& [own, value] : called_) {
      if (own == name && !value.is_null()) return value;
    }
    const Config* value = config_.find(name);
    if (value != nullptr && !value->is_null()) return *value;
  }
  return {};
}

Config Settings::positional() const {
  read_.insert("");
  for (const auto& [name, value] : called_) {
    if (name.empty()) return value;
  }
  return {};
}

Config Settings::find_or_positional(
    std::initializer_list<std::string_view> names) const {
  Config value = find(names);
  return value.is_null() ? positional() : value;
}

bool Settings::is_none(std::string_view name) const {
  const Config* value = config_.find(name);
  return value != nullptr && value->is_null();
}

std::optional<std::string> Settings::unread() const {
  const auto is_left = [&](const std::string& name, const Config& value) {
    return name != "name" && !value.is_null() && value != Config(false) &&
           !read_.contains(name);
  };
  bool positional = false;
  for (const auto& [name, value] : called_) {
    if (is_left(name, value) || (name.empty() && positional)) return name;
    positional = positional || name.empty();
  }
  // Options of every layer, and the fill value of padding, which is checked
  // elsewhere.
  constexpr std::string_view kUsual[] = {"dtype", "fill_mode", "fill_value",
                                         "function", "trainable"};
  for (const auto& [name, value] : config_.as_object()) {
    if (std::ranges::find(kUsual, name) == std::end(kUsual) &&
        is_left(name, value)) {
      return name;
    }
  }
  return std::nullopt;
}

int64_t axis_of(const Config& axis, int rank) {
  if (!axis.is_number()) {
    throw UnsupportedError("unsupported_attribute", "axis", "must be a number");
  }
  const int64_t given = axis.as_int();
  const int64_t from_front = given < 0 ? given + rank : given;
  if (from_front < 1 || from_front >= rank) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format(
            "must be an axis of a sample, rank {} with the batch, got {}", rank,
            given));
  }
  return from_front;
}

std::vector<int64_t> integers_of(const Config& value) {
  if (value.is_null()) return {};
  if (!value.is_list()) return {value.as_int()};
  std::vector<int64_t> result;
  for (const Config& entry : value.as_list()) result.push_back(entry.as_int());
  return result;
}

Form find_in(std::span<const NamedForm> forms, std::string_view name) {
  const auto found = std::ranges::find(forms, name, &NamedForm::first);
  return found == forms.end() ? nullptr : found->second;
}

Form find_form(std::string_view name) {
  static constexpr NamedForm kForms[] = {
      {"Cast", cast_steps},
      {"Clip", clip_steps},
      {"Elu", elu_steps},
      {"Gelu", gelu_steps},
      {"LeakyRelu", leaky_relu_steps},
      {"LogSoftmax", log_softmax_steps},
      {"Matmul", matmul_steps},
      {"Negative", negative_steps},
      {"Normalize", normalize_steps},
      {"Resize", resize_steps},
      {"Round", round_steps},
      {"Rsqrt", rsqrt_steps},
      {"Softmax", softmax_steps},
      {"cast", cast_steps},
      {"clip_by_value", clip_steps},
      {"image.resize", resize_steps},
      {"linalg.matmul", matmul_steps},
      {"math.add_n", add_steps},
      {"math.l2_normalize", l2_normalize_steps},
      {"math.negative", negative_steps},
      {"math.round", round_steps},
      {"math.rsqrt", rsqrt_steps},
      {"nn.elu", elu_steps},
      {"nn.gelu", gelu_steps},
      {"nn.leaky_relu", leaky_relu_steps},
      {"nn.log_softmax", log_softmax_steps},
      {"nn.softmax", softmax_steps},
  };
  if (const Form form = find_in(kForms, name)) return form;
  if (const Form form = find_axis_form(name)) return form;
  return find_reduction(name);
}

}  // namespace octet::io
