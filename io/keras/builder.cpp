#include "keras/builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/io/onnx.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "arranged.h"
#include "file_errors.h"
#include "keras/masks.h"

namespace octet::io {
namespace {

// Reports a layer with the layer that produces its first output, and its shape
// in Keras.
void trace_import(const KerasLayer& layer,
                  const std::vector<KerasValue>& outputs) {
  std::string produced = "nothing";
  if (!outputs.empty() && outputs[0].tensor.node != nullptr) {
    const Layer& producer = *outputs[0].tensor.node->layer;
    produced = fmt::format("{} '{}' {}", producer.class_name(), producer.name(),
                           keras_shape(outputs[0]).to_string());
  }
  trace_event(TraceKind::import, text_of(layer), produced);
}

/// The layers of a graph, created at their first call.
class ModelBuilder {
 public:
  ModelBuilder(const KerasGraph& graph, std::string prefix, BuildState& state)
      : graph_(graph),
        prefix_(std::move(prefix)),
        state_(state),
        builders_(graph.layers.size()) {}

  /// `inputs` are in the order of the graph's inputs.
  std::vector<KerasValue> call(const std::vector<KerasValue>& inputs) {
    // [layer][call][output]
    std::vector<std::vector<std::vector<KerasValue>>> values(
        graph_.layers.size());
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      values[graph_.inputs[i].index] = {{inputs[i]}};
    }
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      const KerasLayer& layer = graph_.layers[i];
      if (!layer.is_input()) values[i].resize(layer.calls.size());
    }
    const auto at = [&](const KerasTensor& t) -> const KerasValue& {
      return values[t.index][static_cast<size_t>(t.call)]
                   [static_cast<size_t>(t.output)];
    };
    for (const auto& [index, number] : graph_.order) {
      const KerasLayer& layer = graph_.layers[index];
      if (layer.is_input()) {
        if (values[index].empty()) {
          throw FormatError(
              "invalid_graph", "input_layers",
              fmt::format("must list all inputs of the model; {} is missing",
                          text_of(layer)));
        }
        continue;
      }
      std::vector<BuiltArgument> arguments;
      for (const KerasArgument& argument : layer.calls[number]) {
        BuiltArgument built{argument.name, {}, argument.constant};
        if (argument.tensor) built.value = at(*argument.tensor);
        arguments.push_back(std::move(built));
      }
      in_file([&] { return "in " + text_of(layer); },
              [&] {
                auto& builder = builders_[index];
                if (builder == nullptr) {
                  builder = layer_builder(layer, prefix_ + layer.name, state_);
                }
                values[index][number] = builder->call(arguments, number);
                update_masks(layer, state_.dialect.major, arguments,
                             values[index][number]);
                add_alias(layer, values[index][number]);
                if (traces(TraceKind::import)) {
                  trace_import(layer, values[index][number]);
                }
              });
    }
    std::vector<KerasValue> outputs;
    for (const KerasTensor& t : graph_.outputs) outputs.push_back(at(t));
    return outputs;
  }

  std::vector<TargetLayer> targets() const {
    std::vector<TargetLayer> targets;
    for (size_t i = 0; i < builders_.size(); ++i) {
      const KerasLayer& layer = graph_.layers[i];
      // Operations are not layers in Keras.
      if (builders_[i] == nullptr || layer.operation) continue;
      targets.push_back(builders_[i]->targets());
    }
    return targets;
  }

 private:
  void add_alias(const KerasLayer& layer,
                 const std::vector<KerasValue>& values) const {
    const std::string name = prefix_ + layer.name;
    const std::string& made = values[0].tensor.node->layer->name();
    if (!layer.operation && values.size() == 1 && !made.empty() &&
        made != name) {
      state_.aliases.emplace(name, made);
    }
  }

  const KerasGraph& graph_;
  std::string prefix_;
  BuildState& state_;
  std::vector<std::unique_ptr<LayerBuilder>> builders_;
};

