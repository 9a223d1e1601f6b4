// Model: a graph of layers, and its description.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/config.h>

namespace octet {

// Model: an immutable functional graph from inputs to outputs, with named
// layers. Rewrites return a new Model. Training, freezing and loading weights
// require a Model&; a const Model supports inference, from several threads at
// once (unless layers observe).

/// Options of Model.
/// Fields in order: name, seed, aliases
struct ModelOptions {
  std::string name = "model";  ///< in errors and files; prefix in other graphs
  uint64_t seed = 0;           ///< of initial weights and random layers
  /// Further names by which output() finds a layer, such as the names that its
  /// parts have in an imported file: {alias, layer}. Not saved.
  std::map<std::string, std::string> aliases = {};
};

/// Mode of a forward pass. Explicit, as in Keras; independent of gradient
/// recording.
enum class Mode {
  inference,  ///< uses moving statistics; random layers are identities
  training,   ///< updates moving statistics; random layers draw
};

/// Size of a node. Shared weights count at their first node.
struct NodeSize {
  int64_t parameters = 0;     ///< elements of all parameters
  int64_t trainable = 0;      ///< the same without statistics and frozen ones
  int64_t multiply_adds = 0;  ///< per sample
};

class Program;
class ProgramCache;
class Rebuild;
struct SessionOptions;

/// Returns the replacement of a node while a model is rebuilt: a tensor of the
/// new model (Rebuild), or nullopt to copy the node.
using NodeRewriter = std::function<std::optional<SymbolicTensor>(
    const GraphNode& node, Rebuild& rebuild)>;

/// Whether a clone copies the weights or shares them with the original. Share
/// them if the original is discarded, to save the memory of a copy.
enum class Weights { copy, share };

/// Values of parameters by name, "conv2d.kernel".
using StateDict = std::map<std::string, Tensor>;

/// Whether a StateDict must have all names of the model.
enum class StateMatch { strict, partial };

/// An immutable graph of layers from inputs to outputs:
///
///   const SymbolicTensor x = input({28, 28, 1});
///   const Model model(x, Dense({.units = 10})(Flatten()(x)));
///   const Tensor logits = model.predict(images);
///
/// Movable. Copies are explicit: clone(). A const Model is thread-safe, unless
/// layers observe (Layer::observing).
class [[nodiscard]] Model {
 public:
  /// Collects the graph between inputs and outputs, names unnamed layers by
  /// class in creation order ("conv2d", "conv2d_1", ...) and initializes their
  /// weights.
  /// Throws: ValueError for no inputs or outputs, an input that input() did not
  /// create or that is listed twice, an output that depends on another input,
  /// or duplicate layer names.
  Model(const SymbolicTensor& input, const SymbolicTensor& output,
        const ModelOptions& options = {});
  Model(std::vector<SymbolicTensor> inputs, std::vector<SymbolicTensor> outputs,
        const ModelOptions& options = {});
  Model(Model&&) noexcept = default;
  Model& operator=(Model&&) noexcept = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Returns ModelOptions::name.
  const std::string& name() const { return options_.name; }
  /// Seed of the initial weights and of random layers in training.
  uint64_t seed() const { return options_.seed; }

  /// Runs the graph in inference mode.
  /// Throws: ShapeError if x does not fit the input; ValueError for a wrong
  /// number of inputs, or for several outputs in the single-output form. Errors
  /// of a layer carry its name and input shapes.
  Variable operator()(const Variable& x) const;
  std::vector<Variable> operator()(std::span<const Variable> inputs) const;
  /// Accepts the inputs of a Batch: `model(batch.inputs)`.
  std::vector<Variable> operator()(std::span<const Tensor> inputs) const;
  /// Runs the graph in `mode`. Training is not thread-safe.
  Variable operator()(const Variable& x, Mode mode);
  std::vector<Variable> operator()(std::span<const Variable> inputs, Mode mode);
  std::vector<Variable> operator()(std::span<const Tensor> inputs, Mode mode);

  /// Calls the model in another graph. Its layers become nodes of that graph,
  /// with names prefixed by this model's ("encoder/conv2d"), and share their
  /// parameters with it. Calling it twice shares layers.
  SymbolicTensor operator()(const SymbolicTensor& x);
  std::vector<SymbolicTensor> operator()(
      const std::vector<SymbolicTensor>& inputs);

