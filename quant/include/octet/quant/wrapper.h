// Quantize wrappers, and their registry.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/spec.h>

namespace octet::quant {

// Quantize wrappers: layers that wrap a layer. The registry has the sites of
// each class. Users may derive custom wrappers.

/// A quantizer of a layer, on an activation (QuantStub in the pattern route) or
/// a weight (WeightFakeQuantize).
struct PlacedQuantizer {
  QdqSite site;                          ///< position at the layer
  std::shared_ptr<Quantizer> quantizer;  ///< never null in a wrapper
  std::string rule = {};                 ///< as QdqPoint::rule
  std::string reason = {};               ///< explanation for users
};

/// A layer that wraps another. It fake-quantizes the inner layer's inputs and
/// output, passes quantized weights to it through the weight hook
/// (QuantizeHook) and never changes it.
class BaseQuantizeWrapper : public Layer {
 public:
  /// Wraps `inner`, without quantizers.
  /// Throws: ValueError if `inner` is null or a wrapper itself.
  explicit BaseQuantizeWrapper(std::shared_ptr<Layer> inner);

  /// The sites that register_wrapper<Wrapper>() uses; hidden by derived
  /// classes.
  static QdqSites sites() { return {.inputs = 0}; }

  /// Adds or replaces the quantizer at a site. Indices and names that the layer
  /// lacks are detected when it runs.
  /// Throws: ValueError for a null quantizer or a negative index;
  /// UnsupportedError for a live or per-channel scale on an activation, and for
  /// an unsigned range or a rule of activations on a weight.
  void attach(PlacedQuantizer placed);

  /// Returns the wrapped layer.
  const Layer& inner() const { return *inner_; }
  /// Returns activations(), then weights().
  std::span<const PlacedQuantizer> quantizers() const { return quantizers_; }
  /// Returns the quantizers of inputs by index, of the intermediate tensor and
  /// of the output.
  std::span<const PlacedQuantizer> activations() const;
  /// Returns the quantizers of weights, in order of attachment.
  std::span<const PlacedQuantizer> weights() const;
  /// Returns the quantizer at a site, or null if there is none.
  const PlacedQuantizer* find(const QdqSite& site) const;

  /// "<Class>QuantizeWrapper".
  std::string class_name() const override;
  Config config() const override;
  Shape output_shape(std::span<const Shape> inputs) const override;
  void build(std::span<const Shape> inputs) override;
  void initialize_once(const Rng& rng) override;
  void copy_parameters(const Layer& from) override;
  void share_parameters(const Layer& from) override;
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override;
  /// Emits Q/DQ for every quantizer, enabled or not.
  /// Throws: ValueError naming a quantizer that is not calibrated.
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override;
  /// Returns a wrapper of the class registered for the inner layer.
  std::shared_ptr<Layer> clone(CloneContext& context) const override;
  using Layer::facts;
  /// Returns the facts of the wrapped layer. With quantizers it is no identity.
  LayerFacts facts(std::span<const Shape> inputs) const override;
  const std::string& original_name() const override { return inner_->name(); }
  bool observing() const override;
  std::optional<uint64_t> state_version() const override;
  /// Includes the scales of its quantizers, shared ones too.
  void set_trainable(bool trainable) override;
  std::vector<Parameter> scale_parameters() const override;

 protected:
  const Layer& holder() const override { return *inner_; }

 private:
  std::shared_ptr<Layer> inner_;
  std::vector<PlacedQuantizer> quantizers_;
  size_t weights_ = 0;     // number of weight quantizers, at the end
  uint64_t attached_ = 0;  // number of calls of attach()
};

/// For layers without weights: the first input.
class NonWeightedBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  /// Returns input 0.
  static QdqSites sites() { return {}; }
};

/// For layers with weights: the first input and the kernel.
class WeightedBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  /// Returns input 0 and the kernel.
  static QdqSites sites() { return {.weights = {"kernel"}}; }
};

/// For layers that combine tensors: every input.
class MultiInputBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  /// Returns all inputs.
  static QdqSites sites() { return {.inputs = QdqSites::kEveryInput}; }
};

