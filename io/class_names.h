// Checks of the class names that model files store. Internal to io.
#pragma once

#include <span>
#include <string>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/error.h>

namespace octet::io {

/// Throws: ValueError unless `classes` is empty or has a name per output.
inline void check_class_names(const Model& model,
                              std::span<const std::string> classes) {
  if (classes.empty()) return;
  const int64_t outputs = model.outputs()[0].shape()[-1];
  if (outputs == std::ssize(classes)) return;
  throw ValueError("count_mismatch", "classes",
                   fmt::format("number of class names must be that of the "
                               "model's outputs, {}, got {}",
                               outputs, classes.size()));
}

}  // namespace octet::io
