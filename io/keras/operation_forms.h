// Functions of tensors and settings as layers: x[...], reshape, softmax and the
// like. Internal to io/keras.
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

#include "keras/steps.h"

namespace octet::io {

/// What an operation is told besides its tensors: Keras 3 keeps it in the
/// configuration, tf.keras in the call.
class Settings {
 public:
  explicit Settings(const Config& config) : config_(config) {}
  /// Of a call; without a name if it is positional.
  void add(const std::string& name, const Config& value) {
    called_.emplace_back(name, value);
  }
  /// Null unless one of the names has a value.
  Config find(std::initializer_list<std::string_view> names) const;
  /// The first without a name, or null.
  Config positional() const;
  /// One of the names, or the first without one.
  Config find_or_positional(
      std::initializer_list<std::string_view> names) const;
  /// Whether it is said to be None.
  bool is_none(std::string_view name) const;
  /// The name of one that says something and was not looked for, or nothing.
  std::optional<std::string> unread() const;

 private:
  const Config& config_;
  std::vector<std::pair<std::string, Config>> called_;
  mutable std::set<std::string, std::less<>> read_;
};

using Steps = std::vector<Step>;

/// The tensors of an operation.
struct Operands {
  std::vector<Shape> shapes;  ///< in Keras' order, with the batch
  /// Whether the first one is of images or sequences that Keras has with their
  /// channels first and Octet with them last.
  bool channels_first = false;
  DataFormats formats = {};  ///< of the model

  const Shape& operator[](size_t i) const { return shapes[i]; }
  size_t size() const { return shapes.size(); }
};

/// What makes layers of an operation that has settings.
/// Throws: UnsupportedError saying what of it is no layer.
using Form = Steps (*)(const Settings& settings, const Operands& x);
using NamedForm = std::pair<std::string_view, Form>;
/// The one of that name, or null.
Form find_in(std::span<const NamedForm> forms, std::string_view name);
/// Of an operation by its class in Keras 3 or its module in tf, or null.
Form find_form(std::string_view name);
/// The same of keras/axis_forms.cpp and keras/reduction_forms.cpp alone.
Form find_axis_form(std::string_view name);
Form find_reduction(std::string_view name);

/// An axis of a sample from the front. Throws: UnsupportedError for the batch
/// or one that does not exist.
int64_t axis_of(const Config& axis, int rank);
/// One integer, or some; none of null.
std::vector<int64_t> integers_of(const Config& value);
Step reshape(std::string suffix, const std::vector<int64_t>& sample);
/// Axes of a sample from 1 on.
Step permute(std::string suffix, const std::vector<int64_t>& dims);

/// Whether it is an operation of several outputs.
bool has_parts(std::string_view name);
/// What makes each of them. REQUIRES: has_parts().
std::vector<Steps> parts_of(std::string_view name, const Settings& settings,
                            const Shape& x);
/// How many they are, which is known without the input.
int64_t outputs_of(std::string_view name, const Settings& settings);

}  // namespace octet::io