/// Returns the shape of an InputLayer, with kAnySize for dynamic sizes; nothing
/// if there is none.
std::optional<Shape> stated_shape(const KerasLayer& layer) {
  for (const char* key : {"batch_input_shape", "batch_shape", "input_shape",
                          "shape", "input_dim"}) {
    const Config* value = layer.config.find(key);
    if (value == nullptr || value->is_null()) continue;
    const bool with_batch = std::string_view(key).starts_with("batch");
    std::vector<int64_t> dims;
    if (!with_batch) dims.push_back(Shape::kAnySize);
    if (value->is_int()) {
      dims.push_back(value->as_int());
    } else {
      for (const Config& dim : value->as_list()) {
        dims.push_back(dim.is_null() ? Shape::kAnySize : dim.as_int());
        const bool is_batch = with_batch && dims.size() == 1;
        if (!dim.is_null() && dims.back() < 1 && !is_batch) {
          throw FormatError(
              "out_of_range", key,
              fmt::format("sizes must be positive or null, got {}",
                          dims.back()));
        }
      }
    }
    if (dims.empty()) {
      throw FormatError("invalid_shape", key,
                        "must have a batch and sizes, got none");
    }
    dims[0] = Shape::kAnySize;
    return Shape(dims);
  }
  return std::nullopt;
}

/// Whether a shape is `wanted`, in which kAnySize is any size.
bool fits_open(const Shape& shape, const Shape& wanted) {
  return std::ranges::equal(shape.dims(), wanted.dims(),
                            [](int64_t size, int64_t other) {
                              return size == other || other == Shape::kAnySize;
                            });
}

/// A model used as a layer.
class NestedBuilder final : public LayerBuilder {
 public:
  NestedBuilder(const KerasLayer& layer, const std::string& name,
                BuildState& state)
      : LayerBuilder(layer, name, state),
        graph_(*layer.graph, name + "/", state) {}

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    const std::vector<KerasValue> inputs = only_tensors(arguments);
    const KerasGraph& graph = *layer().graph;
    if (inputs.size() != graph.inputs.size()) {
      throw FormatError("count_mismatch", "inbound_nodes",
                        fmt::format("must have {} inputs, got {}",
                                    graph.inputs.size(), inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const KerasLayer& input = graph.layers[graph.inputs[i].index];
      check_fits(keras_shape(inputs[i]), stated_shape(input), input.name);
    }
    const bool outer = state().statistics_frozen;
    for (const BuiltArgument& argument : arguments) {
      if (argument.name == "training" && argument.constant == Config(false)) {
        state().statistics_frozen = true;
      }
    }
    std::vector<KerasValue> outputs = graph_.call(inputs);
    state().statistics_frozen = outer;
    return outputs;
  }

  TargetLayer targets() const override {
    TargetLayer target = LayerBuilder::targets();
    target.is_model = true;
    target.parts = graph_.targets();
    return target;
  }

 private:
  static void check_fits(const Shape& x, const std::optional<Shape>& wanted,
                         const std::string& name) {
    if (!wanted || fits_open(x, *wanted)) return;
    throw FormatError("shape_mismatch", fmt::format("input '{}'", name),
                      fmt::format("must have shape {}, got {}",
                                  wanted->to_string(), x.to_string()));
  }

  ModelBuilder graph_;
};

}  // namespace

std::unique_ptr<LayerBuilder> nested_builder(const KerasLayer& layer,
                                             const std::string& name,
                                             BuildState& state) {
  return std::make_unique<NestedBuilder>(layer, name, state);
}

