// Layer: base class of all layers, their static description (LayerDef), their
// properties (LayerFacts) and the state of a forward pass (ForwardContext).
// Graph nodes share the layers they call; models own them jointly. A built
// layer may run in several threads at once under NoGradGuard.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/parameter.h>
#include <octet/runtime/config.h>
#include <octet/runtime/detail/language.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

// CloneContext: preserves sharing between layers while a model is cloned.

/// Maps shared objects of a model to their copies, so that layers that share an
/// object share its copy as well.
class CloneContext {
 public:
  /// Returns the copy of `original`, created by `copy()` on first use.
  template <class T, class Copy>
  std::shared_ptr<T> shared(const T& original, Copy copy) {
    std::shared_ptr<void>& slot = copies_[&original];
    if (slot == nullptr) slot = std::shared_ptr<T>(copy());
    return std::static_pointer_cast<T>(slot);
  }

 private:
  std::map<const void*, std::shared_ptr<void>> copies_;
};

class EmitContext;
class Layer;
struct OnnxValue;

/// What a layer computes, as far as Q/DQ placement depends on it.
enum class LayerRole {
  other,          ///< none of the following: Softmax, Dot
  linear,         ///< weights times inputs: convolutions, Dense
  normalization,  ///< affine per channel, folds into a linear predecessor
  activation,     ///< elementwise function of one tensor
  movement,       ///< moves, selects or repeats values: Flatten, MaxPooling2D
  identity,       ///< no effect in inference: Dropout
  merge,          ///< combines several tensors element by element: Add
};

/// Default quantization of a class: a wrapper quantizes its inputs and the
/// weights named here.
struct QdqDefault {
  bool enabled = false;     ///< quantized by default in full mode
  bool on_request = false;  ///< quantized if a spec, case or policy selects it
  bool several_inputs = false;          ///< separate Q/DQ for each input
  std::string_view weight = {};         ///< parameter with weight Q/DQ
  std::string_view second_weight = {};  ///< second parameter with weight Q/DQ
  /// Intermediate tensor between the two products of a class with a second
  /// weight; quantized like the input (ForwardContext::intermediate,
  /// EmitContext::intermediate).
  std::string_view intermediate = {};
};

/// The weight into which a subsequent normalization folds, together with the
/// bias. The axes [first_axis, last_axis), flattened, are its output channels;
/// the other axes belong to one output channel each.
struct FoldedWeight {
  std::string_view parameter = {};  ///< empty: folding not supported
  int first_axis = 0;               ///< first axis of the output channels
  int last_axis = 0;                ///< one past their last axis

  bool operator==(const FoldedWeight&) const = default;
};

/// How a class depends on the layout of Keras' values (channels_last,
/// channels_first, flattened features); determines the import of channels_first
/// files.
enum class KerasLayout {
  keras,        ///< requires channels_last
  image,        ///< has an option data_format
  flatten,      ///< has data_format and merges the axes of an image
  pointwise,    ///< elementwise, any layout
  features,     ///< one kernel row per feature of a sample: Dense
  axis,         ///< option `axis` is any axis: Concatenate, Softmax
  channels,     ///< option `axis` is the channel axis: BatchNormalization
  statistics,   ///< option `axis` lists axes with statistics: Normalization
  shared_axes,  ///< option `shared_axes` lists axes: PReLU
  constants,    ///< scale and offset may be lists along an axis: Rescaling
};

/// How Keras versions serialize a class.
struct KerasDef {
  /// An option with another name in older versions.
  struct Renamed {
    std::string_view old_name = {};  ///< empty: unused entry
    std::string_view name = {};      ///< in Keras 3 and in `create`
  };
  /// How the class depends on the layout; decides on channels_first files.
  KerasLayout layout = KerasLayout::keras;
  /// Alternative class names. Sources: keras_export of the layer classes in
  /// Keras 2 and 3; keras/legacy/layers.py of Keras 2.2;
  /// tensorflow/python/keras/layers of TensorFlow 1.13.
  std::array<std::string_view, 3> aliases = {};
  /// Options renamed since older versions. Sources: keras/layers of Keras
  /// 1.2.2; keras/legacy/layers.py of Keras 2.2.
  std::array<Renamed, 2> renamed = {};
  /// Whether the class has an option `activation`.
  bool has_activation = false;
  /// Converts options beyond renaming into the form that `create` accepts.
  /// Throws: UnsupportedError for unsupported options.
  void (*upgrade)(Config& config) = nullptr;
};

