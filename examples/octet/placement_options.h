// Where Q/DQ goes, as the commands that place it are told.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/insert_qdq.h>
#include <octet/quant/pattern.h>
#include <octet/quant/quantize_model.h>

#include "../command_line.h"

namespace octet::program {

struct PlacementOptions {
  std::string mode = "full";
  std::string policy;  // empty until choose_policy()
  std::string on_unknown = "error";
  std::vector<std::string> cases;
  std::optional<std::string> spec;
  bool strict = false;
  std::vector<std::string> excluded;  // regular expressions
  bool uint8 = false;  // nonnegative activations as uint8: choose_policy()
  std::string bits;    // "4,8": of weights, of activations
};

void add_placement_options(Command& command, PlacementOptions& options);

/// Where none is given, the policy for who reads the file: onnxruntime for that
/// target, tensorrt for all others. OpenVINO gets nonnegative activations as
/// uint8.
void choose_policy(PlacementOptions& options,
                   const std::optional<std::string>& target = {});

/// Throws: UnsupportedError if an option is given; `hint` is "--int8". Before
/// choose_policy().
void check_no_placement(const PlacementOptions& options, std::string_view hint);

/// Throws: ValueError for a policy whose codes the reader does not take.
void check_reader(const PlacementOptions& options,
                  const std::optional<std::string>& target);

/// All but the policy and the widths. Throws: ValueError, UnsupportedError for
/// words that there are not or that do not go together; as io::load_spec().
quant::QuantizeOptions quantize_options(const PlacementOptions& options);

/// Nothing: patterns. Throws: ValueError naming the option.
std::optional<quant::Policy> policy_of(std::string_view option,
                                       const std::string& policy);

/// Of a policy that is made of patterns: they, but for layers that --exclude
/// names, and the conversions and quantizers they want. Throws: NotFoundError
/// for an --exclude that names no layer.
std::vector<quant::Pattern> patterns_of(const std::string& policy,
                                        const PlacementOptions& options,
                                        const Model& model);
std::vector<quant::Conversion> conversions_of(const std::string& policy);
quant::QuantConfig pattern_config(const std::string& policy,
                                  const quant::QuantizeOptions& options);

/// Throws: UnsupportedError for what patterns do not look at; `option` is
/// "--policy patterns".
void check_patterns_alone(std::string_view option,
                          const PlacementOptions& options);

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
