// LinearPart: a layer's product as matrices, without bias and activation, for
// methods based on a layer's inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer.h>

namespace octet::quant {

/// Each of `groups` groups of outputs is a separate product: rows [inputs] of
/// the layer's input times a kernel [inputs, outputs].
class LinearPart {
 public:
  /// Supports Dense, Conv1D, Conv2D, DepthwiseConv1D, DepthwiseConv2D and
  /// custom classes with the outputs on the kernel's last axes. Returns null
  /// for others, with the reason in `why`. `layer` must outlive the result.
  static std::unique_ptr<LinearPart> of(const Layer& layer, const Shape& input,
                                        std::string& why);

  const Parameter& kernel() const { return *kernel_; }
  /// Null if the layer has no bias.
  const Parameter* bias() const { return bias_; }
  int64_t groups() const { return groups_; }
  int64_t inputs() const { return inputs_; }    ///< per group
  int64_t outputs() const { return outputs_; }  ///< per group

  /// Returns the kernel index of the weight from an input to an output.
  size_t element(int64_t group, int64_t in, int64_t out) const {
    return static_cast<size_t>((in * groups_ + group) * outputs_ + out);
  }

  /// Returns the patches that each output pixel is computed from (im2col),
  /// extracted by the layer itself. A row has the inputs of the first group, of
  /// the second, ...
  /// Shapes: x: the layer's input -> [pixels, groups * inputs].
  Tensor rows(const Tensor& x) const;
  /// Calls `visit` with the rows of a few samples at a time, in order, to limit
  /// memory.
  void for_each_rows(const Tensor& x,
                     const std::function<void(const Tensor&)>& visit) const;

 private:
  LinearPart() = default;

  const Parameter* kernel_ = nullptr;
  const Parameter* bias_ = nullptr;
  int64_t groups_ = 1;
  int64_t inputs_ = 1;
  int64_t outputs_ = 1;
  // Copies of the layer without bias and activation whose kernels extract
  // inputs: output m of copy i is input i * outputs + m.
  std::vector<std::shared_ptr<Layer>> pickers_;
};

}  // namespace octet::quant
