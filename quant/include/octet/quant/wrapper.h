// Quantize wrappers: layers around layers. A wrapper fake-quantizes what its
// inner layer reads, hands it quantized weights through the weight hook and
// never changes it. The classes differ in the sites they give Q/DQ when asked;
// users derive their own and register them (wrapper_registry.h).
#pragma once

#include <memory>
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

  /// The sites that get Q/DQ on a request, of a layer that reads `inputs`
  /// tensors. None, unless a derived class says otherwise.
  /// Throws: ValueError for an index out of range.
  virtual std::vector<QdqSite> sites(const QdqRequest& request,
                                     int inputs) const;

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
  bool observing() const override;
  const std::shared_ptr<bool>& shared_statistics_flag() const override;
  void set_trainable(bool trainable) override;
  bool trainable() const override;
  std::span<const Parameter> parameters() const override;

 private:
  std::shared_ptr<Layer> inner_;
  std::vector<PlacedQuantizer> quantizers_;
  size_t weights_ = 0;  // of them, at the end
};

/// For layers without weights: their first input.
class NonWeightedBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  std::vector<QdqSite> sites(const QdqRequest& request,
                             int inputs) const override;
};

/// For layers with weights: their first input, what stands between two of
/// their products, and the weights.
class WeightedBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  /// `kernel_type` names the Parameter that is quantized, `more` further ones.
  explicit WeightedBaseQuantizeWrapper(std::shared_ptr<Layer> inner,
                                       std::string kernel_type = "kernel",
                                       std::vector<std::string> more = {});
  std::vector<QdqSite> sites(const QdqRequest& request,
                             int inputs) const override;

 private:
  std::vector<std::string> kernel_types_;
};

/// For layers that join tensors: each of their inputs, or those of the
/// request's indices.
class MultiInputBaseQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  std::vector<QdqSite> sites(const QdqRequest& request,
                             int inputs) const override;
};

/// The layer as a wrapper, or null.
const BaseQuantizeWrapper* as_wrapper(const Layer& layer);
/// The layer in a wrapper, or the layer itself.
const Layer& float_layer(const Layer& layer);

/// Each quantizer of a model once, in the model's order.
std::vector<std::shared_ptr<Quantizer>> quantizers(const Model& model);

/// The quantizers on activations, one entry an edge, and on weights: for
/// counting. Readers of one tensor have an entry each and share a quantizer.
std::vector<PlacedQuantizer> activation_quantizers(const Model& model);
std::vector<PlacedQuantizer> weight_quantizers(const Model& model);

}  // namespace octet::quant
