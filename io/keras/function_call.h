// A call of a function of tensors, such as keras.ops.reshape: its tensors and
// settings. Internal to io/keras.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/runtime/config.h>

#include "keras/layer_sequence.h"
#include "keras/order.h"

namespace octet::io {

/// Settings of a function: in the configuration for Keras 3, in the call for
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
  /// Returns the value of a name, or the first positional value.
  Config find_or_positional(
      std::initializer_list<std::string_view> names) const;
  /// Returns a number, `otherwise` if it is not set.
  float number(std::initializer_list<std::string_view> names,
               double otherwise) const;
  bool is_true(std::initializer_list<std::string_view> names) const;
  /// Whether a value is explicitly None.
  bool is_none(std::string_view name) const;
  /// Throws: UnsupportedError unless the setting is absent or `expected`.
  void expect(std::string_view name, const Config& expected) const;
  /// Returns the name of a setting with a value that was never queried, or
  /// nothing.
  std::optional<std::string> unread() const;

 private:
  Config positional() const;

  const Config& config_;
  std::vector<std::pair<std::string, Config>> called_;
  mutable std::set<std::string, std::less<>> read_;
};

struct FunctionCall {
  const Settings& settings;
  const std::vector<KerasValue>& values;
  DataFormats formats;  ///< of the model
  /// Inputs in the axis order `order`, which is also that of the outputs.
  std::vector<SymbolicTensor> inputs = {};
  AxisOrder order = {};

  const SymbolicTensor& x(size_t i = 0) const { return inputs[i]; }
  int rank() const { return x().shape().rank(); }
  /// Converts the inputs to another order.
  void arrange(const AxisOrder& wanted);

  /// Returns axes of a sample in the order of the inputs, from 1, for Keras'
  /// axes of a tensor of this rank.
  /// Throws: UnsupportedError for the batch or an axis that does not exist.
  int64_t axis(const Config& given, int rank) const;
  int64_t axis(const Config& given) const { return axis(given, rank()); }
  /// Throws: also for equal axes, or none.
  std::vector<int64_t> axes(const Config& given) const;
};

/// Tensors of the outputs.
using Outputs = std::vector<SymbolicTensor>;

/// A function with settings.
struct KerasFunction {
  /// Axis order of the inputs: Keras', or that of the first input as for an
  /// elementwise layer or one with an option `axis`; `axis()` converts axes.
  enum class Order { keras, elementwise, axis };

  std::string_view name;
  Outputs (*apply)(FunctionCall& call);
  Order order = Order::keras;
  size_t tensors = 1;  ///< number of inputs, 0 for any
};

/// Returns the class of a function in Keras 3 for a name in tf, which names its
/// module: "Square" for "math.square"; other names unchanged.
std::string keras_function_name(std::string_view name);

/// Returns the function of that class in Keras 3 or name in tf, or null.
const KerasFunction* find_function(std::string_view name);

/// Returns the number of outputs, which does not depend on the input.
int64_t outputs_of(std::string_view name, const Settings& settings);

}  // namespace octet::io
