// Builds a Model and the targets of its weights from a KerasGraph. Internal to
// io/keras.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/keras.h>

#include "keras/graph.h"
#include "keras/order.h"
#include "keras/targets.h"

namespace octet::io {

/// State shared by the builders of all layers.
struct BuildState {
  const KerasDialect& dialect;
  const KerasOptions& options;
  /// Inside a model called with training=False.
  bool statistics_frozen = false;
  DataFormats formats = {};
  int64_t step_calls = 0;  ///< of layers in TimeDistributed
  /// Layers of the file that have another name in Octet, or none.
  std::map<std::string, std::string> aliases = {};
};

struct BuiltArgument {
  std::string name;
  std::optional<KerasValue> value;
  Config constant;
};

/// Creates a Keras layer and calls it; calls share its Octet layers.
class LayerBuilder {
 public:
  virtual ~LayerBuilder() = default;
  /// Throws: Error for an invalid configuration or shape.
  virtual std::vector<KerasValue> call(
      const std::vector<BuiltArgument>& arguments, size_t index) = 0;
  virtual TargetLayer targets() const = 0;
};

/// Returns the builder of any layer. `name` is the layer's name in the Model.
std::unique_ptr<LayerBuilder> layer_builder(const KerasLayer& layer,
                                            const std::string& name,
                                            BuildState& state);

std::unique_ptr<LayerBuilder> chain_builder(const KerasLayer& layer,
                                            std::string name,
                                            std::vector<LayerSpec> steps,
                                            BuildState& state);

/// Returns the tensors among the arguments, which must be the leading ones.
/// Throws: UnsupportedError for a tensor or setting that would be ignored.
std::vector<KerasValue> only_tensors(
    const std::vector<BuiltArgument>& arguments);

/// Creates the named layer of a step, frozen if the file says so, not built.
std::shared_ptr<Layer> make_layer(const LayerSpec& step, const Config& config,
                                  const std::string& name,
                                  const KerasLayer& origin);

SymbolicTensor call_layer(const std::shared_ptr<Layer>& layer,
                          const std::vector<KerasValue>& inputs);

struct BuiltModel {
  Model model;
  std::vector<TargetLayer> targets;
};

DataFormats data_formats(const KerasGraph& graph);

BuiltModel build_model(const KerasGraph& graph, BuildState& state);

}  // namespace octet::io
