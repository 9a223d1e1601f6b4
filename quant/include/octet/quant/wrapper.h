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

/// A quantizer on an activation: at an input of a layer, inside it, or behind
/// it.
struct QuantStub {
  QdqSite site;
  std::shared_ptr<Quantizer> quantizer;
  std::string rule;  ///< see QdqPoint
  std::string reason;
};

/// A quantizer on a weight.
struct WeightFakeQuantize {
  std::string parameter;
  std::shared_ptr<Quantizer> quantizer;
  std::string rule;
  std::string reason;
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
  void attach(const QdqSite& site, std::shared_ptr<Quantizer> quantizer,
              std::string rule = "", std::string reason = "");

  const Layer& inner() const { return *inner_; }
  /// Inputs in ascending order, then the inner tensor, then the output.
  std::span<const QuantStub> stubs() const { return stubs_; }
  std::span<const WeightFakeQuantize> weights() const { return weights_; }

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
  std::vector<QuantStub> stubs_;
  std::vector<WeightFakeQuantize> weights_;
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

/// The wrapper behind a layer, or null.
const BaseQuantizeWrapper* as_wrapper(const Layer& layer);

/// Each quantizer of a model once, in the model's order.
std::vector<std::shared_ptr<Quantizer>> quantizers(const Model& model);

/// The quantizers on activations, one entry an edge, and on weights: for
/// counting. Readers of one tensor have an entry each and share a quantizer.
std::vector<QuantStub> quant_stubs(const Model& model);
std::vector<WeightFakeQuantize> weight_fake_quantizes(const Model& model);

}  // namespace octet::quant
