// Keras layers that become sequences of Octet layers by the shape of their
// input: EinsumDense, Conv1DTranspose, adaptive pooling and TimeDistributed.
// Sources: keras/src/layers/core/einsum_dense.py, _analyze_split_string;
// keras/src/layers/rnn/time_distributed.py.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/dense.h>
#include <octet/layers/detail/einsum.h>
#include <octet/runtime/error.h>

#include "arranged.h"
#include "keras/layer_sequence.h"

namespace octet::io {
namespace {

struct Composite {
  Config config;           ///< modern_config()
  std::string activation;  ///< name
  const Shape& x;
};
using Specs = std::vector<LayerSpec>;

/// Returns the entry of an option for an axis: of a list, or a number for all
/// axes. Throws: FormatError for a list that is too short.
const Config& entry_of(const Config& value, size_t axis, const char* key) {
  if (!value.is_list()) return value;
  if (axis >= value.as_list().size()) {
    throw FormatError("invalid_shape", key,
                      fmt::format("must have at least {} entries, got {}",
                                  axis + 1, value.as_list().size()));
  }
  return value.as_list()[axis];
}

Config list_of(const std::vector<int64_t>& sizes) {
  return Config::List(sizes.begin(), sizes.end());
}

LayerSpec reshape_to(const char* suffix, const std::vector<int64_t>& sizes) {
  return {suffix, "Reshape", Config().set("target_shape", list_of(sizes))};
}

/// The same layer for images [n,t,l,c], with windows of one row.
LayerSpec over_images(LayerSpec spec) {
  spec.class_name.replace(spec.class_name.find("1D"), 2, "2D");
  for (const char* key : {"dilation_rate", "kernel_size", "pool_size",
                          "strides", "output_padding"}) {
    const Config* value = spec.config.find(key);
    if (value == nullptr || value->is_null()) continue;
    const int64_t row = std::string_view(key) == "output_padding" ? 0 : 1;
    const Config size = Config::List{row, entry_of(*value, 0, key)};
    spec.config.set(key, size);
  }
  spec.over_images = true;
  return spec;
}

// --- EinsumDense -------------------------------------------------------------

bool contains(const std::string& letters, char letter) {
  return letters.find(letter) != letters.npos;
}

/// The equation as a matrix product of the input's rows.
struct DenseEquation {
  EinsumEquation e;
  std::string rows;                  ///< axes before the summed ones
  std::string units;                 ///< in the order of the output
  std::array<int64_t, 256> sizes{};  /// by letter

  DenseEquation(const Config& config, const Shape& x)
      : text_(config.at("equation").as_string()) {
    std::string kernel = text_.substr(0, text_.find("->"));
    kernel.erase(0, kernel.find(',') + 1);
    std::erase(kernel, ' ');
    try {
      e = parse_einsum(text_, x.rank(), static_cast<int>(kernel.size()));
    } catch (const ValueError& error) {
      throw FormatError(
          "invalid_value", "equation",
          fmt::format("must be like 'ab,bc->ac': {}", error.message()));
    }
    if (!e.batch.empty() || e.rows[0] != e.a[0] || !e.y.starts_with(e.a[0])) {
      refuse(
          "axes of the input must be in the kernel or in the output, not in "
          "both, and the batch must be the first");
    }
    if (std::ssize(e.b) > Shape::kMaxRank) refuse("the kernel has many axes");
    rows = e.rows.substr(1);
    const Config& shape = config.at("output_shape");
    const Config::List stated =
        shape.is_list() ? shape.as_list() : Config::List{shape};
    for (size_t i = 1; i < e.a.size(); ++i) {
      size_of(e.a[i]) = x[static_cast<int>(i)];
    }
    for (size_t i = 0; i < e.y.size(); ++i) {
      if (!contains(e.columns, e.y[i])) continue;
      units += e.y[i];
      const size_t from_end = e.y.size() - i;
      if (from_end > stated.size() ||
          stated[stated.size() - from_end].is_null()) {
        refuse("output_shape must state the kernel's sizes");
      }
      const int64_t size = stated[stated.size() - from_end].as_int();
      if (size < 1 || size >= int64_t{1} << 24) {
        throw FormatError("out_of_range", "output_shape",
                          fmt::format("must be in [1,2^24), got {}", size));
      }
      size_of(e.y[i]) = size;
    }
  }

