// fit_weights_to_float16(): quantized weights beyond the range of float16.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "graph_passes.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

using onnx::TensorProto;

constexpr float kLargestHalf = 65504;
/// Half of the smallest positive float16: smaller values round to 0.
constexpr float kVanishing = 0x1p-25f;

/// Int8 weights and their scales, channel by channel.
class Int8Weights {
 public:
  Int8Weights(TensorProto& values, TensorProto& scales, int64_t axis)
      : values_(values),
        scales_(scales),
        bytes_(values.raw_data()),
        scale_(float_values(scales)) {
    for (int i = values.dims_size() - 1; i > axis; --i) {
      inner_ *= values.dims(i);
    }
  }

  void fit() {
    bool changed = false;
    for (size_t channel = 0; channel < scale_.size(); ++channel) {
      const float largest =
          static_cast<float>(largest_value(channel)) * scale_[channel];
      if (largest > kLargestHalf) {
        throw ValueError(
            "out_of_range", fmt::format("initializer '{}'", values_.name()),
            fmt::format("weights must be at most 65504 for float16, got {} "
                        "with scale {}. Hint: export float32",
                        largest, scale_[channel]));
      }
      if (largest > kVanishing || scale_[channel] >= kLeastHalfScale) continue;
      for_each(channel, [](char& value) { value = 0; });
      scale_[channel] = kLeastHalfScale;
      changed = true;
    }
    if (!changed) return;
    values_.set_raw_data(bytes_);
    scales_.clear_float_data();
    scales_.set_raw_data(scale_.data(), scale_.size() * sizeof(float));
  }

 private:
  template <class Use>
  void for_each(size_t channel, Use use) {
    const auto inner = static_cast<size_t>(inner_);
    const size_t stride = scale_.size() == 1 ? 1 : scale_.size() * inner;
    const size_t width = scale_.size() == 1 ? 1 : inner;
    const size_t first = scale_.size() == 1 ? 0 : channel * inner;
    for (size_t at = first; at + width <= bytes_.size(); at += stride) {
      for (size_t i = 0; i < width; ++i) use(bytes_[at + i]);
    }
  }

  int largest_value(size_t channel) {
    int largest = 0;
    for_each(channel, [&](char value) {
      largest = std::max(largest, std::abs(static_cast<int8_t>(value)));
    });
    return largest;
  }

  TensorProto& values_;
  TensorProto& scales_;
  std::string bytes_;
  std::vector<float> scale_;
  int64_t inner_ = 1;
};

}  // namespace

void fit_weights_to_float16(OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes()) {
    if (!is_dequantize(node)) continue;
    TensorProto* values = graph.initializer(node.input(0));
    TensorProto* scales = graph.initializer(node.input(1));
    if (values == nullptr || scales == nullptr ||
        values->data_type() != TensorProto::INT8 ||
        graph.uses(node.input(0)) != 1 || graph.uses(node.input(1)) != 1) {
      continue;
    }
    Int8Weights(*values, *scales, integer_of(node, "axis", 1)).fit();
  }
}

}  // namespace octet::io
