// Where Q/DQ goes, as the commands that place it are told.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/quantize_model.h>

#include "../command_line.h"

namespace octet::program {

struct PlacementOptions {
  std::string mode = "full";
  std::string policy = "tensorrt";
  std::string on_unknown = "error";
  std::vector<std::string> cases;
  std::optional<std::string> spec;
  bool strict = false;
  std::vector<std::string> excluded;  // regular expressions
  std::string bits;                   // "4,8": of weights, of activations
};

void add_placement_options(Command& command, PlacementOptions& options);

/// All but the policy and the widths. Throws: ValueError, UnsupportedError for
/// words that there are not or that do not go together; as io::load_spec().
quant::QuantizeOptions quantize_options(const PlacementOptions& options);

/// Nothing: patterns. Throws: ValueError naming the option.
std::optional<quant::Policy> policy_of(std::string_view option,
                                       const std::string& policy);

/// Throws: UnsupportedError for what patterns do not look at.
void check_patterns_alone(std::string_view option,
                          const quant::QuantizeOptions& options);

/// --bits, for a model, whether its first and last layer have Q/DQ or not.
/// Throws: ValueError.
void add_widths(const Model& model, const PlacementOptions& options,
                quant::QuantizeOptions& quantize);

/// A plan with what add_widths() put into QuantizeOptions::bits, but for layers
/// without Q/DQ.
quant::QdqPlan narrowed(const quant::QdqPlan& plan, const Model& model,
                        const std::vector<quant::LayerBits>& bits);

/// Further options for a model, such as widths and rules of scales.
using Adjust =
    std::function<quant::QuantizeOptions(const Model&, quant::QuantizeOptions)>;

/// The model with quantizers where the options say, as `adjust`, if there is
/// one, changes them.
Model quantized(const Model& model, const PlacementOptions& options,
                const Adjust& adjust = {});

}  // namespace octet::program
