// Schemes: placements of Q/DQ in a region. Internal to quant.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <octet/quant/plan.h>
#include <octet/runtime/config.h>

#include "autotune/regions.h"

namespace octet::quant {

inline constexpr const char* kFloat = "float";
inline constexpr const char* kPlanned = "planned";

/// A placement in a region or a model.
struct Scheme {
  std::string name;
  QdqPlan plan;
};

/// Returns the schemes of a region with different Q/DQ, the float one first.
std::vector<Scheme> schemes_of(const Model& model, const Region& region);

/// Returns the float counterpart of a model.
Model without_quantizers(const Model& int8);

/// Quantizers of a calibrated model, for models with some of its Q/DQ.
class CalibratedQuantizers {
 public:
  explicit CalibratedQuantizers(const Model& int8);

  /// Returns a copy of a float model, or of a part of it, with Q/DQ.
  Model apply_to(const Model& model, const QdqPlan& plan) const;

 private:
  std::map<std::string, Config> states_;
};

}  // namespace octet::quant
