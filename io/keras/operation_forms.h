// Functions of tensors and settings as layers: x[...], reshape, softmax and
// others. Internal to io/keras.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/shape.h>

#include "keras/layer_sequence.h"

namespace octet::io {

/// Settings of an operation: in the configuration for Keras 3, in the call for
/// tf.keras.
class Settings {
 public:
  explicit Settings(const Config& config) : config_(config) {}
  /// Adds an argument of a call; without a name if positional.
  void add(const std::string& name, const Config& value) {
    called_.emplace_back(name, value);
  }
  /// Returns the value of the first name that has one, otherwise null.
  Config find(std::initializer_list<std::string_view> names) const;
  /// Returns the first positional value, or null.
  Config positional() const;
  /// Returns the value of a name, or the first positional value.
  Config find_or_positional(
      std::initializer_list<std::string_view> names) const;
  /// Whether a value is explicitly None.
  bool is_none(std::string_view name) const;
  /// Returns the name of a setting with a value that was never queried, or
  /// nothing.
  std::optional<std::string> unread() const;

 private:
  const Config& config_;
  std::vector<std::pair<std::string, Config>> called_;
  mutable std::set<std::string, std::less<>> read_;
};

using Steps = std::vector<LayerSpec>;

/// Tensors of an operation.
struct Operands {
  std::vector<Shape> shapes;  ///< in Keras' order, with the batch
  /// Whether the first tensor has images or sequences with channels first in
  /// Keras, and last in Octet.
  bool channels_first = false;
  DataFormats formats = {};  ///< of the model

  const Shape& operator[](size_t i) const { return shapes[i]; }
  size_t size() const { return shapes.size(); }
};

/// Returns the layers of an operation with settings.
/// Throws: UnsupportedError with the unsupported part.
using Form = Steps (*)(const Settings& settings, const Operands& x);
using NamedForm = std::pair<std::string_view, Form>;
/// Returns the form of that name, or null.
Form find_in(std::span<const NamedForm> forms, std::string_view name);
/// Returns the form of an operation by its Keras 3 class or its tf module, or
/// null.
Form find_form(std::string_view name);
/// Search keras/axis_forms.cpp and keras/reduction_forms.cpp only.
Form find_axis_form(std::string_view name);
Form find_reduction(std::string_view name);

/// Returns an axis of a sample, counted from the front.
/// Throws: UnsupportedError for the batch or an axis that does not exist.
int64_t axis_of(const Config& axis, int rank);
/// Returns an integer or list of integers; empty for null.
std::vector<int64_t> integers_of(const Config& value);
LayerSpec reshape(std::string suffix, const std::vector<int64_t>& sample);
/// `dims` are axes of a sample, from 1.
LayerSpec permute(std::string suffix, const std::vector<int64_t>& dims);

/// Whether an operation has several outputs.
bool has_parts(std::string_view name);
/// Returns the layers of each output. REQUIRES: has_parts().
std::vector<Steps> parts_of(std::string_view name, const Settings& settings,
                            const Shape& x);
/// Returns the number of outputs, which does not depend on the input.
int64_t outputs_of(std::string_view name, const Settings& settings);

}  // namespace octet::io
