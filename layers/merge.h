// What the layers that combine several inputs value by value have in common.
#pragma once

#include <memory>
#include <string>

#include <octet/layers/layer.h>
#include <octet/layers/layer_def.h>

namespace octet {

/// What sets one of them apart.
struct Merge {
  const char* class_name;
  Variable (*combine)(const Variable& x, const Variable& y);
  const char* onnx_op;
  bool pair = false;      ///< takes two inputs, no more and no less
  bool mean = false;      ///< divides by the number of inputs
  bool negative = false;  ///< may give negative values of others
};

/// `merge` must live as long as the layer.
std::shared_ptr<Layer> make_merge(const Merge& merge, std::string name);

}  // namespace octet
