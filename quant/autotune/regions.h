// Regions of a model that share a decision about Q/DQ. Internal to quant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/plan.h>

#include "ptq/units.h"

namespace octet::quant {

/// A part of a float model with the Q/DQ points of its layers.
struct Region {
  Unit unit;
  std::vector<std::string> layers;  ///< names, in order
  QdqPlan plan;                     ///< points of these layers
  std::string structure;  ///< text that regions of equal structure share
  bool repeated = false;  ///< a layer is called several times in the model
};

/// Partitions the nodes of a float model, but its inputs, in order: a block
/// with at most `largest` layers with weights is a region; larger blocks are
/// split at these layers. Layers without weights belong to the preceding
/// region.
std::vector<Region> regions_of(const Model& model, const QdqPlan& plan,
                               int64_t largest);

/// Returns a text of all properties of the nodes that affect the latency:
/// classes, options, shapes, connections and Q/DQ, without names.
std::string structure_of(const Model& model, const Unit& unit,
                         const QdqPlan& plan);

/// Returns a hash of a text as 16 hexadecimal digits.
std::string hash_text(std::string_view text);

/// Returns "Conv2D, ReLU, 2 x Dense".
std::string classes_text(const Model& model, const Unit& unit);

}  // namespace octet::quant