/// Registry entry of a class; every layer source ends with a definition.
struct LayerDef {
  std::string_view class_name;  ///< unique among all classes and aliases
  /// Creates a layer from its configuration.
  /// Throws: ValueError, NotFoundError for an invalid configuration.
  std::shared_ptr<Layer> (*create)(const Config& config);
  LayerRole role = LayerRole::other;  ///< for Q/DQ placement
  QdqDefault qdq = {};                ///< default: no quantize wrapper
  FoldedWeight folded = {};           ///< default: folding not supported
  KerasDef keras = {};                ///< names and layout in Keras files
};

/// Quantization inside a layer: of its weights, and of the intermediate tensor
/// between its two products. Training and export use the same hook, so they
/// cannot diverge.
class QuantizeHook {
 public:
  virtual ~QuantizeHook() = default;
  /// Returns the (fake-quantized) value of a parameter.
  virtual Variable weight(const Parameter& parameter) const = 0;
  /// Returns the parameter's quantization parameters for export, or nullopt if
  /// it stays float.
  virtual std::optional<QuantParams> qparams(
      const Parameter& parameter) const = 0;

  /// A Q/DQ pair of an exported graph.
  struct Pair {
    std::string name;     ///< of its nodes in the graph
    QuantParams qparams;  ///< per tensor
  };
  /// Returns the (fake-quantized) intermediate tensor `name`, see
  /// QdqDefault::intermediate.
  virtual Variable intermediate(std::string_view name,
                                const Variable& x) const = 0;
  /// Returns the Q/DQ pair behind that tensor for export, or nullopt.
  virtual std::optional<Pair> intermediate(std::string_view name) const = 0;
};

/// Mode and state of one forward pass.
struct ForwardContext {
  bool training = false;               ///< false: inference
  const QuantizeHook* hook = nullptr;  ///< null: no quantization
  /// In training, the random stream of this call; every call of every layer in
  /// every pass has a separate stream. Copy it to draw from it.
  const Rng* rng = nullptr;
  /// In training, receives the regularization losses of layer outputs, each [].
  std::vector<Variable>* regularization_losses = nullptr;

  /// Returns the parameter's value in this pass, fake-quantized by the hook if
  /// there is one.
  Variable read(const Parameter& parameter) const;
  /// Returns an intermediate tensor, likewise. `name` is that of
  /// QdqDefault::intermediate.
  Variable intermediate(std::string_view name, const Variable& x) const;
};

/// Dimensions of a convolution.
struct ConvolutionShape {
  Size2 kernel{1, 1};  ///< height and width; sequences have height 1
  int64_t in = 0;      ///< input channels
  int64_t out = 0;     ///< output channels
  int64_t groups = 1;  ///< divides both

  bool operator==(const ConvolutionShape&) const = default;
};

/// Sign of a layer's outputs, in training and inference. NaN has none.
enum class OutputSign {
  any,           ///< negative and positive
  of_inputs,     ///< never negative if no input is
  non_negative,  ///< never negative
};

/// When a layer returns its only input unchanged.
enum class Identity {
  never,
  in_inference,  ///< not in training: Dropout
  always,        ///< in training, too
};

