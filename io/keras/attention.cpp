#include "keras/attention.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

constexpr std::string_view kAttentionSuffix = "/attention";
constexpr std::string_view kCausal = "use_causal_mask";

const Config* given(const Config& config, const char* key) {
  const Config* value = config.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Keras' shapes: [d,heads,k] for [d,heads*k], and [heads,k,d] for [heads*k,d].
WeightTarget split(WeightTarget target, bool first_axis, int64_t heads) {
  const Shape octet = target.shape;
  const auto parts = [&](int64_t size) { return size / heads; };
  if (octet.rank() == 1) {
    target.shape = {heads, parts(octet[0])};
  } else if (first_axis) {
    target.shape = {heads, parts(octet[0]), octet[1]};
  } else {
    target.shape = {octet[0], heads, parts(octet[1])};
  }
  target.to_octet = [octet](const Tensor& w) { return w.reshaped(octet); };
  return target;
}

TargetLayer projection(const char* name, const char* attribute,
                       const Layer& layer, int64_t heads) {
  TargetLayer part{.name = name,
                   .class_name = "EinsumDense",
                   .attribute = attribute,
                   .weights = weights_of(layer)};
  for (WeightTarget& w : part.weights) w = split(std::move(w), false, heads);
  return part;
}

class AttentionBuilder final : public LayerBuilder {
 public:
  AttentionBuilder(const KerasLayer& layer, std::string name)
      : layer_(layer), name_(std::move(name)), config_(modern_config(layer)) {
    heads_ = size("num_heads");
    key_dim_ = size("key_dim");
    value_dim_ = given(config_, "value_dim") ? size("value_dim") : key_dim_;
    for (const char* key : {"attention_axes", "partition_dim"}) {
      const Config* axes = given(config_, key);
      if (axes == nullptr || *axes == Config(1) ||
          *axes == Config(Config::List{1})) {
        continue;
      }
      throw UnsupportedError("unsupported_attribute", key,
                             "must be null or [1]");
    }
    query_ = project("query", heads_ * key_dim_);
    key_ = project("key", heads_ * key_dim_);
    value_ = project("value", heads_ * value_dim_);
  }

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    const auto [q, v, k] = operands(arguments);
    const bool causal = is_causal(arguments);
    auto& attention = attention_[causal ? 1 : 0];
    if (attention == nullptr) {
      const bool other = attention_[causal ? 0 : 1] != nullptr;
      attention = create(other ? "attention_1" : "attention",
                         "ScaledDotProductAttention",
                         Config()
                             .set("num_heads", heads_)
                             .set("dropout", rate())
                             .set("causal", causal));
    }
    if (output_ == nullptr) {
      const Config* shape = given(config_, "output_shape");
      int64_t units = q.tensor.shape()[-1];
      if (shape != nullptr) {
        const bool one = shape->is_list() && shape->as_list().size() == 1;
        units = (one ? shape->as_list()[0] : *shape).as_int();
      }
      output_ = project("attention_output", units);
    }
    const auto run = [&](const std::shared_ptr<Layer>& layer,
                         const KerasValue& x) {
      return KerasValue{call_layer(layer, {x})};
    };
    const KerasValue mean{
        call_layer(attention, {run(query_, q), run(key_, k), run(value_, v)})};
    return {run(output_, mean)};
  }

  TargetLayer targets() const override {
    TargetLayer result = attention_targets(
        layer_.name,
        {query_.get(), key_.get(), value_.get(), output_.get(), heads_});
    result.class_name = layer_.written_class;
    return result;
  }

 private:
  int64_t size(const char* key) const {
    const int64_t value = config_.at(key).as_int();
    if (value < 1 || value >= int64_t{1} << 24) {
      throw FormatError("out_of_range", key,
                        fmt::format("must be in [1,2^24), got {}", value));
    }
    return value;
  }
  Config rate() const {
    const Config* dropout = given(config_, "dropout");
    return dropout == nullptr ? Config(0.0) : *dropout;
  }

  std::shared_ptr<Layer> create(const char* part, const char* class_name,
                                const Config& config) const {
    return make_layer({"", class_name, config}, config, name_ + "/" + part,
                      layer_);
  }
  std::shared_ptr<Layer> project(const char* part, int64_t units) const {
    Config config = config_;  // has biases, initializers and regularizers
    config.set("units", units);
    config.set("activation", "linear");
    return create(part, "Dense", config);
  }

  static bool is_causal(const std::vector<BuiltArgument>& arguments) {
    return std::ranges::any_of(arguments, [](const BuiltArgument& argument) {
      return argument.name == kCausal && argument.constant == Config(true);
    });
  }

  // Returns query, value, key. In Keras the value precedes the key, and is the
  // key if there is none.
  std::array<KerasValue, 3> operands(
      const std::vector<BuiltArgument>& arguments) const {
    std::array<std::optional<KerasValue>, 3> found;
    constexpr std::array<std::string_view, 3> kNames{"query", "value", "key"};
    size_t next = 0;
    for (const BuiltArgument& argument : arguments) {
      const auto at = std::ranges::find(kNames, argument.name);
      size_t slot = at != kNames.end()
                        ? static_cast<size_t>(at - kNames.begin())
                        : kNames.size();
      if (argument.name.empty()) slot = next++;
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

  const KerasLayer& layer_;
  std::string name_;
  Config config_;
  int64_t heads_ = 0;
  int64_t key_dim_ = 0;
  int64_t value_dim_ = 0;
  std::shared_ptr<Layer> query_, key_, value_, output_;
  std::array<std::shared_ptr<Layer>, 2> attention_;  // without mask, causal
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

std::optional<AttentionLayers> find_attention(
    const std::unordered_map<std::string, const Layer*>& layers,
    const std::string& block) {
  const auto part = [&](const char* name) -> const Layer* {
    const auto found = layers.find(block + "/" + name);
    const bool dense =
        found != layers.end() && found->second->class_name() == "Dense";
    return dense ? found->second : nullptr;
  };
  AttentionLayers result{part("query"), part("key"), part("value"),
                         part("attention_output"), 0};
  if (result.query == nullptr || result.key == nullptr ||
      result.value == nullptr || result.output == nullptr) {
    return std::nullopt;
  }
  result.heads =
      layers.at(block + "/attention")->config().at("num_heads").as_int();
  return result;
}

// Source: keras/src/layers/attention/multi_head_attention.py, build().
TargetLayer attention_targets(std::string name, const AttentionLayers& layers) {
  TargetLayer block{.name = std::move(name),
                    .class_name = std::string(kAttentionClass)};
  const int64_t heads = layers.heads;
  block.parts = {projection("query", "query_dense", *layers.query, heads),
                 projection("key", "key_dense", *layers.key, heads),
                 projection("value", "value_dense", *layers.value, heads)};
  TargetLayer output{.name = "attention_output",
                     .class_name = "EinsumDense",
                     .attribute = "output_dense",
                     .weights = weights_of(*layers.output)};
  for (WeightTarget& w : output.weights) {
    if (w.shape.rank() == 2) w = split(std::move(w), true, heads);
  }
  block.parts.push_back(std::move(output));
  return block;
}

std::unique_ptr<LayerBuilder> attention_builder(const KerasLayer& layer,
                                                std::string name) {
  return std::make_unique<AttentionBuilder>(layer, std::move(name));
}

}  // namespace octet::io
