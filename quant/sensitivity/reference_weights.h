// Weights stored rounded and their originals in the float model.
#pragma once

#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

namespace octet::quant {

/// Switches weights between their stored values and the float model's,
/// following their quantizers. The model must outlive it.
class ReferenceWeights {
 public:
  /// An empty set of weights.
  ReferenceWeights() = default;
  /// Matches quantized weights by layer and parameter name.
  /// Throws: NotFoundError for a layer that the reference lacks; ShapeError for
  /// a weight of another shape; ValueError for weights that do not round to
  /// the stored ones.
  ReferenceWeights(const Model& model, const Model& reference);

  /// Sets each weight to its stored value if its quantizer is enabled,
  /// otherwise to the reference's.
  void follow_quantizers();

 private:
  struct ReferenceWeight {
    std::shared_ptr<Quantizer> quantizer;
    Variable variable;
    Tensor stored;
    Tensor exact;
    bool on = true;  // whether the variable has the stored value
  };
  std::vector<ReferenceWeight> weights_;
};

}  // namespace octet::quant
