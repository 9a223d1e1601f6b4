// Bit widths of single layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/quant/plan.h>

namespace octet::quant {

/// Bit widths of the layers with matching names, such as 8 bits for the first
/// and last.
struct LayerBits {
  std::string layer;  ///< name; * matches any characters, ? a single one
  std::optional<int> weight = {};      ///< [2, 8]
  std::optional<int> activation = {};  ///< [2, 8], of the layer's inputs
};

/// Returns the plan with other bit widths; later entries override earlier ones.
/// A tensor with several consumers gets their largest width; a warning names
/// the layers that requested less. Activations below 8 bits that cannot be
/// negative become unsigned, others signed.
/// Throws: ValueError for bits outside [2,8] or absent; NotFoundError, with
/// similar names, for an entry that matches no layer with Q/DQ of that kind.
QdqPlan with_bits(const QdqPlan& plan, const Model& model,
                  const std::vector<LayerBits>& layers);

/// Drops widths of layers without such Q/DQ in the plan, e.g. a first or last
/// layer in float. The entry "*" is unchanged.
std::vector<LayerBits> bits_of_quantized(std::vector<LayerBits> layers,
                                         const QdqPlan& plan);

}  // namespace octet::quant