  /// Returns the parameters and learned scales that receive gradients and have
  /// a regularizer, without duplicates.
  std::vector<Parameter> regularized_parameters() const;
  /// Returns the regularization loss of regularized_parameters() and of layer
  /// outputs in the latest training pass, to be added to the loss. Empty if
  /// there is none. Shapes: [].
  Variable regularization_loss() const;

  /// Receives the output of each node.
  using Observer = std::function<void(const GraphNode&, const Variable&)>;
  /// Runs inference and passes every node's output to `observer`.
  std::vector<Variable> run(std::span<const Variable> inputs,
                            const Observer& observer) const;

  /// Compiles the model into fused kernels. The program owns all data that it
  /// needs. InferenceSession is its usual owner and checks inputs.
  /// Throws: as InferenceSession's constructor.
  Program compile() const;
  Program compile(const SessionOptions& options) const;

  /// Runs inference on one or more samples, chunks of them in parallel;
  /// bit-identical to running the whole batch at once. From 16 samples on, a
  /// compiled program runs, which is kept until the model changes; a model that
  /// cannot be compiled runs layer by layer, after a warning ("not_compiled").
  /// Thread-safe, unless layers observe (Layer::observing): they see the whole
  /// batch. Inputs are f32, or i32 and i64 (indices) up to 2^24.
  /// Throws: ShapeError if x does not fit; ValueError for a wrong number of
  /// inputs, larger integers, or for several outputs in the single-output form.
  Tensor predict(const Tensor& x) const;
  [[nodiscard]] std::vector<Tensor> predict(
      std::span<const Tensor> given) const;

  /// Returns the nodes in topological order; creation order breaks ties.
  std::span<const std::shared_ptr<const GraphNode>> nodes() const& {
    return nodes_;
  }
  /// Returns the inputs or outputs, in the order of the constructor's
  /// arguments.
  std::span<const SymbolicTensor> inputs() const& { return inputs_; }
  std::span<const SymbolicTensor> outputs() const& { return outputs_; }

  /// Returns the layers without duplicates, in the order of their first call.
  /// Layers of a const Model are const.
  std::span<const std::shared_ptr<Layer>> layers() & { return layers_; }
  std::vector<std::shared_ptr<const Layer>> layers() const& {
    return {layers_.begin(), layers_.end()};
  }

  /// Overloads for temporaries: `for (auto& node : zoo::lenet().nodes())`.
  std::vector<std::shared_ptr<const GraphNode>> nodes() && { return nodes_; }
  std::vector<SymbolicTensor> inputs() && { return inputs_; }
  std::vector<SymbolicTensor> outputs() && { return outputs_; }
  /// Returns the layer `name`. Throws: NotFoundError with the nearest names.
  Layer& layer(std::string_view name) &;
  const Layer& layer(std::string_view name) const&;
  void layer(std::string_view name) const&& = delete;  // would dangle
  /// Returns the output of a layer, by its name or an alias
  /// (ModelOptions::aliases), to build another model on: the feature
  /// extractor `Model(model.inputs()[0], model.output("avg_pool"))` shares
  /// weights.
  /// Throws: NotFoundError as layer(); ValueError for a layer that is called
  /// several times.
  SymbolicTensor output(std::string_view layer) const;

  /// Returns all parameters in the order of layers(), shared ones once.
  std::vector<Parameter> parameters() const;
  /// Returns the variables that gradients update, for an optimizer's attach():
  /// parameters, then quantizer scales (Layer::scale_parameters).
  std::vector<Variable> trainable_variables() const;
  /// Returns the number of elements of all parameters, statistics included.
  int64_t parameter_count() const;

  /// Returns the parameters with unique names, "conv2d.kernel", in the order of
  /// layers(), shared ones once. As in PyTorch, without statistics such as
  /// moving means; frozen parameters are included.
  std::vector<std::pair<std::string, Variable>> named_parameters() const;
  /// Returns parameters and statistics by the names of named_parameters(). The
  /// tensors share memory with the model, as in PyTorch: clone() them for a
  /// snapshot. Not included: graph, frozen flags and quantizer scales, which
  /// model files (octet/io/model_file.h) contain.
  StateDict state_dict() const;
  /// Copies the values of `state` into the model. All or nothing.
  /// Throws: NotFoundError for names that the model or, unless `match` is
  /// `partial`, `state` lacks; ShapeError for a value of another shape.
  void load_state_dict(const StateDict& state,
                       StateMatch match = StateMatch::strict);

