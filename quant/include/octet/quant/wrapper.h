// QuantizeWrapper: a layer around a layer. It fake-quantizes the inputs and
// hands the inner layer quantized weights through the weight hook; the inner
// layer itself is never changed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

class QuantizeWrapper final : public Layer {
 public:
  struct Input {
    int index;
    std::shared_ptr<Quantizer> quantizer;
    std::string reason;
  };
  struct Weight {
    std::string parameter;
    std::shared_ptr<Quantizer> quantizer;
    std::string reason;
  };

  /// Throws: ValueError if `inner` is null or a wrapper itself, a quantizer is
  /// null or an index negative; UnsupportedError for an input quantizer that
  /// is live or per channel. An index or parameter that the layer does not
  /// have is refused when it is called.
  QuantizeWrapper(std::shared_ptr<Layer> inner, std::vector<Input> inputs,
                  std::vector<Weight> weights);

  const Layer& inner() const { return *inner_; }
  std::span<const Input> inputs() const { return inputs_; }
  std::span<const Weight> weights() const { return weights_; }

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
  std::shared_ptr<Layer> clone(CloneContext& context) const override;
  int64_t multiply_adds(std::span<const Shape> inputs) const override;
  void freeze_statistics(bool frozen) override;
  void set_trainable(bool trainable) override;
  bool trainable() const override;
  std::span<const Parameter> parameters() const override;

 private:
  std::shared_ptr<Layer> inner_;
  std::vector<Input> inputs_;
  std::vector<Weight> weights_;
};

/// The wrapper behind a layer, or null.
const QuantizeWrapper* as_wrapper(const Layer& layer);

/// Each quantizer of a model once, in the model's order.
std::vector<std::shared_ptr<Quantizer>> quantizers(const Model& model);

}  // namespace octet::quant
