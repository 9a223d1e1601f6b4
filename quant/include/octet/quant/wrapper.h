// Quantize wrappers: layers around layers. A wrapper fake-quantizes what its
// inner layer reads, hands it quantized weights through the weight hook and
// never changes it. Which sites of a layer get Q/DQ is known of its class
// (wrapper_registry.h); users may derive wrappers of their own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/qdq_site.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// A quantizer at a layer: on an activation (the pattern route's QuantStub) or
/// on a weight (its WeightFakeQuantize).
struct PlacedQuantizer : PlacedSite {
  std::shared_ptr<Quantizer> quantizer;
};

class BaseQuantizeWrapper : public Layer {
 public:
  /// Throws: ValueError if `inner` is null or a wrapper itself.
  explicit BaseQuantizeWrapper(std::shared_ptr<Layer> inner);

  /// What register_wrapper() of a class takes from it; derived classes hide it
  /// with their own.
  static QdqSites sites() { return {.inputs = 0}; }

  /// Puts a quantizer at a site, in place of one that is there. An index,
  /// parameter or inner tensor that the layer does not have is refused when it
  /// is called.
  /// Throws: ValueError for no quantizer or a negative index; UnsupportedError
  /// for a live or per-channel scale on an activation.
  void attach(PlacedSite site, std::shared_ptr<Quantizer> quantizer);

  const Layer& inner() const { return *inner_; }
  /// activations(), then weights().
  std::span<const PlacedQuantizer> quantizers() const { return quantizers_; }
  /// Inputs in ascending order, then the inner tensor, then the output.
  std::span<const PlacedQuantizer> activations() const;
  /// As they were attached.
  std::span<const PlacedQuantizer> weights() const;
  /// Null where there is none.
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
  /// Writes Q/DQ for every quantizer, switched on or off.
  /// Throws: ValueError naming a quantizer that is not calibrated.
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override;
  /// A wrapper of the class that is registered for the inner layer's.
  std::shared_ptr<Layer> clone(CloneContext& context) const override;
  std::string activation() const override;
  std::vector<ConvolutionShape> convolutions() const override;
  int64_t multiply_adds(std::span<const Shape> inputs) const override;
  void freeze_statistics(bool frozen) override;
  bool statistics_frozen() const override;
  bool average_statistics(bool averaged) override;
  const std::string& original_name() const override { return inner_->name(); }
  bool observing() const override;
  const std::shared_ptr<StatisticsMode>& shared_statistics() const override;
  /// Its quantizers' scales, too, those that others share among them.
  void set_trainable(bool trainable) override;
  bool trainable() const override;
  std::span<const Parameter> parameters() const override;
  std::vector<Parameter> moving_scales() const override;

 private:
  std::shared_ptr<Layer> inner_;
  std::vector<PlacedQuantizer> quantizers_;
  size_t weights_ = 0;  // of them, at the end
};

/// For layers without weights: their first input.
class NonWeightedBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  static QdqSites sites() { return {}; }
};

/// For layers with weights: their first input and the kernel.
class WeightedBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  static QdqSites sites() { return {.weights = {"kernel"}}; }
};

/// For layers that join tensors: each of their inputs.
class MultiInputBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  static QdqSites sites() { return {.inputs = QdqSites::kEveryInput}; }
};

/// The layer as a wrapper, or null.
const BaseQuantizeWrapper* as_wrapper(const Layer& layer);
/// The layer in a wrapper, or the layer itself.
const Layer& float_layer(const Layer& layer);
/// What the outputs are called, in the model's order: the layers that make
/// them, without wrappers.
std::vector<std::string> output_names(const Model& model);

/// Each quantizer of a model once, in the model's order. Those of a const Model
/// are const.
std::vector<std::shared_ptr<Quantizer>> quantizers(Model& model);
std::vector<std::shared_ptr<const Quantizer>> quantizers(const Model& model);

/// The quantizers on activations, one entry an edge, and on weights: for
/// counting. Readers of one tensor have an entry each and share a quantizer.
std::vector<PlacedQuantizer> activation_quantizers(const Model& model);
std::vector<PlacedQuantizer> weight_quantizers(const Model& model);

}  // namespace octet::quant