/// Returns the layer as a wrapper, or null.
const BaseQuantizeWrapper* as_wrapper(const Layer& layer);
/// Returns the wrapped layer, or the layer itself.
const Layer& float_layer(const Layer& layer);
/// Returns the output names, in the model's order: the names of the producing
/// layers, without wrappers.
std::vector<std::string> output_names(const Model& model);

/// Returns each quantizer of a model once, in the model's order.
std::vector<std::shared_ptr<Quantizer>> quantizers(Model& model);
std::vector<std::shared_ptr<const Quantizer>> quantizers(const Model& model);
/// Returns whether the model has quantizers, enabled or not.
bool is_quantized(const Model& model);

/// Return the quantizers on activations, an entry per edge, and on weights.
/// Consumers of a tensor have separate entries with a shared quantizer.
std::vector<PlacedQuantizer> activation_quantizers(const Model& model);
std::vector<PlacedQuantizer> weight_quantizers(const Model& model);

// Registry of wrapper classes: one for each layer class with a quantizable
// LayerDef, and user-defined ones.

/// Definition of a custom wrapper.
struct WrapperDef {
  /// "<Class>QuantizeWrapper". Keras aliases count too:
  /// GlobalMaxPool2DQuantizeWrapper wraps GlobalMaxPooling2D.
  std::string name;
  QdqSites sites = {};  ///< positions of Q/DQ
  /// Factory of the wrapper, which must wrap the given layer. Default: creates
  /// a BaseQuantizeWrapper.
  std::function<std::shared_ptr<BaseQuantizeWrapper>(std::shared_ptr<Layer>)>
      create = {};
  bool enabled = true;   ///< whether full mode quantizes the class
  bool replace = false;  ///< allow replacing the wrapper of the class
};

/// Adds a custom wrapper. Not thread-safe; call it before use.
/// Throws: ValueError for a name that breaks the convention, or a class with a
/// wrapper unless `replace` is set; UnsupportedError, with similar names, for
/// an unknown layer class.
void register_wrapper(WrapperDef def);

/// Registers a wrapper class with its sites and constructor:
/// register_wrapper<MyLayerQuantizeWrapper>({.name =
/// "MyLayerQuantizeWrapper"}).
template <class Wrapper>
void register_wrapper(WrapperDef def) {
  def.sites = Wrapper::sites();
  def.create = [](std::shared_ptr<Layer> inner) {
    return std::make_shared<Wrapper>(std::move(inner));
  };
  register_wrapper(std::move(def));
}

/// Quantization of a layer class, from its LayerDef or a user's wrapper.
struct WrapperInfo {
  std::string name;                ///< "Conv2DQuantizeWrapper"
  std::string layer_class;         ///< "Conv2D"
  QdqSites sites = {.inputs = 0};  ///< positions of Q/DQ
  bool enabled = false;       ///< default in full mode; policies have rules
  bool user_defined = false;  ///< whether register_wrapper() added it
};

/// Returns all wrappers, Octet's first, each group sorted by name.
std::vector<WrapperInfo> wrapper_infos();
/// Looks up a layer class by name or alias; the result's name is empty if there
/// is no wrapper.
WrapperInfo wrapper_info(std::string_view layer_class);

/// Wraps a layer with the wrapper registered for its class, or with a
/// BaseQuantizeWrapper. Quantizers can be attached to any site.
/// Throws: ValueError for a null pointer, or if the factory of a custom wrapper
/// does not wrap `inner`; as BaseQuantizeWrapper().
std::shared_ptr<BaseQuantizeWrapper> make_wrapper(std::shared_ptr<Layer> inner);

/// Returns the sites of a layer with `inputs` inputs selected by a request;
/// empty if its class has no wrapper.
/// Throws: as QdqSites::select().
std::vector<QdqSite> sites_of(const Layer& layer, const QdqRequest& request,
                              int inputs);

/// Returns the name of the layer's intermediate tensor
/// (QdqDefault::intermediate); empty if there is none.
std::string_view intermediate_tensor(const Layer& layer);
/// Checks that `tensor` is the name of the layer's intermediate tensor.
/// Throws: NotFoundError otherwise.
void expect_intermediate(const Layer& layer, std::string_view tensor);

}  // namespace octet::quant
