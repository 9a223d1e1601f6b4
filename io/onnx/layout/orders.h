// Compositions of axis orders and Transposes. Internal to io/onnx/layout.
#pragma once

#include <optional>
#include <span>

#include "onnx/layout/graph.h"

namespace octet::io::layout {

/// Axis i of the result is axis first[second[i]]; an empty order is the
/// identity.
Order composed(const Order& first, const Order& second);

/// Composes Transposes. Returns nothing if a step is a reshape.
std::optional<Order> permutation_of(std::span<const Step> steps);

}  // namespace octet::io::layout
