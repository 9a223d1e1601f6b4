#include "keras/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/builder.h"

namespace octet::io {
namespace {

constexpr std::string_view kAttentionSuffix = "/attention";
constexpr std::string_view kCausal = "use_causal_mask";
constexpr std::string_view kMask = "attention_mask";

// Keras' shapes: [d,heads,k] for [d,heads*k], and [heads,k,d] for [heads*k,d].
WeightTarget split(WeightTarget target, bool first_axis, int64_t heads) {
  const std::vector<Dim> octet = target.layout.dims();
  std::vector<Dim> keras = octet;
  const auto axis = first_axis ? keras.begin() : keras.end() - 1;
  axis->factor /= heads;
  keras.insert(axis, Dim{heads});
  target.layout = AxisLayout(keras).reshaped(octet).value();
  return target;
}

int64_t size(const Config& config, const char* key) {
  const int64_t value = config.at(key).as_int();
  if (value < 1 || value >= int64_t{1} << 24) {
    throw FormatError("out_of_range", key,
                      fmt::format("must be in [1,2^24), got {}", value));
  }
  return value;
}

/// MultiHeadAttention, and Attention, which has neither heads nor projections.
class AttentionBuilder final : public LayerBuilder {
 public:
  AttentionBuilder(const KerasLayer& layer, const std::string& name,
                   BuildState& state)
      : LayerBuilder(layer, name, state),
        config_(modern_config(layer)),
        projects_(layer.class_name == kAttentionClass) {
    if (!projects_) {
      const Config& mode = option(config_, "score_mode");
      if (option(config_, "use_scale") == Config(true) ||
          (!mode.is_null() && mode != Config("dot"))) {
        throw UnsupportedError("unsupported_attribute", "use_scale, score_mode",
                               "must be false and 'dot'");
      }
      return;
    }
    heads_ = size(config_, "num_heads");
    for (const char* key : {"attention_axes", "partition_dim"}) {
      const Config& axes = option(config_, key);
      if (axes.is_null() || integers_of(axes) == std::vector<int64_t>{1}) {
        continue;
      }
      throw UnsupportedError("unsupported_attribute", key,
                             "must be null or [1]");
    }
  }

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    auto [q, v, k] = operands(arguments);
    const Shape query = keras_shape(q);
    if (projects_) {
      const int64_t key_dim = size(config_, "key_dim");
      const int64_t value_dim = option(config_, "value_dim").is_null()
                                    ? key_dim
                                    : size(config_, "value_dim");
      q = project("/query", heads_ * key_dim, q);
      k = project("/key", heads_ * key_dim, k);
      v = project("/value", heads_ * value_dim, v);
    } else {
      for (const KerasValue& x : {q, k, v}) {
        if (x.unmasked || mask_of(x.tensor).node == nullptr) continue;
        throw UnsupportedError("unsupported_layer", text_of(layer()),
                               "must have inputs without a mask");
      }
      // Keras does not divide the scores by the root of the features.
      q = run({"/scale", "Rescaling",
               Config()
                   .set("scale", std::sqrt(static_cast<float>(query[-1])))
                   .set("offset", 0.0)},
              {q});
    }
    const bool causal = std::ranges::any_of(arguments, [](const auto& each) {
      return each.name == kCausal && each.constant == Config(true);
    });
    std::vector<KerasValue> operands{q, k, v};
    for (const BuiltArgument& argument : arguments) {
      if (argument.name != kMask || !argument.value) continue;
      operands.push_back(materialize(*argument.value, {}));
      for (const KerasValue& x : {q, k, v}) {
        if (x.unmasked || mask_of(x.tensor).node == nullptr) continue;
        throw UnsupportedError(
            "unsupported_attribute", "attention_mask",
            "cannot be combined with an input that has a mask");
      }
    }
    const KerasValue mean = attend(std::move(operands), causal);
    if (!projects_) return {mean};
    const std::vector<int64_t> units = integers_of(config_, "output_shape");
    if (units.size() > 1) {
      throw UnsupportedError("unsupported_attribute", "output_shape",
                             "must be a single size");
    }
    return {project("/attention_output",
                    units.empty() ? query[-1] : units.front(), mean)};
  }

  TargetLayer targets() const override {
    if (!projects_) return LayerBuilder::targets();
    TargetLayer result =
        attention_target(layer().name, [&](std::string_view part) {
          return find(fmt::format("/{}", part)).get();
        }).value();
    result.class_name = layer().written_class;
    return result;
  }

