// Model: an immutable functional graph from inputs to outputs, with named
// layers. Rewrites make a new Model; the old one is never changed. What trains
// a model, freezes layers or loads weights takes a Model&; a const Model is for
// inference, in several threads at once (unless layers observe).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: name, seed
struct ModelOptions {
  std::string name = "model";
  uint64_t seed = 0;  ///< of the initial weights
};

/// How a graph runs. As in Keras, it is said, and does not depend on whether
/// gradients are recorded.
enum class Mode {
  inference,
  training,  ///< moves running statistics; random layers draw
};

/// What one node takes. Shared weights count at their first node.
struct NodeSize {
  int64_t parameters = 0;
  int64_t trainable = 0;      ///< of the parameters; frozen ones are not
  int64_t multiply_adds = 0;  ///< of one sample
};

class Rebuild;

/// Says what takes the place of a node in a model that is being rebuilt: a
/// tensor of the new model (rebuild.h), or nothing to copy the node.
using NodeRewriter = std::function<std::optional<SymbolicTensor>(
    const GraphNode& node, Rebuild& rebuild)>;

/// Whether a copy of a model has the weights in common with it: of one that is
/// about to go, as memory for both is not needed.
enum class CopyOf { values, parameters };

class [[nodiscard]] Model {
 public:
  /// Collects the graph between inputs and outputs, names unnamed layers by
  /// class in creation order ("conv2d", "conv2d_1", ...) and initialises
  /// their weights.
  /// Throws: ValueError for an input that is not made by input(), an output
  /// that needs another input, or two layers of one name.
  Model(const SymbolicTensor& input, const SymbolicTensor& output,
        const ModelOptions& options = {});
  Model(std::vector<SymbolicTensor> inputs, std::vector<SymbolicTensor> outputs,
        const ModelOptions& options = {});
  Model(Model&&) noexcept = default;
  Model& operator=(Model&&) noexcept = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::string& name() const { return options_.name; }
  /// Of the initial weights and of what random layers draw in training.
  uint64_t seed() const { return options_.seed; }

  /// Runs the graph in inference. Throws: ShapeError if x does not fit the
  /// input; ValueError for another number of inputs, or of outputs where one is
  /// returned; errors of a layer carry its name and input shapes.
  Variable operator()(const Variable& x) const;
  std::vector<Variable> operator()(std::span<const Variable> inputs) const;
  /// Takes the inputs of a Batch: `model(batch.inputs)`.
  std::vector<Variable> operator()(std::span<const Tensor> inputs) const;
  /// Runs the graph as `mode` says. Training belongs to one thread.
  Variable operator()(const Variable& x, Mode mode);
  std::vector<Variable> operator()(std::span<const Variable> inputs, Mode mode);
  std::vector<Variable> operator()(std::span<const Tensor> inputs, Mode mode);

  /// Calls the model in another graph: the nested model's layers become nodes
  /// of that graph, under names that begin with this model's
  /// ("encoder/conv2d"), and have their parameters in common with it. Calling
  /// it twice shares layers.
  SymbolicTensor operator()(const SymbolicTensor& x);
  std::vector<SymbolicTensor> operator()(
      const std::vector<SymbolicTensor>& inputs);

  /// The parameters, and scales that learn, each once, that take gradients and
  /// have a regularizer.
  std::vector<Parameter> regularized_parameters() const;
  /// To add to the loss: that of regularized_parameters(), and of what
  /// layers regularize in the latest pass in training. Empty if there is none.
  /// Shapes: -> [].
  Variable regularization_loss() const;

  /// Inference in which `observer` sees every node's output.
  using Observer = std::function<void(const GraphNode&, const Variable&)>;
  std::vector<Variable> run(std::span<const Variable> inputs,
                            const Observer& observer) const;

  /// Inference on at least one image, chunks of them in parallel, the same
  /// bits as the whole batch at once. Thread-safe, unless layers observe (see
  /// Layer::observing): they see the whole batch.
  /// Throws: ShapeError if x does not fit; ValueError for another number of
  /// inputs, or of outputs where one is returned.
  Tensor predict(const Tensor& x) const;
  [[nodiscard]] std::vector<Tensor> predict(
      std::span<const Tensor> inputs) const;

  /// Nodes in topological order; creation order breaks ties.
  std::span<const std::shared_ptr<const GraphNode>> nodes() const& {
    return nodes_;
  }
  std::span<const SymbolicTensor> inputs() const& { return inputs_; }
  std::span<const SymbolicTensor> outputs() const& { return outputs_; }

  /// Each layer once, in the order of its first call. Those of a const Model
  /// are const.
  std::span<const std::shared_ptr<Layer>> layers() & { return layers_; }
  std::vector<std::shared_ptr<const Layer>> layers() const& {
    return {layers_.begin(), layers_.end()};
  }