namespace {

using WantsChannelsFirst = std::optional<bool>;  // nothing: any order

/// Returns for each layer whether its consumers expect channels first, from the
/// next layers with a data_format; other layers pass on the expectation of
/// their consumers. `after` is that of the model's.
std::vector<WantsChannelsFirst> wants_channels_first(const KerasGraph& graph,
                                                     const BuildState& state,
                                                     WantsChannelsFirst after) {
  std::vector<WantsChannelsFirst> behind(graph.layers.size());
  for (const KerasTensor& output : graph.outputs) behind[output.index] = after;
  for (auto at = graph.order.rbegin(); at != graph.order.rend(); ++at) {
    const KerasLayer& layer = graph.layers[at->first];
    if (layer.is_input()) continue;
    WantsChannelsFirst wanted;
    const KerasLayout layout = layout_of(
        {"", layer.class_name, {}, find_factory(state.options, layer)});
    if (layer.graph != nullptr) {
      const auto inside =
          wants_channels_first(*layer.graph, state, behind[at->first]);
      for (const KerasTensor& input : layer.graph->inputs) {
        if (!wanted) wanted = inside[input.index];
      }
    } else if (layout == KerasLayout::image) {
      wanted = has_channels_first(layer);
    } else if (takes_any_order(layout) || layer.operation || is_noop(layer)) {
      wanted = behind[at->first];
    }
    if (!wanted) continue;
    for (const KerasArgument& argument : layer.calls[at->second]) {
      if (argument.tensor) behind[argument.tensor->index] = wanted;
    }
  }
  return behind;
}

/// Returns the value of an InputLayer in Octet's axis order.
KerasValue input_value(const KerasLayer& layer, size_t number,
                       bool may_have_channels_first, const BuildState& state) {
  for (const char* key : {"sparse", "ragged"}) {
    const Config* value = layer.config.find(key);
    if (value == nullptr || value->is_null() || *value == Config(false) ||
        *value == Config(0)) {
      continue;
    }
    throw UnsupportedError("unsupported_attribute", key,
                           "inputs must be dense");
  }
  const std::optional<Shape> stated = stated_shape(layer);
  const bool may_have_pixels =
      !stated || stated->rank() == 3 || stated->rank() == 4;
  const AxisOrder order{.channels_first =
                            may_have_pixels && may_have_channels_first};
  std::optional<Shape> sample;
  if (stated) {
    const int rank = stated->rank();
    const Shape octet =
        order.channels_first
            ? shape_of(AxisLayout(dims_of(*stated), channels_first_axes(rank))
                           .stored())
            : *stated;
    sample = octet.slice(1, rank);
  }
  const std::vector<Shape>& given = state.options.input_shapes;
  if (number < given.size()) {
    if (sample && !fits_open(given[number], *sample)) {
      throw ValueError(
          "shape_mismatch", "KerasOptions.input_shapes",
          fmt::format("must match {} of the file, got {}", sample->to_string(),
                      given[number].to_string()));
    }
    sample = given[number];
  }
  const bool open =
      !sample || std::ranges::find(sample->dims(), Shape::kAnySize) !=
                     sample->dims().end();
  if (open) {
    throw UnsupportedError(
        "missing_value", "input shape",
        fmt::format(
            "is dynamic in the file: {}. Hint: set KerasOptions.input_shapes "
            "(--input-shape {}), one per input",
            sample ? sample->to_string() : "none",
            sample && sample->rank() == 3 ? "224,224,3" : "SIZES"));
  }
  return value_in(order, input(*sample, layer.name));
}

}  // namespace

BuiltModel build_model(const KerasGraph& graph, BuildState& state) {
  if (state.options.input_shapes.size() > graph.inputs.size()) {
    throw ValueError(
        "count_mismatch", "KerasOptions.input_shapes",
        fmt::format("the model has {} inputs, got {} shapes",
                    graph.inputs.size(), state.options.input_shapes.size()));
  }
  const std::vector<std::optional<bool>> channels_first =
      wants_channels_first(graph, state, {});
  std::vector<KerasValue> inputs;
  std::vector<SymbolicTensor> input_tensors;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const size_t index = graph.inputs[i].index;
    inputs.push_back(in_file(
        [&] { return "in " + text_of(graph.layers[index]); },
        [&] {
          return input_value(graph.layers[index], i,
                             channels_first[index].value_or(false), state);
        }));
    input_tensors.push_back(inputs.back().tensor);
  }
  ModelBuilder builder(graph, "", state);
  std::vector<SymbolicTensor> outputs;
  for (const KerasValue& y : builder.call(inputs)) {
    if (y.other_masked_steps) {
      warn("masked_steps", "output",
           "masked steps differ from Keras, which sets them to 0 in Multiply "
           "and to the first input in Maximum and Minimum");
    }
    // Images are not transposed; features have Keras' order.
    const bool image = order_of(y).channels_first;
    outputs.push_back(image ? y.tensor : materialize(y, {}).tensor);
  }
  ModelOptions options;
  if (!graph.name.empty()) options.name = graph.name;
  options.aliases = std::move(state.aliases);
  return {Model(std::move(input_tensors), std::move(outputs), options),
          builder.targets()};
}

}  // namespace octet::io
