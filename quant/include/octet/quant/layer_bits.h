// Widths of single layers, apart from those of all others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <octet/quant/plan.h>

namespace octet::quant {

/// Widths of the layers of a name: first and last ones in 8 bits, say.
struct LayerBits {
  std::string layer;  ///< name, in which * stands for any characters, ? for one
  std::optional<int> weight = {};      ///< [2, 8]
  std::optional<int> activation = {};  ///< [2, 8], of what the layer reads
};

/// The plan with other widths, later entries before earlier ones. What several
/// layers read has the largest width that one of them has then; a warning tells
/// who asked for less. Activations below 8 bits that cannot be negative get
/// codes [0, 2^bits - 1], others codes with a sign.
/// Throws: ValueError for bits outside [2,8] or none; NotFoundError, with near
/// names, for an entry that fits no layer with Q/DQ of that kind.
QdqPlan with_bits(const QdqPlan& plan, const Model& model,
                  const std::vector<LayerBits>& layers);

/// The entries for single layers, without the widths of what has no Q/DQ in the
/// plan: a first or last layer that stays float has none. "*" stays as it is.
std::vector<LayerBits> bits_of_quantized(std::vector<LayerBits> layers,
                                         const QdqPlan& plan);

}  // namespace octet::quant