/// Properties of a layer on which summaries, Q/DQ placement, folding and other
/// transformations of a graph depend. A quantize wrapper has those of the layer
/// that it wraps.
struct LayerFacts {
  LayerRole role = LayerRole::other;  ///< of the class (LayerDef)
  FoldedWeight folded = {};           ///< of the class (LayerDef)
  /// Keras' name of the final activation function: "relu" for a ReLU, an
  /// Activation("relu") and a Conv2D with that option. "linear" if there is
  /// none; empty if the function has no name in Keras (PReLU).
  std::string activation = "linear";
  OutputSign sign = OutputSign::any;    ///< of the values of the outputs
  Identity identity = Identity::never;  ///< for a single input
  /// Whether training updates moving statistics, as batch normalization does.
  /// forward() then respects statistics_frozen() and statistics_averaged().
  bool statistics = false;
  /// The convolutions that the layer consists of, in order.
  std::vector<ConvolutionShape> convolutions = {};
  int64_t multiply_adds = 0;  ///< per sample

  bool operator==(const LayerFacts&) const = default;
};

/// Base class of all layers. A class overrides class_name(), config(),
/// output_shape() and forward(); build() if it has parameters, and emit() for
/// the ONNX export.
class Layer {
 public:
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Name of the layer, empty until the user or a Model sets it ("conv2d_1").
  const std::string& name() const { return name_; }
  /// Sets the name, which must be unique in a model.
  void set_name(std::string name) { name_ = std::move(name); }

  /// Returns the name of the class, as in LayerDef: "Conv2D".
  virtual std::string class_name() const = 0;
  /// Returns the options from which `LayerDef::create` creates an equal layer;
  /// parameters are not included.
  virtual Config config() const = 0;

  /// Checks the input shapes and returns the output shape. The batch dimension
  /// is Shape::kAnySize. Throws: ShapeError, ValueError.
  virtual Shape output_shape(std::span<const Shape> inputs) const = 0;
  /// Creates the parameters. Called once, when the input shapes are known.
  virtual void build(std::span<const Shape>) {}
  /// Computes the output of inputs that fit output_shape(). Thread-safe under
  /// NoGradGuard.
  virtual Variable forward(const ForwardContext& context,
                           std::span<const Variable> inputs) const = 0;

  /// Exports the layer as ONNX nodes. Throws: UnsupportedError by default.
  virtual OnnxValue emit(EmitContext& context,
                         std::span<const OnnxValue> inputs) const;

  /// Returns an equal, unbuilt layer of the same name. `context` copies each
  /// object shared by several layers only once.
  virtual std::shared_ptr<Layer> clone(CloneContext& context) const;

  /// Returns the layer's properties for inputs of these shapes. May be called
  /// before build() and without shapes: `convolutions` is then empty,
  /// `multiply_adds` 0 and `identity` possibly never. Overrides call
  /// Layer::facts(inputs) and change fields; one that sets `activation` sets
  /// `sign`, too. By default: role and folded weight of the class, the field
  /// `activation` of config(), the sign of that function, for "linear"
  /// `of_inputs` if the role is movement or identity, and no effect in
  /// inference for LayerRole::identity. Throws: as config() and output_shape().
  virtual LayerFacts facts(std::span<const Shape> inputs) const;
  LayerFacts facts() const { return facts({}); }

  /// Sets whether training updates the parameters. A frozen layer computes no
  /// gradients for them and, as in Keras, keeps its statistics. Layers that
  /// share parameters are frozen together.
  virtual void set_trainable(bool trainable);
  /// Returns whether training updates the parameters.
  bool trainable() const;

  /// Sets whether the moving statistics (batch normalization) stay fixed and
  /// are used even in training. Ignored by layers without statistics
  /// (LayerFacts). Layers that share parameters are frozen together; clones
  /// preserve the mode.
  void freeze_statistics(bool frozen);
  /// Returns the argument of the latest freeze_statistics(); initially false.
  bool statistics_frozen() const { return shared_statistics()->frozen; }
  /// Switches moving statistics to the mean over all samples seen in training
  /// from now on (true) or back to momentum (false); see
  /// train::update_batch_statistics(). Returns whether the layer has statistics
  /// that training updates.
  bool average_statistics(bool averaged);
  /// Returns the name before wrapping; quantize wrappers add to it.
  virtual const std::string& original_name() const { return name_; }

