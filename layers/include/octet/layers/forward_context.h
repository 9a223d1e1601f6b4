// ForwardContext: the state of a forward pass as layers see it, including the
// hook by which a quantize wrapper changes their weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/parameter.h>
#include <octet/runtime/quant_params.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Quantization inside a layer: of its weights, and of the intermediate tensor
/// between its two products. Training and export use the same hook, so they
/// cannot diverge.
class QuantizeHook {
 public:
  virtual ~QuantizeHook() = default;
  /// Returns the (fake-quantized) value of a parameter.
  virtual Variable weight(const Parameter& parameter) const = 0;
  /// Returns the parameter's quantization parameters for export, or nullopt if
  /// it stays float.
  virtual std::optional<QuantParams> qparams(
      const Parameter& parameter) const = 0;

  /// A Q/DQ pair of an exported graph.
  struct Pair {
    std::string name;
    QuantParams qparams;
  };
  /// Returns the (fake-quantized) intermediate tensor `name`, see
  /// QdqDefault::intermediate.
  virtual Variable intermediate(std::string_view name,
                                const Variable& x) const = 0;
  /// Returns the Q/DQ pair behind that tensor for export, or nullopt.
  virtual std::optional<Pair> intermediate(std::string_view name) const = 0;
};

/// Mode and state of one forward pass.
struct ForwardContext {
  bool training = false;
  const QuantizeHook* hook = nullptr;
  /// In training, the random stream of this call; every call of every layer in
  /// every pass has a separate stream. Copy it to draw from it.
  const Rng* rng = nullptr;
  /// In training, receives the regularization losses of layer outputs, each [].
  std::vector<Variable>* regularization_losses = nullptr;

  /// Returns the parameter's value in this pass, fake-quantized by the hook if
  /// there is one.
  Variable read(const Parameter& parameter) const;
  /// Returns an intermediate tensor, likewise. `name` is that of
  /// QdqDefault::intermediate.
  Variable intermediate(std::string_view name, const Variable& x) const;
};

}  // namespace octet