 private:
  KerasValue attend(std::vector<KerasValue> operands, bool causal) {
    const Config& rate = option(config_, "dropout");
    // Calls with and without a mask are two layers.
    std::string suffix = projects_ ? "/attention" : "";
    const auto first = find(suffix);
    if (first != nullptr && first->config().at("causal") != Config(causal)) {
      suffix = "/attention_1";
    }
    return run({suffix, "ScaledDotProductAttention",
                Config()
                    .set("num_heads", heads_)
                    .set("dropout", rate.is_null() ? Config(0.0) : rate)
                    .set("causal", causal)},
               std::move(operands));
  }
  KerasValue project(const char* suffix, int64_t units, const KerasValue& x) {
    Config config = config_;  // has biases, initializers and regularizers
    config.set("units", units).set("activation", "linear");
    return run({.suffix = suffix,
                .class_name = "Dense",
                .config = std::move(config),
                .in_keras_order = true},
               {x});
  }

  // Returns query, value, key. In Keras the value precedes the key, and is the
  // key if there is none.
  std::array<KerasValue, 3> operands(
      const std::vector<BuiltArgument>& arguments) const {
    std::array<std::optional<KerasValue>, 3> found;
    constexpr std::array<std::string_view, 3> kNames{"query", "value", "key"};
    size_t next = 0;
    for (const BuiltArgument& argument : arguments) {
      if (argument.name == kMask && argument.value && projects_) continue;
      const auto at = std::ranges::find(kNames, argument.name);
      size_t slot = at != kNames.end()
                        ? static_cast<size_t>(at - kNames.begin())
                        : kNames.size();
      if (argument.name.empty() || argument.name == "inputs") slot = next++;
      if (!argument.value) {
        const Config& c = argument.constant;
        const bool harmless = c.is_null() || c == Config(false) ||
                              argument.name == "training" ||
                              argument.name == kCausal;
        if (harmless) continue;
        throw UnsupportedError("unsupported_attribute", argument.name,
                               "is not supported as an argument");
      }
      if (slot >= found.size()) {
        throw UnsupportedError(
            "unsupported_attribute", "inputs",
            fmt::format(
                "only query, value and key are supported, got {} as well",
                argument.name.empty() ? "a fourth tensor" : argument.name));
      }
      found[slot] = materialize(*argument.value, {});
    }
    if (!found[0] || !found[1]) {
      throw FormatError("count_mismatch", "inputs",
                        "must be a query and a value, got one tensor");
    }
    return {*found[0], *found[1], found[2] ? *found[2] : *found[1]};
  }

  Config config_;
  bool projects_;
  int64_t heads_ = 1;
};

}  // namespace

std::optional<std::string> attention_block(const Layer& layer) {
  const std::string& name = layer.name();
  if (layer.class_name() != "ScaledDotProductAttention" ||
      !name.ends_with(kAttentionSuffix)) {
    return std::nullopt;
  }
  return name.substr(0, name.size() - kAttentionSuffix.size());
}

// Source: keras/src/layers/attention/multi_head_attention.py, build().
std::optional<TargetLayer> attention_target(
    std::string name,
    const std::function<const Layer*(std::string_view)>& part) {
  TargetLayer block{.name = std::move(name),
                    .class_name = std::string(kAttentionClass)};
  const int64_t heads = part("attention")->config().at("num_heads").as_int();
  for (const std::string_view projection : kProjections) {
    const Layer* layer = part(projection);
    if (layer == nullptr || layer->class_name() != "Dense") return std::nullopt;
    const bool output = projection == "attention_output";
    TargetLayer& target = block.parts.emplace_back(
        TargetLayer{.name = std::string(projection),
                    .class_name = "EinsumDense",
                    .attribute = output ? "output_dense"
                                        : fmt::format("{}_dense", projection),
                    .weights = weights_of(*layer)});
    for (WeightTarget& w : target.weights) {
      const bool bias = w.layout.stored().size() == 1;
      if (!output || !bias) w = split(std::move(w), output, heads);
    }
  }
  return block;
}

std::unique_ptr<LayerBuilder> attention_builder(const KerasLayer& layer,
                                                const std::string& name,
                                                BuildState& state) {
  return std::make_unique<AttentionBuilder>(layer, name, state);
}

}  // namespace octet::io