  /// Freezes or unfreezes all layers. See Layer::set_trainable.
  void set_trainable(bool trainable);
  /// Freezes or unfreezes layers by name, or by name without a wrapper. In
  /// `pattern`, * matches any characters, ? a single character and [0-9] or
  /// [!ab] a character of a set: `model.set_trainable("block[0-3]_*", false)`.
  /// Returns the number of matching layers with parameters.
  /// Throws: NotFoundError with the nearest names if there are none.
  int64_t set_trainable(std::string_view pattern, bool trainable);
  // A string literal would convert to true.
  void set_trainable(const char*) = delete;
  int64_t set_trainable(std::string_view, const char*) = delete;

  /// Number of training passes so far. It numbers the streams of random layers;
  /// resetting it repeats them.
  uint64_t training_passes() const { return training_.passes; }
  void set_training_passes(uint64_t passes) { training_.passes = passes; }

  /// State that training passes change besides the layers.
  struct PassState {
    uint64_t passes = 0;                               ///< training_passes()
    std::vector<Variable> regularization_losses = {};  ///< of the latest pass
  };
  /// Swaps the state, for shards of a batch that alternate, each with separate
  /// state.
  void swap_pass_state(PassState& other) { std::swap(training_, other); }

  /// Returns a table with a row per node: name, class with activation, output
  /// shape, parameters, multiply-adds; a column of frozen layers, if any; a
  /// column of inputs, unless each node consumes only the previous node.
  std::string summary() const;
  /// Returns the same numbers, one entry per node in the order of nodes().
  std::vector<NodeSize> sizes() const;

  /// Creates the copy of a layer, unbuilt and with the same parameters.
  using Rewriter = std::function<std::shared_ptr<Layer>(const Layer& layer,
                                                        CloneContext& context)>;
  /// Returns a copy with layers created by `rewrite`; by default equal layers
  /// with the same weights. `rewrite` receives each layer once. Shared
  /// parameters stay shared.
  Model clone(const Rewriter& rewrite = {},
              Weights weights = Weights::copy) const;

  /// Returns a copy in which `rewrite` replaces nodes, or nullopt if it
  /// replaced none. `rewrite` is called for every node but the inputs, in
  /// order. Copied nodes preserve layers, including shared ones, with weights,
  /// names and flags; layers without consumers are dropped.
  /// Throws: ShapeError for a replacement of another shape; ValueError for a
  /// replacement from this model instead of the new model, or duplicate layer
  /// names.
  std::optional<Model> rebuild(const NodeRewriter& rewrite) const;

 private:
  friend class Rebuild;
  void collect();
  void name_layers();
  const std::shared_ptr<Layer>& find(std::string_view layer) const;
  const Layer& layer_or_alias(std::string_view name) const;
  void expect_one_output() const;
  void expect_inputs(size_t count) const;
  void expect_fitted_model() const;
  /// `pass`: parent of the random streams of a training pass, or null.
  std::vector<Variable> run(std::span<const Variable> inputs,
                            ForwardContext context, const Rng* pass,
                            const Observer& observer) const;

