// Functions of one tensor and settings as layers: x[...], reshape, mean, pad
// and the like. Internal to io/keras.
#pragma once

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

 private:
  const Config& config_;
  std::vector<std::pair<std::string, Config>> called_;
};

// `x` is the shape of the first tensor in Keras' order.
// All throw: UnsupportedError saying what of it is no layer.
Step absolute_step(const Settings& settings, const Shape& x);
Step clip_step(const Settings& settings, const Shape& x);
Step erf_step(const Settings& settings, const Shape& x);
Step log_step(const Settings& settings, const Shape& x);
Step sqrt_step(const Settings& settings, const Shape& x);
Step square_step(const Settings& settings, const Shape& x);
Step concatenate_step(const Settings& settings, const Shape& x);
Step get_item_step(const Settings& settings, const Shape& x);
Step max_step(const Settings& settings, const Shape& x);
Step mean_step(const Settings& settings, const Shape& x);
Step negative_step(const Settings& settings, const Shape& x);
Step pad_step(const Settings& settings, const Shape& x);
Step reshape_step(const Settings& settings, const Shape& x);

}  // namespace octet::io
