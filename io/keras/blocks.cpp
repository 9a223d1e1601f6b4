#include "keras/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/einsum_dense.h"

namespace octet::io {
namespace {

/// The layers of a block, created in its first call.
class Block {
 public:
  Block(const KerasLayer& layer, std::string name, BuildState& state)
      : config_(modern_config(layer)),
        layer_(layer),
        name_(std::move(name)),
        state_(state) {}

  const Config& config() const { return config_; }
  bool option(const char* key) const {
    const Config* value = config_.find(key);
    return value != nullptr && *value == Config(true);
  }
  int64_t size(const char* key) const {
    return entry_of(config_.at(key), 0, key).as_int();
  }

  /// Starts a call.
  void begin() { next_ = 0; }
  /// Gives the block's name to the layer that makes its output.
  void end() { layers_.back()->set_name(name_); }
  /// Calls the next layer of the block, named "block/part".
  SymbolicTensor add(const char* part, const char* class_name,
                     const Config& config, std::vector<SymbolicTensor> inputs) {
    if (next_ == layers_.size()) {
      layers_.push_back(make_layer({"", class_name, config}, config,
                                   fmt::format("{}/{}", name_, part), layer_));
    }
    return octet::call(layers_[next_++], std::move(inputs));
  }
  SymbolicTensor reshape(const char* part, const SymbolicTensor& x,
                         const std::vector<int64_t>& sizes) {
    const Config target = Config::List(sizes.begin(), sizes.end());
    return add(part, "Reshape", Config().set("target_shape", target), {x});
  }
  /// `order` counts from 1, as in Keras.
  SymbolicTensor permute(const char* part, const SymbolicTensor& x,
                         const std::vector<int64_t>& order) {
    if (std::ranges::is_sorted(order)) return x;
    const Config dims = Config::List(order.begin(), order.end());
    return add(part, "Permute", Config().set("dims", dims), {x});
  }
  /// The option `activation` as a name.
  std::string activation() const {
    const Config* value = config_.find("activation");
    ActivationConversion form = activation_of(
        value == nullptr ? Config() : *value, state_.dialect, state_.options);
    if (!form.steps.empty()) {
      throw UnsupportedError("unsupported_attribute", "activation",
                             "must be the name of a function");
    }
    return form.name;
  }

  /// Sets the weights of the latest layer, with their shapes in Keras.
  void set_weights(
      const std::vector<std::pair<Shape, std::function<Tensor(const Tensor&)>>>&
          stored) {
    if (!weights_.empty()) return;
    weights_ = weights_of(*layers_[next_ - 1]);
    for (size_t i = 0; i < weights_.size(); ++i) {
      weights_[i].shape = stored[i].first;
      weights_[i].to_octet = stored[i].second;
    }
  }
  const std::vector<WeightTarget>& weights() const { return weights_; }

 private:
  Config config_;
  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
  std::vector<std::shared_ptr<Layer>> layers_;
  std::vector<WeightTarget> weights_;
  size_t next_ = 0;
};

std::function<Tensor(const Tensor&)> reshape_to(const Shape& shape) {
  return [shape](const Tensor& w) { return w.reshaped(shape); };
}

int64_t product_of_sizes(const std::vector<int64_t>& sizes) {
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size > kMost / product) {
      throw FormatError("size_limit", "output_shape",
                        "the kernel has too many elements");
    }
    product *= size;
  }
  return product;
}

using Tensors = std::vector<SymbolicTensor>;

SymbolicTensor build_einsum_dense(Block& block, const Tensors& inputs, bool) {
  const SymbolicTensor& x = inputs.at(0);
  const EinsumPlan plan = einsum_plan(block.config(), x.shape());
  const int64_t rows = product_of_sizes(plan.contracted);
  const int64_t columns = product_of_sizes(plan.units);
  const auto with = [&](int64_t last) {
    std::vector<int64_t> sizes = plan.rows;
    sizes.push_back(last);
    return sizes;
  };
  SymbolicTensor y = block.permute("order", x, plan.order_in);
  if (plan.contracted.size() != 1) y = block.reshape("join", y, with(rows));
  const bool bias = plan.bias.rank() > 0;
  const std::string activation = block.activation();
  const bool separate = activation.find("softmax") != activation.npos;
  Config dense = block.config();
  dense.set("units", columns);
  dense.set("use_bias", bias);
  dense.set("activation", separate ? "linear" : activation);
  y = block.add("dense", "Dense", dense, {y});
  const auto kernel = [order = plan.kernel_order,
                       shape = Shape{rows, columns}](const Tensor& w) {
    return w.transposed(order).reshaped(shape);
  };
  block.set_weights(
      {{plan.kernel, kernel}, {plan.bias, reshape_to({columns})}});
  if (plan.units.size() != 1) {
    std::vector<int64_t> sizes = plan.rows;
    sizes.insert(sizes.end(), plan.units.begin(), plan.units.end());
    y = block.reshape("split", y, sizes);
  }
  y = block.permute("result", y, plan.order_out);
  if (!separate) return y;
  return block.add("activation", "Activation",
                   Config().set("activation", activation), {y});
}

