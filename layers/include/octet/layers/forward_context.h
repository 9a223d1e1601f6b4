// ForwardContext: what a layer is told of the pass it runs in, among it how a
// quantize wrapper changes what it reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/parameter.h>
#include <octet/runtime/grid.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

/// What a quantize wrapper puts inside a layer: between it and its weights,
/// and between its two products. Training and export ask the same
/// object, so the two cannot drift apart.
class QuantizeHook {
 public:
  virtual ~QuantizeHook() = default;
  /// A parameter as the layer multiplies with it.
  virtual Variable weight(const Parameter& parameter) const = 0;
  /// The grid it is rounded to in a file, or nothing.
  virtual std::optional<Grid> grid(const Parameter& parameter) const = 0;

  /// A Q/DQ pair in an exported file.
  struct Pair {
    std::string name;
    Grid grid;
  };
  /// The tensor `name` of QdqDefault::inner, as the layer goes on with it.
  virtual Variable inner(std::string_view name, const Variable& x) const = 0;
  /// The pair after that tensor in a file, or nothing.
  virtual std::optional<Pair> inner(std::string_view name) const = 0;
};

/// How one forward pass runs.
struct ForwardContext {
  bool training = false;
  const QuantizeHook* hook = nullptr;
  /// In training, the random stream of this call: another one for each call of
  /// each layer in each pass. Copy it to draw from it.
  const Rng* rng = nullptr;
  /// In training, where layers add regularization losses of their outputs: [].
  std::vector<Variable>* regularization_losses = nullptr;

  /// The parameter as this pass sees it: fake-quantized if a hook says so.
  Variable read(const Parameter& parameter) const;
  /// A tensor between two products of the layer, likewise. Its name is that of
  /// QdqDefault::inner.
  Variable inner(std::string_view name, const Variable& x) const;
};

}  // namespace octet
