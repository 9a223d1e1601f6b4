// Layer: one box of a network: its parameters, shapes, forward computation,
// configuration and ONNX form. Layers are shared by the graph nodes that call
// them; Model owns them together. A built layer may run in several threads
// at once under NoGradGuard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/initializer.h>
#include <octet/layers/regularizer.h>
#include <octet/runtime/config.h>
#include <octet/runtime/grid.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

class Layer;
class EmitContext;
struct OnnxValue;

/// A convolution's kernel, seen by its sizes.
struct ConvolutionShape {
  Size2 kernel{1, 1};
  int64_t in = 0;  ///< channels
  int64_t out = 0;
  int64_t groups = 1;
};

/// A tensor that belongs to a layer, under its Keras name.
struct Parameter {
  std::string name;       ///< "kernel", "bias", "gamma", "moving_mean", ...
  Variable variable;      ///< a leaf; updates write into it
  bool trainable = true;  ///< false: a statistic, not moved by gradients
  int channel_axis = -1;  ///< axis of the output channels, for quantization
  Regularizer regularizer = {};  ///< see Model::regularization_loss()
};

/// What a layer says of a parameter when it declares one.
struct ParameterOptions {
  Initializer initializer = {};
  bool trainable = true;
  int64_t fan_in = 0;  ///< inputs of one unit, for the initializer
  int64_t fan_out = 0;
  Regularizer regularizer = {};
  int channel_axis = -1;
};

/// What a quantize wrapper puts inside a layer: between it and its weights,
/// and between two products of its own. Training and export ask the same
/// object, so the two cannot drift apart.
class QuantizeHook {
 public:
  virtual ~QuantizeHook() = default;
  /// The grid a parameter is rounded to, or nothing.
  virtual std::optional<Grid> grid(const Parameter& parameter) const = 0;

  /// A Q/DQ pair in an exported file.
  struct Pair {
    std::string name;
    Grid grid;
  };
  /// The tensor `name` of QdqDefault::inner, as the layer goes on with it.
  virtual Variable inner(std::string_view name, const Variable& x) const = 0;
  /// The pair behind that tensor in a file, or nothing.
  virtual std::optional<Pair> inner(std::string_view name) const = 0;
};

/// How one forward pass runs.
struct ForwardContext {
  bool training = false;
  const QuantizeHook* hook = nullptr;
  /// In training, a stream of this call's own: another one for each call of
  /// each layer in each pass. Copy it to draw from it.
  const Rng* rng = nullptr;
  /// In training, where layers add regularization losses of their outputs: [].
  std::vector<Variable>* regularization_losses = nullptr;

  /// The parameter as this pass sees it: fake-quantized if a hook says so.
  Variable read(const Parameter& parameter) const;
  /// A tensor between two products of the layer, likewise. Its name is that of
  /// QdqDefault::inner.
  Variable inner(std::string_view name, const Variable& x) const;
};

/// The copies made so far while a model is cloned: layers that share an
/// object before share its copy afterwards.
class CloneContext {
 public:
  /// The copy of `original`, made by `copy()` at its first use.
  template <class T, class Copy>
  std::shared_ptr<T> shared(const T& original, Copy copy) {
    std::shared_ptr<void>& slot = copies_[&original];
    if (slot == nullptr) slot = std::shared_ptr<T>(copy());
    return std::static_pointer_cast<T>(slot);
  }

 private:
  std::map<const void*, std::shared_ptr<void>> copies_;
};

/// While it lives, the layers that this thread builds may declare parameters
/// of `elements` in all; more are refused before memory is taken. For graphs
/// that come from files.
class ParameterLimit {
 public:
  explicit ParameterLimit(int64_t elements);
  ~ParameterLimit();
  ParameterLimit(const ParameterLimit&) = delete;
  ParameterLimit& operator=(const ParameterLimit&) = delete;

 private:
  friend class Layer;
  static void take(const Shape& shape);

  int64_t left_;
  ParameterLimit* before_;
};

class Layer {
 public:
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Empty until a Model names it ("conv2d_1") or the user does.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// "Conv2D", ...
  virtual std::string class_name() const = 0;
  /// Everything needed to create an equal layer; what `LayerDef::create`
  /// takes. Parameters are not part of it.
  virtual Config config() const = 0;