// A Conv2DTranspose of images with a single column.
SymbolicTensor build_conv1d_transpose(Block& block, const Tensors& inputs,
                                      bool) {
  if (has_channels_first(block.config())) {
    throw UnsupportedError("unsupported_attribute", "data_format",
                           "must be channels_last, got channels_first");
  }
  const Shape& x = inputs.at(0).shape();
  if (x.rank() != 3) {
    throw FormatError(
        "invalid_shape", "inputs",
        fmt::format("must be sequences [n,l,c], got {}", x.to_string()));
  }
  Config conv = block.config();
  const int64_t size = block.size("kernel_size");
  for (const char* key : {"kernel_size", "strides", "dilation_rate"}) {
    if (conv.find(key) == nullptr) continue;
    conv.set(key, Config::List{block.size(key), 1});
  }
  if (conv.find("output_padding") != nullptr) {
    conv.set("output_padding", Config::List{block.size("output_padding"), 0});
  }
  conv.set("activation", block.activation());
  SymbolicTensor y = block.reshape("image", inputs[0], {x[1], 1, x[2]});
  y = block.add("conv", "Conv2DTranspose", conv, {y});
  const int64_t channels = y.shape()[-1];
  block.set_weights(
      {{{size, channels, x[2]}, reshape_to({size, 1, channels, x[2]})},
       {{channels}, {}}});
  return block.reshape("sequence", y, {y.shape()[1], channels});
}

// Keras does not divide the scores by the root of the features.
SymbolicTensor build_attention(Block& block, const Tensors& inputs,
                               bool causal) {
  const Config* mode = block.config().find("score_mode");
  if (block.option("use_scale") ||
      (mode != nullptr && *mode != Config("dot"))) {
    throw UnsupportedError("unsupported_attribute", "use_scale, score_mode",
                           "must be false and 'dot'");
  }
  if (inputs.size() < 2 || inputs.size() > 3) {
    throw FormatError(
        "count_mismatch", "inputs",
        fmt::format("must be a query, a value and optionally a key, got {}",
                    inputs.size()));
  }
  const auto scale = std::sqrt(static_cast<float>(inputs[0].shape()[-1]));
  const SymbolicTensor query =
      block.add("scale", "Rescaling",
                Config().set("scale", scale).set("offset", 0.0), {inputs[0]});
  const Config* rate = block.config().find("dropout");
  return block.add("attention", "ScaledDotProductAttention",
                   Config()
                       .set("num_heads", 1)
                       .set("causal", causal)
                       .set("dropout", rate == nullptr ? Config(0.0) : *rate),
                   {query, inputs.back(), inputs[1]});
}

using Build = SymbolicTensor (*)(Block&, const Tensors&, bool causal);

class ComposedBuilder final : public LayerBuilder {
 public:
  ComposedBuilder(const KerasLayer& layer, std::string name, BuildState& state,
                  Build build)
      : layer_(layer), block_(layer, std::move(name), state), build_(build) {}

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    std::vector<BuiltArgument> others = arguments;
    const bool causal =
        std::erase_if(others, [&](const BuiltArgument& argument) {
          return build_ == build_attention &&
                 argument.name == "use_causal_mask" &&
                 argument.constant == Config(true);
        }) > 0;
    Tensors inputs;
    for (const KerasValue& value : only_tensors(others)) {
      inputs.push_back(materialize(value, {}).tensor);
    }
    block_.begin();
    const SymbolicTensor y = build_(block_, inputs, causal);
    block_.end();
    return {{y}};
  }

  TargetLayer targets() const override {
    return {.name = layer_.name,
            .class_name = layer_.written_class,
            .weights = block_.weights()};
  }

 private:
  const KerasLayer& layer_;
  Block block_;
  Build build_;
};