  int64_t& size_of(char letter) {
    return sizes.at(static_cast<unsigned char>(letter));
  }
  std::vector<int64_t> sizes_of(const std::string& letters) {
    std::vector<int64_t> result;
    for (const char letter : letters) result.push_back(size_of(letter));
    return result;
  }
  int64_t product(const std::string& letters) {
    constexpr int64_t kMost = int64_t{1} << 31;
    int64_t product = 1;
    for (const int64_t size : sizes_of(letters)) {
      if (size > kMost / product) {
        throw FormatError("size_limit", "output_shape",
                          "the kernel has too many elements");
      }
      product *= size;
    }
    return product;
  }
  std::vector<Dim> dims(const std::string& letters) {
    std::vector<Dim> result;
    for (const int64_t size : sizes_of(letters)) result.push_back({size});
    return result;
  }

  AxisLayout kernel() {
    std::vector<int> order;
    for (const char letter : e.depth + units) {
      order.push_back(static_cast<int>(e.b.find(letter)));
    }
    const std::vector<Dim> matrix{{product(e.depth)}, {product(units)}};
    return AxisLayout(dims(e.b)).transposed(order).reshaped(matrix).value();
  }
  /// Returns the layout of the bias; none if there is no bias.
  std::optional<AxisLayout> bias(const Config& axes) {
    if (axes.is_null() || axes.as_string().empty()) return std::nullopt;
    std::string letters = axes.as_string();
    std::string wanted = units;
    std::ranges::sort(letters);
    std::ranges::sort(wanted);
    if (letters != wanted) {
      refuse("bias_axes must be the axes of the kernel only");
    }
    std::vector<Dim> dims;
    for (size_t i = e.y.find_first_of(units); i < e.y.size(); ++i) {
      dims.push_back({contains(units, e.y[i]) ? size_of(e.y[i]) : 1});
    }
    return AxisLayout(dims).reshaped(std::vector<Dim>{{product(units)}});
  }

 private:
  [[noreturn]] void refuse(const char* reason) const {
    throw UnsupportedError("unsupported_attribute", "equation",
                           fmt::format("{}, got '{}'", reason, text_));
  }

