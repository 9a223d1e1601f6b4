// LinearPart: the products of a layer alone, without its bias and activation,
// as matrices: what methods that look at a layer's inputs work on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer.h>

namespace octet::quant {

/// Each of `groups` parts of the outputs is a product of its own: rows
/// [inputs] of the layer's input times a kernel [inputs, outputs].
class LinearPart {
 public:
  /// Of Dense, Conv1D, Conv2D, DepthwiseConv1D, DepthwiseConv2D and custom
  /// classes whose kernel ends with the axes of the outputs. Of others null,
  /// and `why` says why. `layer` must outlive it.
  static std::unique_ptr<LinearPart> of(const Layer& layer, const Shape& input,
                                        std::string& why);

  const Parameter& kernel() const { return *kernel_; }
  /// Null if there is none.
  const Parameter* bias() const { return bias_; }
  int64_t groups() const { return groups_; }
  int64_t inputs() const { return inputs_; }    ///< of a group
  int64_t outputs() const { return outputs_; }  ///< of a group

  /// Where in the kernel the weight of an input and an output stands.
  size_t element(int64_t group, int64_t in, int64_t out) const {
    return static_cast<size_t>((in * groups_ + group) * outputs_ + out);
  }

  /// What the outputs of each pixel are products of, as the layer itself cuts
  /// it out: each row holds the inputs of the first group, of the second, ...
  /// Shapes: x as the layer reads it -> [pixels, groups * inputs].
  Tensor rows(const Tensor& x) const;
  /// The same a few samples at a time, in order, to keep memory small.
  void for_each_rows(const Tensor& x,
                     const std::function<void(const Tensor&)>& visit) const;

 private:
  LinearPart() = default;

  const Parameter* kernel_ = nullptr;
  const Parameter* bias_ = nullptr;
  int64_t groups_ = 1;
  int64_t inputs_ = 1;
  int64_t outputs_ = 1;
  // Copies of the layer without bias and activation, whose kernels pick inputs
  // out: output m of the i-th is input i * outputs + m.
  std::vector<std::shared_ptr<Layer>> pickers_;
};

}  // namespace octet::quant