  // Of a temporary, as in `for (auto& node : zoo::lenet().nodes())`.
  std::vector<std::shared_ptr<const GraphNode>> nodes() && { return nodes_; }
  std::vector<SymbolicTensor> inputs() && { return inputs_; }
  std::vector<SymbolicTensor> outputs() && { return outputs_; }
  /// Throws: NotFoundError naming the nearest names.
  Layer& layer(std::string_view name) &;
  const Layer& layer(std::string_view name) const&;
  void layer(std::string_view name) const&& = delete;  // it would be gone
  /// What a layer gives, to build another model on: a feature extractor is
  /// `Model(model.inputs()[0], model.output("avg_pool"))`, and shares weights.
  /// Throws: NotFoundError as layer(); ValueError for a layer that is called
  /// several times.
  SymbolicTensor output(std::string_view layer) const;

  /// Each parameter once, in the order of layers(), though several layers
  /// have it in common.
  std::vector<Parameter> parameters() const;
  /// What gradients move, for an optimizer's attach(): parameters, then scales
  /// of quantizers (Layer::moving_scales).
  std::vector<Variable> trainable_variables() const;
  int64_t parameter_count() const;

  /// Freezes or frees all layers. See Layer::set_trainable.
  void set_trainable(bool trainable);
  /// Those whose name, or whose name without a wrapper, `pattern` fits, in
  /// which * stands for any characters and ? for one:
  /// `model.set_trainable("block1_*", false)`. Returns how many of them have
  /// parameters. Throws: NotFoundError if none has, naming the nearest names.
  int64_t set_trainable(std::string_view pattern, bool trainable);
  // Text would be true.
  void set_trainable(const char*) = delete;
  int64_t set_trainable(std::string_view, const char*) = delete;

  /// How many passes in training there were. Random layers draw from streams
  /// that are numbered by it: setting it back repeats them.
  uint64_t training_passes() const { return training_.passes; }
  void set_training_passes(uint64_t passes) { training_.passes = passes; }

  /// What passes in training leave behind beside the layers.
  struct TrainingState {
    uint64_t passes = 0;
    std::vector<Variable> regularization_losses = {};  ///< of the latest one
  };
  /// For parts of a batch that take turns, each with its own.
  void swap_training_state(TrainingState& other) {
    std::swap(training_, other);
  }

  /// A table: name, class with its activation, output shape, parameters,
  /// multiply-adds; what is frozen, if something is; what each node reads,
  /// unless that is the one above it.
  std::string summary() const;
  /// The same numbers, one entry a node in the order of nodes().
  std::vector<NodeSize> sizes() const;

  /// A copy whose layers are made by `rewrite`; without one, equal copies
  /// with the same weights. Layers with parameters in common have them in
  /// common again. `rewrite` gets each layer once and returns an
  /// unbuilt one with the same parameters.
  using Rewriter = std::function<std::shared_ptr<Layer>(const Layer& layer,
                                                        CloneContext& context)>;
  Model clone(const Rewriter& rewrite = {},
              CopyOf weights = CopyOf::values) const;

  /// A copy in which some nodes are others: `rewrite` is asked for every node
  /// but the inputs, in order. What is copied keeps its layers, shared ones
  /// too, with weights, names and flags; layers that nothing reads any more
  /// are gone. Nothing if no node was replaced.
  /// Throws: ShapeError for a replacement of another shape; ValueError for a
  /// tensor of this model instead of the new one, or for two layers of one
  /// name.
  std::optional<Model> rebuild(const NodeRewriter& rewrite) const;

 private:
  friend class Rebuild;
  void collect();
  void name_layers();
  const std::shared_ptr<Layer>& find(std::string_view layer) const;
  void expect_one_output() const;
  void expect_inputs(size_t count) const;
  void expect_fitted_model() const;
  /// `pass`: of the random streams of a pass in training, or null.
  std::vector<Variable> run(std::span<const Variable> inputs,
                            ForwardContext context, const Rng* pass,
                            const Observer& observer) const;

  ModelOptions options_;
  std::vector<SymbolicTensor> inputs_;
  std::vector<SymbolicTensor> outputs_;
  std::vector<std::shared_ptr<const GraphNode>> nodes_;
  std::vector<std::shared_ptr<Layer>> layers_;
  struct Step {
    size_t node;
    std::vector<size_t> inputs;
  };
  std::vector<Step> steps_;
  std::vector<size_t> input_slots_;
  std::vector<size_t> output_slots_;
  TrainingState training_;
  // The layers as they are called in other graphs.
  std::map<const Layer*, std::shared_ptr<Layer>> nested_;
};

}  // namespace octet
