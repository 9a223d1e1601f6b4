#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/normalization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, BatchNormalizationOptions& o) {
  v("momentum", o.momentum);
  v("epsilon", o.epsilon);
  v("center", o.center);
  v("scale", o.scale);
  v("beta_initializer", o.beta_initializer);
  v("gamma_initializer", o.gamma_initializer);
  v("beta_regularizer", o.beta_regularizer);
  v("gamma_regularizer", o.gamma_regularizer);
}

namespace {

class BatchNormalizationLayer final : public Layer {
 public:
  explicit BatchNormalizationLayer(const BatchNormalizationOptions& options)
      : o_(options) {
    if (!(o_.momentum >= 0 && o_.momentum <= 1)) {
      throw ValueError("out_of_range", "momentum",
                       fmt::format("must be in [0,1], got {}", o_.momentum));
    }
    if (!(o_.epsilon > 0) || std::isinf(o_.epsilon)) {
      throw ValueError(
          "out_of_range", "epsilon",
          fmt::format("must be finite and greater than 0, got {}", o_.epsilon));
    }
  }

  std::string class_name() const override { return "BatchNormalization"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 2) {
      throw ShapeError("invalid_shape", "input",
                       fmt::format("must be [n,...,c], got {}", x.to_string()));
    }
    return x;
  }

  void build(std::span<const Shape> inputs) override {
    const Shape c{inputs[0][-1]};
    if (o_.scale) {
      gamma_ = add_parameter("gamma", c,
                             {.initializer = o_.gamma_initializer,
                              .regularizer = o_.gamma_regularizer});
    }
    if (o_.center) {
      beta_ = add_parameter("beta", c,
                            {.initializer = o_.beta_initializer,
                             .regularizer = o_.beta_regularizer});
    }
    mean_ = add_parameter("moving_mean", c, {.trainable = false});
    variance_ = add_parameter("moving_variance", c,
                              {.initializer = ones(), .trainable = false});
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable gamma = o_.scale ? context.read(at(gamma_)) : Variable();
    const Variable beta = o_.center ? context.read(at(beta_)) : Variable();
    if (context.training && !statistics_frozen() && trainable()) {
      const auto mean = at(mean_).variable.mutable_value();
      const auto variance = at(variance_).variable.mutable_value();
      return batch_norm_training(inputs[0], gamma, beta, mean, variance,
                                 momentum_for(inputs[0].shape()[0]),
                                 o_.epsilon);
    }
    return batch_norm(inputs[0], gamma, beta, at(mean_).variable.value(),
                      at(variance_).variable.value(), o_.epsilon);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const Parameter& mean = at(mean_);
    const auto vector = [&](bool present, size_t index, const char* name,
                            float value) {
      if (present) return context.weight(at(index));
      return context.builder().add_initializer(
          context.layer() + "/" + name,
          Tensor::full(mean.variable.shape(), value));
    };
    const std::vector<std::string> operands{
        x.name, vector(o_.scale, gamma_, "gamma", 1),
        vector(o_.center, beta_, "beta", 0), context.weight(mean),
        context.weight(at(variance_))};
    return context.channels_first_node("BatchNormalization", operands, x.shape,
                                       {{"epsilon", o_.epsilon}});
  }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.statistics = true;
    return facts;
  }

 private:
  /// Returns the weight of the current statistics and counts `samples` more.
  float momentum_for(int64_t samples) const {
    std::optional<int64_t>& averaged = statistics_averaged();
    if (!averaged) return o_.momentum;
    const auto before = static_cast<float>(*averaged);
    *averaged += samples;
    return before / static_cast<float>(*averaged);
  }

  BatchNormalizationOptions o_;
  size_t gamma_ = 0;
  size_t beta_ = 0;
  size_t mean_ = 0;
  size_t variance_ = 0;
};

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : LayerHandle(
          make_layer<BatchNormalizationLayer>("BatchNormalization", options)) {}

// Source: keras/layers/normalization.py of Keras 1.2.2.
static void upgrade_batch_normalization(Config& config) {
  const Config* mode = config.find("mode");
  if (mode == nullptr || mode->is_null() || *mode == Config(0)) return;
  throw UnsupportedError("unsupported_value", "mode",
                         "only mode 0 of Keras 1 is supported");
}

extern const LayerDef batch_normalization_def;
const LayerDef batch_normalization_def{
    .class_name = "BatchNormalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<BatchNormalizationLayer>(
          read_fields<BatchNormalizationOptions>(config));
    },
    .role = LayerRole::normalization,
    .qdq = {.on_request = true},
    .keras = {.layout = KerasLayout::channels,
              .aliases = {"BatchNormalizationV1", "BatchNormalizationV2",
                          "SyncBatchNormalization"},
              .upgrade = upgrade_batch_normalization},
};

}  // namespace octet
