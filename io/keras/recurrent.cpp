#include "keras/recurrent.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "keras/builder.h"
#include "keras/masks.h"
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

/// Arguments of a call of a recurrent layer.
struct RecurrentCall {
  std::vector<KerasValue> inputs;  ///< x, and initial states
  std::optional<KerasValue> mask;
};

/// Returns the arguments. Initial states are an argument, or follow x in a
/// list.
RecurrentCall recurrent_call(const std::vector<BuiltArgument>& arguments) {
  RecurrentCall result;
  std::vector<BuiltArgument> others;
  std::vector<KerasValue> states;
  for (const BuiltArgument& argument : arguments) {
    if (argument.name == "mask" && argument.value) {
      result.mask = materialize(*argument.value, {});
    } else if (argument.name == "initial_state" && argument.value) {
      states.push_back(*argument.value);
    } else {
      others.push_back(argument);
    }
  }
  for (const KerasValue& x : only_tensors(others)) {
    result.inputs.push_back(materialize(x, {}));
  }
  for (const KerasValue& x : states) {
    result.inputs.push_back(materialize(x, {}));
  }
  if (result.mask) result.mask = shared_mask(*result.mask, result.inputs[0]);
  return result;
}

/// LSTM, GRU, SimpleRNN: a layer, and parts of its output if states are
/// returned. Source: keras/src/layers/rnn/rnn.py.
class RecurrentBuilder final : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    RecurrentCall given = recurrent_call(arguments);
    LayerSpec step = layer_sequence(layer(), state()).at(0);
    const bool sequences = is_true(step, "return_sequences");
    const bool states = is_true(step, "return_state");
    const bool cell = step.class_name == "LSTM";
    if (given.inputs.size() > 1) step.config.set("initial_state", true);
    if (states && cell) step.config.set("return_cell", true);
    // Keras 3 masks calls with several tensors only if a mask is given.
    const bool unused = state().dialect.major >= 3 && given.inputs.size() > 1 &&
                        !given.mask && !given.inputs[0].unmasked &&
                        mask_of(given.inputs[0].tensor).node != nullptr;
    if (unused) given.inputs[0].unmasked = true;
    const bool masked =
        given.mask || (!given.inputs[0].unmasked &&
                       mask_of(given.inputs[0].tensor).node != nullptr);
    if (masked && given.inputs.size() > 1) {
      warn("masked_steps", text_of(layer()),
           "outputs are the initial state before the first step that is not "
           "masked, but 0 in Keras. Hint: pad sequences at the end");
    }
    if (given.mask) given.inputs.push_back(*given.mask);
    KerasValue y = run(step, given.inputs);
    y.unused_mask = unused && sequences;
    if (!states) return {y};
    if (is_true(step, "zero_output_for_mask")) {
      throw UnsupportedError("unsupported_attribute", "return_state",
                             "must be false with zero_output_for_mask");
    }
    // Sequences are in order of computation: the last step has the states.
    const int64_t units = step.config.at("units").as_int();
    const std::string base =
        index == 0 ? name() : fmt::format("{}_{}", name(), index);
    const auto part = [&](std::vector<Index> indices, const char* suffix) {
      const GetItem layer({.index = std::move(indices)});
      const SymbolicTensor z = octet::call(layer.layer(), {y.tensor});
      // set_name() is valid while no model contains the layer.
      std::const_pointer_cast<Layer>(z.node->layer)->set_name(base + suffix);
      KerasValue result = value_in({}, z);
      result.unmasked = y.unmasked;
      result.unused_mask = y.unused_mask;
      return result;
    };
    std::vector<Index> last{Slice()};
    if (sequences) last.emplace_back(-1);
    std::vector<KerasValue> result;
    if (!cell) {
      result = {y, sequences ? part(last, "/state") : y};
      return result;
    }
    const auto of_state = [&](const Slice& features) {
      std::vector<Index> indices = last;
      indices.emplace_back(features);
      return indices;
    };
    result.push_back(
        sequences ? part({Slice(), Slice(), Slice({}, units)}, "/sequence")
                  : part(of_state(Slice({}, units)), "/output"));
    result.push_back(part(of_state(Slice({}, units)), "/state_h"));
    result.push_back(part(of_state(Slice(units)), "/state_c"));
    return result;
  }

 private:
  static bool is_true(const LayerSpec& step, const char* key) {
    return option(step.config, key) == Config(true);
  }
};

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
    const RecurrentCall given = recurrent_call(arguments);
    LayerSpec one = layer_sequence(forward, state()).at(0);
    if (given.inputs.size() > 1 ||
        option(one.config, "return_state") == Config(true)) {
      throw UnsupportedError("unsupported_attribute", "return_state",
                             "must be false in a Bidirectional, without "
                             "initial states");
    }
    const KerasValue& x = given.inputs[0];
    std::vector<KerasValue> inputs{x};
    if (given.mask) inputs.push_back(*given.mask);
    if (given.mask || (!x.unmasked && mask_of(x.tensor).node != nullptr)) {
      const Config& sequences = option(one.config, "return_sequences");
      one.config.set("zero_output_for_mask", sequences == Config(true));
    }
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
    return {run(merge(), {run(first, inputs), run(second, inputs)})};
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

int64_t states_of(const KerasLayer& layer) {
  if (!is_recurrent(layer.class_name) || !layer.config.is_object() ||
      option(layer.config, "return_state") != Config(true)) {
    return 0;
  }
  return layer.class_name == "LSTM" ? 2 : 1;
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

std::unique_ptr<LayerBuilder> recurrent_builder(const KerasLayer& layer,
                                                const std::string& name,
                                                BuildState& state) {
  return std::make_unique<RecurrentBuilder>(layer, name, state);
}

std::unique_ptr<LayerBuilder> bidirectional_builder(const KerasLayer& layer,
                                                    const std::string& name,
                                                    BuildState& state) {
  return std::make_unique<BidirectionalBuilder>(layer, name, state);
}

}  // namespace octet::io