  /// Checks the inputs and returns the output's shape. The batch is
  /// Shape::kAnySize. Throws: ShapeError, ValueError.
  virtual Shape output_shape(std::span<const Shape> inputs) const = 0;
  /// Creates the parameters, once, when the input shapes are known.
  virtual void build(std::span<const Shape>) {}
  virtual Variable forward(const ForwardContext& context,
                           std::span<const Variable> inputs) const = 0;

  /// Writes the layer as ONNX nodes. Throws: UnsupportedError by default.
  virtual OnnxValue emit(EmitContext& context,
                         std::span<const OnnxValue> inputs) const;

  /// An equal layer of the same name, not yet built. Objects that several
  /// layers share are copied once, through `context`.
  virtual std::shared_ptr<Layer> clone(CloneContext& context) const;

  /// The function at its end, by Keras' name: "relu" of a Conv2D with that
  /// option, of an Activation and of a ReLU. "linear" if there is none, empty
  /// if it has no name there, as PReLU. By default the field `activation` of
  /// config().
  virtual std::string activation() const;
  /// Whether it hands its only input, of that shape, on as it is in inference,
  /// or in training as well.
  virtual bool is_identity(const Shape& input, bool training) const;
  /// The convolutions it consists of, in order; none by default.
  virtual std::vector<ConvolutionShape> convolutions() const { return {}; }
  /// Multiply-adds of one sample.
  virtual int64_t multiply_adds(std::span<const Shape>) const { return 0; }

  /// Whether training moves the parameters. A frozen layer takes no
  /// gradients for them and, as in Keras, its statistics stay as they are.
  /// Layers that share parameters are frozen together.
  virtual void set_trainable(bool trainable);
  virtual bool trainable() const;

  /// Whether running statistics (batch normalization) are kept as they are
  /// and used even in training. Layers without any ignore it; those with keep
  /// it in statistics_flag(), so that layers that share parameters are frozen
  /// together and copies as their originals.
  virtual void freeze_statistics(bool) {}
  virtual bool statistics_frozen() const { return false; }

  /// Whether it collects something of the values it sees, as quantizers do in
  /// calibration: then they are to be seen by one thread, in order.
  virtual bool observing() const { return false; }

  virtual std::span<const Parameter> parameters() const { return parameters_; }
  /// Throws: NotFoundError listing the parameters there are.
  const Parameter& parameter(std::string_view name) const;
  bool built() const { return built_; }

  /// "in layer 'conv1' (Conv2D)", for messages.
  std::string describe() const;

  // For graphs and models.
  /// Throws: ShapeError if the layer has parameters and was built for another
  /// number of channels.
  void build_once(std::span<const Shape> inputs);
  /// Gives every parameter its first value, once; the streams of `rng` are
  /// named by layer and parameter. The layers of a model may be at it at once.
  virtual void initialize_once(const Rng& rng);
  /// Copies the parameter values of an equal layer, and whether it is
  /// trainable and its statistics are frozen.
  virtual void copy_parameters(const Layer& from);
  /// Gives the parameters of a built layer their values, in order;
  /// initializers have no say then. Throws: ShapeError.
  void set_parameters(std::span<const Tensor> values);
  /// Takes the very parameters of an equal layer, to have them and what is
  /// frozen in common.
  virtual void share_parameters(const Layer& from);
  virtual const std::shared_ptr<bool>& shared_statistics_flag() const {
    return statistics_frozen_;
  }

 protected:
  Layer() = default;

  /// Declares a parameter; it gets its first value later, when the model is
  /// named. Returns its index in parameters().
  size_t add_parameter(std::string name, const Shape& shape,
                       const ParameterOptions& options = {});
  const Parameter& at(size_t index) const { return parameters_[index]; }
  /// The layer's own, or that of the layer whose parameters it has.
  bool& statistics_flag() const { return *statistics_frozen_; }

 private:
  struct Pending {
    Initializer initializer;
    int64_t fan_in;
    int64_t fan_out;
  };

  std::string name_;
  std::vector<Shape> built_for_;  // inputs of the first call
  bool built_ = false;
  bool initialized_ = false;
  bool trainable_ = true;
  std::shared_ptr<bool> statistics_frozen_ = std::make_shared<bool>(false);
  std::vector<Parameter> parameters_;
  std::vector<Pending> pending_;
};

}  // namespace octet
