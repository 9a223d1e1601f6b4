// A Keras model parsed from JSON, before layers are created: names are
// resolved, calls are in topological order, and sizes are within limits.
// Internal to io/keras.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/runtime/config.h>

namespace octet::io {

struct KerasGraph;

/// An output of a call of a layer.
struct KerasTensor {
  std::string layer;
  int64_t call = 0;    ///< Keras' node index
  int64_t output = 0;  ///< Keras' tensor index
  size_t index = 0;    ///< of the layer in its graph, after resolve()
};

/// An argument of a call: a tensor or a constant.
struct KerasArgument {
  std::string name;  ///< empty if positional
  std::optional<KerasTensor> tensor;
  Config constant;
};

using KerasCall = std::vector<KerasArgument>;

struct KerasLayer {
  std::string name;
  std::string class_name;     ///< canonical_class_name()
  std::string written_class;  ///< as in the file, without a package
  std::string registered;     ///< "pkg>X", if registered
  Config config;
  bool operation = false;   ///< a function of TensorFlow or Keras 3
  bool is_wrapped = false;  ///< was in a quantize wrapper of the toolkit
  std::unique_ptr<KerasGraph> graph;  ///< of a nested model
  std::unique_ptr<KerasLayer> inner;  ///< of a wrapper
  std::vector<KerasCall> calls;

  bool is_input() const { return class_name == "InputLayer"; }
};

struct KerasGraph {
  std::string name;
  bool sequential = false;
  bool new_form = false;  ///< calls in the format of Keras 3
  std::vector<KerasLayer> layers;
  std::vector<KerasTensor> inputs;
  std::vector<KerasTensor> outputs;
  /// (layer, call) in topological order.
  std::vector<std::pair<size_t, size_t>> order;
  int64_t total_calls = 0;  ///< including nested models, per call of these
};

/// Visits the layers of a model, its nested models and wrappers.
void for_each_layer(const KerasGraph& graph,
                    const std::function<void(const KerasLayer&)>& visit);

/// Facts beside the JSON.
struct KerasDialect {
  int major = 0;        ///< version of Keras, inferred if not recorded
  std::string backend;  ///< "tensorflow", "theano", ..., or empty
  /// Whether a layer's class is known, by any of its names.
  std::function<bool(const KerasLayer&)> knows;
};

/// Throws: UnsupportedError, naming its class, for a model that is not a graph
/// of layers.
void expect_graph(const Config& architecture);

/// Throws: as expect_graph(); FormatError naming the layer; UnsupportedError
/// listing all layers of unknown classes.
KerasGraph parse_graph(const Config& architecture, const KerasDialect& dialect);

/// Returns the names and the class of an entry of `layers`.
KerasLayer named_layer(const Config& entry);

/// "layer 'conv1' (Conv2D)".
std::string text_of(const KerasLayer& layer);

/// Resolves the tensors and sorts the calls.
/// Throws: FormatError for invalid names and calls, and for cycles.
void resolve(KerasGraph& graph);

/// Parses the calls of a layer from its `inbound_nodes` in any format.
std::vector<KerasCall> parse_calls(const Config& inbound_nodes);
/// Parses `input_layers` or `output_layers` in any format.
std::vector<KerasTensor> parse_tensors(const Config& tensors);

/// Returns the tree with Keras' wrappers of tuples and arrays replaced by their
/// contents.
Config unwrapped(const Config& config);

}  // namespace octet::io
