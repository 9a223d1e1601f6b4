// From Keras' JSON to a graph of layers.
// Sources: get_config of Sequential and Functional in Keras 1.2, 2.2, 2.15
// and 3.
#include "keras/graph.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/quant/counterpart.h>
#include <octet/runtime/error.h>

#include "file_errors.h"
#include "printable.h"

namespace octet::io {
namespace {

// How classes of wrappers end.
constexpr std::string_view kWrapper = "QuantizeWrapper";
// Of names, which are compared with each other.
constexpr size_t kLongestName = 1000;
// Of a model; a few is usual.
constexpr size_t kMostLayerInputs = 1000;

std::string text_at(const Config& object, const char* key) {
  const Config* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

// A function of Keras 3, such as keras.src.ops.numpy's Concatenate, which is
// also the name of a layer.
bool is_keras_operation(const Config& entry) {
  const std::string module = text_at(entry, "module");
  return module.starts_with("keras.") &&
         module.find(".ops.") != std::string::npos;
}

bool is_sequential(std::string_view class_name) {
  return class_name == "Sequential";
}
bool is_functional(std::string_view class_name) {
  return class_name == "Functional" || class_name == "Model";
}

// A subclass with a training step of its own is written like this.
bool has_functional_form(const Config& architecture) {
  const Config* config = architecture.find("config");
  return config != nullptr && config->is_object() &&
         config->find("layers") != nullptr &&
         config->find("input_layers") != nullptr &&
         config->find("output_layers") != nullptr;
}

struct Parser {
  const KerasDialect& dialect;
  std::vector<std::string> unknown = {};  // of all layers, as messages say it

  KerasGraph model(const std::string& class_name, const Config& config) {
    KerasGraph graph;
    graph.sequential = is_sequential(class_name);
    in_file([&] { return "in the configuration of a " + class_name; },
            [&] {
              // Before Keras 2.2.3 a Sequential was just its layers.
              const Config& layers =
                  config.is_list() ? config : config.at("layers");
              if (config.is_object()) graph.name = text_at(config, "name");
              if (layers.as_list().empty()) {
                throw FormatError("layers: expected at least one, got none");
              }
              for (const Config& each : layers.as_list()) {
                graph.layers.push_back(layer(each));
              }
              if (graph.sequential) {
                chain(graph, config);
              } else {
                connect(graph, config, layers.as_list());
              }
              resolve(graph);
              take_float_names(graph);
            });
    return graph;
  }

  KerasLayer layer(const Config& entry) {
    KerasLayer layer;
    const std::string& written = entry.at("class_name").as_string();
    const Config& config = entry.at("config");
    layer.registered = text_at(entry, "registered_name");
    if (written.find('>') != written.npos) layer.registered = written;
    layer.written_class = written.substr(written.rfind('>') + 1);
    layer.class_name = canonical_class_name(written);
    // The name of an entry is the one that calls refer to.
    layer.name = text_at(entry, "name");
    if (layer.name.empty() && config.is_object()) {
      layer.name = text_at(config, "name");
    }
    if (layer.name.empty()) {
      throw FormatError(
          fmt::format("layers: expected a name of each, got a {} without one",
                      printable(written)));
    }
    for (const std::string* name : std::initializer_list<const std::string*>{
             &layer.name, &written, &layer.registered}) {
      if (name->size() <= kLongestName) continue;
      throw FormatError(fmt::format(
          "layers: expected names of at most {} characters, got '{}'",
          kLongestName, printable(*name)));
    }
    layer.operation = written == "TFOpLambda" || written == "SlicingOpLambda" ||
                      written == "TensorFlowOpLayer" ||
                      is_keras_operation(entry);
    std::optional<KerasLayer> inner;
    in_file([&] { return "in " + text_of(layer); },
            [&] {
              if (is_sequential(written) || is_functional(written)) {
                layer.graph =
                    std::make_unique<KerasGraph>(model(written, config));
              } else {
                (void)config.as_object();
                layer.config = config;
                if (is_wrapped(layer)) {
                  inner = inside(layer);
                } else if (!layer.is_input() && !dialect.knows(layer)) {
                  note(layer);
                }
              }
              refuse_quantized(config);
            });
    return inner ? std::move(*inner) : std::move(layer);
  }

  // Of NVIDIA's tensorflow-quantization. What it quantizes shows in the
  // ranges among the weights alone.
  bool is_wrapped(const KerasLayer& layer) const {
    return layer.written_class.ends_with(kWrapper) &&
           layer.config.find("layer") != nullptr && !dialect.knows(layer);
  }

  // The layer in a wrapper, under the wrapper's name.
  KerasLayer inside(const KerasLayer& wrapper) {
    KerasLayer inner = layer(wrapper.config.at("layer"));
    if (inner.written_class + std::string(kWrapper) != wrapper.written_class ||
        inner.is_wrapped || inner.graph != nullptr || inner.is_input()) {
      throw FormatError(
          fmt::format("layer: expected one of the class before '{}' in its "
                      "name, got {}",
                      kWrapper, text_of(inner)));
    }
    inner.name = wrapper.name;
    inner.is_wrapped = true;
    return inner;
  }

  // Keras' own int8 weights, which come with scales.
  static void refuse_quantized(const Config& config) {
    if (!config.is_object()) return;
    const Config* type = config.find("dtype");
    if (type == nullptr) return;
    std::string name = type->is_string() ? type->as_string() : "";
    std::string class_name;
    if (type->is_object()) {
      class_name = text_at(*type, "class_name");
      const Config* policy = type->find("config");
      if (policy != nullptr && policy->is_object()) {
        name = text_at(*policy, "name");
      }
    }
    if (name.find("_from_") != name.npos ||
        class_name.starts_with("Quantized")) {
      throw UnsupportedError(fmt::format(
          "dtype: expected a policy of floating point, got '{}', whose weights "
          "are integers with scales",
          printable(name.empty() ? class_name : name)));
    }
  }

  void note(const KerasLayer& layer) {
    const std::string function = text_at(layer.config, "function");
    unknown.push_back(
        function.empty()
            ? text_of(layer)
            : fmt::format("layer '{}' ({} of {})", printable(layer.name),
                          layer.written_class, printable(function)));
  }

  void connect(KerasGraph& graph, const Config& config,
               const Config::List& entries) {
    for (size_t i = 0; i < entries.size(); ++i) {
      KerasLayer& layer = graph.layers[i];
      const Config* nodes = entries[i].find("inbound_nodes");
      in_file([&] { return "in " + text_of(layer); },
              [&] {
                if (nodes != nullptr && !nodes->is_null()) {
                  layer.calls = parse_calls(*nodes);
                  graph.new_form |= uses_new_form(*nodes);
                }
                if (layer.is_input() != layer.calls.empty()) {
                  throw FormatError(
                      layer.is_input()
                          ? "inbound_nodes: expected none of an InputLayer"
                          : "inbound_nodes: expected the layers that it is "
                            "called on, got none");
                }
              });
    }
    const auto tensors = [&](const char* key) {
      return in_file([&] { return std::string("in field '") + key + "'"; },
                     [&] { return parse_tensors(config.at(key)); });
    };
    graph.inputs = tensors("input_layers");
    graph.outputs = tensors("output_layers");
    if (graph.inputs.empty() || graph.outputs.empty()) {
      throw FormatError(fmt::format(
          "input_layers, output_layers: expected at least one of each, got {} "
          "and {}",
          graph.inputs.size(), graph.outputs.size()));
    }
    if (graph.inputs.size() > kMostLayerInputs) {
      throw FormatError(fmt::format("input_layers: expected at most {}, got {}",
                                    kMostLayerInputs, graph.inputs.size()));
    }
  }

  static bool uses_new_form(const Config& nodes) {
    return nodes.is_list() &&
           std::ranges::any_of(nodes.as_list(), [](const Config& node) {
             return node.is_object() && node.find("args") != nullptr;
           });
  }

  // Calls refer to layers in wrappers as "quant_conv1".
  static void take_float_names(KerasGraph& graph) {
    std::set<std::string, std::less<>> taken;
    for (const KerasLayer& layer : graph.layers) taken.insert(layer.name);
    for (KerasLayer& layer : graph.layers) {
      if (!layer.is_wrapped) continue;
      const std::string name(quant::float_name(layer.name));
      if (taken.insert(name).second) layer.name = name;
    }
  }

  // Calls each layer on the one before it.
  static void chain(KerasGraph& graph, const Config& config) {
    if (!graph.layers[0].is_input()) {
      graph.layers.insert(graph.layers.begin(), implied_input(graph, config));
    }
    for (size_t i = 1; i < graph.layers.size(); ++i) {
      KerasLayer& layer = graph.layers[i];
      const KerasLayer& before = graph.layers[i - 1];
      if (layer.is_input()) {
        throw FormatError(fmt::format(
            "layers: expected the InputLayer to be the first, got {} after {}",
            text_of(layer), text_of(before)));
      }
      layer.calls = {{{"", KerasTensor{before.name, 0, 0, 0}, {}}}};
    }
    graph.inputs = {{graph.layers.front().name, 0, 0, 0}};
    graph.outputs = {{graph.layers.back().name, 0, 0, 0}};
    graph.new_form = true;  // the calls just made count from 0
  }

  // The first layer, or the model, says what it takes; a nested model that is
  // the first does so by its own InputLayer.
  static KerasLayer implied_input(const KerasGraph& graph,
                                  const Config& config) {
    const KerasLayer& first = graph.layers[0];
    KerasLayer input;
    input.name = first.name + "_input";
    input.class_name = input.written_class = "InputLayer";
    input.config = Config::Object();
    if (first.graph != nullptr) {
      input.config = first.graph->layers[first.graph->inputs[0].index].config;
      return input;
    }
    for (const char* key :
         {"batch_input_shape", "batch_shape", "input_shape", "input_dim"}) {
      const Config* value = first.config.find(key);
      if (value == nullptr || value->is_null()) continue;
      input.config.set(key, *value);
      return input;
    }
    if (config.is_object()) {
      const Config* built = config.find("build_input_shape");
      if (built != nullptr && !built->is_null()) {
        input.config.set("batch_shape", *built);
      }
    }
    return input;
  }
};

}  // namespace

std::string text_of(const KerasLayer& layer) {
  return fmt::format("layer '{}' ({})", printable(layer.name),
                     printable(layer.written_class));
}

void expect_graph(const Config& architecture) {
  const std::string& class_name = architecture.at("class_name").as_string();
  if (is_sequential(class_name) || is_functional(class_name) ||
      has_functional_form(architecture)) {
    return;
  }
  throw UnsupportedError(fmt::format(
      "model: expected a Sequential or Functional one, got the class '{}', "
      "whose code is not in the file (a subclass of keras.Model). Hint: in "
      "Keras, model.export(\"m.onnx\", format=\"onnx\"), and read that",
      printable(class_name)));
}

KerasGraph parse_graph(const Config& architecture,
                       const KerasDialect& dialect) {
  Parser parser{dialect};
  expect_graph(architecture);
  std::string class_name = architecture.at("class_name").as_string();
  if (!is_sequential(class_name) && !is_functional(class_name)) {
    warn(fmt::format(
        "model: '{}', a subclass of keras.Model, is written as a Functional "
        "one and read as such; a call() of its own would be lost",
        printable(class_name)));
    class_name = "Functional";
  }
  KerasGraph graph = parser.model(class_name, architecture.at("config"));
  if (parser.unknown.empty()) return graph;
  throw UnsupportedError(fmt::format(
      "layers: expected classes that Octet has, got {}; KerasOptions::layers "
      "and register_layer add yours",
      fmt::join(parser.unknown, ", ")));
}

Config unwrapped(const Config& config) {
  if (config.is_list()) {
    Config::List list;
    for (const Config& entry : config.as_list()) {
      list.push_back(unwrapped(entry));
    }
    return list;
  }
  if (!config.is_object()) return config;
  if (const Config* class_name = config.find("class_name")) {
    const Config* items = config.find("items");
    if (*class_name == Config("__tuple__") && items != nullptr) {
      return unwrapped(*items);
    }
    if (*class_name == Config("__numpy__") ||
        *class_name == Config("__tensor__")) {
      return unwrapped(config.at("config").at("value"));
    }
  }
  Config::Object object;
  for (const auto& [key, value] : config.as_object()) {
    object.emplace_back(key, unwrapped(value));
  }
  return object;
}

}  // namespace octet::io