  /// Returns whether the layer observes its values, as quantizers do in
  /// calibration; it then must run in one thread, in sample order.
  virtual bool observing() const { return false; }

  /// Returns a number that changes with all that inference depends on, except
  /// parameters; nullopt if it is unknown: Model::predict() then compiles the
  /// model in every call. Defaults to 0 for the classes of Octet.
  virtual std::optional<uint64_t> state_version() const;

  /// Returns the parameters, in order of declaration; none before the first
  /// call.
  std::span<const Parameter> parameters() const { return holder().parameters_; }
  /// Returns the quantizer scales that a quantize wrapper updates in training
  /// in addition to the parameters: "kernel/scale". Scales with gradients are
  /// trainable. Layers may share scales.
  virtual std::vector<Parameter> scale_parameters() const { return {}; }
  /// Returns the parameter `name`. Throws: NotFoundError with the names of all
  /// parameters.
  const Parameter& parameter(std::string_view name) const;
  /// Returns whether the layer was called, so that its parameters exist.
  bool built() const { return built_; }

  /// Returns "in layer 'conv1' (Conv2D)", for error contexts.
  std::string describe() const;

  // Called by graphs and models.
  /// Builds the layer at the first call.
  /// Throws: ShapeError if it has parameters and was built for another number
  /// of channels.
  void build_once(std::span<const Shape> inputs);
  /// Initializes every parameter, once, from substreams of `rng` named
  /// "layer/parameter". Thread-safe across the layers of a model.
  virtual void initialize_once(const Rng& rng);
  /// Copies the parameter values of an equal layer and its trainable and
  /// frozen-statistics flags.
  virtual void copy_parameters(const Layer& from);
  /// Sets the parameters of a built layer, in order, instead of initializing
  /// them. Throws: ShapeError.
  void set_parameters(std::span<const Tensor> values);
  /// Shares the parameters and frozen flags of an equal layer.
  virtual void share_parameters(const Layer& from);
  /// Treatment of moving statistics, shared by layers that share parameters.
  struct StatisticsMode {
    bool frozen = false;                   ///< set by freeze_statistics()
    std::optional<int64_t> averaged = {};  ///< samples so far, if averaged
  };
  /// Returns the treatment, for share_parameters(). Never null.
  const std::shared_ptr<StatisticsMode>& shared_statistics() const {
    return holder().statistics_;
  }

 protected:
  Layer() = default;

  /// Declares a parameter, which is initialized later, when the model is named.
  /// Returns its index in parameters().
  size_t add_parameter(std::string name, const Shape& shape,
                       const ParameterOptions& options = {});
  /// Returns the parameter of an index returned by add_parameter().
  const Parameter& at(size_t index) const { return parameters_[index]; }
  /// Returns the layer that holds the parameters and statistics; a wrapper
  /// returns the layer that it wraps.
  virtual const Layer& holder() const { return *this; }
  /// Number of samples in averaged statistics; nullopt: momentum. Shared with
  /// layers that share this layer's parameters.
  std::optional<int64_t>& statistics_averaged() const {
    return statistics_->averaged;
  }

 private:
  struct Pending {
    Initializer initializer;  ///< see ParameterOptions
    int64_t fan_in;           ///< see ParameterOptions
    int64_t fan_out;          ///< see ParameterOptions
    bool unfilled;            ///< see SkipInit
    int64_t first_one;        ///< see ParameterOptions
    int64_t ones;             ///< see ParameterOptions
  };

  std::string name_;
  std::vector<Shape> built_for_;  // input shapes of the first call
  bool built_ = false;
  bool initialized_ = false;
  bool trainable_ = true;
  std::shared_ptr<StatisticsMode> statistics_ =
      std::make_shared<StatisticsMode>();
  std::vector<Parameter> parameters_;
  std::vector<Pending> pending_;
};

}  // namespace octet
