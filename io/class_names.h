// What files that keep the names of classes ask of them. Internal to io.
#pragma once

#include <span>
#include <string>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/error.h>

namespace octet::io {

/// Throws: ValueError unless there are none, or one for each of the outputs.
inline void check_class_names(const Model& model,
                              std::span<const std::string> classes) {
  if (classes.empty()) return;
  const int64_t outputs = model.outputs()[0].shape()[-1];
  if (outputs == std::ssize(classes)) return;
  throw ValueError(
      fmt::format("classes: expected a name for each of {} outputs, got {}",
                  outputs, classes.size()));
}

}  // namespace octet::io
