#include "keras/recurrent.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/builder.h"
#include "printable.h"

namespace octet::io {
namespace {

// Keras 3 writes a name or {"class_name": "function", "config": name}; null is
// linear.
std::string cell_function(const char* key, const Config& value,
                          const KerasContext& context) {
  const Config* name = &value;
  if (value.is_object()) name = value.find("config");
  if (value.is_null()) return "linear";
  if (name == nullptr || !name->is_string()) {
    throw UnsupportedError("unsupported_attribute", key,
                           "must be the name of a function");
  }
  if (name->as_string() == "hard_sigmoid" && context.dialect.major < 3) {
    return "hard_sigmoid_v2";
  }
  return name->as_string();
}

/// Bidirectional: two layers and a layer that merges their results.
/// Source: keras/src/layers/rnn/bidirectional.py.
class BidirectionalBuilder final : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    const KerasLayer& forward = *layer().inner;
    if (!is_recurrent(forward.class_name)) {
      throw UnsupportedError("unsupported_layer", text_of(forward),
                             "must be an LSTM, a GRU or a SimpleRNN");
    }
    const KerasValue x = materialize(only_tensors(arguments).at(0), {});
    const LayerSpec one = layer_sequence(forward, state()).at(0);
    if (option(one.config, "go_backwards") == Config(true)) {
      throw UnsupportedError("unsupported_attribute", "go_backwards",
                             "must be false in a Bidirectional");
    }
    LayerSpec first = one;
    first.suffix = "/forward";
    first.in_keras_order = true;
    LayerSpec second = first;
    second.suffix = "/backward";
    expect_equal_backward(forward);
    second.config.set("go_backwards", true).set("keep_order", true);
    return {run(merge(), {run(first, {x}), run(second, {x})})};
  }

  TargetLayer targets() const override {
    TargetLayer result{.name = layer().name,
                       .class_name = layer().written_class};
    for (const char* direction : {"forward", "backward"}) {
      const auto part = find(fmt::format("/{}", direction));
      if (part == nullptr) continue;
      result.parts.push_back(
          {.name = fmt::format("{}_{}", direction, layer().inner->name),
           .class_name = layer().inner->written_class,
           .attribute = fmt::format("{}_layer", direction),
           .weights = io::weights_of(*part)});
    }
    return result;
  }

 private:
  LayerSpec merge() const {
    static constexpr std::pair<std::string_view, const char*> kMerges[] = {
        {"ave", "Average"},
        {"concat", "Concatenate"},
        {"mul", "Multiply"},
        {"sum", "Add"},
    };
    const Config* mode = layer().config.find("merge_mode");
    if (mode == nullptr) return {"", "Concatenate", Config(Config::Object())};
    for (const auto& [name, class_name] : kMerges) {
      if (*mode == Config(std::string(name))) {
        return {"", class_name, Config(Config::Object())};
      }
    }
    throw UnsupportedError(
        "unsupported_attribute", "merge_mode",
        fmt::format("must be concat, sum, mul or ave, got {}",
                    mode->is_string() ? printable(mode->as_string())
                                      : std::string("no string")));
  }

  /// A file may have separate options for the backward layer.
  void expect_equal_backward(const KerasLayer& forward) const {
    const Config& entry = option(layer().config, "backward_layer");
    if (entry.is_null()) return;
    KerasLayer backward = named_layer(entry);
    backward.config = entry.at("config");
    for (const char* key :
         {"units", "activation", "recurrent_activation", "use_bias", "dropout",
          "return_sequences", "reset_after"}) {
      if (option(backward.config, key) == option(forward.config, key)) continue;
      throw UnsupportedError(
          "unsupported_attribute", "backward_layer",
          fmt::format("must have the options of the forward layer, got "
                      "another '{}'",
                      key));
    }
    if (backward.class_name != forward.class_name ||
        option(backward.config, "go_backwards") != Config(true)) {
      throw UnsupportedError("unsupported_attribute", "backward_layer",
                             "must be the forward layer with go_backwards");
    }
  }
};

}  // namespace

bool is_recurrent(std::string_view class_name) {
  return class_name == "LSTM" || class_name == "GRU" ||
         class_name == "SimpleRNN";
}

void convert_cell_functions(const KerasLayer& layer,
                            const KerasContext& context, Config& config) {
  for (const char* key : {"activation", "recurrent_activation"}) {
    const Config* value = layer.config.find(key);
    if (value == nullptr) value = config.find(key);  // renamed
    if (value == nullptr) continue;
    std::string name = cell_function(key, *value, context);
    config.set(key, std::move(name));
  }
}

std::unique_ptr<LayerBuilder> bidirectional_builder(const KerasLayer& layer,
                                                    const std::string& name,
                                                    BuildState& state) {
  return std::make_unique<BidirectionalBuilder>(layer, name, state);
}

}  // namespace octet::io
