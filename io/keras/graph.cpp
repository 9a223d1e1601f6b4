// Parses Keras' JSON to a graph of layers.
// Sources: get_config of Sequential and Functional in Keras 1.2, 2.2, 2.15
// and 3.
#include "keras/graph.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/runtime/error.h>

#include "file_errors.h"
#include "printable.h"

namespace octet::io {
namespace {

// Suffix of wrapper classes.
constexpr std::string_view kWrapper = "QuantizeWrapper";
// Limit of names, which are compared with each other.
constexpr size_t kLongestName = 1000;
// Limit of a model's inputs; a few are usual.
constexpr size_t kMostLayerInputs = 1000;

std::string text_at(const Config& object, const char* key) {
  const Config* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

// Whether an entry is a function of Keras 3. keras.src.ops.numpy's Concatenate
// is also the name of a layer.
bool is_keras_operation(const Config& entry) {
  const std::string module = text_at(entry, "module");
  return module.starts_with("keras.") &&
         module.find(".ops.") != std::string::npos;
}

bool is_layer_wrapper(std::string_view class_name) {
  return class_name == "Bidirectional" || class_name == "TimeDistributed" ||
         class_name == "SpectralNormalization";
}

bool is_sequential(std::string_view class_name) {
  return class_name == "Sequential";
}
bool is_functional(std::string_view class_name) {
  return class_name == "Functional" || class_name == "Model";
}

// A subclass with a custom training step also has this form.
bool has_functional_form(const Config& architecture) {
  const Config* config = architecture.find("config");
  return config != nullptr && config->is_object() &&
         config->find("layers") != nullptr &&
         config->find("input_layers") != nullptr &&
         config->find("output_layers") != nullptr;
}

struct Parser {
  const KerasDialect& dialect;
  std::vector<std::string> unknown = {};  // texts of all unknown layers

  KerasGraph model(const std::string& class_name, const Config& config) {
    KerasGraph graph;
    graph.sequential = is_sequential(class_name);
    in_file([&] { return "in the configuration of a " + class_name; },
            [&] {
              // Before Keras 2.2.3, a Sequential was a list of layers.
              const Config& layers =
                  config.is_list() ? config : config.at("layers");
              if (config.is_object()) graph.name = text_at(config, "name");
              if (layers.as_list().empty()) {
                throw FormatError("invalid_graph", "layers",
                                  "must not be empty");
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
    KerasLayer layer = named_layer(entry);
    const std::string& written = entry.at("class_name").as_string();
    const Config& config = entry.at("config");
    if (layer.name.empty()) {
      throw FormatError("missing_value", "layers",
                        fmt::format("a {} has no name", printable(written)));
    }
    for (const std::string* name : std::initializer_list<const std::string*>{
             &layer.name, &written, &layer.registered}) {
      if (name->size() <= kLongestName) continue;
      throw FormatError(
          "size_limit", "layers",
          fmt::format("names must have at most {} characters, got '{}'",
                      kLongestName, printable(*name)));
    }
    layer.operation = written == "TFOpLambda" || written == "SlicingOpLambda" ||
                      written == "TensorFlowOpLayer" ||
                      is_keras_operation(entry);
    std::optional<KerasLayer> inner;
    in_file(
        [&] { return "in " + text_of(layer); },
        [&] {
          if (is_sequential(written) || is_functional(written)) {
            layer.graph = std::make_unique<KerasGraph>(model(written, config));
          } else {
            (void)config.as_object();
            layer.config = config;
            if (is_wrapped(layer)) {
              inner = inside(layer);
            } else if (is_layer_wrapper(layer.class_name)) {
              layer.inner =
                  std::make_unique<KerasLayer>(this->layer(config.at("layer")));
            } else if (!layer.is_input() && !dialect.knows(layer)) {
              note(layer);
            }
          }
          refuse_quantized(config);
        });
    return inner ? std::move(*inner) : std::move(layer);
  }

  // Wrappers of NVIDIA's tensorflow-quantization. Only the ranges among the
  // weights show which parts are quantized.
  bool is_wrapped(const KerasLayer& layer) const {
    return layer.written_class.ends_with(kWrapper) &&
           layer.config.find("layer") != nullptr && !dialect.knows(layer);
  }

  // Returns the wrapped layer under the wrapper's name.
  KerasLayer inside(const KerasLayer& wrapper) {
    KerasLayer inner = layer(wrapper.config.at("layer"));
    if (inner.written_class + std::string(kWrapper) != wrapper.written_class ||
        inner.is_wrapped || inner.graph != nullptr || inner.is_input()) {
      throw FormatError(
          "invalid_graph", "layer",
          fmt::format("must have the wrapper's class without '{}', got {}",
                      kWrapper, text_of(inner)));
    }
    inner.name = wrapper.name;
    inner.is_wrapped = true;
    return inner;
  }

  // Rejects Keras' own INT8 weights, which are stored with scales.
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
      throw UnsupportedError(
          "unsupported_type", "dtype",
          fmt::format(
              "quantization policies of Keras are not supported, got '{}'",
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
                  throw FormatError("invalid_graph", "inbound_nodes",
                                    layer.is_input()
                                        ? "must be empty for an InputLayer"
                                        : "must not be empty");
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
      throw FormatError(
          "invalid_graph", "input_layers, output_layers",
          fmt::format("must not be empty, got {} inputs and {} outputs",
                      graph.inputs.size(), graph.outputs.size()));
    }
    if (graph.inputs.size() > kMostLayerInputs) {
      throw FormatError("size_limit", "input_layers",
                        fmt::format("must have at most {} entries, got {}",
                                    kMostLayerInputs, graph.inputs.size()));
    }
  }

  static bool uses_new_form(const Config& nodes) {
    return nodes.is_list() &&
           std::ranges::any_of(nodes.as_list(), [](const Config& node) {
             return node.is_object() && node.find("args") != nullptr;
           });
  }

  // Calls refer to wrapped layers as "quant_conv1".
  static void take_float_names(KerasGraph& graph) {
    std::set<std::string, std::less<>> taken;
    for (const KerasLayer& layer : graph.layers) taken.insert(layer.name);
    for (KerasLayer& layer : graph.layers) {
      if (!layer.is_wrapped) continue;
      const std::string name(quant::float_name(layer.name));
      if (taken.insert(name).second) layer.name = name;
    }
  }

  // Calls each layer on its predecessor.
  static void chain(KerasGraph& graph, const Config& config) {
    if (!graph.layers[0].is_input()) {
      graph.layers.insert(graph.layers.begin(), implied_input(graph, config));
    }
    for (size_t i = 1; i < graph.layers.size(); ++i) {
      KerasLayer& layer = graph.layers[i];
      const KerasLayer& before = graph.layers[i - 1];
      if (layer.is_input()) {
        throw FormatError(
            "invalid_graph", "layers",
            fmt::format("an InputLayer must be the first, got {} after {}",
                        text_of(layer), text_of(before)));
      }
      layer.calls = {{{"", KerasTensor{before.name, 0, 0, 0}, {}}}};
    }
    graph.inputs = {{graph.layers.front().name, 0, 0, 0}};
    graph.outputs = {{graph.layers.back().name, 0, 0, 0}};
    graph.new_form = true;  // these calls count from 0
  }

  // The input shape is that of the first layer or of the model; if the first
  // layer is a nested model, its InputLayer has it.
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

KerasLayer named_layer(const Config& entry) {
  KerasLayer layer;
  const std::string& written = entry.at("class_name").as_string();
  const Config& config = entry.at("config");
  layer.registered = text_at(entry, "registered_name");
  if (written.find('>') != written.npos) layer.registered = written;
  layer.written_class = written.substr(written.rfind('>') + 1);
  layer.class_name = canonical_class_name(written);
  // Calls refer to the name of the entry.
  layer.name = text_at(entry, "name");
  if (layer.name.empty() && config.is_object()) {
    layer.name = text_at(config, "name");
  }
  return layer;
}

void for_each_layer(const KerasGraph& graph,
                    const std::function<void(const KerasLayer&)>& visit) {
  for (const KerasLayer& layer : graph.layers) {
    visit(layer);
    if (layer.graph != nullptr) for_each_layer(*layer.graph, visit);
    for (const KerasLayer* inner = layer.inner.get(); inner != nullptr;
         inner = inner->inner.get()) {
      visit(*inner);
      if (inner->graph != nullptr) for_each_layer(*inner->graph, visit);
    }
  }
}

void expect_graph(const Config& architecture) {
  const std::string& class_name = architecture.at("class_name").as_string();
  if (is_sequential(class_name) || is_functional(class_name) ||
      has_functional_form(architecture)) {
    return;
  }
  throw UnsupportedError(
      "unsupported_model", "model",
      fmt::format("must be Sequential or Functional, got class '{}', a "
                  "subclass of keras.Model whose code is not in the file. "
                  "Hint: in Keras, export it with model.export(\"m.onnx\", "
                  "format=\"onnx\") and load the ONNX file",
                  printable(class_name)));
}

KerasGraph parse_graph(const Config& architecture,
                       const KerasDialect& dialect) {
  Parser parser{dialect};
  expect_graph(architecture);
  std::string class_name = architecture.at("class_name").as_string();
  if (!is_sequential(class_name) && !is_functional(class_name)) {
    warn("custom_code_lost", "model",
         fmt::format("class '{}', a subclass of keras.Model, is loaded as "
                     "Functional; a custom call() is lost",
                     printable(class_name)));
    class_name = "Functional";
  }
  KerasGraph graph = parser.model(class_name, architecture.at("config"));
  if (parser.unknown.empty()) return graph;
  throw UnsupportedError("unsupported_layer", "layers",
                         fmt::format("unknown classes: {}. Hint: add them with "
                                     "KerasOptions.layers or register_layer",
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
