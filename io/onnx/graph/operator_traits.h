// Facts about standard operators that layout assignment, lint and shape
// inference share. Internal to io/onnx.
#pragma once

#include <span>
#include <string_view>

#include <octet/quant/detail/fusion_rules.h>

namespace octet::io {

/// How an operator treats the axes of its inputs.
enum class AxisRole {
  other,
  pointwise,       ///< elementwise, with broadcasting
  reduction,       ///< over the axes of an attribute or input
  channels_first,  ///< channels are axis 1
};

struct OperatorTraits {
  std::string_view name = "";
  AxisRole axes = AxisRole::other;
  quant::FusionKind fusion = quant::FusionKind::other;
  /// Ranks of the inputs, separated by spaces: "4", "0-1", "2+" (at least 2),
  /// "*" (any). A last entry with "..." applies to all further inputs.
  std::string_view ranks = "";
};

/// Returns the operators that reduce axes.
std::span<const std::string_view> reductions();

/// Returns the traits of an operator of the standard domain; AxisRole::other
/// without an entry in the table.
const OperatorTraits& traits_of(std::string_view op);

}  // namespace octet::io
