// Layer: one box of a network: its parameters, shapes, forward computation,
// configuration and ONNX form. Layers are shared by the graph nodes that call
// them; Model owns them together. A built layer may run in several threads
// at once under NoGradGuard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/clone_context.h>
#include <octet/layers/forward_context.h>
#include <octet/layers/layer_def.h>
#include <octet/layers/parameter.h>
#include <octet/runtime/config.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

class EmitContext;
struct OnnxValue;

/// A convolution's kernel, seen by its sizes.
struct ConvolutionShape {
  Size2 kernel{1, 1};
  int64_t in = 0;  ///< channels
  int64_t out = 0;
  int64_t groups = 1;
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
  /// LayerDef::role of its class; `other` if that is not registered.
  LayerRole role() const;
  /// Whether it hands its only input, of that shape, on as it is in inference,
  /// or in training as well. By default in inference, for LayerRole::identity.
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
  /// From now on running statistics are the means over the samples that the
  /// layer sees in training, or move with its momentum again: see
  /// train::update_batch_statistics(). Returns whether the layer has any that
  /// training moves. Layers with statistics keep it in statistics_averaged().
  virtual bool average_statistics(bool) { return false; }
  /// The name it was given before it got a wrapper, which adds to it.
  virtual const std::string& original_name() const { return name_; }

  /// Whether no value it gives can be negative, in training too, where those
  /// of its inputs cannot (`inputs`). By default as its activation() says;
  /// where that is linear, as the inputs of layers that move values or hand
  /// them on.
  virtual bool is_non_negative(bool inputs) const;

  /// Whether it collects something of the values it sees, as quantizers do in
  /// calibration: then they are to be seen by one thread, in order.
  virtual bool observing() const { return false; }

  virtual std::span<const Parameter> parameters() const { return parameters_; }
  /// What a quantize wrapper moves in training beside the parameters: the
  /// scales of its quantizers, "kernel/scale". Those that gradients move are
  /// trainable. Layers may have some in common.
  virtual std::vector<Parameter> moving_scales() const { return {}; }
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
  /// How running statistics are treated, by all layers that have them.
  struct StatisticsMode {
    bool frozen = false;
    std::optional<int64_t> averaged = {};  ///< samples, where they are averaged
  };
  virtual const std::shared_ptr<StatisticsMode>& shared_statistics() const {
    return statistics_;
  }

 protected:
  Layer() = default;

  /// Declares a parameter; it gets its first value later, when the model is
  /// named. Returns its index in parameters().
  size_t add_parameter(std::string name, const Shape& shape,
                       const ParameterOptions& options = {});
  const Parameter& at(size_t index) const { return parameters_[index]; }
  /// The layer's own, or that of the layer whose parameters it has.
  bool& statistics_flag() const { return statistics_->frozen; }
  std::optional<int64_t>& statistics_averaged() const {
    return statistics_->averaged;
  }

 private:
  struct Pending {
    Initializer initializer;
    int64_t fan_in;
    int64_t fan_out;
    bool unfilled;  // see UnfilledParameters
  };

  std::string name_;
  std::vector<Shape> built_for_;  // inputs of the first call
  bool built_ = false;
  bool initialized_ = false;
  bool trainable_ = true;
  std::shared_ptr<StatisticsMode> statistics_ =
      std::make_shared<StatisticsMode>();
  std::vector<Parameter> parameters_;
  std::vector<Pending> pending_;
};

}  // namespace octet
