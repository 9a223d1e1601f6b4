// Options of Q/DQ placement.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/patterns.h>
#include <octet/quant/quantize_model.h>

#include "../common/command_line.h"

namespace octet::program {

struct PlacementOptions {
  std::string mode = "full";
  std::string policy;  // empty until choose_policy()
  std::string on_unknown = "error";
  std::vector<std::string> cases;
  std::optional<std::string> spec;
  bool strict = false;
  std::vector<std::string> excluded;  // regular expressions of layer names
  bool uint8 = false;       // nonnegative activations: choose_policy()
  bool by_default = false;  // whether choose_policy() set the policy
  std::string bits;         // "4,8": weights, activations
  std::string format = "int8";
  int64_t block = 0;              // block size of w4a16; 0: 32
  bool per_tensor_dense = false;  // scales of Dense weights in .tflite files

  /// Whether activations have 16 bits, in a .tflite file.
  bool int16() const { return bits == "8,16"; }
};

void add_placement_options(Command& command, PlacementOptions& options);

/// Sets the default policy: onnxruntime for that target, else tensorrt. Sets
/// uint8 for OpenVINO, for which quantized() places models with a convolution
/// behind a Concatenate as for ONNX Runtime.
/// Throws: ValueError for an unknown number format; UnsupportedError for
/// options that it excludes.
void choose_policy(PlacementOptions& options,
                   const std::optional<std::string>& target = {});

/// Throws: UnsupportedError if a placement option is given; `hint` states why,
/// such as "needs --int8". Call before choose_policy().
void check_no_placement(const PlacementOptions& options, std::string_view hint);

/// Throws: ValueError for a policy whose uint8 values the target does not
/// support.
void check_reader(const PlacementOptions& options,
                  const std::optional<std::string>& target);

/// Choices of --format.
enum class Format { int8, fp8, w4a16 };
/// Throws: ValueError for an unknown format.
Format format_of(const PlacementOptions& options);

/// Returns all options but the policy and the bit widths.
/// Throws: ValueError or UnsupportedError for unknown words and conflicting
/// options; as io::load_spec().
quant::QuantizeOptions quantize_options(const PlacementOptions& options);

/// Returns nullopt for pattern policies.
/// Throws: ValueError with the option.
std::optional<quant::Policy> policy_of(std::string_view option,
                                       const std::string& policy);

/// Patterns of a pattern policy, without layers named by --exclude, and its
/// conversions and quantizers.
/// Throws: NotFoundError for an --exclude that matches no layer.
std::vector<quant::Pattern> patterns_of(const std::string& policy,
                                        const PlacementOptions& options,
                                        const Model& model);
std::vector<quant::Conversion> conversions_of(const std::string& policy);
quant::InsertQdqOptions pattern_config(const std::string& policy,
                                       const quant::QuantizeOptions& options);

/// Throws: UnsupportedError for options that pattern policies ignore; `option`
/// is "--policy", `policy` its value.
void check_patterns_alone(std::string_view option, const std::string& policy,
                          const PlacementOptions& options);

/// Adds the bit widths of --bits for all layers of a model, including layers
/// without Q/DQ.
/// Throws: ValueError.
void add_widths(const Model& model, const PlacementOptions& options,
                quant::QuantizeOptions& quantize);

/// Returns the plan with the bit widths from add_widths(), ignoring layers
/// without Q/DQ.
quant::QdqPlan narrowed(const quant::QdqPlan& plan, const Model& model,
                        const std::vector<quant::LayerBits>& bits);

/// Changes options for a model, such as bit widths and scale rules.
using Adjust =
    std::function<quant::QuantizeOptions(const Model&, quant::QuantizeOptions)>;

/// Returns the model with quantizers placed by the options, changed by `adjust`
/// if given.
Model quantized(const Model& model, const PlacementOptions& options,
                const Adjust& adjust = {});

}  // namespace octet::program
