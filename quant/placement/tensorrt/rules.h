// Rules of Policy::tensorrt, by layer. The rule ids are listed in
// docs/guides/placement-tensorrt.md.
#pragma once

#include <octet/quant/quantize_model.h>

#include "placement/tensorrt/placement_state.h"

namespace octet::quant {

/// Decides all linear layers (P01, A06, P24 to P26, P32).
void decide_linear(PlacementState& state, const TensorrtPolicy& options);
/// Moves Q/DQ of linear layers before a preceding ZeroPadding2D (P20).
/// REQUIRES: linear layers are decided.
void move_before_pads(PlacementState& state);

// REQUIRES, for the following: all successors of the node are decided, and
// their successors found.

/// BatchNormalization (P02, P03).
Decision decide_normalization(const PlacementState& state,
                              const GraphNode& node);
/// Add (P04, P06 to P08, P17, P22).
Decision decide_add(const PlacementState& state, const GraphNode& node,
                    const TensorrtPolicy& options);
/// Multiply (P15).
Decision decide_multiply(const PlacementState& state, const GraphNode& node,
                         const TensorrtPolicy& options);
/// AveragePooling2D, GlobalAveragePooling2D (P11).
Decision decide_average_pool(const PlacementState& state, const GraphNode& node,
                             const TensorrtPolicy& options);

/// MaxPooling2D (P10, P12) and its consumers: an Add's pooled shortcut needs no
/// separate Q/DQ.
/// REQUIRES: all other layers are decided.
void decide_max_pools(PlacementState& state);
/// Concatenate (P14).
/// REQUIRES: all other layers are decided.
void decide_concatenations(PlacementState& state);

}  // namespace octet::quant