  ModelOptions options_;
  std::vector<SymbolicTensor> inputs_;
  std::vector<SymbolicTensor> outputs_;
  std::vector<std::shared_ptr<const GraphNode>> nodes_;
  std::vector<std::shared_ptr<Layer>> layers_;
  struct NodeCall {
    size_t node;                 ///< index in nodes_
    std::vector<size_t> inputs;  ///< indices in nodes_
  };
  std::vector<NodeCall> steps_;
  std::vector<size_t> input_slots_;
  std::vector<size_t> output_slots_;
  PassState training_;
  std::shared_ptr<ProgramCache> programs_;  // of predict()
  // Copies of the layers for nested calls in other graphs.
  std::map<const Layer*, std::shared_ptr<Layer>> nested_;
};

/// Prints Model::summary().
std::ostream& operator<<(std::ostream& out, const Model& model);

/// A Model of consecutive layers:
///
///   Sequential model({28, 28, 1}, {Conv2D({.filters = 8}), ReLU(), Flatten(),
///                                  Dense({.units = 10})});
///
/// Shapes: `input` is one sample, without the batch.
/// Throws: as the calls of the layers.
class Sequential : public Model {
 public:
  /// Calls the layers in order on an input of this shape.
  Sequential(const Shape& input, const std::vector<LayerHandle>& layers,
             const ModelOptions& options = {.name = "sequential"});
};

// Predecessors and successors of layers, by name, for code that decides by a
// layer's neighbors, such as insertion cases.

/// Returns the names of all layers, in the order of their first call.
std::vector<std::string> layer_names(const Model& model);

/// Returns the producers of a layer's inputs without duplicates, in the order
/// of its inputs and calls.
/// Throws: NotFoundError with the nearest names.
std::vector<std::string> predecessors(const Model& model,
                                      std::string_view layer);

/// Returns the consumers of a layer's output without duplicates, in model
/// order.
/// Throws: as predecessors().
std::vector<std::string> successors(const Model& model, std::string_view layer);

// Conversion of a model's graph to a Config and back: layers, their
// configurations and the calls between them. Weights are not included.

/// Maps a layer to the layer to serialize in its place: itself, or the layer
/// that it wraps. The result must have the layer's parameters.
using LayerView = std::function<const Layer&(const Layer&)>;

/// Returns the graph as objects and lists, in model order:
///
///   name, seed
///   layers   each once: name, class_name, config; `shares`: name of an earlier
///            layer that has the same parameters, if any
///   calls    layer, inputs (indices of earlier calls)
///   inputs   indices of calls
///   outputs  indices of calls
Config to_config(const Model& model, const LayerView& view = {});

/// Returns an equal model with initial weights. create_layer() creates the
/// layers.
/// Throws: ValueError, NotFoundError, ShapeError for an invalid graph;
/// UnsupportedError with the names of all unregistered classes.
Model model_from_config(const Config& config);

// Rebuild: state of Model::rebuild(), which builds a new model node by node.
// Rewriters replace nodes; all other nodes are copied with weights, names and
// flags, on demand.

/// State of Model::rebuild(), passed to its rewriter.
class Rebuild {
 public:
  /// The original model.
  const Model& model() const { return model_; }

  /// Returns the counterpart in the new model of a tensor computed before the
  /// node being rewritten. Throws: ValueError for another tensor.
  SymbolicTensor at(const SymbolicTensor& old);
  /// Calls the copy of the node's layer on tensors of the new model.
  SymbolicTensor call(const GraphNode& node,
                      std::vector<SymbolicTensor> inputs);

  /// The copies made so far, for a layer that shares objects with them.
  CloneContext& context() { return context_; }

  /// Returns the number of uses of a node's output: inputs of other nodes, and
  /// outputs of the model.
  int64_t uses(const GraphNode& node) const;
  /// Returns whether the original model calls the layer once and no other layer
  /// shares its parameters, so that replacing it affects nothing else.
  bool stands_alone(const Layer& layer) const;

 private:
  friend class Model;
  Rebuild(const Model& model, const Model::Rewriter& rewrite, Weights weights)
      : model_(model), rewrite_(rewrite), weights_(weights), counts_(model) {}

  // Usage counts in the original model.
  struct Counts {
    explicit Counts(const Model& model);
    std::unordered_map<const GraphNode*, int64_t> uses;  // of every node
    std::unordered_map<const Layer*, int64_t> calls;
    std::unordered_map<uint64_t, int64_t> owners;  // layers per parameter
  };

  // Returns the layer's copy. finish() copies its parameters unless they are
  // shared.
  const std::shared_ptr<Layer>& copy_of(const Layer& layer);
  void copy_before(size_t index);
  void replace(size_t index, SymbolicTensor replacement);
  void copy_parameters();
  Model finish();

  const Model& model_;
  const Model::Rewriter& rewrite_;
  const Weights weights_;
  CloneContext context_;
  std::map<const Layer*, std::shared_ptr<Layer>> copies_;
  std::unordered_map<const GraphNode*, SymbolicTensor> made_;
  const Counts counts_;
  size_t next_ = 0;   // first node without a counterpart
  size_t limit_ = 0;  // the node being rewritten
};

}  // namespace octet
