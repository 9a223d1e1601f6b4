// Scales of a file as those of a model's quantizers. Internal to io/keras.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/quant/quantizer.h>

#include "keras/scales.h"

namespace octet::io {

/// Where these scales belong in a float model, which they were read for. A
/// layer may have fewer than inputs: then equal ranges of their tensors tell
/// which, or the toolkit's residual case, with a warning.
/// Throws: UnsupportedError where neither does; FormatError for more scales
/// than inputs.
quant::QdqPlan plan_of(const std::vector<StoredScales>& scales,
                       const Model& model);

/// The scales of a quantized model's quantizers, to be set at once.
class ScaleAssignment {
 public:
  /// A quantizer that several layers of the file have a scale for gets the
  /// largest, with a warning if they differ. Those that compute their scale
  /// from the weight are skipped.
  /// Throws: FormatError naming the layers where only the model or only the
  /// file has Q/DQ, unless `partial`, and for scales per channel where the
  /// model has one.
  ScaleAssignment(Model& model, const std::vector<StoredScales>& scales,
                  bool partial);
  void put_in_place() const;

 private:
  void add(const std::shared_ptr<quant::Quantizer>& quantizer,
           const StoredScales& scales);

  std::map<std::shared_ptr<quant::Quantizer>, std::vector<float>> scales_;
};

}  // namespace octet::io
