// Layer: base class of all layers: parameters, shapes, forward computation,
// configuration and ONNX export. Graph nodes share the layers they call; a
// Model owns its layers jointly with other models. A built layer may run in
// several threads at once under NoGradGuard.
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

/// Dimensions of a convolution.
struct ConvolutionShape {
  Size2 kernel{1, 1};
  int64_t in = 0;  ///< input channels
  int64_t out = 0;
  int64_t groups = 1;
};

class Layer {
 public:
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Empty until the user or a Model sets it ("conv2d_1").
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// "Conv2D", ...
  virtual std::string class_name() const = 0;
  /// Returns the options from which `LayerDef::create` creates an equal layer;
  /// parameters are not included.
  virtual Config config() const = 0;

  /// Checks the input shapes and returns the output shape. The batch dimension
  /// is Shape::kAnySize. Throws: ShapeError, ValueError.
  virtual Shape output_shape(std::span<const Shape> inputs) const = 0;
  /// Creates the parameters. Called once, when the input shapes are known.
  virtual void build(std::span<const Shape>) {}
  virtual Variable forward(const ForwardContext& context,
                           std::span<const Variable> inputs) const = 0;

  /// Exports the layer as ONNX nodes. Throws: UnsupportedError by default.
  virtual OnnxValue emit(EmitContext& context,
                         std::span<const OnnxValue> inputs) const;

  /// Returns an equal, unbuilt layer of the same name. `context` copies each
  /// object shared by several layers only once.
  virtual std::shared_ptr<Layer> clone(CloneContext& context) const;

  /// Returns Keras' name of the layer's final activation function: "relu" for a
  /// ReLU, an Activation("relu") and a Conv2D with that option. "linear" if
  /// there is none; empty if the function has no name in Keras (PReLU).
  /// Defaults to the field `activation` of config().
  virtual std::string activation() const;
  /// Returns the LayerDef::role of the class; `other` if it is not registered.
  LayerRole role() const;
  /// Returns whether the layer forwards its only input, of shape `input`,
  /// unchanged: in inference, or with `training` in both modes. Defaults to
  /// true in inference for LayerRole::identity.
  virtual bool is_identity(const Shape& input, bool training) const;
  /// Returns the convolutions that the layer consists of, in order.
  virtual std::vector<ConvolutionShape> convolutions() const { return {}; }
  /// Returns the number of multiply-adds per sample.
  virtual int64_t multiply_adds(std::span<const Shape>) const { return 0; }

  /// Sets whether training updates the parameters. A frozen layer computes no
  /// gradients for them and, as in Keras, keeps its statistics. Layers that
  /// share parameters are frozen together.
  virtual void set_trainable(bool trainable);
  virtual bool trainable() const;

  /// Sets whether the moving statistics (batch normalization) stay fixed and
  /// are used even in training. Ignored by layers without statistics. Layers
  /// with statistics store it in statistics_flag(), so that layers with shared
  /// parameters are frozen together and clones preserve it.
  virtual void freeze_statistics(bool) {}
  virtual bool statistics_frozen() const { return false; }
  /// Switches moving statistics to the mean over all samples seen in training
  /// from now on (true) or back to momentum (false); see
  /// train::update_batch_statistics(). Returns whether the layer has statistics
  /// that training updates. Layers with statistics store it in
  /// statistics_averaged().
  virtual bool average_statistics(bool) { return false; }
  /// Returns the name before wrapping; quantize wrappers add to it.
  virtual const std::string& original_name() const { return name_; }

  /// Returns whether the outputs are never negative, in training and inference,
  /// given whether the inputs are never negative. Defaults to the property of
  /// activation(); for "linear", to that of the inputs if the layer's role is
  /// movement or identity.
  virtual bool is_non_negative(bool inputs) const;

  /// Returns whether the layer observes its values, as quantizers do in
  /// calibration; it then must run in one thread, in sample order.
  virtual bool observing() const { return false; }

  /// Returns a number that changes with all that inference depends on, except
  /// parameters; nullopt if it is unknown: Model::predict() then compiles the
  /// model in every call. Defaults to 0 for the classes of Octet.
  virtual std::optional<uint64_t> state_version() const;

  virtual std::span<const Parameter> parameters() const { return parameters_; }
  /// Returns the quantizer scales that a quantize wrapper updates in training
  /// in addition to the parameters: "kernel/scale". Scales with gradients are
  /// trainable. Layers may share scales.
  virtual std::vector<Parameter> scale_parameters() const { return {}; }
  /// Returns the parameter `name`. Throws: NotFoundError with the names of all
  /// parameters.
  const Parameter& parameter(std::string_view name) const;
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
    bool frozen = false;
    std::optional<int64_t> averaged = {};  ///< samples so far, if averaged
  };
  virtual const std::shared_ptr<StatisticsMode>& shared_statistics() const {
    return statistics_;
  }

 protected:
  Layer() = default;

  /// Declares a parameter, which is initialized later, when the model is named.
  /// Returns its index in parameters().
  size_t add_parameter(std::string name, const Shape& shape,
                       const ParameterOptions& options = {});
  const Parameter& at(size_t index) const { return parameters_[index]; }
  /// The flag, shared with layers that share this layer's parameters.
  bool& statistics_flag() const { return statistics_->frozen; }
  std::optional<int64_t>& statistics_averaged() const {
    return statistics_->averaged;
  }

 private:
  struct Pending {
    Initializer initializer;
    int64_t fan_in;
    int64_t fan_out;
    bool unfilled;  // see SkipInit
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
