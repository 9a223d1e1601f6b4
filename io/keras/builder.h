// From a KerasGraph to a Model and the places of its weights. Internal to
// io/keras.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/keras.h>

#include "keras/graph.h"
#include "keras/order.h"
#include "keras/targets.h"

namespace octet::io {

/// What building has in common for all layers.
struct BuildState {
  const KerasDialect& dialect;
  const KerasOptions& options;
  /// Inside a model that is called with training=False.
  bool statistics_frozen = false;
  DataFormats formats = {};
};

struct BuiltArgument {
  std::string name;
  std::optional<Value> value;
  Config constant;
};

/// Makes one Keras layer and calls it; every call shares what was made.
class LayerBuilder {
 public:
  virtual ~LayerBuilder() = default;
  /// Throws: Error of a configuration or shape that cannot be.
  virtual std::vector<Value> call(const std::vector<BuiltArgument>& arguments,
                                  size_t index) = 0;
  virtual TargetLayer targets() const = 0;
};

/// `name` is that of the layer in the Model.
std::unique_ptr<LayerBuilder> chain_builder(const KerasLayer& layer,
                                            std::string name,
                                            std::vector<Step> steps,
                                            BuildState& state);

/// The tensors among the arguments, all of them in the first ones of a call.
/// Throws: UnsupportedError for a tensor or a setting that would be lost.
std::vector<Value> only_tensors(const std::vector<BuiltArgument>& arguments);

/// Creates the layer of a step, named, frozen as the file says, not built.
std::shared_ptr<Layer> make_layer(const Step& step, const Config& config,
                                  const std::string& name,
                                  const KerasLayer& origin);

SymbolicTensor call_layer(const std::shared_ptr<Layer>& layer,
                          const std::vector<Value>& inputs);

struct BuiltModel {
  Model model;
  std::vector<TargetLayer> targets;
};

DataFormats data_formats(const KerasGraph& graph);

BuiltModel build_model(const KerasGraph& graph, BuildState& state);

}  // namespace octet::io
