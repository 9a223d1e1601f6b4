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
struct BuildState : KerasContext {
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
  /// `name` is the layer's name in the Model.
  LayerBuilder(const KerasLayer& layer, std::string name, BuildState& state);
  virtual ~LayerBuilder() = default;
  LayerBuilder(const LayerBuilder&) = delete;
  LayerBuilder& operator=(const LayerBuilder&) = delete;

  /// Throws: Error for an invalid configuration or shape.
  virtual std::vector<KerasValue> call(
      const std::vector<BuiltArgument>& arguments, size_t index) = 0;
  /// Returns the weights of the layers.
  virtual TargetLayer targets() const;

 protected:
  const KerasLayer& layer() const { return layer_; }
  const std::string& name() const { return name_; }
  BuildState& state() const { return state_; }

  /// Calls the Octet layer of a step. Its first call creates the layer, in the
  /// axis order of these inputs; steps of the same suffix share it.
  KerasValue run(const LayerSpec& step, std::vector<KerasValue> inputs);
  /// Returns the layer of a step, or null before its first call.
  std::shared_ptr<Layer> find(std::string_view suffix) const;
  void freeze_statistics() const;

 private:
  struct Part {
    LayerSpec step;
    std::shared_ptr<Layer> layer;
    AxisOrder order;  // of its inputs
  };
  std::vector<WeightTarget> weights_of(const Part& part) const;

  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
  std::vector<Part> parts_;
};

/// Returns the builder of any layer. `name` is the layer's name in the Model.
std::unique_ptr<LayerBuilder> layer_builder(const KerasLayer& layer,
                                            const std::string& name,
                                            BuildState& state);

/// Returns the builder of a class that is not a sequence of layers in Octet:
/// attention, recurrent layers, Bidirectional, TimeDistributed and
/// SpectralNormalization; otherwise null.
using CreateBuilder = std::unique_ptr<LayerBuilder> (*)(const KerasLayer&,
                                                        const std::string& name,
                                                        BuildState&);
CreateBuilder find_builder(std::string_view class_name);
std::unique_ptr<LayerBuilder> nested_builder(const KerasLayer& layer,
                                             const std::string& name,
                                             BuildState& state);
std::unique_ptr<LayerBuilder> attention_builder(const KerasLayer& layer,
                                                const std::string& name,
                                                BuildState& state);
std::unique_ptr<LayerBuilder> recurrent_builder(const KerasLayer& layer,
                                                const std::string& name,
                                                BuildState& state);
std::unique_ptr<LayerBuilder> bidirectional_builder(const KerasLayer& layer,
                                                    const std::string& name,
                                                    BuildState& state);

/// Returns the tensors among the arguments, which must be the leading ones.
/// Throws: UnsupportedError for a tensor or setting that would be ignored;
/// FormatError without tensors.
std::vector<KerasValue> only_tensors(
    const std::vector<BuiltArgument>& arguments);

struct BuiltModel {
  Model model;
  std::vector<TargetLayer> targets;
};

BuiltModel build_model(const KerasGraph& graph, BuildState& state);

}  // namespace octet::io
