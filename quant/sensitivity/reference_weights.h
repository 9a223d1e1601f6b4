// Weights that are stored rounded, beside those of the float model.
#pragma once

#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// Makes quantizers of weights switch between stored values and the float
/// model's. Refers to the model, which must outlive it.
class ReferenceWeights {
 public:
  /// Without a reference, for which follow() changes nothing.
  ReferenceWeights() = default;
  /// Matches quantized weights by the names of layers and parameters.
  /// Throws: NotFoundError for a layer that the reference lacks; ShapeError for
  /// a weight of another shape; ValueError for weights that are not the
  /// reference's, rounded.
  ReferenceWeights(const Model& model, const Model& reference);

  /// Sets each weight to its stored value where its quantizer is on, and to the
  /// reference's where it is off.
  void follow_quantizers();

 private:
  struct Weight {
    std::shared_ptr<Quantizer> quantizer;
    Variable variable;
    Tensor stored;
    Tensor exact;
    bool on = true;  // which of the two the variable holds
  };
  std::vector<Weight> weights_;
};

}  // namespace octet::quant