template <Build build>
std::unique_ptr<LayerBuilder> composed(const KerasLayer& layer,
                                       std::string name, BuildState& state) {
  return std::make_unique<ComposedBuilder>(layer, std::move(name), state,
                                           build);
}

/// SpectralNormalization, which scales the stored kernel in training only.
class InnerBuilder final : public LayerBuilder {
 public:
  InnerBuilder(const KerasLayer& layer, const std::string& name,
               BuildState& state)
      : layer_(layer), inner_(layer_builder(*layer.inner, name, state)) {}

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    return inner_->call(arguments, index);
  }
  TargetLayer targets() const override {
    TargetLayer part = inner_->targets();
    part.attribute = "layer";
    return {.name = layer_.name,
            .class_name = layer_.written_class,
            .parts = {std::move(part)}};
  }

 private:
  const KerasLayer& layer_;
  std::unique_ptr<LayerBuilder> inner_;
};

std::unique_ptr<LayerBuilder> inner(const KerasLayer& layer, std::string name,
                                    BuildState& state) {
  return std::make_unique<InnerBuilder>(layer, name, state);
}

/// Pooling whose windows are equal if the output's size divides the input's.
class AdaptiveBuilder final : public LayerBuilder {
 public:
  AdaptiveBuilder(const KerasLayer& layer, std::string name, BuildState& state)
      : layer_(layer), name_(std::move(name)), state_(state) {}

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    if (pool_ == nullptr) pool_ = pooling(only_tensors(arguments).at(0));
    return pool_->call(arguments, index);
  }

  TargetLayer targets() const override {
    return {.name = layer_.name, .class_name = layer_.written_class};
  }

 private:
  std::unique_ptr<LayerBuilder> pooling(const KerasValue& x) {
    const Shape shape = keras_shape(x);
    const Config& wanted = layer_.config.at("output_size");
    const bool first = has_channels_first(layer_.config);
    Config::List sizes;
    for (int axis = 0; axis < shape.rank() - 2; ++axis) {
      const int64_t from = shape[axis + (first ? 2 : 1)];
      const int64_t to =
          entry_of(wanted, static_cast<size_t>(axis), "output_size").as_int();
      if (to < 1 || from % to != 0) {
        throw UnsupportedError(
            "unsupported_attribute", "output_size",
            fmt::format("must divide the image's size {}, got {}", from, to));
      }
      sizes.emplace_back(from / to);
    }
    Config config = layer_.config;
    config.set("pool_size", sizes).set("strides", sizes);
    config.set("padding", "valid");
    const std::string name =
        layer_.class_name.substr(std::string_view("Adaptive").size());
    return chain_builder(layer_, name_, {{"", name, config}}, state_);
  }

  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
  std::unique_ptr<LayerBuilder> pool_;
};

std::unique_ptr<LayerBuilder> adaptive(const KerasLayer& layer,
                                       std::string name, BuildState& state) {
  return std::make_unique<AdaptiveBuilder>(layer, std::move(name), state);
}

}  // namespace

const Config& entry_of(const Config& value, size_t axis, const char* key) {
  if (!value.is_list()) return value;
  if (axis >= value.as_list().size()) {
    throw FormatError("invalid_shape", key,
                      fmt::format("must have at least {} entries, got {}",
                                  axis + 1, value.as_list().size()));
  }
  return value.as_list()[axis];
}

BlockBuilder find_block(std::string_view class_name) {
  static constexpr std::array<std::pair<std::string_view, BlockBuilder>, 9>
      kBlocks{{{"AdaptiveAveragePooling1D", adaptive},
               {"AdaptiveAveragePooling2D", adaptive},
               {"AdaptiveMaxPooling1D", adaptive},
               {"AdaptiveMaxPooling2D", adaptive},
               {"Attention", composed<build_attention>},
               {"Conv1DTranspose", composed<build_conv1d_transpose>},
               {"EinsumDense", composed<build_einsum_dense>},
               {"SpectralNormalization", inner},
               {"TimeDistributed", time_distributed_builder}}};
  const auto found = std::ranges::find_if(
      kBlocks, [&](const auto& entry) { return entry.first == class_name; });
  return found == kBlocks.end() ? nullptr : found->second;
}

}  // namespace octet::io