  std::string text_;
};

/// Adds a Permute of axes named by `from` to the order `to`, without the batch.
void permute(Specs& steps, const char* suffix, const std::string& from,
             const std::string& to) {
  if (from == to) return;
  std::vector<int64_t> dims;
  for (const char letter : to) {
    dims.push_back(static_cast<int64_t>(from.find(letter)) + 1);
  }
  steps.push_back({suffix, "Permute", Config().set("dims", list_of(dims))});
}

Specs einsum_dense(const Composite& c) {
  DenseEquation e(c.config, c.x);
  const std::string& depth = e.e.depth;
  const auto bias = e.bias(option(c.config, "bias_axes"));
  const bool separate = c.activation.ends_with("softmax");
  LayerSpec dense{.suffix = "/dense",
                  .class_name = "Dense",
                  .config = c.config,
                  .in_keras_order = true,
                  .weights = {e.kernel()}};
  dense.config.set("units", e.product(e.units))
      .set("use_bias", bias.has_value())
      .set("activation", separate ? "linear" : c.activation);
  if (bias) dense.weights.push_back(*bias);
  const auto rows_and = [&](const std::vector<int64_t>& sizes) {
    std::vector<int64_t> result = e.sizes_of(e.rows);
    result.insert(result.end(), sizes.begin(), sizes.end());
    return result;
  };
  Specs steps;
  permute(steps, "/order", e.e.a.substr(1), e.rows + depth);
  if (depth.size() != 1) {
    steps.push_back(reshape_to("/join", rows_and({e.product(depth)})));
  }
  steps.push_back(std::move(dense));
  if (e.units.size() != 1) {
    steps.push_back(reshape_to("/split", rows_and(e.sizes_of(e.units))));
  }
  permute(steps, "/result", e.rows + e.units, e.e.y.substr(1));
  if (separate) {
    steps.push_back({"/activation", "Activation",
                     Config().set("activation", c.activation)});
  }
  steps.back().suffix.clear();
  return steps;
}

// --- others ------------------------------------------------------------------

Specs conv1d_transpose(const Composite& c) {
  if (has_channels_first(c.config)) {
    throw UnsupportedError("unsupported_attribute", "data_format",
                           "must be channels_last, got channels_first");
  }
  if (c.x.rank() != 3) {
    throw FormatError(
        "invalid_shape", "inputs",
        fmt::format("must be sequences [n,l,c], got {}", c.x.to_string()));
  }
  LayerSpec conv = over_images({"/conv", "Conv1DTranspose", c.config});
  conv.config.set("activation", c.activation);
  return {reshape_to("/image", {1, c.x[1], c.x[2]}), std::move(conv),
          reshape_to("", {-1, c.config.at("filters").as_int()})};
}

/// Pooling whose windows are equal if the output's size divides the input's.
Specs adaptive_pooling(const Composite& c, const char* class_name) {
  const Config& wanted = c.config.at("output_size");
  const int first_axis = has_channels_first(c.config) ? 2 : 1;
  Config::List sizes;
  for (int axis = 0; axis < c.x.rank() - 2; ++axis) {
    const int64_t from = c.x[axis + first_axis];
    const int64_t to =
        entry_of(wanted, static_cast<size_t>(axis), "output_size").as_int();
    if (to < 1 || from % to != 0) {
      throw UnsupportedError(
          "unsupported_attribute", "output_size",
          fmt::format("must divide the image's size {}, got {}", from, to));
    }
    sizes.emplace_back(from / to);
  }
  Config config = c.config;
  config.set("pool_size", sizes).set("strides", sizes).set("padding", "valid");
  return {{"", class_name, std::move(config)}};
}
struct CompositeClass {
  std::string_view class_name;
  Specs (*steps)(const Composite& c);
};
constexpr CompositeClass kComposites[] = {
    {"AdaptiveAveragePooling1D",
     [](const Composite& c) {
       return adaptive_pooling(c, "AveragePooling1D");
     }},
    {"AdaptiveAveragePooling2D",
     [](const Composite& c) {
       return adaptive_pooling(c, "AveragePooling2D");
     }},
    {"AdaptiveMaxPooling1D",
     [](const Composite& c) { return adaptive_pooling(c, "MaxPooling1D"); }},
    {"AdaptiveMaxPooling2D",
     [](const Composite& c) { return adaptive_pooling(c, "MaxPooling2D"); }},
    {"Conv1DTranspose", conv1d_transpose},
    {"EinsumDense", einsum_dense},
};

const CompositeClass* find_composite(std::string_view class_name) {
  const auto* found =
      std::ranges::find(kComposites, class_name, &CompositeClass::class_name);
  return found == std::end(kComposites) ? nullptr : found;
}

/// Layers that treat all axes but the last alike.
bool works_on_last_axis(std::string_view class_name) {
  constexpr std::string_view kClasses[] = {
      "Activation", "BatchNormalization", "Dense",   "Dropout",
      "ELU",        "LayerNormalization", "ReLU",    "LeakyReLU",
      "Rescaling",  "RMSNormalization",   "Softmax", "UnitNormalization"};
  return std::ranges::find(kClasses, class_name) != std::end(kClasses);
}

/// Layers over sequences: over images, they have a window of one step.
bool works_on_windows(const KerasLayer& layer) {
  constexpr std::string_view kClasses[] = {"AveragePooling1D", "Conv1D",
                                           "MaxPooling1D"};
  return std::ranges::find(kClasses, layer.class_name) != std::end(kClasses) &&
         option(layer.config, "padding") != Config("causal");
}

/// Makes the axis of a layer the last one; returns false for another axis.
/// `rank` includes the axis of the steps.
bool is_over_last_axis(Specs& steps, int rank) {
  for (LayerSpec& step : steps) {
    const Config& given = option(step.config, "axis");
    if (given.is_null()) continue;
    const bool list = given.is_list() && given.as_list().size() == 1;
    const Config axis = list ? given.as_list()[0] : given;
    if (axis != Config(-1) && axis != Config(rank - 2)) return false;
    step.config.set("axis", list ? Config(Config::List{-1}) : Config(-1));
  }
  return true;
}

}  // namespace

bool is_composite(std::string_view class_name) {
  return find_composite(class_name) != nullptr;
}

std::vector<LayerSpec> composite_sequence(const KerasLayer& layer,
                                          const KerasContext& context,
                                          const Shape& input) {
  const CompositeClass* composite = find_composite(layer.class_name);
  if (composite == nullptr) return {};
  Config config = modern_config(layer);
  const ActivationConversion form =
      activation_of(option(config, "activation"), context);
  if (!form.steps.empty()) {
    throw UnsupportedError("unsupported_attribute", "activation",
                           "must be the name of a function");
  }
  return composite->steps({std::move(config), form.name, input});
}

std::vector<LayerSpec> sequence_over_steps(const KerasLayer& layer,
                                           const KerasContext& context,
                                           const Shape& input) {
  if (layer.graph != nullptr) return {};
  const bool channels_first = has_channels_first(layer);
  if (layer.class_name == "Flatten" && input.rank() > 3) {
    return {reshape_to("", {input[1], -1})};
  }
  if (works_on_windows(layer) && input.rank() == 4 && !channels_first) {
    Specs steps = layer_sequence(layer, context);
    steps[0] = over_images(std::move(steps[0]));
    return steps;
  }
  if (works_on_last_axis(layer.class_name)) {
    Specs steps = layer_sequence(layer, context);
    if (is_over_last_axis(steps, input.rank())) return steps;
  }
  if (channels_first) {
    throw UnsupportedError("unsupported_attribute", "data_format",
                           "must be channels_last in TimeDistributed");
  }
  return {};
}

}  // namespace octet::io
