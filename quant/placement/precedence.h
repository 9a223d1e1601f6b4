// Precedence: what the user's spec and the cases say of layers, in the order in
// which they overrule each other.
#pragma once

#include <string>
#include <vector>

#include <octet/quant/quantize_model.h>

namespace octet::quant {

/// Whoever gives a spec.
struct SpecSource {
  std::string rule;         ///< "user", "case ResNetV1"
  std::string reason = {};  ///< a case's own words
};

/// A spec and who gives it.
struct SourcedSpec {
  SpecSource source;
  QuantizationSpec spec;
};

/// The strongest first: the user, then the cases, the last one first; or as in
/// the toolkit, if its strict rules are asked for. A source may have several.
/// Throws: what a case throws.
std::vector<SourcedSpec> by_precedence(const Model& model,
                                       const QuantizeOptions& options);

}  // namespace octet::quant
