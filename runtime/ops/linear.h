// Linear ops, y = x * w: convolutions and dense layers. One node records them
// all; an op brings the geometry of its operands and the kernels that multiply.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "../autograd/node.h"

namespace octet {

/// What sets one linear op apart from another. The work falls into blocks
/// (images, or runs of rows) that are computed by themselves, in parallel.
class LinearKernels {
 public:
  LinearKernels(const Shape& y, int64_t block_count, int weight_axis = -1)
      : output(y), blocks(block_count), axis(weight_axis) {}
  virtual ~LinearKernels() = default;

  /// The weight as forward() reads it.
  virtual std::vector<Tensor> pack(const Tensor& weight) const = 0;
  /// The weight as the input's gradient reads it.
  virtual std::vector<Tensor> pack_transposed(const Tensor& weight) const = 0;
  /// Ops with equal layouts pack() a weight to the same bits.
  virtual std::vector<int64_t> layout() const { return {}; }

  /// One block of the output. The pointers of `y` are the block's; its strides
  /// are set here.
  virtual void forward(int64_t block, const autograd::Reader& x,
                       const std::vector<Tensor>& panels,
                       kernels::Epilogue y) const = 0;

  struct BlockGradient {
    int64_t block;
    const autograd::Reader& x;
    const autograd::Reader& dy;
    const std::vector<Tensor>& panels;  // from pack_transposed()
    const kernels::Epilogue* dx;        // of the block; null: not wanted
    float* dw;                          // is added to; null: not wanted
  };
  virtual void backward(const BlockGradient& gradient) const = 0;
  /// The weight's gradient where it is one sum over all blocks; empty where
  /// backward() adds it up.
  virtual Tensor weight_gradient(const autograd::Expression& /*x*/,
                                 const autograd::Expression& /*dy*/) const {
    return {};
  }

  const Shape output;
  const int64_t blocks;
  const int axis;  // of the weight's output channels
};

/// Computes and records the op. Codes are multiplied where x and the weight
/// both lie on grids of at most 8 bits.
Variable linear(std::string_view op, const Variable& x, const Variable& weight,
                std::unique_ptr<const LinearKernels> kernels);

}  // namespace octet
