// A Keras model as its JSON tells it, before any layer exists: names are
// resolved, calls are in an order that can be run, and nothing is larger than
// it may be. Internal to io/keras.
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

/// One output of one call of a layer.
struct KerasTensor {
  std::string layer;
  int64_t call = 0;    ///< Keras' node index
  int64_t output = 0;  ///< Keras' tensor index
  size_t index = 0;    ///< of the layer in its graph, once resolved
};

/// What a layer is called with: a tensor, or a constant.
struct KerasArgument {
  std::string name;  ///< empty if it is positional
  std::optional<KerasTensor> tensor;
  Config constant;
};

using KerasCall = std::vector<KerasArgument>;

struct KerasLayer {
  std::string name;
  std::string class_name;     ///< canonical_class_name()
  std::string written_class;  ///< as in the file, without a package
  std::string registered;     ///< "pkg>X", if there is one
  Config config;
  bool operation = false;   ///< a function of TensorFlow or Keras 3
  bool is_wrapped = false;  ///< was in a quantize wrapper of the toolkit
  std::unique_ptr<KerasGraph> graph;  ///< of a nested model
  std::vector<KerasCall> calls;

  bool is_input() const { return class_name == "InputLayer"; }
};

struct KerasGraph {
  std::string name;
  bool sequential = false;
  bool new_form = false;  ///< calls as Keras 3 writes them
  std::vector<KerasLayer> layers;
  std::vector<KerasTensor> inputs;
  std::vector<KerasTensor> outputs;
  /// (layer, call) such that every call comes after those it needs.
  std::vector<std::pair<size_t, size_t>> order;
  int64_t total_calls = 0;  ///< with those of nested models, each time
};

/// What must be known beside the JSON.
struct KerasDialect {
  int major = 0;        ///< version of Keras, found by its form if need be
  std::string backend;  ///< "tensorflow", "theano", ..., or empty
  /// Whether a layer of the class can be made, by any of its names.
  std::function<bool(const KerasLayer&)> knows;
};

/// Throws: UnsupportedError naming the class of a model that is no graph of
/// layers.
void expect_graph(const Config& architecture);

/// Throws: as expect_graph(); FormatError naming the layer; UnsupportedError
/// listing the layers
/// whose class is not known, all of them.
KerasGraph parse_graph(const Config& architecture, const KerasDialect& dialect);

/// "layer 'conv1' (Conv2D)".
std::string text_of(const KerasLayer& layer);

/// Resolves the tensors and finds the order of the calls.
/// Throws: FormatError for names, calls and cycles that cannot be.
void resolve(KerasGraph& graph);

/// The calls of a layer, from its `inbound_nodes` in any of their forms.
std::vector<KerasCall> parse_calls(const Config& inbound_nodes);
/// `input_layers` and `output_layers`, in any of their forms.
std::vector<KerasTensor> parse_tensors(const Config& tensors);

/// The tree with Keras' wrappers of tuples and arrays replaced by what they
/// hold.
Config unwrapped(const Config& config);

}  // namespace octet::io
