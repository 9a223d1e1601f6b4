// Precedence: specs of the user and the cases, in overriding order.
#pragma once

#include <string>
#include <vector>

#include <octet/quant/quantize_model.h>

namespace octet::quant {

/// Origin of a spec.
struct SpecSource {
  std::string rule;         ///< "user", "case ResNetV1"
  std::string reason = {};  ///< info() of a case
};

/// A spec and its origin.
struct SourcedSpec {
  SpecSource source;
  QuantizationSpec spec;
};

/// Returns the specs, strongest first: the user's, then the cases', last case
/// first; with toolkit.strict, in the toolkit's order, where a source may occur
/// twice.
/// Throws: exceptions of the cases.
std::vector<SourcedSpec> by_precedence(const Model& model,
                                       const QuantizeOptions& options);

}  // namespace octet::quant
