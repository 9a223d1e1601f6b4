// Keras' TimeDistributed: a layer for each step of [n,t,...]. It becomes the
// layer itself if that treats leading axes alike, a layer over images, or a
// shared layer that is called for each step.
// Source: keras/src/layers/rnn/time_distributed.py.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/ops.h>
#include <octet/runtime/error.h>

#include "keras/blocks.h"

namespace octet::io {
namespace {

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
  constexpr std::array<std::string_view, 3> kClasses{"AveragePooling1D",
                                                     "Conv1D", "MaxPooling1D"};
  const Config* padding = layer.config.find("padding");
  return std::ranges::find(kClasses, layer.class_name) != kClasses.end() &&
         (padding == nullptr || *padding != Config("causal"));
}

Config one_and(const Config& value, const char* key) {
  return Config::List{1, entry_of(value, 0, key)};
}

/// The same layer for images [n,t,l,c].
LayerSpec over_images(LayerSpec spec) {
  spec.class_name.replace(spec.class_name.size() - 2, 2, "2D");
  for (const char* key :
       {"dilation_rate", "kernel_size", "pool_size", "strides"}) {
    const Config* value = spec.config.find(key);
    if (value == nullptr || value->is_null()) continue;
    const Config size = one_and(*value, key);
    spec.config.set(key, size);
  }
  return spec;
}

/// Limit of calls: each adds a slice of the input to the graph.
constexpr int64_t kMostSteps = 64;
constexpr int64_t kMostCalls = 4096;  // in a model, also nested

class TimeDistributedBuilder final : public LayerBuilder {
 public:
  TimeDistributedBuilder(const KerasLayer& layer, std::string name,
                         BuildState& state)
      : layer_(layer), name_(std::move(name)), state_(state) {}

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    const KerasValue x = materialize(only_tensors(arguments).at(0), {});
    if (inner_ == nullptr) inner_ = inner(x.tensor.shape());
    if (!by_step_) return inner_->call({{"", x, {}}}, index);
    const int64_t steps = x.tensor.shape()[1];
    state_.step_calls += steps;
    if (state_.step_calls > kMostCalls) {
      throw FormatError("size_limit", "TimeDistributed",
                        fmt::format("layers must be called for at most {} "
                                    "steps in total",
                                    kMostCalls));
    }
    std::vector<SymbolicTensor> results;
    for (int64_t step = 0; step < steps; ++step) {
      const KerasValue one{x.tensor.index({Slice(), step})};
      const auto call = static_cast<size_t>(step) + index * 1000;
      const auto values = inner_->call({{"", one, {}}}, call);
      results.push_back(materialize(values.at(0), {}).tensor);
    }
    const SymbolicTensor y = stack(results, 1);
    // Valid while no model contains the layer.
    std::const_pointer_cast<Layer>(y.node->layer)
        ->set_name(index == 0 ? name_ : fmt::format("{}_{}", name_, index));
    return {{y}};
  }

  TargetLayer targets() const override {
    TargetLayer part = inner_->targets();
    part.attribute = "layer";
    for (WeightTarget& weight : part.weights) {
      if (!over_images_ || weight.name != "kernel") continue;
      const Shape image = weight.shape;
      weight.shape = image.slice(1, image.rank());
      weight.to_octet = [image](const Tensor& w) { return w.reshaped(image); };
    }
    return {.name = layer_.name,
            .class_name = layer_.written_class,
            .parts = {std::move(part)}};
  }

 private:
  std::unique_ptr<LayerBuilder> inner(const Shape& shape) {
    const KerasLayer& layer = *layer_.inner;
    if (layer.graph != nullptr) return by_step(shape);
    const auto steps = [&] {
      return layer_sequence(layer, state_.dialect, state_.options);
    };
    const bool channels_first = has_channels_first(layer);
    if (layer.class_name == "Flatten" && shape.rank() > 3) {
      const Config target = Config::List{shape[1], -1};
      return chain_builder(
          layer, name_, {{"", "Reshape", Config().set("target_shape", target)}},
          state_);
    }
    if (works_on_windows(layer) && shape.rank() == 4 && !channels_first) {
      over_images_ = true;
      std::vector<LayerSpec> windows = steps();
      windows[0] = over_images(std::move(windows[0]));
      return chain_builder(layer, name_, std::move(windows), state_);
    }
    if (works_on_last_axis(layer.class_name)) {
      std::vector<LayerSpec> last = steps();
      if (is_over_last_axis(last, shape.rank())) {
        return chain_builder(layer, name_, std::move(last), state_);
      }
    }
    if (channels_first) {
      throw UnsupportedError("unsupported_attribute", "data_format",
                             "must be channels_last in TimeDistributed");
    }
    return by_step(shape);
  }

  std::unique_ptr<LayerBuilder> by_step(const Shape& shape) {
    if (shape.rank() < 3 || shape[1] > kMostSteps) {
      throw UnsupportedError(
          "unsupported_layer", text_of(*layer_.inner),
          fmt::format("must have up to {} steps, got inputs {}", kMostSteps,
                      shape.to_string()));
    }
    by_step_ = true;
    return layer_builder(*layer_.inner, name_ + "/" + layer_.inner->name,
                         state_);
  }

  /// Makes the axis of a layer the last one; returns false for another axis.
  /// `rank` includes the axis of the steps.
  static bool is_over_last_axis(std::vector<LayerSpec>& steps, int rank) {
    for (LayerSpec& step : steps) {
      const Config* given = step.config.find("axis");
      if (given == nullptr || given->is_null()) continue;
      const bool list = given->is_list() && given->as_list().size() == 1;
      const Config axis = list ? given->as_list()[0] : *given;
      if (axis != Config(-1) && axis != Config(rank - 2)) return false;
      step.config.set("axis", list ? Config(Config::List{-1}) : Config(-1));
    }
    return true;
  }

  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
  bool over_images_ = false;
  bool by_step_ = false;  // the layer is called for each step
  std::unique_ptr<LayerBuilder> inner_;
};

}  // namespace

std::unique_ptr<LayerBuilder> time_distributed_builder(const KerasLayer& layer,
                                                       std::string name,
                                                       BuildState& state) {
  return std::make_unique<TimeDistributedBuilder>(layer, std::move(name),
                                                  state);
}

}  // namespace octet::io
